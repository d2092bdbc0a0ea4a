// How a new tensor is to be made.
#pragma once

#include <optional>

#include <gradus/core/device.h>
#include <gradus/core/scalar_type.h>

namespace gradus {
inline namespace v0 {

/// dtype, device, layout, requires_grad, pinned memory and memory format of a new tensor; what is left unset takes the
/// default: the default dtype, cpu, strided, false. Setters return a changed copy: `dtype(kLong).requires_grad(false)`.
class TensorOptions {
 public:
  constexpr TensorOptions() = default;
  constexpr TensorOptions(ScalarType t) : dtype_(t), has_dtype_(true) {}      // NOLINT
  constexpr TensorOptions(TypeMeta t) : TensorOptions(t.toScalarType()) {}    // NOLINT
  constexpr TensorOptions(Device d) : device_(d), has_device_(true) {}        // NOLINT
  constexpr TensorOptions(DeviceType d) : TensorOptions(Device(d)) {}         // NOLINT
  constexpr TensorOptions(Layout l) : layout_(l), has_layout_(true) {}        // NOLINT
  constexpr TensorOptions(MemoryFormat f) : format_(f), has_format_(true) {}  // NOLINT

  [[nodiscard]] TensorOptions dtype(std::optional<ScalarType> t) const {
    TensorOptions r = *this;
    r.has_dtype_ = t.has_value();
    if (t) r.dtype_ = *t;
    return r;
  }
  [[nodiscard]] TensorOptions dtype(ScalarType t) const { return dtype(std::optional<ScalarType>(t)); }
  [[nodiscard]] TensorOptions dtype(TypeMeta t) const { return dtype(t.toScalarType()); }
  template <class T>
  [[nodiscard]] TensorOptions dtype() const {
    return dtype(CppTypeToScalarType<T>::value);
  }
  [[nodiscard]] TensorOptions device(std::optional<Device> d) const {
    TensorOptions r = *this;
    r.has_device_ = d.has_value();
    if (d) r.device_ = *d;
    return r;
  }
  [[nodiscard]] TensorOptions device(Device d) const { return device(std::optional<Device>(d)); }
  [[nodiscard]] TensorOptions device(DeviceType t, DeviceIndex i = -1) const { return device(Device(t, i)); }
  [[nodiscard]] TensorOptions layout(std::optional<Layout> l) const {
    TensorOptions r = *this;
    r.has_layout_ = l.has_value();
    if (l) r.layout_ = *l;
    return r;
  }
  [[nodiscard]] TensorOptions requires_grad(std::optional<bool> v) const {
    TensorOptions r = *this;
    r.has_requires_grad_ = v.has_value();
    r.requires_grad_ = v.value_or(false);
    return r;
  }
  [[nodiscard]] TensorOptions pinned_memory(std::optional<bool> v) const {
    TensorOptions r = *this;
    r.has_pinned_ = v.has_value();
    r.pinned_ = v.value_or(false);
    return r;
  }
  [[nodiscard]] TensorOptions memory_format(std::optional<MemoryFormat> f) const {
    TensorOptions r = *this;
    r.has_format_ = f.has_value();
    if (f) r.format_ = *f;
    return r;
  }

  /// The dtype, or the default dtype where unset.
  ScalarType scalar_type() const { return has_dtype_ ? dtype_ : get_default_dtype(); }
  TypeMeta dtype() const { return scalar_type(); }
  Device device() const { return device_; }
  Layout layout() const { return layout_; }
  bool requires_grad() const { return requires_grad_; }
  bool pinned_memory() const { return pinned_; }
  bool has_dtype() const { return has_dtype_; }
  bool has_device() const { return has_device_; }
  bool has_layout() const { return has_layout_; }
  bool has_requires_grad() const { return has_requires_grad_; }
  bool has_pinned_memory() const { return has_pinned_; }
  bool has_memory_format() const { return has_format_; }
  std::optional<ScalarType> dtype_opt() const { return has_dtype_ ? std::optional(dtype_) : std::nullopt; }
  std::optional<Device> device_opt() const { return has_device_ ? std::optional(device_) : std::nullopt; }
  std::optional<Layout> layout_opt() const { return has_layout_ ? std::optional(layout_) : std::nullopt; }
  std::optional<bool> requires_grad_opt() const {
    return has_requires_grad_ ? std::optional<bool>(requires_grad_) : std::nullopt;
  }
  std::optional<bool> pinned_memory_opt() const { return has_pinned_ ? std::optional<bool>(pinned_) : std::nullopt; }
  std::optional<MemoryFormat> memory_format_opt() const { return has_format_ ? std::optional(format_) : std::nullopt; }

 private:
  ScalarType dtype_ = ScalarType::Float;
  Device device_;
  Layout layout_ = Layout::Strided;
  MemoryFormat format_ = MemoryFormat::Contiguous;
  bool requires_grad_ = false;
  bool pinned_ = false;
  bool has_dtype_ = false;
  bool has_device_ = false;
  bool has_layout_ = false;
  bool has_format_ = false;
  bool has_requires_grad_ = false;
  bool has_pinned_ = false;
};

/// TensorOptions with one thing set, libtorch's spelling: `dtype(kDouble).device(kCPU)`.
inline TensorOptions dtype(ScalarType t) {
  return TensorOptions(t);
}
inline TensorOptions dtype(TypeMeta t) {
  return TensorOptions(t);
}
template <class T>
TensorOptions dtype() {
  return TensorOptions(CppTypeToScalarType<T>::value);
}
inline TensorOptions device(Device d) {
  return TensorOptions(d);
}
inline TensorOptions device(DeviceType t, DeviceIndex i) {
  return TensorOptions(Device(t, i));
}
inline TensorOptions layout(Layout l) {
  return TensorOptions(l);
}
inline TensorOptions requires_grad(bool v = true) {
  return TensorOptions().requires_grad(v);
}
inline TensorOptions memory_format(MemoryFormat f) {
  return TensorOptions(f);
}

}  // namespace v0
}  // namespace gradus
