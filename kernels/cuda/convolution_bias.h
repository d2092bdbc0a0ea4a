// What convolutions need beside cuDNN: their bias and its gradient, and sums of gradients that were made in parts. Of
// dense images, contiguous or with channels innermost.
#pragma once

#include <cstdint>

#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::kernels::cuda {

/// A dense image as the bias sees it: [batch, channels, positions], or [batch * positions, channels].
struct BiasedImage {
  ScalarType dtype;  // floating
  int64_t batch, channels, positions;
  bool channels_last;
};

/// image += bias, by channel; `bias_stride` elements apart.
void add_bias(const BiasedImage& shape, void* image, const void* bias, int64_t bias_stride);

/// grad_bias[c] = the sum of channel c, the same at each call. `images` of 16-bit floats are summed in float.
void sum_channels(const BiasedImage& shape, void* grad_bias, int64_t bias_stride, const void* image);

/// to += from, `count` elements each.
void add_elements(ScalarType dtype, int64_t count, void* to, const void* from);

}  // namespace gradus::inline v0::kernels::cuda
