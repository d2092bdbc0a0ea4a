// Transposing a strip of f32 rows in registers. Include after kernels/cpu/simd.h.
#if defined(GRADUS_KERNELS_CPU_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_KERNELS_CPU_TRANSPOSE_INL_H_
#undef GRADUS_KERNELS_CPU_TRANSPOSE_INL_H_
#else
#define GRADUS_KERNELS_CPU_TRANSPOSE_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
/// Block i (128 bits) of the result comes from from + i * step.
template <class D, class T = hwy::HWY_NAMESPACE::TFromD<D>>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_blocks(D d, const T* from, int64_t step) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (hn::MaxLanes(D()) * sizeof(T) == 16) {
    (void)step;
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const int64_t blocks = static_cast<int64_t>(hn::MaxLanes(half) * sizeof(T) / 16);
    return hn::Combine(d, load_blocks(half, from + blocks * step, step), load_blocks(half, from, step));
  }
}

/// to[q * to_row + j] = from[j * step + q] for one vector of j and all q < k.
template <class D>
HWY_INLINE void transpose_strip(D d, const float* from, int64_t step, int64_t k, float* to, int64_t to_row) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Repartition<double, D> dd;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t q = 0;
  for (; q + 4 <= k; q += 4) {
    const auto r0 = load_blocks(d, from + q, 4 * step), r1 = load_blocks(d, from + step + q, 4 * step);
    const auto r2 = load_blocks(d, from + 2 * step + q, 4 * step), r3 = load_blocks(d, from + 3 * step + q, 4 * step);
    const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
    const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
    const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
    const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
    float* out = to + q * to_row;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, low01, low23)), d, out);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, low01, low23)), d, out + to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, high01, high23)), d, out + 2 * to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, high01, high23)), d, out + 3 * to_row);
  }
  for (; q < k; ++q) {
    for (int64_t j = 0; j < lanes; ++j) to[q * to_row + j] = from[j * step + q];
  }
}
#endif

/// to[q * to_row + j] = from[j * step + q] for j < n, q < k.
template <class T>
HWY_INLINE void transpose_block(const T* from, int64_t step, int64_t n, int64_t k, T* to, int64_t to_row) {
  int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    const hwy::HWY_NAMESPACE::ScalableTag<float> d;
    const hwy::HWY_NAMESPACE::CappedTag<float, 4> d128;
    const int64_t lanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(d));
    for (; j + lanes <= n; j += lanes) transpose_strip(d, from + j * step, step, k, to + j, to_row);
    for (; j + 4 <= n; j += 4) transpose_strip(d128, from + j * step, step, k, to + j, to_row);
  }
#endif
  // Eight columns at a time, so that what is read of a cache line is used while it is there.
  for (; j < n; j += 8) {
    const int64_t end = j + 8 < n ? j + 8 : n;
    for (int64_t q = 0; q < k; ++q) {
      for (int64_t i = j; i < end; ++i) to[q * to_row + i] = from[i * step + q];
    }
  }
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
