// Filling memory without checks or history.
#pragma once

#include <gradus/core/tensor.h>

#include "../core/determinism.h"

namespace gradus::inline v0::ops {

/// Sets every element of `t`, whatever its strides. Nothing on a meta tensor.
void fill_raw(const Tensor& t, const Scalar& value);
/// Fills memory that nobody wrote with NaN, the greatest integer or true.
void fill_for_determinism(const Tensor& t);
/// The same where the determinism switch asks for it.
inline void fill_if_deterministic(const Tensor& t) {
  if (core::fills_new_memory.load(std::memory_order_relaxed)) [[unlikely]]
    fill_for_determinism(t);
}
/// New memory full of zeros.
Tensor raw_zeros(IntArrayRef sizes, ScalarType dtype, Device device);

}  // namespace gradus::inline v0::ops
