#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_tile.cpp"
#include <kernels/cpu/simd.h>

#include <algorithm>

#include <kernels/cpu/gemm_tile.h>
#include <kernels/scratch.h>
#include <kernels/cpu/transpose-inl.h>

// The sums must live in registers, which -O2 alone does not see.
#ifndef GRADUS_UNROLL
#define GRADUS_UNROLL _Pragma("GCC unroll 8")
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// kRows x (kVectors full vectors, the last one masked where kMasked) of c. Scalars of `a` are broadcast, so its
/// strides do not matter.
template <int kRows, int kVectors, bool kMasked, class D, class T = hn::TFromD<D>>
HWY_INLINE void tile(D d, const TileProduct<T>& p, int64_t i, int64_t j, const T* b, int64_t b_row, size_t last) {
  const size_t lanes = hn::Lanes(d);
  const auto mask = hn::FirstN(d, last);
  hn::Vec<D> sum[kRows][kVectors];
  GRADUS_UNROLL
  for (int r = 0; r < kRows; ++r) {
    GRADUS_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const T* a = p.a + i * p.a_row;
  for (int64_t q = 0; q < p.k; ++q, a += p.a_column, b += b_row) {
    hn::Vec<D> row[kVectors];
    GRADUS_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      row[v] = kMasked && v + 1 == kVectors ? hn::MaskedLoad(mask, d, b + v * lanes) : hn::LoadU(d, b + v * lanes);
    }
    GRADUS_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, a[r * p.a_row]);
      GRADUS_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, row[v], sum[r][v]);
    }
  }
  const auto alpha = hn::Set(d, p.alpha), beta = hn::Set(d, p.beta);
  GRADUS_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const bool masked = kMasked && v + 1 == kVectors;
    const int64_t column = j + static_cast<int64_t>(v * lanes);
    auto load = [&](const T* from) HWY_ATTR { return masked ? hn::MaskedLoad(mask, d, from) : hn::LoadU(d, from); };
    const auto bias = p.bias ? load(p.bias + column) : hn::Zero(d);
    GRADUS_UNROLL
    for (int r = 0; r < kRows; ++r) {
      T* c = p.c + (i + r) * p.c_row + column;
      auto y = hn::MulAdd(alpha, sum[r][v], bias);
      if (p.beta != T(0)) y = hn::MulAdd(beta, load(c), y);
      if (masked) {
        hn::BlendedStore(y, mask, d, c);
      } else {
        hn::StoreU(y, d, c);
      }
    }
  }
}

template <int kVectors, bool kMasked, class D, class T = hn::TFromD<D>>
HWY_NOINLINE void columns(D d, const TileProduct<T>& p, int64_t j, const T* b, int64_t b_row, size_t last) {
  int64_t i = 0;
  for (; i + 8 <= p.m; i += 8) tile<8, kVectors, kMasked>(d, p, i, j, b, b_row, last);
  if (p.m & 4) tile<4, kVectors, kMasked>(d, p, i, j, b, b_row, last), i += 4;
  if (p.m & 2) tile<2, kVectors, kMasked>(d, p, i, j, b, b_row, last), i += 2;
  if (p.m & 1) tile<1, kVectors, kMasked>(d, p, i, j, b, b_row, last);
}

/// All columns, b's rows contiguous. What is left over after full vectors takes the narrowest vector that holds it.
template <class T>
void with_rows(const TileProduct<T>& p, const T* b, int64_t b_row) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 32 / sizeof(T)> d256;
  const hn::CappedTag<T, 16 / sizeof(T)> d128;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  // One row: bound by reading b, so 8 vectors of each of its rows at once.
  for (; p.m == 1 && j + 8 * lanes <= p.n; j += 8 * lanes) tile<1, 8, false>(d, p, 0, j, b + j, b_row, 0);
  for (; j + 2 * lanes <= p.n; j += 2 * lanes) columns<2, false>(d, p, j, b + j, b_row, 0);
  if (j + lanes <= p.n) columns<1, false>(d, p, j, b + j, b_row, 0), j += lanes;
  while (j < p.n) {
    const size_t left = static_cast<size_t>(p.n - j);
    if (left > hn::Lanes(d256)) {
      columns<1, true>(d, p, j, b + j, b_row, left), j = p.n;
    } else if (left == hn::Lanes(d256)) {
      columns<1, false>(d256, p, j, b + j, b_row, 0), j = p.n;
    } else if (left > hn::Lanes(d128)) {
      columns<1, true>(d256, p, j, b + j, b_row, left), j = p.n;
    } else if (left == hn::Lanes(d128)) {
      columns<1, false>(d128, p, j, b + j, b_row, 0), j = p.n;
    } else {
      columns<1, true>(d128, p, j, b + j, b_row, left), j = p.n;
    }
  }
}

/// to[q * to_row + j] = b(q, j).
template <class T>
void pack(const TileProduct<T>& p, T* to, int64_t to_row) {
  if (p.b_row == 1) return transpose_block(p.b, p.b_column, p.n, p.k, to, to_row);
  for (int64_t q = 0; q < p.k; ++q) {
    for (int64_t j = 0; j < p.n; ++j) to[q * to_row + j] = p.b[q * p.b_row + j * p.b_column];
  }
}

template <class T>
void product(const TileProduct<T>& p) {
  // Long sums in parts: they round less, and a part of b stays in the second-level cache.
  constexpr int64_t kPart = 1024;
  if (p.k > kPart + kPart / 2) {
    for (int64_t q = 0; q < p.k; q += kPart) {
      TileProduct<T> part = p;
      part.k = std::min(kPart, p.k - q);
      part.a += q * p.a_column, part.b += q * p.b_row;
      if (q > 0) part.beta = T(1), part.bias = nullptr;
      product(part);
    }
    return;
  }
  if (p.b_column == 1 || p.n == 1) return with_rows(p, p.b, p.b_row);
  constexpr int64_t kOnStack = 16384 / sizeof(T);
  if (p.k * p.n <= kOnStack) {
    HWY_ALIGN T packed[kOnStack];
    pack(p, packed, p.n);
    with_rows<T>(p, packed, p.n);
  } else {
    const ScratchArray<T> packed(static_cast<size_t>(p.k * p.n));
    pack(p, packed.data(), p.n);
    with_rows<T>(p, packed.data(), p.n);
  }
}
void product_f32(const TileProduct<float>& p) {
  product(p);
}
void product_f64(const TileProduct<double>& p) {
  product(p);
}

/// kRows dot products at once, so that x is loaded once for all; two sums per row hide the latency.
template <int kRows, class T>
HWY_INLINE void dots(const RowDots<T>& p, int64_t i) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<hn::ScalableTag<T>> sum[kRows][2];
  GRADUS_UNROLL
  for (int r = 0; r < kRows; ++r) sum[r][0] = sum[r][1] = hn::Zero(d);
  const T* rows = p.rows + i * p.row_stride;
  int64_t q = 0;
  for (; q + 2 * lanes <= p.k; q += 2 * lanes) {
    const auto x0 = hn::LoadU(d, p.x + q), x1 = hn::LoadU(d, p.x + q + lanes);
    GRADUS_UNROLL
    for (int r = 0; r < kRows; ++r) {
      sum[r][0] = hn::MulAdd(hn::LoadU(d, rows + r * p.row_stride + q), x0, sum[r][0]);
      sum[r][1] = hn::MulAdd(hn::LoadU(d, rows + r * p.row_stride + q + lanes), x1, sum[r][1]);
    }
  }
  for (; q < p.k; q += lanes) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(p.k - q));
    const auto x = hn::MaskedLoad(mask, d, p.x + q);
    GRADUS_UNROLL
    for (int r = 0; r < kRows; ++r) {
      sum[r][0] = hn::MulAdd(hn::MaskedLoad(mask, d, rows + r * p.row_stride + q), x, sum[r][0]);
    }
  }
  GRADUS_UNROLL
  for (int r = 0; r < kRows; ++r) {
    T y = p.alpha * hn::GetLane(hn::SumOfLanes(d, hn::Add(sum[r][0], sum[r][1])));
    T* c = p.c + (i + r) * p.c_stride;
    if (p.bias) y += p.bias[(i + r) * p.bias_stride];
    if (p.beta != T(0)) y += p.beta * *c;
    *c = y;
  }
}

template <class T>
void all_dots(const RowDots<T>& p) {
  int64_t i = 0;
  for (; i + 4 <= p.m; i += 4) dots<4>(p, i);
  for (; i < p.m; ++i) dots<1>(p, i);
}
void dots_f32(const RowDots<float>& p) {
  all_dots(p);
}
void dots_f64(const RowDots<double>& p) {
  all_dots(p);
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
HWY_EXPORT(product_f32);
HWY_EXPORT(product_f64);
HWY_EXPORT(dots_f32);
HWY_EXPORT(dots_f64);
void tile_product(const TileProduct<float>& p) {
  HWY_DYNAMIC_DISPATCH(product_f32)(p);
}
void tile_product(const TileProduct<double>& p) {
  HWY_DYNAMIC_DISPATCH(product_f64)(p);
}
void row_dots(const RowDots<float>& p) {
  HWY_DYNAMIC_DISPATCH(dots_f32)(p);
}
void row_dots(const RowDots<double>& p) {
  HWY_DYNAMIC_DISPATCH(dots_f64)(p);
}
}  // namespace gradus::inline v0::kernels
#endif
