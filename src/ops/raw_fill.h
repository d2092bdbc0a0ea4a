// Filling memory without checks or history.
#pragma once

#include <gradus/core/tensor.h>

namespace gradus::inline v0::ops {

/// Sets every element of `t`, whatever its strides. Nothing on a meta tensor.
void fill_raw(const Tensor& t, const Scalar& value);
/// New memory full of zeros.
Tensor raw_zeros(IntArrayRef sizes, ScalarType dtype, Device device);

}  // namespace gradus::inline v0::ops
