// Three operands, or one between bounds.
#include <kernels/pointwise.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_ternary.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

template <class T>
inline T as(const Scalar& s) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(s.as_double());
  } else {
    return static_cast<T>(s.as_int());
  }
}

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
#define GRADUS_EXPORT(name, shown, Table, parameters, arguments) \
  HWY_EXPORT(name##_kernel);                                     \
  constinit Table name{shown, [] parameters { HWY_DYNAMIC_DISPATCH(name##_kernel) arguments; }};
GRADUS_EXPORT(where, "where", UnaryTable, (const Loop& l), (l))
GRADUS_EXPORT(lerp, "lerp", UnaryTable, (const Loop& l), (l))
GRADUS_EXPORT(clamp, "clamp", UnaryTable, (const Loop& l), (l))
GRADUS_EXPORT(addcmul, "addcmul", ScaledTable, (const Loop& l, const Scalar& s), (l, s))
GRADUS_EXPORT(addcdiv, "addcdiv", ScaledTable, (const Loop& l, const Scalar& s), (l, s))
GRADUS_EXPORT(lerp_scalar, "lerp", ScaledTable, (const Loop& l, const Scalar& s), (l, s))
GRADUS_EXPORT(clamp_min_scalar, "clamp_min", ScaledTable, (const Loop& l, const Scalar& s), (l, s))
GRADUS_EXPORT(clamp_max_scalar, "clamp_max", ScaledTable, (const Loop& l, const Scalar& s), (l, s))
GRADUS_EXPORT(clamp_scalar, "clamp", TwoScalarTable, (const Loop& l, const Scalar& s, const Scalar& t), (l, s, t))
#undef GRADUS_EXPORT
}  // namespace gradus::inline v0::kernels
#endif
