// Reductions over dimensions.
#pragma once

#include <kernels/table.h>

#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::kernels {

/// An input as kept times reduced dimensions, each innermost first, neighbours merged.
struct Reduction {
  static constexpr int kMaxDims = 64;
  const char* in;
  char* out;
  ScalarType dtype;      // of the input
  ScalarType out_dtype;  // of the result
  int64_t outputs;       // elements of the result
  int64_t length;        // elements of the input per element of the result
  int kept = 0, reduced = 0;
  int64_t kept_sizes[kMaxDims], kept_strides[kMaxDims];  // strides of the input in bytes
  int64_t out_strides[kMaxDims];                         // of the result, in elements
  int64_t reduced_sizes[kMaxDims], reduced_strides[kMaxDims];
};

struct Loop;
using ReductionTable = KernelTable<void(const Reduction&)>;

GRADUS_TABLES_BEGIN
// reduction_sum.cpp. Floats give their own dtype, integers and bool int64.
extern ReductionTable sum;
extern ReductionTable mean;  // floats only
extern ReductionTable prod;

// reduction_extreme.cpp
extern ReductionTable amax;  // NaN wins; every dtype gives its own
extern ReductionTable amin;
extern ReductionTable any;  // bool results
extern ReductionTable all;
/// One reduced dimension at most. Writes the first place of each value in `out` (of the dtype of the input, made by
/// amax or amin from the same Reduction) to `indices`, laid out like it.
extern KernelTable<void(const Reduction&, int64_t* indices)> index_of;

// reduction_norm.cpp: floats only
/// Divides by length - correction; the square root where `root`.
extern KernelTable<void(const Reduction&, double correction, bool root)> var;
extern KernelTable<void(const Reduction&, double order)> norm;

// cumulative.cpp
/// Running sums of `n` elements with these strides (in bytes) for every pair of places of the loop (out, in).
extern KernelTable<void(const Loop&, int64_t n, int64_t out_stride, int64_t in_stride)> cumsum;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
