// Three operands, or one between bounds.
#include <kernels/pointwise.h>

#include "kernels/bodies/ternary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_ternary.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

void where_kernel(const Loop& l) {
  visit_width(element_size(l.dtype), [&]<class T>() { ternary<T, bool, T, T>(l, bodies::Where()); });
}

void addcmul_kernel(const Loop& l, const Scalar& value) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    ternary<T, T, T, T>(l, bodies::AddProduct<C>{static_cast<bodies::Wrapping<C>>(as<C>(value))});
  });
}
void addcdiv_kernel(const Loop& l, const Scalar& value) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    ternary<T, T, T, T>(l, bodies::AddQuotient<C>{as<C>(value)});
  });
}

void lerp_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() { ternary<T, T, T, T>(l, bodies::Lerp()); });
}
void lerp_scalar_kernel(const Loop& l, const Scalar& weight) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, T>(l, bodies::LerpBy<C>{as<C>(weight)});
  });
}

void clamp_kernel(const Loop& l) {
  visit_numbers(l.dtype, [&]<class T>() { ternary<T, T, T, T>(l, bodies::Clamp()); });
}
void clamp_scalar_kernel(const Loop& l, const Scalar& low, const Scalar& high) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    unary<T, T>(l, bodies::ClampBetween<C>{as<C>(low), as<C>(high)});
  });
}
void clamp_min_scalar_kernel(const Loop& l, const Scalar& low) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    unary<T, T>(l, bodies::ClampFrom<C>{as<C>(low)});
  });
}
void clamp_max_scalar_kernel(const Loop& l, const Scalar& high) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    unary<T, T>(l, bodies::ClampTo<C>{as<C>(high)});
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
