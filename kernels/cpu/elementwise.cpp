// Walking a Loop row by row, on several threads where it pays.
#include <kernels/elementwise.h>

#include <algorithm>

#include <kernels/parallel.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels {

namespace {

// About 16 us of plain arithmetic: below it a thread's start costs more than it saves.
constexpr int64_t kGrain = 32768;

// Rows [begin, end) of all rows.
void run_rows(const Loop& l, Row row, void* context, int64_t begin, int64_t end) {
  char* data[Loop::kMaxOperands];
  int64_t index[Loop::kMaxDims];
  int64_t rest = begin;
  for (int d = 1; d < l.ndim; ++d) {
    index[d] = rest % l.sizes[d];
    rest /= l.sizes[d];
  }
  int64_t inner[Loop::kMaxOperands];
  for (int k = 0; k < l.operands; ++k) {
    data[k] = l.data[k];
    for (int d = 1; d < l.ndim; ++d) data[k] += index[d] * l.strides[k][d];
    inner[k] = l.strides[k][0];
  }
  for (int64_t r = begin;;) {
    row(context, data, inner, l.sizes[0]);
    if (++r >= end) return;
    for (int d = 1; d < l.ndim; ++d) {
      for (int k = 0; k < l.operands; ++k) data[k] += l.strides[k][d];
      if (++index[d] < l.sizes[d]) break;
      for (int k = 0; k < l.operands; ++k) data[k] -= l.strides[k][d] * l.sizes[d];
      index[d] = 0;
    }
  }
}

}  // namespace

void for_rows(const Loop& l, Row row, void* context, int cost) {
  if (l.numel == 0) return;
  if (l.ndim == 1) {
    int64_t inner[Loop::kMaxOperands];
    for (int k = 0; k < l.operands; ++k) inner[k] = l.strides[k][0];
    if (l.numel * cost <= kGrain) {
      row(context, l.data, inner, l.numel);
      return;
    }
    // Whole cache lines of the widest type to each thread.
    parallel_for(0, (l.numel + 63) / 64, std::max<int64_t>(1, kGrain / cost / 64), [&](int64_t b, int64_t e) {
      char* data[Loop::kMaxOperands];
      for (int k = 0; k < l.operands; ++k) data[k] = l.data[k] + b * 64 * inner[k];
      row(context, data, inner, std::min(l.numel, e * 64) - b * 64);
    });
    return;
  }
  const int64_t rows = l.numel / l.sizes[0];
  const int64_t per_row = std::max<int64_t>(1, l.sizes[0] * cost);
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / per_row),
               [&](int64_t b, int64_t e) { run_rows(l, row, context, b, e); });
}

void unsupported_dtype(ScalarType t) {
  throw TypeError(str("no kernel of this operator computes on ", t));
}

}  // namespace gradus::inline v0::kernels
