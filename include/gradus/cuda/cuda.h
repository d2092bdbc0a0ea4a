// What there is of CUDA on this machine, for programs that ask before they choose a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

/// How many CUDA devices there are: none, this release computes on the CPU.
inline size_t device_count() {
  return 0;
}
/// Whether CUDA can be used.
inline bool is_available() {
  return device_count() > 0;
}
/// Whether cuDNN can be used.
inline bool cudnn_is_available() {
  return false;
}
/// Seeds the devices' generators; without devices there is nothing to seed.
inline void manual_seed(uint64_t /*seed*/) {}
inline void manual_seed_all(uint64_t /*seed*/) {}
/// Waits for the devices' work; without devices there is none.
inline void synchronize(int64_t /*device_index*/ = -1) {}

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
