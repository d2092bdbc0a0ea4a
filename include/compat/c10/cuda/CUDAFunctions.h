#pragma once
#include <c10/cuda/CUDAMacros.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

inline DeviceIndex device_count_ensure_non_zero() {
  TORCH_CHECK(is_available(), why_unavailable());
  return static_cast<DeviceIndex>(device_count());
}
inline void device_synchronize() {
  synchronize();
}
/// Makes `device` the current one and returns the one before.
inline DeviceIndex ExchangeDevice(DeviceIndex device) {
  const DeviceIndex before = current_device();
  if (before != device) set_device(device);
  return before;
}
inline DeviceIndex MaybeExchangeDevice(DeviceIndex device) {
  return ExchangeDevice(device);
}

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
