// The elementwise engine's host side: Loops are cut and walks chosen.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kernels/cuda/elementwise.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

// Elements and bytes of a part: room is left for the numbers of threads beyond the end.
constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - (1 << 20);

int64_t magnitude(int64_t v) {
  return v < 0 ? -v : v;
}

void copy_dimension(Loop& to, int at, const Loop& from, int d) {
  to.sizes[at] = from.sizes[d];
  std::copy_n(from.strides[d], from.operands, to.strides[at]);
}

// A Loop is long and mostly unused.
Loop copy_used(const Loop& l) {
  Loop r;
  r.ndim = l.ndim;
  r.operands = l.operands;
  r.contiguous = l.contiguous;
  r.dtype = l.dtype;
  r.out_dtype = l.out_dtype;
  r.on_host = l.on_host;
  r.numel = l.numel;
  std::copy_n(l.data, l.operands, r.data);
  for (int d = 0; d < l.ndim; ++d) copy_dimension(r, d, l, d);
  return r;
}

void drop_dimension(Loop& l, int d) {
  --l.ndim;
  for (; d < l.ndim; ++d) copy_dimension(l, d, l, d + 1);
}

// Do all operands walk dimensions d and d + 1 as one?
bool is_one(const Loop& l, int d) {
  for (int k = 0; k < l.operands; ++k) {
    if (l.strides[d + 1][k] != l.strides[d][k] * l.sizes[d]) return false;
  }
  return true;
}

bool is_outside(const Loop& l, int a, int b) {
  return magnitude(l.strides[a][0]) > magnitude(l.strides[b][0]);
}

bool is_simple(const Loop& l) {
  for (int d = 0; d + 1 < l.ndim; ++d) {
    if (l.sizes[d + 1] == 1 || is_outside(l, d, d + 1) || is_one(l, d)) return false;
  }
  return l.ndim == 1 || l.sizes[0] != 1;
}

// Callers merge what they know of; flipped dimensions and cuts leave more.
void simplify(Loop& l) {
  for (int d = l.ndim; d-- > 0;) {
    if (l.sizes[d] == 1 && l.ndim > 1) drop_dimension(l, d);
  }
  for (int i = 1; i < l.ndim; ++i) {
    for (int j = i; j > 0 && is_outside(l, j - 1, j); --j) {
      std::swap(l.sizes[j], l.sizes[j - 1]);
      std::swap_ranges(l.strides[j], l.strides[j] + l.operands, l.strides[j - 1]);
    }
  }
  for (int d = l.ndim - 2; d >= 0; --d) {
    if (!is_one(l, d)) continue;
    l.sizes[d] *= l.sizes[d + 1];
    drop_dimension(l, d + 1);
  }
}

// The longest way along dimension `d` that an operand has, in bytes.
int64_t reach(const Loop& l, int d) {
  int64_t most = l.sizes[d];
  for (int k = 0; k < l.operands; ++k) most = std::max(most, l.sizes[d] * magnitude(l.strides[d][k]));
  return most;
}

bool is_small(const Loop& l) {
  if (l.numel > kMost) return false;
  for (int k = 0; k < l.operands; ++k) {
    int64_t bytes = 16;  // of the last element, at most
    for (int d = 0; d < l.ndim; ++d) {
      bytes += (l.sizes[d] - 1) * magnitude(l.strides[d][k]);
      if (bytes > kMost) return false;
    }
  }
  return true;
}

Loop slice(const Loop& l, int d, int64_t from, int64_t to) {
  Loop r = copy_used(l);
  r.numel = l.numel / l.sizes[d] * (to - from);
  r.sizes[d] = to - from;
  for (int k = 0; k < l.operands; ++k) r.data[k] += from * l.strides[d][k];
  return r;
}

using Part = void (*)(void* context, const Loop& l);

void cut(const Loop& l, Part part, void* context) {
  if (!is_simple(l)) {
    Loop simple = copy_used(l);
    simplify(simple);
    cut(simple, part, context);
  } else if (!is_small(l)) {
    int longest = 0;
    for (int d = 1; d < l.ndim; ++d) {
      if (reach(l, d) >= reach(l, longest)) longest = d;
    }
    // The second half begins at a multiple of 64 elements where there are that many: as aligned as the first.
    const int64_t half = l.sizes[longest] / 2, middle = half >= 64 ? half / 64 * 64 : half;
    cut(slice(l, longest, 0, middle), part, context);
    cut(slice(l, longest, middle, l.sizes[longest]), part, context);
  } else if (l.ndim > kMaxKernelDims) {
    // One launch for each index of the shortest dimension.
    const int shortest = static_cast<int>(std::min_element(l.sizes, l.sizes + l.ndim) - l.sizes);
    for (int64_t i = 0; i < l.sizes[shortest]; ++i) cut(slice(l, shortest, i, i + 1), part, context);
  } else {
    part(context, l);
  }
}

bool is_aligned(const char* p, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(bytes) == 0;
}

// Dense along dimension 0, and each of its rows aligned.
bool has_packs(const Loop& l, int k, int64_t item, int pack) {
  if (l.strides[0][k] != item || !is_aligned(l.data[k], item * pack)) return false;
  for (int d = 1; d < l.ndim; ++d) {
    if (l.strides[d][k] % (item * pack) != 0) return false;
  }
  return true;
}

}  // namespace

Loop with_number(const Loop& l, int k, const void* number) {
  Loop r = copy_used(l);
  r.operands = std::max(r.operands, k + 1);
  r.on_host |= static_cast<uint8_t>(1 << k);
  // Only read, as every operand but the first.
  r.data[k] = static_cast<char*>(const_cast<void*>(number));
  for (int d = 0; d < l.ndim; ++d) r.strides[d][k] = 0;
  return r;
}

void for_parts(const Loop& l, void (*part)(void* context, const Loop& l), void* context) {
  if (l.numel != 0) cut(l, part, context);
}

bool is_dense(const Loop& l, const ItemSizes& items, int pack) {
  if (l.ndim != 1) return false;
  for (int k = 0; k < l.operands; ++k) {
    if (!has_packs(l, k, items.of[k], pack) && !(k > 0 && l.strides[0][k] == 0)) return false;
  }
  return true;
}

Walk make_walk(const Loop& l, const ItemSizes& items, int unit, int units, int threads, unsigned* blocks) {
  Walk w;
  w.ndim = l.ndim;
  w.in_packs = 0;
  const int64_t per_row = (l.sizes[0] + unit - 1) / unit, per_block = int64_t{threads} * units;
  const int64_t row_blocks = (per_row + per_block - 1) / per_block, rows = l.numel / l.sizes[0];
  // Blocks that keep to a row leave threads idle at its end: up to a tenth of them pays for the divisions.
  w.by_row = l.ndim == 1 || per_row * 10 >= row_blocks * per_block * 9;
  w.blocks_per_row = Divisor(static_cast<uint32_t>(row_blocks));
  w.units = static_cast<uint32_t>(w.by_row ? per_row : per_row * rows);
  w.row = static_cast<uint32_t>(l.sizes[0]);
  *blocks = static_cast<unsigned>(w.by_row ? row_blocks * rows : (per_row * rows + per_block - 1) / per_block);
  for (int d = 0; d < l.ndim; ++d) {
    w.sizes[d] = Divisor(static_cast<uint32_t>(d == 0 ? per_row : l.sizes[d]));
    for (int k = 0; k < l.operands; ++k)
      w.strides[d][k] = static_cast<int32_t>(d == 0 ? l.strides[0][k] * unit : l.strides[d][k]);
  }
  for (int k = 0; k < l.operands; ++k) {
    w.steps[k] = static_cast<int32_t>(l.strides[0][k]);
    if (has_packs(l, k, items.of[k], unit)) w.in_packs |= static_cast<uint8_t>(1 << k);
  }
  return w;
}

}  // namespace gradus::inline v0::kernels::cuda
