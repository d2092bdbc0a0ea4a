// CUDA devices: whether there are any, what they are, which one is current.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <gradus/core/device.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

/// How many CUDA devices can be used. 0, and never an error, for a Gradus built without CUDA and on a machine without a
/// driver or a device; why_unavailable() then says which of these it is. The CUDA library is loaded by the first call.
GRADUS_API size_t device_count() noexcept;
/// Whether there is a CUDA device.
inline bool is_available() noexcept {
  return device_count() > 0;
}
/// Why is_available() is false, and what to do; empty where it is true.
GRADUS_API std::string why_unavailable();
/// Whether convolutions on CUDA devices can run through cuDNN.
GRADUS_API bool cudnn_is_available() noexcept;

/// Seeds the generator of the current device. Without devices nothing happens.
GRADUS_API void manual_seed(uint64_t seed);
/// Seeds the generators of all devices, also of those that are found later.
GRADUS_API void manual_seed_all(uint64_t seed);

/// Waits for all work of a device (-1: the current one). Throws what its kernels found wrong with their data.
GRADUS_API void synchronize(int64_t device_index = -1);
/// This thread's current device, which `cuda` without a number means.
GRADUS_API DeviceIndex current_device();
/// Makes `device` this thread's current one. CUDAGuard does so for a scope.
GRADUS_API void set_device(DeviceIndex device);

/// What is known about a device; fields are named as those of cudaDeviceProp.
struct DeviceProperties {
  std::string name;
  std::string uuid;  // "GPU-..." as nvidia-smi prints it
  int major = 0;     // compute capability
  int minor = 0;
  size_t totalGlobalMem = 0;  // bytes
  int multiProcessorCount = 0;
  int maxThreadsPerMultiProcessor = 0;
  int maxThreadsPerBlock = 0;
  int warpSize = 32;
  size_t sharedMemPerBlock = 0;
  size_t sharedMemPerBlockOptin = 0;
  size_t sharedMemPerMultiprocessor = 0;
  int regsPerMultiprocessor = 0;
  int l2CacheSize = 0;
  int pciDomainID = 0;
  int pciBusID = 0;
  int pciDeviceID = 0;
  bool integrated = false;
};
/// Of a device (-1: the current one).
GRADUS_API const DeviceProperties& get_device_properties(DeviceIndex device = -1);
/// Free and total bytes of a device's memory as the driver sees them; what the allocator caches is not free.
GRADUS_API std::pair<size_t, size_t> mem_get_info(DeviceIndex device = -1);
/// Whether `device` can read and write the memory of `peer` directly.
GRADUS_API bool can_device_access_peer(DeviceIndex device, DeviceIndex peer);
/// CUDA's version as 1000 * major + 10 * minor: of the runtime that the CUDA library was built with, and the newest
/// that the driver knows.
GRADUS_API int runtime_version();
GRADUS_API int driver_version();

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
