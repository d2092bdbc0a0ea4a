// Arithmetic on two operands.
#include <kernels/pointwise.h>

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_binary.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

// Integers wrap: the arithmetic is done unsigned, where that is defined.
template <class T>
inline T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(a + b);
  }
}
template <class T>
inline T wrapping_mul(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

void add_kernel(const Loop& l, const Scalar& alpha) {
  if (l.dtype == ScalarType::Bool) {
    const bool on = alpha.as_double() != 0;
    return binary<bool, bool, bool>(l, [on](bool a, bool b) { return a || (on && b); });
  }
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C scale = as<C>(alpha);
    if (scale == C(1)) {
      binary<T, T, T>(l, [](C a, C b) { return wrapping_add(a, b); });
    } else {
      binary<T, T, T>(l, [scale](C a, C b) { return wrapping_add(a, wrapping_mul(scale, b)); });
    }
  });
}

void mul_kernel(const Loop& l) {
  visit_all(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, T>(l, [](C a, C b) { return wrapping_mul(a, b); });
  });
}

// The squares of floats neither overflow nor underflow in double; doubles are brought near to 1 by powers of two first.
// Selections instead of branches, so that the compiler vectorises it. At most 1.25 ULP, for floats 0.51.
template <class C>
inline C length(C x, C y) {
  const C infinity = std::numeric_limits<C>::infinity();
  const C a = std::abs(x), b = std::abs(y);
  double scale = 1, back = 1;
  if constexpr (std::is_same_v<C, double>) {
    const double larger = a > b ? a : b;
    scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-500 ? 0x1p600 : 1;
    back = larger > 0x1p500 ? 0x1p600 : larger < 0x1p-500 ? 0x1p-600 : 1;
  }
  const double s = a * scale, t = b * scale;
  const C result = static_cast<C>(std::sqrt(s * s + t * t) * back);
  return a == infinity || b == infinity ? infinity : result;  // beside a NaN, too, as in C
}
void hypot_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, T>(
        l, [](C a, C b) { return length(a, b); }, 4);
  });
}

// NaN where either is: the comparison is false for a NaN b, and a NaN a is kept by the second test.
template <class T>
inline T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a != a || a > b ? a : b;
  return a > b ? a : b;
}
template <class T>
inline T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a != a || a < b ? a : b;
  return a < b ? a : b;
}

void maximum_kernel(const Loop& l) {
  visit_all(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, T>(l, [](C a, C b) { return larger(a, b); });
  });
}
void minimum_kernel(const Loop& l) {
  visit_all(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, T>(l, [](C a, C b) { return smaller(a, b); });
  });
}

// Bits are bits: only the width matters. A bool is one byte of 0 or 1.
template <class F>
void bitwise(const Loop& l, F f) {
  visit_width(element_size(l.dtype), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) binary<T, T, T>(l, f);
  });
}
void bitwise_and_kernel(const Loop& l) {
  bitwise(l, [](auto a, auto b) { return a & b; });
}
void bitwise_or_kernel(const Loop& l) {
  bitwise(l, [](auto a, auto b) { return a | b; });
}
void bitwise_xor_kernel(const Loop& l) {
  bitwise(l, [](auto a, auto b) { return a ^ b; });
}

void div_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, T>(l, [](C a, C b) { return a / b; });
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(add, ScaledTable)
GRADUS_CPU_KERNEL(mul, BinaryTable)
GRADUS_CPU_KERNEL(div, BinaryTable)
GRADUS_CPU_KERNEL(hypot, BinaryTable)
GRADUS_CPU_KERNEL(maximum, BinaryTable)
GRADUS_CPU_KERNEL(minimum, BinaryTable)
GRADUS_CPU_KERNEL(bitwise_and, BinaryTable)
GRADUS_CPU_KERNEL(bitwise_or, BinaryTable)
GRADUS_CPU_KERNEL(bitwise_xor, BinaryTable)
}  // namespace gradus::inline v0::kernels
#endif
