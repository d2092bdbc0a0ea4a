// Convolutions by oneDNN, on images whose channels are innermost.
#pragma once

#include <cstdint>

#include <gradus/core/scalar_type.h>

#include <kernels/packed_slot.h>

namespace gradus::inline v0::backends::onednn {

/// One convolution's shape; spatial sizes, 1 to 3 of them, first to last. Weights are
/// [out_channels, in_channels / groups, kernel...] with the given strides (in elements, kernel dimensions last).
struct ConvolutionShape {
  int64_t batch, in_channels, out_channels, groups;
  int64_t spatial;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  int64_t weight_strides[5];
  ScalarType dtype;
  bool bias;
};

/// Whether this library and CPU have fast convolutions of the type.
bool has_convolution(ScalarType dtype);

/// `input` and `output` are dense [batch, spatial..., channels]; `bias` has the images' type.
void convolution_forward(const ConvolutionShape& shape, const void* input, const void* weight, const void* bias,
                         void* output, const kernels::PackedSlot& slot);
void convolution_backward_input(const ConvolutionShape& shape, void* grad_input, const void* weight,
                                const void* grad_output, const kernels::PackedSlot& slot);
/// `grad_weight` has the shape's weight strides; `grad_bias` is written iff shape.bias.
void convolution_backward_weight(const ConvolutionShape& shape, const void* input, void* grad_weight, void* grad_bias,
                                 const void* grad_output);

}  // namespace gradus::inline v0::backends::onednn
