// Convolutions in one to three dimensions and their gradients.
#pragma once

#include <kernels/packed_slot.h>
#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

/// Per spatial dimension, first to last; entries beyond the last one are not read.
struct ConvolutionGeometry {
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  int64_t groups = 1;
};

// Images are [batch, channels, spatial...], weights [out, in / groups, kernel...], in one dtype: f32, f64, bf16 or f16.
// Strides are free, but dense layouts are the fast ones: images with channels innermost (channels_last) are used where
// they are, contiguous ones are transposed on the way in and out. Output sizes must be the convolution's. The slot is
// the weight's storage's (packed_slot.h) or empty. A transposed convolution is convolution_backward_input of the image.

GRADUS_TABLES_BEGIN
/// output = input * weight (+ bias [out], empty where data == nullptr).
extern KernelTable<void(View output, ConstView input, ConstView weight, ConstView bias,
                        const ConvolutionGeometry& geometry, PackedSlot slot)>
    convolution_forward;

extern KernelTable<void(View grad_input, ConstView grad_output, ConstView weight, const ConvolutionGeometry& geometry,
                        PackedSlot slot)>
    convolution_backward_input;

/// grad_bias is empty (data == nullptr) where not wanted.
extern KernelTable<void(View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                        const ConvolutionGeometry& geometry)>
    convolution_backward_weight;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
