// The elementwise engine's view of a call, and the kernels that run on it.
#pragma once

#include <kernels/table.h>

#include <gradus/core/scalar.h>

namespace gradus::inline v0::kernels {

/// Up to four operands over one index space, the output first. Dimension 0 is the innermost; neighbours that can be
/// walked as one are merged. Inputs have been cast to `dtype`; broadcast dimensions have stride 0.
struct Loop {
  static constexpr int kMaxDims = 64, kMaxOperands = 4;
  int ndim;
  int operands;
  bool contiguous;       // one dimension, every operand dense
  ScalarType dtype;      // of the inputs
  ScalarType out_dtype;  // of operand 0
  uint8_t on_host = 0;   // bit k: operand k is one number in the host's memory, whatever the device; its strides are 0
  int64_t numel;
  char* data[kMaxOperands];
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxOperands];  // in bytes
};

using Row = void (*)(void* context, char* const* data, const int64_t* strides, int64_t n);

// About 16 us of plain arithmetic: below it a thread's start costs more than it saves.
constexpr int64_t kElementwiseGrain = 32768;
void for_many_rows(const Loop& loop, Row row, void* context, int cost);

/// Calls `row` for every innermost row of the loop, on several threads where it is long. `cost` is in elements of plain
/// arithmetic: a row function that is dearer per element passes more.
inline void for_rows(const Loop& loop, Row row, void* context, int cost) {
  // Also false for an empty loop.
  if (loop.ndim == 1 && static_cast<uint64_t>(loop.numel - 1) < static_cast<uint64_t>(kElementwiseGrain / cost))
      [[likely]] {
    row(context, loop.data, loop.strides[0], loop.numel);
  } else {
    for_many_rows(loop, row, context, cost);
  }
}

using UnaryTable = KernelTable<void(const Loop&)>;
using BinaryTable = KernelTable<void(const Loop&)>;
using ScaledTable = KernelTable<void(const Loop&, const Scalar&)>;
using TwoScalarTable = KernelTable<void(const Loop&, const Scalar&, const Scalar&)>;

}  // namespace gradus::inline v0::kernels
