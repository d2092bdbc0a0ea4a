// Mathematical functions of one operand, on vectors (math-inl.h).
#include <kernels/pointwise.h>

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_math.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

#define GRADUS_VECTOR_KERNEL(name, cost, expression)                    \
  void name##_kernel(const Loop& l) {                                   \
    visit_floating(l.dtype, [&]<class T>() {                            \
      unary_vector<T>(                                                  \
          l, [](auto d, auto x) HWY_ATTR { return expression; }, cost); \
    });                                                                 \
  }
GRADUS_VECTOR_KERNEL(exp, 4, math::exp(d, x))
GRADUS_VECTOR_KERNEL(exp2, 4, math::exp2(d, x))
GRADUS_VECTOR_KERNEL(expm1, 4, math::expm1(d, x))
GRADUS_VECTOR_KERNEL(log, 4, math::log(d, x))
GRADUS_VECTOR_KERNEL(log2, 4, math::log2(d, x))
GRADUS_VECTOR_KERNEL(log10, 4, math::log10(d, x))
GRADUS_VECTOR_KERNEL(log1p, 4, math::log1p(d, x))
GRADUS_VECTOR_KERNEL(sqrt, 2, ((void)d, hn::Sqrt(x)))
GRADUS_VECTOR_KERNEL(rsqrt, 3, hn::Div(hn::Set(d, hn::TFromD<decltype(d)>(1)), hn::Sqrt(x)))
GRADUS_VECTOR_KERNEL(sin, 4, math::sin(d, x))
GRADUS_VECTOR_KERNEL(cos, 4, math::cos(d, x))
GRADUS_VECTOR_KERNEL(tanh, 6, math::tanh(d, x))
GRADUS_VECTOR_KERNEL(sigmoid, 6, math::sigmoid(d, x))
GRADUS_VECTOR_KERNEL(erf, 6, math::erf(d, x))
GRADUS_VECTOR_KERNEL(erfc, 8, math::erfc(d, x))
GRADUS_VECTOR_KERNEL(silu, 6, math::silu(d, x))
GRADUS_VECTOR_KERNEL(gelu_erf, 8, math::gelu_erf(d, x))
GRADUS_VECTOR_KERNEL(gelu_tanh, 8, math::gelu_tanh(d, x))
#undef GRADUS_VECTOR_KERNEL

void tan_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() {
    unary<T, T>(
        l, [](Compute<T> x) { return std::tan(x); }, 32);
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(exp, UnaryTable)
GRADUS_CPU_KERNEL(exp2, UnaryTable)
GRADUS_CPU_KERNEL(expm1, UnaryTable)
GRADUS_CPU_KERNEL(log, UnaryTable)
GRADUS_CPU_KERNEL(log2, UnaryTable)
GRADUS_CPU_KERNEL(log10, UnaryTable)
GRADUS_CPU_KERNEL(log1p, UnaryTable)
GRADUS_CPU_KERNEL(sqrt, UnaryTable)
GRADUS_CPU_KERNEL(rsqrt, UnaryTable)
GRADUS_CPU_KERNEL(sin, UnaryTable)
GRADUS_CPU_KERNEL(cos, UnaryTable)
GRADUS_CPU_KERNEL(tan, UnaryTable)
GRADUS_CPU_KERNEL(tanh, UnaryTable)
GRADUS_CPU_KERNEL(sigmoid, UnaryTable)
GRADUS_CPU_KERNEL(erf, UnaryTable)
GRADUS_CPU_KERNEL(erfc, UnaryTable)
GRADUS_CPU_KERNEL(silu, UnaryTable)
GRADUS_CPU_KERNEL(gelu_erf, UnaryTable)
GRADUS_CPU_KERNEL(gelu_tanh, UnaryTable)
}  // namespace gradus::inline v0::kernels
#endif
