// Integers that wrap: the arithmetic is done unsigned, where that is defined.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/bodies/host_device.h"

namespace gradus::inline v0::kernels::bodies {

template <class T>
GRADUS_HOST_DEVICE inline T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(a + b);
  }
}
template <class T>
GRADUS_HOST_DEVICE inline T wrapping_mul(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
/// a < 0, for unsigned types too.
template <class T>
GRADUS_HOST_DEVICE inline bool is_negative(T a) {
  if constexpr (std::is_unsigned_v<T>) {
    return false;
  } else {
    return a < T(0);
  }
}
template <class T>
GRADUS_HOST_DEVICE inline T wrapping_negative(T a) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(0 - static_cast<uint64_t>(a));
  } else {
    return -a;
  }
}

}  // namespace gradus::inline v0::kernels::bodies
