// What tests change about convolutions on the device.
#pragma once

#include <cstdint>

namespace gradus::inline v0::kernels::cuda {

/// Images with more elements are computed in parts of the batch, since many of cuDNN's kernels count in 32 bits.
extern int64_t convolution_most_elements;

}  // namespace gradus::inline v0::kernels::cuda
