// Simple functions of one operand.
#include <kernels/pointwise.h>

#include <cmath>
#include <cstdlib>

#include "kernels/cuda/elementwise.h"

#include "kernels/bodies/power.h"
#include "kernels/bodies/unary.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

#define GRADUS_ROUNDING_FUNCTOR(Name, function) \
  struct Name {                                 \
    template <class T>                          \
    __device__ T operator()(T x) const {        \
      return function(x);                       \
    }                                           \
  };
GRADUS_ROUNDING_FUNCTOR(Floor, std::floor)
GRADUS_ROUNDING_FUNCTOR(Ceil, std::ceil)
GRADUS_ROUNDING_FUNCTOR(Round, std::nearbyint)
GRADUS_ROUNDING_FUNCTOR(Trunc, std::trunc)
#undef GRADUS_ROUNDING_FUNCTOR

using OfIntegers = OneOf<bodies::Absolute, bodies::Negative, bodies::Sign, bodies::Relu, bodies::BitNot>;
using OfFloats =
    OneOf<bodies::Absolute, bodies::Negative, bodies::Sign, bodies::Relu, Floor, Ceil, Round, Trunc, bodies::Inverse>;

template <class F>
void of_floats(const char* name, const Loop& l, F f) {
  visit_floating(l.dtype, [&]<class T>() { elementwise<T, T>(name, l, one_of<OfFloats>(f)); });
}
template <class F>
void of_integers(const char* name, const Loop& l, F f) {
  if (l.dtype == ScalarType::Bool) return elementwise<bool, bool>(name, l, one_of<OfIntegers>(f));
  visit_integral(l.dtype, [&]<class T>() { elementwise<T, T>(name, l, one_of<OfIntegers>(f)); });
}
template <class F>
void of_all(const char* name, const Loop& l, F f) {
  is_floating_point(l.dtype) ? of_floats(name, l, f) : of_integers(name, l, f);
}

void abs_cuda(const Loop& l) {
  of_all("abs", l, bodies::Absolute());
}
void neg_cuda(const Loop& l) {
  of_all("neg", l, bodies::Negative());
}
void sign_cuda(const Loop& l) {
  of_all("sign", l, bodies::Sign());
}
void relu_cuda(const Loop& l) {
  of_all("relu", l, bodies::Relu());
}
void bitwise_not_cuda(const Loop& l) {
  of_integers("bitwise_not", l, bodies::BitNot());
}
void floor_cuda(const Loop& l) {
  of_floats("floor", l, Floor());
}
void ceil_cuda(const Loop& l) {
  of_floats("ceil", l, Ceil());
}
void round_cuda(const Loop& l) {
  of_floats("round", l, Round());
}
void trunc_cuda(const Loop& l) {
  of_floats("trunc", l, Trunc());
}
void reciprocal_cuda(const Loop& l) {
  of_floats("reciprocal", l, bodies::Inverse());
}

template <class T>
using RoundDecimals = OneOf<bodies::RoundRight<T>, bodies::RoundLeft<T>>;

void round_decimals_cuda(const Loop& l, const Scalar& decimals) {
  const double power = std::pow(10.0, std::abs(static_cast<double>(decimals.as_int())));
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C ten = static_cast<C>(power);
    const auto f = decimals.as_int() < 0 ? one_of<RoundDecimals<C>>(bodies::RoundLeft<C>{ten})
                                         : one_of<RoundDecimals<C>>(bodies::RoundRight<C>{ten});
    elementwise_heavy<T, T>("round", l, f);
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(abs, abs_cuda)
GRADUS_CUDA_KERNEL(neg, neg_cuda)
GRADUS_CUDA_KERNEL(sign, sign_cuda)
GRADUS_CUDA_KERNEL(relu, relu_cuda)
GRADUS_CUDA_KERNEL(bitwise_not, bitwise_not_cuda)
GRADUS_CUDA_KERNEL(floor, floor_cuda)
GRADUS_CUDA_KERNEL(ceil, ceil_cuda)
GRADUS_CUDA_KERNEL(round, round_cuda)
GRADUS_CUDA_KERNEL(trunc, trunc_cuda)
GRADUS_CUDA_KERNEL(reciprocal, reciprocal_cuda)
GRADUS_CUDA_KERNEL(round_decimals, round_decimals_cuda)

}  // namespace gradus::inline v0::kernels::cuda
