// Norms and variances.
#include <kernels/reduction.h>

#include <cmath>
#include <limits>

// Rows longer than the cache wait for memory, short ones for the combination of lanes: vectors of 512 bits would gain
// little, and be a third of the code.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduction_norm.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/reduction-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

template <class T>
struct Added {
  using Acc = Compute<T>;
  static constexpr bool kVector = true;
  Acc identity() const { return 0; }
  Acc combine(Acc a, Acc b) const { return a + b; }
  Acc finish(Acc a) const { return a; }
  template <class D, class V>
  HWY_INLINE V combine(D, V a, V b) const {
    return hn::Add(a, b);
  }
};

template <class T>
struct Total : Added<T> {
  using Acc = Compute<T>;
  explicit Total(int64_t n) : count(static_cast<Acc>(n)) {}
  Acc map(Acc x, Acc) const { return x; }
  template <class D, class V>
  HWY_INLINE V map(D, V x, V) const {
    return x;
  }
  Acc finish(Acc a) const { return a / count; }
  Acc count;
};

// Squares around the mean; `divisor` 0 or less gives infinity or NaN, as 0 / 0 does.
template <class T>
struct Spread : Added<T> {
  using Acc = Compute<T>;
  Spread(double d, bool r) : divisor(static_cast<Acc>(d > 0 ? d : 0)), root(r) {}
  Acc map(Acc x, Acc c) const { return (x - c) * (x - c); }
  template <class D, class V>
  HWY_INLINE V map(D, V x, V c) const {
    const auto y = hn::Sub(x, c);
    return hn::Mul(y, y);
  }
  Acc finish(Acc a) const { return root ? std::sqrt(a / divisor) : a / divisor; }
  Acc divisor;
  bool root;
};

void var_kernel(const Reduction& r, double correction, bool root) {
  // Nothing has no spread, whatever the correction: 0 / 0.
  const double divisor = r.length == 0 ? 0 : static_cast<double>(r.length) - correction;
  visit_floating(r.dtype, [&]<class T>() {
    using Acc = Compute<T>;
    ScratchArray<Acc> means(static_cast<size_t>(r.outputs));
    // The means in the order in which results are counted: kept dimension 0 fastest.
    Reduction first = r;
    first.out = reinterpret_cast<char*>(means.data());
    int64_t stride = 1;
    for (int d = 0; d < r.kept; ++d) {
      first.out_strides[d] = stride;
      stride *= r.kept_sizes[d];
    }
    reduce<T, Acc>(first, Total<T>(r.length));
    reduce<T, T>(r, Spread<T>(divisor, root), means.data());
  });
}

template <class T>
struct SumOfMagnitudes : Added<T> {
  using Acc = Compute<T>;
  Acc map(Acc x, Acc) const { return std::abs(x); }
  template <class D, class V>
  HWY_INLINE V map(D, V x, V) const {
    return hn::Abs(x);
  }
};
template <class T>
struct RootOfSquares : Added<T> {
  using Acc = Compute<T>;
  Acc map(Acc x, Acc) const { return x * x; }
  template <class D, class V>
  HWY_INLINE V map(D, V x, V) const {
    return hn::Mul(x, x);
  }
  Acc finish(Acc a) const { return std::sqrt(a); }
};
template <class T>
struct NonZeros : Added<T> {
  using Acc = Compute<T>;
  static constexpr bool kVector = false;
  Acc map(Acc x, Acc) const { return x != 0; }
};
template <class T>
struct PowerSum : Added<T> {
  using Acc = Compute<T>;
  static constexpr bool kVector = false;
  explicit PowerSum(double p) : power(static_cast<Acc>(p)), root(static_cast<Acc>(1 / p)) {}
  Acc map(Acc x, Acc) const { return std::pow(std::abs(x), power); }
  Acc finish(Acc a) const { return std::pow(a, root); }
  Acc power, root;
};
template <class T, bool kLargest>
struct ExtremeMagnitude {
  using Acc = Compute<T>;
  static constexpr bool kVector = true;
  Acc identity() const { return kLargest ? 0 : std::numeric_limits<Acc>::infinity(); }
  Acc map(Acc x, Acc) const { return std::abs(x); }
  Acc combine(Acc a, Acc b) const { return (kLargest ? b > a : b < a) || b != b ? b : a; }
  Acc finish(Acc a) const { return a; }
  template <class D, class V>
  HWY_INLINE V map(D, V x, V) const {
    return hn::Abs(x);
  }
  template <class D, class V>
  HWY_INLINE V combine(D, V a, V b) const {
    const auto better = kLargest ? hn::Lt(a, b) : hn::Lt(b, a);
    return hn::IfThenElse(hn::Or(better, hn::IsNaN(b)), b, a);
  }
};

void norm_kernel(const Reduction& r, double order) {
  visit_floating(r.dtype, [&]<class T>() {
    if (order == 2) {
      reduce<T, T>(r, RootOfSquares<T>());
    } else if (order == 1) {
      reduce<T, T>(r, SumOfMagnitudes<T>());
    } else if (order == 0) {
      reduce<T, T>(r, NonZeros<T>());
    } else if (order == std::numeric_limits<double>::infinity()) {
      reduce<T, T>(r, ExtremeMagnitude<T, true>());
    } else if (order == -std::numeric_limits<double>::infinity()) {
      reduce<T, T>(r, ExtremeMagnitude<T, false>());
    } else {
      reduce<T, T>(r, PowerSum<T>(order));
    }
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
HWY_EXPORT(var_kernel);
HWY_EXPORT(norm_kernel);
constinit KernelTable<void(const Reduction&, double, bool)> var{"var",
                                                                [](const Reduction& r, double correction, bool root) {
                                                                  HWY_DYNAMIC_DISPATCH(var_kernel)(r, correction, root);
                                                                }};
constinit KernelTable<void(const Reduction&, double)> norm{"norm", [](const Reduction& r, double order) {
                                                             HWY_DYNAMIC_DISPATCH(norm_kernel)(r, order);
                                                           }};
}  // namespace gradus::inline v0::kernels
#endif
