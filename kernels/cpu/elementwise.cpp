// Walking a Loop row by row, on several threads where it pays.
#include <kernels/elementwise.h>

#include <algorithm>

#include <kernels/parallel.h>
#include <kernels/visit.h>

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

}  // namespace

void for_many_rows(const Loop& l, Row row, void* context, int cost) {
  if (l.numel == 0) return;
  if (l.ndim == 1) {
    // Whole cache lines of the widest type to each thread.
    parallel_for(0, (l.numel + 63) / 64, std::max<int64_t>(1, kElementwiseGrain / cost / 64),
                 [&](int64_t b, int64_t e) {
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
