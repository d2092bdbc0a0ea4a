// Reading and writing at positions that index tensors name.
#pragma once

#include <kernels/data_error.h>
#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

/// A tensor taken apart for indexing: dimensions that are kept (walked in order on both sides), and indexed ones. The
/// other side ("values") is seen as [kept before][positions][kept after].
struct IndexPlan {
  static constexpr int kMaxDims = 64;
  char* indexed = nullptr;
  char* values = nullptr;
  ScalarType dtype = ScalarType::Undefined;
  bool negative_allowed = true;
  int64_t positions = 0;
  int index_count = 0;
  const int64_t* index[kMaxDims];      // `positions` numbers each, dense
  int64_t index_size[kMaxDims];        // of the indexed dimension
  int64_t index_stride[kMaxDims];      // in bytes, in `indexed`
  int64_t values_position_stride = 0;  // in bytes; 0 where one value serves all
  int before = 0, after = 0;           // kept dimensions, outermost first
  int64_t before_size[kMaxDims], before_stride[kMaxDims], before_values_stride[kMaxDims];
  int64_t after_size[kMaxDims], after_stride[kMaxDims], after_values_stride[kMaxDims];
};

/// The first bad index; `which` says of which index tensor.
struct BadPosition {
  BadIndex bad;
  int which = 0;
};

GRADUS_TABLES_BEGIN
/// values = indexed[index...].
extern KernelTable<BadPosition(const IndexPlan&)> index_get;
/// indexed[index...] = values, in order of the positions: the last one wins. With `accumulate`, adds.
extern KernelTable<BadPosition(const IndexPlan&, bool accumulate)> index_put;

/// out[.., i, ..] = self[.., index[.., i, ..], ..] along `dim`. No negative indices.
extern KernelTable<BadIndex(View out, ConstView self, ConstView index, int dim)> gather;
enum class Scatter : uint8_t { kAssign, kAdd, kMultiply };
/// self[.., index[.., i, ..], ..] = src[.., i, ..] (or +=, *=) in order; `src` may have strides of 0.
extern KernelTable<BadIndex(View self, ConstView index, ConstView src, int dim, Scatter how)> scatter;

/// How many elements are not zero.
extern KernelTable<int64_t(ConstView self)> count_nonzero;
/// Their positions: `count` numbers for the first dimension, then as many for the second, and so on.
extern KernelTable<void(ConstView self, int64_t* to, int64_t count)> nonzero;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
