// Sums, means, products.
#include <kernels/reduction.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduction_sum.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/reduction-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

// Integers and bool are gathered in int64, which wraps.
template <class T>
using SumOf = std::conditional_t<std::is_integral_v<Compute<T>>, int64_t, Compute<T>>;

template <class T>
struct Sum {
  using Acc = SumOf<T>;
  static constexpr bool kVector = std::is_floating_point_v<Acc>;
  Acc identity() const { return 0; }
  Acc map(Compute<T> x, Acc) const { return static_cast<Acc>(x); }
  Acc combine(Acc a, Acc b) const {
    if constexpr (kVector) return a + b;
    return static_cast<Acc>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  Acc finish(Acc a) const { return a; }
  template <class D, class V>
  HWY_INLINE V map(D, V x, V) const {
    return x;
  }
  template <class D, class V>
  HWY_INLINE V combine(D, V a, V b) const {
    return hn::Add(a, b);
  }
};

template <class T>
struct Mean : Sum<T> {
  using Acc = typename Sum<T>::Acc;
  explicit Mean(int64_t n) : count(static_cast<Acc>(n)) {}
  Acc finish(Acc a) const { return a / count; }
  Acc count;
};

template <class T>
struct Product : Sum<T> {
  using Acc = typename Sum<T>::Acc;
  Acc identity() const { return 1; }
  Acc combine(Acc a, Acc b) const {
    if constexpr (Sum<T>::kVector) return a * b;
    return static_cast<Acc>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  template <class D, class V>
  HWY_INLINE V combine(D, V a, V b) const {
    return hn::Mul(a, b);
  }
};

template <class T>
using ResultOf = std::conditional_t<std::is_integral_v<Compute<T>>, int64_t, T>;

void sum_kernel(const Reduction& r) {
  visit_all(r.dtype, [&]<class T>() { reduce<T, ResultOf<T>>(r, Sum<T>()); });
}
void mean_kernel(const Reduction& r) {
  visit_floating(r.dtype, [&]<class T>() { reduce<T, T>(r, Mean<T>(r.length)); });
}
void prod_kernel(const Reduction& r) {
  visit_all(r.dtype, [&]<class T>() { reduce<T, ResultOf<T>>(r, Product<T>()); });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(sum, ReductionTable)
GRADUS_CPU_KERNEL(mean, ReductionTable)
GRADUS_CPU_KERNEL(prod, ReductionTable)
}  // namespace gradus::inline v0::kernels
#endif
