// Mathematical functions of one operand.
#include <kernels/pointwise.h>

#include <cmath>

#include "kernels/cuda/activation_functions.h"
#include "kernels/cuda/elementwise.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

#define GRADUS_MATH_FUNCTOR(Name, expression) \
  struct Name {                               \
    template <class T>                        \
    __device__ T operator()(T x) const {      \
      return expression;                      \
    }                                         \
  };
GRADUS_MATH_FUNCTOR(Exp, std::exp(x))
GRADUS_MATH_FUNCTOR(Exp2, std::exp2(x))
GRADUS_MATH_FUNCTOR(Expm1, std::expm1(x))
GRADUS_MATH_FUNCTOR(Log, std::log(x))
GRADUS_MATH_FUNCTOR(Log2, std::log2(x))
GRADUS_MATH_FUNCTOR(Log10, std::log10(x))
GRADUS_MATH_FUNCTOR(Log1p, std::log1p(x))
GRADUS_MATH_FUNCTOR(Sqrt, std::sqrt(x))
GRADUS_MATH_FUNCTOR(Rsqrt, 1 / std::sqrt(x))
GRADUS_MATH_FUNCTOR(Sin, std::sin(x))
GRADUS_MATH_FUNCTOR(Cos, std::cos(x))
GRADUS_MATH_FUNCTOR(Tan, std::tan(x))
GRADUS_MATH_FUNCTOR(Tanh, std::tanh(x))
GRADUS_MATH_FUNCTOR(Erf, std::erf(x))
GRADUS_MATH_FUNCTOR(Erfc, std::erfc(x))
#undef GRADUS_MATH_FUNCTOR

using Function = OneOf<Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Sin, Cos, Tan, Tanh, Sigmoid, Erf, Erfc,
                       Silu, GeluErf, GeluTanh>;

}  // namespace

#define GRADUS_MATH_KERNEL(name, Functor)                                                                        \
  void name##_cuda(const Loop& l) {                                                                              \
    visit_floating(l.dtype, [&]<class T>() { elementwise_heavy<T, T>(#name, l, one_of<Function>(Functor())); }); \
  }                                                                                                              \
  GRADUS_CUDA_KERNEL(name, name##_cuda)
GRADUS_MATH_KERNEL(exp, Exp)
GRADUS_MATH_KERNEL(exp2, Exp2)
GRADUS_MATH_KERNEL(expm1, Expm1)
GRADUS_MATH_KERNEL(log, Log)
GRADUS_MATH_KERNEL(log2, Log2)
GRADUS_MATH_KERNEL(log10, Log10)
GRADUS_MATH_KERNEL(log1p, Log1p)
GRADUS_MATH_KERNEL(sqrt, Sqrt)
GRADUS_MATH_KERNEL(rsqrt, Rsqrt)
GRADUS_MATH_KERNEL(sin, Sin)
GRADUS_MATH_KERNEL(cos, Cos)
GRADUS_MATH_KERNEL(tan, Tan)
GRADUS_MATH_KERNEL(tanh, Tanh)
GRADUS_MATH_KERNEL(sigmoid, Sigmoid)
GRADUS_MATH_KERNEL(erf, Erf)
GRADUS_MATH_KERNEL(erfc, Erfc)
GRADUS_MATH_KERNEL(silu, Silu)
GRADUS_MATH_KERNEL(gelu_erf, GeluErf)
GRADUS_MATH_KERNEL(gelu_tanh, GeluTanh)
#undef GRADUS_MATH_KERNEL

}  // namespace gradus::inline v0::kernels::cuda
