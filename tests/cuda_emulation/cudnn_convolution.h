// The convolutions that the emulated cuDNN computes: plain loops over tensors of any strides.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <cudnn.h>

namespace gradus_emulation::cudnn {

struct Tensor {
  cudnnDataType_t type;
  std::vector<int64_t> sizes, strides;
  int64_t id, alignment;

  int64_t count() const;
};

enum class Direction { kOutput, kInput, kWeight };

/// An operation as its descriptors state it.
struct Convolution {
  Direction direction;
  Tensor input, weight, output;
  cudnnDataType_t compute;
  bool flipped;  // the kernel, as in a convolution of textbooks
  std::vector<int64_t> padding, padding_after, stride, dilation;
  double alpha, beta;

  int64_t groups() const { return input.sizes[1] / weight.sizes[1]; }
  const Tensor& result() const;
  /// Whether sizes, types and numbers of dimensions fit together.
  cudnnStatus_t check() const;
};

/// What an engine does to numbers on the way.
enum class Precision { kExact, kTf32, kHalfOperands, kHalfSums };

struct Pointers {
  void *input, *weight, *output;
};
void compute(const Convolution& c, const Pointers& p, Precision precision);

}  // namespace gradus_emulation::cudnn
