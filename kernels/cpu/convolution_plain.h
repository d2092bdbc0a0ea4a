// Convolution by matrix products over unrolled images, for what oneDNN does not take: f64, int64 forwards, and
// f32 whose output is smaller than the input would allow.
#pragma once

#include <kernels/convolution.h>

namespace gradus::inline v0::kernels {

// All views are contiguous and nothing is empty.
void plain_convolution_forward(View output, ConstView input, ConstView weight, ConstView bias,
                               const ConvolutionGeometry& g);
void plain_convolution_backward_input(View grad_input, ConstView grad_output, ConstView weight,
                                      const ConvolutionGeometry& g);
void plain_convolution_backward_weight(View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                                       const ConvolutionGeometry& g);

}  // namespace gradus::inline v0::kernels
