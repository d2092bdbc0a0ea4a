// Guards that take a device of any kind: for the CPU, which is one, they do nothing.
#pragma once
#include <torch/detail/macros.h>

namespace gradus {
inline namespace v0 {

class DeviceGuard {
 public:
  explicit DeviceGuard(Device device) : original_(device), current_(device) { set_device(device); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  void reset_device(Device device) { set_device(device); }
  void set_index(DeviceIndex index) { set_device(Device(current_.type(), index)); }
  Device original_device() const { return cuda_.original_device().value_or(original_); }
  Device current_device() const { return cuda_.current_device().value_or(current_); }

 private:
  void set_device(Device device) {
    if (device.is_cuda()) cuda_.set_device(device);
    current_ = device;
  }
  cuda::OptionalCUDAGuard cuda_;
  Device original_;
  Device current_;
};

class OptionalDeviceGuard {
 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(Device device) { guard_.emplace(device); }
  explicit OptionalDeviceGuard(optional<Device> device) {
    if (device) guard_.emplace(*device);
  }
  OptionalDeviceGuard(const OptionalDeviceGuard&) = delete;
  OptionalDeviceGuard& operator=(const OptionalDeviceGuard&) = delete;
  void reset_device(Device device) {
    if (guard_) {
      guard_->reset_device(device);
    } else {
      guard_.emplace(device);
    }
  }
  optional<Device> original_device() const { return guard_ ? optional<Device>(guard_->original_device()) : nullopt; }
  optional<Device> current_device() const { return guard_ ? optional<Device>(guard_->current_device()) : nullopt; }

 private:
  optional<DeviceGuard> guard_;
};

/// The device of a tensor, for a guard that need not do anything for an undefined one.
inline optional<Device> device_of(const Tensor& t) {
  return t.defined() ? optional<Device>(t.device()) : nullopt;
}

}  // namespace v0
}  // namespace gradus
