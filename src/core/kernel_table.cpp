#include <kernels/table.h>

#include "accelerator.h"

namespace gradus::inline v0::kernels {

constinit thread_local DeviceIndex launch_device = 0;
constinit thread_local const char* launch_operation = nullptr;

void no_kernel(const char* kernel, Backend backend) {
  static constexpr const char* kNames[] = {
      "cpu",        "cuda",        "meta",        "quantized cpu", "quantized cuda",
      "sparse cpu", "sparse cuda", "privateuse1", "privateuse2",   "privateuse3"};
  const char* name = kNames[static_cast<int>(backend)];
  throw NotImplementedError(
      str(kernel, ": there is no ", name, " kernel; move the tensors to the cpu, or register one for this backend"));
}

namespace detail {

GRADUS_API void check_place(const char* kernel, const ConstView& v, Device device) {
  if (v.sizes == nullptr) return;  // the operand is absent
  GRADUS_CHECK(v.device == device, kernel, ": a tensor on ", v.device, " was given together with one on ", device,
               "; expected all on the same device");
}

void switch_device(DeviceType type, DeviceIndex device) {
  core::accelerator(type, "device").set_device(device);
}

}  // namespace detail

}  // namespace gradus::inline v0::kernels

namespace gradus::inline v0::core {

DeviceIndex current_device() {
  return kernels::launch_device;
}
DeviceScope::DeviceScope(Device device) : type_(device.type()), before_(kernels::launch_device) {
  if (device.is_cuda() && device.index() != before_) kernels::detail::switch_device(type_, device.index());
}
DeviceScope::~DeviceScope() {
  if (kernels::launch_device != before_) kernels::detail::switch_device(type_, before_);
}

}  // namespace gradus::inline v0::core
