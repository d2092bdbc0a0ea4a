// Tensors as kernels see them.
#pragma once

#include <gradus/core/tensor.h>

#include <kernels/view.h>

namespace gradus::inline v0::ops {

/// Valid while the tensor keeps its geometry.
inline kernels::View writable(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  return {i.data_, i.geometry_.sizes_data(), i.geometry_.strides_data(), i.geometry_.ndim(), i.dtype_, i.device_};
}
/// An undefined tensor becomes the empty view.
inline kernels::ConstView readable(const Tensor& t) {
  if (!t.defined()) return {nullptr, nullptr, nullptr, 0, ScalarType::Undefined, Device()};
  const TensorImpl& i = *t.impl();
  return {i.data_, i.geometry_.sizes_data(), i.geometry_.strides_data(), i.geometry_.ndim(), i.dtype_, i.device_};
}

}  // namespace gradus::inline v0::ops
