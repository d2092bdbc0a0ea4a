// CUDA graphs: work that is recorded once and then launched as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <gradus/core/generator.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

class GraphImpl;

/// Names the memory that a graph runs in; {0, 0} is none.
using MempoolId_t = std::pair<uint64_t, uint64_t>;

/// What other threads may do during a capture, with the numbers of cudaStreamCaptureMode.
enum CaptureMode : int {
  kCaptureGlobal = 0,       // nothing that could disturb it: no thread may wait for the device or take memory from CUDA
  kCaptureThreadLocal = 1,  // the same for the capturing thread alone
  kCaptureRelaxed = 2,
};

/// Records what the current stream is given between capture_begin() and capture_end(), and repeats it on replay().
///     CUDAStreamGuard guard(getStreamFromPool());
///     step();                                    // once outside: caches, workspaces
///     CUDAGraph graph;
///     graph.capture_begin(); step(); graph.capture_end();
///     for (...) { input.copy_(batch); graph.replay(); }
/// A replay reads and writes the memory that was captured: inputs are copied into the tensors that the capture saw,
/// results are read from those it made. Tensors made during a capture come from memory of the graph's own. Random
/// numbers go on from replay to replay as they would without a graph.
class GRADUS_API CUDAGraph {
 public:
  CUDAGraph();
  ~CUDAGraph();
  CUDAGraph(const CUDAGraph&) = delete;
  CUDAGraph& operator=(const CUDAGraph&) = delete;

  /// The current stream must not be the default one. Graphs that are given one `pool` (another's pool(), or
  /// graph_pool_handle()) share their memory; they must be replayed in the order of their captures, one at a time.
  void capture_begin(MempoolId_t pool = {0, 0}, int mode = kCaptureGlobal);
  void capture_end();
  /// Launches the captured work on the current stream.
  void replay();
  /// Forgets the captured work and gives its memory up.
  void reset();
  MempoolId_t pool() const;
  /// Draws of this generator are captured, too, as those of the device's default one always are. Before
  /// capture_begin().
  void register_generator_state(const Generator& generator);

 private:
  std::unique_ptr<GraphImpl> impl_;
};

/// A pool for several graphs.
GRADUS_API MempoolId_t graph_pool_handle();

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
