// Three operands, or one between bounds.
#include <kernels/pointwise.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_ternary.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

void where_kernel(const Loop& l) {
  visit_width(element_size(l.dtype),
              [&]<class T>() { ternary<T, bool, T, T>(l, [](bool c, T a, T b) { return c ? a : b; }); });
}

// Signed overflow wraps: integers are computed unsigned.
template <class T>
using Wrapping = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;

void addcmul_kernel(const Loop& l, const Scalar& value) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    using W = Wrapping<C>;
    const W v = static_cast<W>(as<C>(value));
    ternary<T, T, T, T>(l, [v](C a, C b, C c) {
      return static_cast<C>(static_cast<W>(a) + v * static_cast<W>(b) * static_cast<W>(c));
    });
  });
}
void addcdiv_kernel(const Loop& l, const Scalar& value) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C v = as<C>(value);
    ternary<T, T, T, T>(l, [v](C a, C b, C c) { return a + v * b / c; });
  });
}

// From the nearer end, so that weight 1 gives b exactly.
template <class T>
inline T between(T a, T b, T weight) {
  return (weight < 0 ? -weight : weight) < T(0.5) ? a + weight * (b - a) : b - (b - a) * (1 - weight);
}
void lerp_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    ternary<T, T, T, T>(l, [](C a, C b, C w) { return between(a, b, w); });
  });
}
void lerp_scalar_kernel(const Loop& l, const Scalar& weight) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C w = as<C>(weight);
    binary<T, T, T>(l, [w](C a, C b) { return between(a, b, w); });
  });
}

// A NaN among bound and value wins. Without ||, whose branch the vectoriser would not take.
template <class T>
inline T at_least(T a, T low) {
  const bool keep = std::is_floating_point_v<T> ? (a != a) | (low < a) : low < a;
  return keep ? a : low;
}
template <class T>
inline T at_most(T a, T high) {
  const bool keep = std::is_floating_point_v<T> ? (a != a) | (a < high) : a < high;
  return keep ? a : high;
}
void clamp_kernel(const Loop& l) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    ternary<T, T, T, T>(l, [](C a, C low, C high) { return at_most(at_least(a, low), high); });
  });
}
void clamp_scalar_kernel(const Loop& l, const Scalar& low, const Scalar& high) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C from = as<C>(low), to = as<C>(high);
    unary<T, T>(l, [from, to](C a) { return at_most(at_least(a, from), to); });
  });
}
void clamp_min_scalar_kernel(const Loop& l, const Scalar& low) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C from = as<C>(low);
    unary<T, T>(l, [from](C a) { return at_least(a, from); });
  });
}
void clamp_max_scalar_kernel(const Loop& l, const Scalar& high) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C to = as<C>(high);
    unary<T, T>(l, [to](C a) { return at_most(a, to); });
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(where, UnaryTable)
GRADUS_CPU_KERNEL(lerp, UnaryTable)
GRADUS_CPU_KERNEL(clamp, UnaryTable)
GRADUS_CPU_KERNEL(addcmul, ScaledTable)
GRADUS_CPU_KERNEL(addcdiv, ScaledTable)
GRADUS_CPU_KERNEL_AS(lerp_scalar, ScaledTable, "lerp")
GRADUS_CPU_KERNEL_AS(clamp_min_scalar, ScaledTable, "clamp_min")
GRADUS_CPU_KERNEL_AS(clamp_max_scalar, ScaledTable, "clamp_max")
GRADUS_CPU_KERNEL_AS(clamp_scalar, TwoScalarTable, "clamp")
}  // namespace gradus::inline v0::kernels
#endif
