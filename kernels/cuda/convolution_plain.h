// Gradus' own convolutions: any strides and sizes, one thread or block for each result. For what cuDNN does not take:
// integers, outputs of an unusual size, images of 2^31 elements and more, machines without it.
#pragma once

#include <cstdint>

#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::kernels::cuda {

/// Three spatial dimensions; fewer have ones in front. Strides in elements.
struct PlainConvolution {
  ScalarType dtype;
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  int64_t input_strides[5], weight_strides[5], output_strides[5];

  constexpr int64_t out_positions() const { return out[0] * out[1] * out[2]; }
};

/// `bias` is nullptr or one element for each output channel, `bias_stride` apart. f32, f64, f16, bf16 and i64, which
/// wraps; 16-bit floats are accumulated in float.
void plain_forward(const PlainConvolution& p, void* output, const void* input, const void* weight, const void* bias,
                   int64_t bias_stride);
/// Floating types.
void plain_backward_input(const PlainConvolution& p, void* grad_input, const void* grad_output, const void* weight);
void plain_backward_weight(const PlainConvolution& p, void* grad_weight, const void* grad_output, const void* input);

}  // namespace gradus::inline v0::kernels::cuda
