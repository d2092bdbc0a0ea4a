// Integers whose overflow is defined.
#pragma once

#include <cstdint>

namespace gradus::inline v0::core {

/// a * b that wraps: strides of a tensor without elements mean nothing, and its other sizes may be anything.
inline int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace gradus::inline v0::core
