// What a kernel sees of a tensor.
#pragma once

#include <cstdint>

#include <gradus/core/device.h>
#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::kernels {

/// Sizes and strides in elements; `data` is the first element. Valid during the call only. An absent operand has
/// neither data nor sizes.
struct View {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int ndim;
  ScalarType dtype;
  Device device = {};
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

struct ConstView {
  const void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int ndim;
  ScalarType dtype;
  Device device;
  ConstView() = default;
  ConstView(const void* d, const int64_t* s, const int64_t* t, int n, ScalarType type, Device where = Device())
      : data(d), sizes(s), strides(t), ndim(n), dtype(type), device(where) {}
  ConstView(const View& v) : ConstView(v.data, v.sizes, v.strides, v.ndim, v.dtype, v.device) {}  // NOLINT
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

}  // namespace gradus::inline v0::kernels
