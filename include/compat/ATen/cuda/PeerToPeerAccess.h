#pragma once
#include <torch/detail/macros.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

inline bool get_p2p_access(int device, int peer) {
  return can_device_access_peer(static_cast<DeviceIndex>(device), static_cast<DeviceIndex>(peer));
}

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
