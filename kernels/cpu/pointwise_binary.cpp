// Arithmetic on two operands.
#include <kernels/pointwise.h>

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
    C scale;
    if constexpr (std::is_floating_point_v<C>) {
      scale = static_cast<C>(alpha.as_double());
    } else {
      scale = static_cast<C>(alpha.as_int());
    }
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
HWY_EXPORT(add_kernel);
HWY_EXPORT(mul_kernel);
HWY_EXPORT(div_kernel);

constinit ScaledTable add{"add", [](const Loop& l, const Scalar& alpha) { HWY_DYNAMIC_DISPATCH(add_kernel)(l, alpha); }};
constinit BinaryTable mul{"mul", [](const Loop& l) { HWY_DYNAMIC_DISPATCH(mul_kernel)(l); }};
constinit BinaryTable div{"div", [](const Loop& l) { HWY_DYNAMIC_DISPATCH(div_kernel)(l); }};
}  // namespace gradus::inline v0::kernels
#endif
