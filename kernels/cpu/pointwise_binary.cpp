// Arithmetic on two operands.
#include <kernels/pointwise.h>

#include "kernels/bodies/binary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_binary.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

void add_kernel(const Loop& l, const Scalar& alpha) {
  if (l.dtype == ScalarType::Bool) {
    return binary<bool, bool, bool>(l, bodies::OrScaled{alpha.as_double() != 0});
  }
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C scale = as<C>(alpha);
    if (scale == C(1)) {
      binary<T, T, T>(l, bodies::Add());
    } else {
      binary<T, T, T>(l, bodies::AddScaled<C>{scale});
    }
  });
}

void mul_kernel(const Loop& l) {
  visit_all(l.dtype, [&]<class T>() { binary<T, T, T>(l, bodies::Multiply()); });
}

void hypot_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() { binary<T, T, T>(l, bodies::Hypotenuse(), 4); });
}
void maximum_kernel(const Loop& l) {
  visit_all(l.dtype, [&]<class T>() { binary<T, T, T>(l, bodies::Larger()); });
}
void minimum_kernel(const Loop& l) {
  visit_all(l.dtype, [&]<class T>() { binary<T, T, T>(l, bodies::Smaller()); });
}

// Bits are bits: only the width matters. A bool is one byte of 0 or 1.
template <class F>
void bitwise(const Loop& l, F f) {
  visit_width(element_size(l.dtype), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) binary<T, T, T>(l, f);
  });
}
void bitwise_and_kernel(const Loop& l) {
  bitwise(l, bodies::BitAnd());
}
void bitwise_or_kernel(const Loop& l) {
  bitwise(l, bodies::BitOr());
}
void bitwise_xor_kernel(const Loop& l) {
  bitwise(l, bodies::BitXor());
}

void div_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() { binary<T, T, T>(l, bodies::Divide()); });
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
