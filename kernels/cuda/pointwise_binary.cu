// Arithmetic on two operands.
#include <kernels/pointwise.h>

#include "kernels/cuda/elementwise.h"

#include "kernels/bodies/binary.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

using Arithmetic = OneOf<bodies::Multiply, bodies::Larger, bodies::Smaller>;
using Bitwise = OneOf<bodies::BitAnd, bodies::BitOr, bodies::BitXor>;

template <class F>
void arithmetic(const char* name, const Loop& l, F f) {
  visit_all(l.dtype, [&]<class T>() { elementwise<T, T, T>(name, l, one_of<Arithmetic>(f)); });
}
// Bits are bits: only the width matters. A bool is one byte of 0 or 1.
template <class F>
void bitwise(const char* name, const Loop& l, F f) {
  visit_width(element_size(l.dtype), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) elementwise_heavy<T, T, T>(name, l, one_of<Bitwise>(f));
  });
}

void add_cuda(const Loop& l, const Scalar& alpha) {
  if (l.dtype == ScalarType::Bool)
    return elementwise<bool, bool, bool>("add", l, bodies::OrScaled{alpha.as_double() != 0});
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    elementwise<T, T, T>("add", l, bodies::AddScaled<C>{as<C>(alpha)});
  });
}
void mul_cuda(const Loop& l) {
  arithmetic("mul", l, bodies::Multiply());
}
void maximum_cuda(const Loop& l) {
  arithmetic("maximum", l, bodies::Larger());
}
void minimum_cuda(const Loop& l) {
  arithmetic("minimum", l, bodies::Smaller());
}
void div_cuda(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() { elementwise<T, T, T>("div", l, bodies::Divide()); });
}
void hypot_cuda(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() { elementwise_heavy<T, T, T>("hypot", l, bodies::Hypotenuse()); });
}
void bitwise_and_cuda(const Loop& l) {
  bitwise("bitwise_and", l, bodies::BitAnd());
}
void bitwise_or_cuda(const Loop& l) {
  bitwise("bitwise_or", l, bodies::BitOr());
}
void bitwise_xor_cuda(const Loop& l) {
  bitwise("bitwise_xor", l, bodies::BitXor());
}

}  // namespace

GRADUS_CUDA_KERNEL(add, add_cuda)
GRADUS_CUDA_KERNEL(mul, mul_cuda)
GRADUS_CUDA_KERNEL(div, div_cuda)
GRADUS_CUDA_KERNEL(hypot, hypot_cuda)
GRADUS_CUDA_KERNEL(maximum, maximum_cuda)
GRADUS_CUDA_KERNEL(minimum, minimum_cuda)
GRADUS_CUDA_KERNEL(bitwise_and, bitwise_and_cuda)
GRADUS_CUDA_KERNEL(bitwise_or, bitwise_or_cuda)
GRADUS_CUDA_KERNEL(bitwise_xor, bitwise_xor_cuda)

}  // namespace gradus::inline v0::kernels::cuda
