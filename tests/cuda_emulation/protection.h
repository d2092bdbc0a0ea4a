// Who may touch device memory: code that runs on the device, nobody else. By the processor's protection keys, where it
// has them: a key for each device's memory, which a host thread has only while it runs device code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus_emulation {

/// Puts pages under the device's key.
void protect(void* pages, size_t size, int device);

/// The calling thread may touch the memory of a device and of its peers (a bit each), or of all.
class DeviceAccess {
 public:
  DeviceAccess() : DeviceAccess(0, ~uint64_t{0}) {}
  DeviceAccess(int device, uint64_t peers);
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  unsigned before_;
};

}  // namespace gradus_emulation
