// Mathematical functions of one operand, on vectors (math-inl.h).
#include <kernels/pointwise.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_math.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

#define GRADUS_VECTOR_KERNEL(name, cost, expression)                                                 \
  void name##_kernel(const Loop& l) {                                                                \
    visit_floating(l.dtype, [&]<class T>() {                                                         \
      unary_vector<T>(l, [](auto d, auto x) HWY_ATTR { return expression; }, cost);                  \
    });                                                                                              \
  }
GRADUS_VECTOR_KERNEL(exp, 4, math::exp(d, x))
GRADUS_VECTOR_KERNEL(log, 4, math::log(d, x))
GRADUS_VECTOR_KERNEL(tanh, 6, math::tanh(d, x))
GRADUS_VECTOR_KERNEL(sigmoid, 6, math::sigmoid(d, x))
GRADUS_VECTOR_KERNEL(sqrt, 2, ((void)d, hn::Sqrt(x)))
#undef GRADUS_VECTOR_KERNEL

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
#define GRADUS_EXPORT_UNARY(name) \
  HWY_EXPORT(name##_kernel);      \
  constinit UnaryTable name{#name, [](const Loop& l) { HWY_DYNAMIC_DISPATCH(name##_kernel)(l); }};
GRADUS_EXPORT_UNARY(exp)
GRADUS_EXPORT_UNARY(log)
GRADUS_EXPORT_UNARY(tanh)
GRADUS_EXPORT_UNARY(sigmoid)
GRADUS_EXPORT_UNARY(sqrt)
#undef GRADUS_EXPORT_UNARY
}  // namespace gradus::inline v0::kernels
#endif
