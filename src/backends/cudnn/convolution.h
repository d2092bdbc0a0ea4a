// Convolutions and their gradients on a CUDA device by cuDNN 9.
#pragma once

#include <cstdint>

#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::backends::cudnn {

/// One convolution's sizes: spatial ones, 2 or 3 of them, first to last. Images are dense [batch, channels, spatial...]
/// and weights [out_channels, in_channels / groups, kernel...], all contiguous or all with channels innermost.
struct ConvolutionShape {
  int64_t batch, in_channels, out_channels, groups, spatial;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  ScalarType dtype;  // f32, f64, f16 or bf16; the 16-bit ones are accumulated in float
  bool channels_last;
};

/// Which of a convolution's operands is computed from the other two.
enum class Direction : uint8_t { kOutput, kInput, kWeight };

/// The operands, or their gradients; none is empty. The one that the direction names is written.
struct Operands {
  void *input, *weight, *output;
};

/// Enqueues it on the current stream of the current device. False, with nothing done, where cuDNN has no way to compute
/// it under the switches (gradus/cuda/backends.h). Throws where cuDNN is missing.
bool convolution(Direction direction, const ConvolutionShape& shape, const Operands& operands);

/// cuDNN's version, 0 where it cannot be loaded.
int64_t version() noexcept;

}  // namespace gradus::inline v0::backends::cudnn
