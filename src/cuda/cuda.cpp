#include <gradus/cuda/cuda.h>

#include "interface.h"

namespace gradus::inline v0::cuda {

// libgradus_cuda.so alone calls set_accelerator for CUDA, with a Runtime.
Runtime& require_runtime(const char* op) {
  return static_cast<Runtime&>(core::accelerator(DeviceType::CUDA, op));
}
Runtime* runtime_in_use() noexcept {
  return static_cast<Runtime*>(core::loaded_accelerator(DeviceType::CUDA));
}
DeviceIndex checked_device(Runtime& r, const char* op, DeviceIndex device) {
  if (device == -1) return current_device();
  r.check_device(op, device);
  return device;
}

size_t device_count() noexcept {
  core::Accelerator* a = core::find_accelerator(DeviceType::CUDA);
  return a == nullptr ? 0 : static_cast<size_t>(a->device_count());
}
std::string why_unavailable() {
  return core::why_no_accelerator(DeviceType::CUDA);
}
bool cudnn_is_available() noexcept {
  auto* r = static_cast<Runtime*>(core::find_accelerator(DeviceType::CUDA));
  return r != nullptr && r->cudnn_version() != 0;
}

void manual_seed(uint64_t seed) {
  if (!is_available()) return;
  Generator generator = default_generator(Device(DeviceType::CUDA, current_device()));
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}
void manual_seed_all(uint64_t seed) {
  core::seed_accelerators(seed);
}

void synchronize(int64_t device_index) {
  Runtime* r = runtime_in_use();
  if (r == nullptr && !is_available()) return;
  Runtime& runtime = require_runtime("synchronize");
  GRADUS_CHECK_AS(ValueError, device_index >= -1 && device_index <= 127, "synchronize: device ", device_index,
                  " was given; expected one from 0 on, or -1 for the current one");
  runtime.synchronize(checked_device(runtime, "synchronize", static_cast<DeviceIndex>(device_index)));
}
DeviceIndex current_device() {
  return require_runtime("current_device").current_device();
}
void set_device(DeviceIndex device) {
  Runtime& r = require_runtime("set_device");
  r.check_device("set_device", device);
  r.set_device_now(device);
}

const DeviceProperties& get_device_properties(DeviceIndex device) {
  Runtime& r = require_runtime("get_device_properties");
  return r.properties(checked_device(r, "get_device_properties", device));
}
std::pair<size_t, size_t> mem_get_info(DeviceIndex device) {
  Runtime& r = require_runtime("mem_get_info");
  return r.mem_get_info(checked_device(r, "mem_get_info", device));
}
bool can_device_access_peer(DeviceIndex device, DeviceIndex peer) {
  Runtime& r = require_runtime("can_device_access_peer");
  return r.can_access_peer(checked_device(r, "can_device_access_peer", device),
                           checked_device(r, "can_device_access_peer", peer));
}
int runtime_version() {
  return require_runtime("runtime_version").runtime_version();
}
int driver_version() {
  return require_runtime("driver_version").driver_version();
}

}  // namespace gradus::inline v0::cuda
