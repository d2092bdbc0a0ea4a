// Rounded division and remainders. An integer divided by zero gives 0 and, unlike on the CPU, no error: the host would
// have to wait for it.
#include <kernels/pointwise.h>

#include "kernels/cuda/elementwise.h"

#include "kernels/bodies/division.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

using Division = OneOf<bodies::DivideFloor, bodies::DivideTrunc, bodies::Remainder, bodies::Fmod>;

template <class F>
bool divide(const char* name, const Loop& l, F f) {
  visit_numbers(l.dtype, [&]<class T>() { elementwise_heavy<T, T, T>(name, l, one_of<Division>(f)); });
  return true;
}

bool div_floor_cuda(const Loop& l) {
  return divide("div_floor", l, bodies::DivideFloor());
}
bool div_trunc_cuda(const Loop& l) {
  return divide("div_trunc", l, bodies::DivideTrunc());
}
bool remainder_cuda(const Loop& l) {
  return divide("remainder", l, bodies::Remainder());
}
bool fmod_cuda(const Loop& l) {
  return divide("fmod", l, bodies::Fmod());
}

}  // namespace

GRADUS_CUDA_KERNEL(div_floor, div_floor_cuda)
GRADUS_CUDA_KERNEL(div_trunc, div_trunc_cuda)
GRADUS_CUDA_KERNEL(remainder, remainder_cuda)
GRADUS_CUDA_KERNEL(fmod, fmod_cuda)

}  // namespace gradus::inline v0::kernels::cuda
