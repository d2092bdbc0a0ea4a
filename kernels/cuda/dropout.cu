// Dropout's arithmetic.
#include <kernels/dropout.h>

#include "kernels/cuda/elementwise.h"

#include "kernels/bodies/dropout.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

void masked_scale_cuda(const Loop& l, double scale) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    elementwise<T, T, uint8_t>("masked_scale", l, bodies::MaskedScale<C>{static_cast<C>(scale)});
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(masked_scale, masked_scale_cuda)

}  // namespace gradus::inline v0::kernels::cuda
