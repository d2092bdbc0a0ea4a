// A Loop cut into what one launch walks with 32-bit arithmetic, and how device code finds its way in it.
#pragma once

#include <bit>
#include <cstdint>

#include <kernels/elementwise.h>

#include "kernels/cuda/device.h"

namespace gradus::inline v0::kernels::cuda {

/// Division of n < 2^31 by 1 <= d < 2^31, known before the launch: a multiplication, an addition and a shift (Granlund
/// and Montgomery, "Division by invariant integers using multiplication", 1994).
struct Divisor {
  uint32_t divisor = 1, factor = 1, shift = 0;
  Divisor() = default;
  explicit Divisor(uint32_t d) : divisor(d), shift(static_cast<uint32_t>(std::bit_width(d - 1))) {
    factor = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - d)) / d + 1);
  }
  __device__ uint32_t quotient(uint32_t n) const { return (__umulhi(n, factor) + n) >> shift; }
};

/// Dimensions that a kernel's arguments hold; a Loop of more is cut.
constexpr int kMaxKernelDims = 12;

/// A walk in units: `unit` neighbours along dimension 0, less at a row's end.
struct Walk {
  int ndim;
  uint8_t in_packs;  // bit k: operand k's whole units may be accessed as packs
  // Blocks that keep to one row of dimension 0 divide once for all of their threads; others number all rows' units.
  bool by_row;
  Divisor blocks_per_row;
  uint32_t units;                                       // of a row, or of all rows
  uint32_t row;                                         // elements of a row
  Divisor sizes[kMaxKernelDims];                        // that of dimension 0 in units
  int32_t strides[kMaxKernelDims][Loop::kMaxOperands];  // in bytes, for dimension 0 from unit to unit
  int32_t steps[Loop::kMaxOperands];                    // from one element of a unit to the next
};

/// Where N units of K operands lie.
template <int K, int N>
struct Units {
  // In bytes from the operands' first elements: signed numbers in arithmetic that wraps, since that of threads beyond
  // the end may.
  uint32_t at[K][N];
  int32_t count[N];  // elements; none or less beyond the end
};

/// Finds the units that a thread computes: N of them, a block's width apart.
template <int K, int N>
__device__ inline Units<K, N> find_units(const Walk& w, int unit) {
  uint32_t block = blockIdx.x;
  uint32_t row_at[K] = {};
  if (w.by_row) {
    uint32_t rest = w.blocks_per_row.quotient(block);
    block -= rest * w.blocks_per_row.divisor;
#pragma unroll 1
    for (int d = 1; d < w.ndim; ++d) {
      const uint32_t outer = w.sizes[d].quotient(rest), within = rest - outer * w.sizes[d].divisor;
#pragma unroll
      for (int k = 0; k < K; ++k) row_at[k] += within * static_cast<uint32_t>(w.strides[d][k]);
      rest = outer;
    }
  }
  Units<K, N> r;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    uint32_t index = (block * N + i) * blockDim.x + threadIdx.x;
    const bool exists = index < w.units;
    uint32_t within = index;
    if (!w.by_row) {
      index = w.sizes[0].quotient(index);
      within -= index * w.sizes[0].divisor;
    }
    r.count[i] = exists ? static_cast<int32_t>(w.row) - static_cast<int32_t>(within) * unit : 0;
#pragma unroll
    for (int k = 0; k < K; ++k) r.at[k][i] = row_at[k] + within * static_cast<uint32_t>(w.strides[0][k]);
    if (w.by_row) continue;
#pragma unroll 1
    for (int d = 1; d < w.ndim; ++d) {
      const uint32_t outer = w.sizes[d].quotient(index), inside = index - outer * w.sizes[d].divisor;
#pragma unroll
      for (int k = 0; k < K; ++k) r.at[k][i] += inside * static_cast<uint32_t>(w.strides[d][k]);
      index = outer;
    }
  }
  return r;
}

/// The loop with one number in the host's memory as operand k, which may be a new one.
Loop with_number(const Loop& l, int k, const void* number);

/// Calls `part` with loops that make up `l`: of at most kMaxKernelDims dimensions, neighbours merged, sorted by the
/// output's strides, none of one element (but a loop of a single element), with fewer than 2^31 elements and all bytes
/// of an operand within 2^31 of its first.
void for_parts(const Loop& l, void (*part)(void* context, const Loop& l), void* context);

/// Sizes of operands' elements.
struct ItemSizes {
  int of[Loop::kMaxOperands];
};
/// One dimension along which each operand is dense, or a number that stays (not the output); what is dense begins at a
/// multiple of `pack` elements.
bool is_dense(const Loop& l, const ItemSizes& items, int pack);
/// How blocks of `threads`, each of which takes `units` units of `unit` elements, walk a part. `blocks` receives their
/// number.
Walk make_walk(const Loop& part, const ItemSizes& items, int unit, int units, int threads, unsigned* blocks);

}  // namespace gradus::inline v0::kernels::cuda
