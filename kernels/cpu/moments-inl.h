// Sums over runs of float or double, for the normalisations. Include after kernels/cpu/simd.h.
#if defined(GRADUS_KERNELS_CPU_MOMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_KERNELS_CPU_MOMENTS_INL_H_
#undef GRADUS_KERNELS_CPU_MOMENTS_INL_H_
#else
#define GRADUS_KERNELS_CPU_MOMENTS_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

/// Sum over i < n of f(d, i, mask) for vectors of lanes that `mask` allows, on four sums at once.
template <class W, class F>
HWY_INLINE W sum_vectors(int64_t n, const F& f) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<W> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto all = hn::FirstN(d, hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, f(d, i, all));
    s1 = hn::Add(s1, f(d, i + lanes, all));
    s2 = hn::Add(s2, f(d, i + 2 * lanes, all));
    s3 = hn::Add(s3, f(d, i + 3 * lanes, all));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, f(d, i, all));
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
    s1 = hn::Add(s1, hn::IfThenElseZero(mask, f(d, i, mask)));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

template <class W>
W sum(const W* x, int64_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  return sum_vectors<W>(n, [x](auto d, int64_t i, auto mask) HWY_ATTR { return hn::MaskedLoad(mask, d, x + i); });
}

/// Sum of (x - mean)^2.
template <class W>
W sum_of_squares(const W* x, int64_t n, W mean) {
  namespace hn = hwy::HWY_NAMESPACE;
  return sum_vectors<W>(n, [x, mean](auto d, int64_t i, auto mask) HWY_ATTR {
    const auto v = hn::Sub(hn::MaskedLoad(mask, d, x + i), hn::Set(d, mean));
    return hn::Mul(v, v);
  });
}

/// Sum of a (x - mean).
template <class W>
W sum_of_products(const W* a, const W* x, int64_t n, W mean) {
  namespace hn = hwy::HWY_NAMESPACE;
  return sum_vectors<W>(n, [a, x, mean](auto d, int64_t i, auto mask) HWY_ATTR {
    return hn::Mul(hn::MaskedLoad(mask, d, a + i), hn::Sub(hn::MaskedLoad(mask, d, x + i), hn::Set(d, mean)));
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
