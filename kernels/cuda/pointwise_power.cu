// Powers. The exponents that programs use have their own functors.
#include <kernels/pointwise.h>

#include <cmath>

#include "kernels/cuda/elementwise.h"

#include "kernels/bodies/power.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

struct SquareRoot {
  template <class T>
  __device__ T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct InverseSquareRoot {
  template <class T>
  __device__ T operator()(T a) const {
    return 1 / std::sqrt(a);
  }
};
using FixedPower = OneOf<bodies::Identity, bodies::Square, bodies::Cube, bodies::Fourth, bodies::Inverse,
                         bodies::InverseSquare, SquareRoot, InverseSquareRoot>;

void pow_cuda(const Loop& l) {
  visit_numbers(l.dtype, [&]<class T>() { elementwise_heavy<T, T, T>("pow", l, bodies::Power()); });
}

template <class F>
void fixed_power(const Loop& l, F f) {
  visit_floating(l.dtype, [&]<class T>() { elementwise<T, T>("pow", l, one_of<FixedPower>(f)); });
}

void float_power(const Loop& l, double exponent) {
  if (exponent == 2) return fixed_power(l, bodies::Square());
  if (exponent == 3) return fixed_power(l, bodies::Cube());
  if (exponent == 4) return fixed_power(l, bodies::Fourth());
  if (exponent == 1) return fixed_power(l, bodies::Identity());
  if (exponent == -1) return fixed_power(l, bodies::Inverse());
  if (exponent == -2) return fixed_power(l, bodies::InverseSquare());
  if (exponent == 0.5) return fixed_power(l, SquareRoot());
  if (exponent == -0.5) return fixed_power(l, InverseSquareRoot());
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    elementwise_heavy<T, T>("pow", l, bodies::PowerOf<C>{static_cast<C>(exponent)});
  });
}

void pow_scalar_cuda(const Loop& l, const Scalar& exponent) {
  if (is_floating_point(l.dtype)) return float_power(l, exponent.as_double());
  visit_integral(l.dtype, [&]<class T>() {
    const T e = static_cast<T>(exponent.as_int());
    elementwise_heavy<T, T, T>("pow", with_number(l, 2, &e), bodies::Power());
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(pow, pow_cuda)
GRADUS_CUDA_KERNEL(pow_scalar, pow_scalar_cuda)

}  // namespace gradus::inline v0::kernels::cuda
