// What tests ask the emulated cuBLASLt and cuDNN about, and tell them to do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <gradus_emulation/types.h>

namespace gradus_emulation::cublaslt {

/// The emulation's algorithms, in the order in which the heuristic offers them.
enum Algorithm : int {
  kWithWorkspace,    // wants 16-byte alignment and a workspace of the result's size in float
  kPlain,            // takes everything
  kReducedInOutput,  // sums halves of k in the result's type; offered for 16-bit floats and a long k, then first
  kNoAlgorithm,
};

struct State {
  std::atomic<int> heuristics{0};  // how often the heuristic was asked
  std::atomic<int> products{0};    // enqueued
  std::atomic<int> last_algorithm{kNoAlgorithm};
  std::atomic<uint32_t> last_epilogue{0};
  std::atomic<bool> refuse_epilogues{false};  // the heuristic finds nothing for them
  std::atomic<bool> refuse_all{false};        // nor for anything else
};
GRADUS_EMULATION_API State& state();

}  // namespace gradus_emulation::cublaslt

namespace gradus_emulation::cudnn {

/// The emulation's engines, in the order in which the heuristic offers them.
enum Engine : int {
  kUnbuildable,       // its plan cannot be made
  kLargeWorkspace,    // asks for more than any limit
  kTensorCore,        // a workspace of the output's size; float operands are rounded to TF32
  kDownConverting,    // operands are rounded to half
  kNondeterministic,  // no workspace
  kReducedReduction,  // sums in half
  kExact,             // a workspace of 64 bytes
  kFallback,          // in the fallback list alone; no workspace
  kNoEngine,
};

struct State {
  std::atomic<int> heuristics{0};  // lists asked for
  std::atomic<int> plans{0};       // finalized
  std::atomic<int> executions{0};  // enqueued
  std::atomic<int> last_engine{kNoEngine};
  std::atomic<int> handles{0};              // created
  std::atomic<int> only_engine{kNoEngine};  // where not kNoEngine: all other plans cannot be made
};
GRADUS_EMULATION_API State& state();

}  // namespace gradus_emulation::cudnn
