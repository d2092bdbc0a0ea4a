#pragma once
#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

inline int64_t getNumGPUs() {
  return static_cast<int64_t>(device_count());
}
/// libtorch gives CUDA's cudaDeviceProp; this struct has its fields of the same names.
inline const DeviceProperties* getDeviceProperties(int64_t device) {
  return &get_device_properties(static_cast<DeviceIndex>(device));
}
inline const DeviceProperties* getCurrentDeviceProperties() {
  return &get_device_properties();
}
inline int warp_size() {
  return get_device_properties().warpSize;
}
inline bool canDeviceAccessPeer(int64_t device, int64_t peer) {
  return can_device_access_peer(static_cast<DeviceIndex>(device), static_cast<DeviceIndex>(peer));
}
inline Allocator* getCUDADeviceAllocator() {
  return CUDACachingAllocator::get();
}

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
