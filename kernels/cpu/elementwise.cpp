// Walking a Loop row by row, on several threads where it pays.
#include <kernels/elementwise.h>

#include <algorithm>

#include <kernels/parallel.h>
#include <kernels/visit.h>

#include "kernels/cpu/stream.h"

namespace gradus::inline v0::kernels {

namespace {

// Rows [begin, end) of all rows.
void run_rows(const Loop& l, Row row, void* context, int64_t begin, int64_t end) {
  char* data[Loop::kMaxOperands];
  int64_t index[Loop::kMaxDims];
  int64_t rest = begin;
  for (int d = 1; d < l.ndim; ++d) {
    index[d] = rest % l.sizes[d];
    rest /= l.sizes[d];
  }
  for (int k = 0; k < l.operands; ++k) {
    data[k] = l.data[k];
    for (int d = 1; d < l.ndim; ++d) data[k] += index[d] * l.strides[d][k];
  }
  for (int64_t r = begin;;) {
    row(context, data, l.strides[0], l.sizes[0]);
    if (++r >= end) return;
    for (int d = 1; d < l.ndim; ++d) {
      for (int k = 0; k < l.operands; ++k) data[k] += l.strides[d][k];
      if (++index[d] < l.sizes[d]) break;
      for (int k = 0; k < l.operands; ++k) data[k] -= l.strides[d][k] * l.sizes[d];
      index[d] = 0;
    }
  }
}

// From here a result is read again only after it has left every cache: written past them it displaces nothing, and no
// line of it is fetched first.
constexpr int64_t kStreamedBytes = int64_t{32} << 20;

bool is_streamed(const Loop& l) {
  if (!l.contiguous || l.numel * l.strides[0][0] < kStreamedBytes) return false;
  for (int k = 1; k < l.operands; ++k) {
    if (l.data[k] == l.data[0]) return false;
  }
  return true;
}

// Elements [begin, end) of a dense loop, by way of a block that stays in the first cache.
void run_streamed(const Loop& l, Row row, void* context, int64_t begin, int64_t end) {
  alignas(64) char block[8192];
  const int64_t item = l.strides[0][0], most = static_cast<int64_t>(sizeof block) / item;
  for (int64_t i = begin; i < end; i += most) {
    const int64_t n = std::min(most, end - i);
    char* data[Loop::kMaxOperands] = {block};
    for (int k = 1; k < l.operands; ++k) data[k] = l.data[k] + i * l.strides[0][k];
    row(context, data, l.strides[0], n);
    stream_copy(block, l.data[0] + i * item, static_cast<size_t>(n * item));
  }
}

}  // namespace

void for_many_rows(const Loop& l, Row row, void* context, int cost) {
  if (l.numel == 0) return;
  if (l.ndim == 1) {
    const bool streamed = is_streamed(l);
    // Whole cache lines of the widest type to each thread.
    parallel_for(0, (l.numel + 63) / 64, std::max<int64_t>(1, kElementwiseGrain / cost / 64),
                 [&](int64_t b, int64_t e) {
                   if (streamed) return run_streamed(l, row, context, b * 64, std::min(l.numel, e * 64));
                   char* data[Loop::kMaxOperands];
                   for (int k = 0; k < l.operands; ++k) data[k] = l.data[k] + b * 64 * l.strides[0][k];
                   row(context, data, l.strides[0], std::min(l.numel, e * 64) - b * 64);
                 });
    return;
  }
  const int64_t rows = l.numel / l.sizes[0];
  const int64_t per_row = std::max<int64_t>(1, l.sizes[0] * cost);
  parallel_for(0, rows, std::max<int64_t>(1, kElementwiseGrain / per_row),
               [&](int64_t b, int64_t e) { run_rows(l, row, context, b, e); });
}

void unsupported_dtype(ScalarType t) {
  throw TypeError(str("no kernel of this operator computes on ", t));
}

}  // namespace gradus::inline v0::kernels
