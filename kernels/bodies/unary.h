// Simple functions of one operand.
#pragma once

#include <cmath>

#include "kernels/bodies/integers.h"

namespace gradus::inline v0::kernels::bodies {

struct Absolute {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::abs(a);
    } else if constexpr (std::is_signed_v<T>) {
      return a < 0 ? wrapping_negative(a) : a;
    } else {
      return a;
    }
  }
};
struct Negative {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    return wrapping_negative(a);
  }
};
struct Sign {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    return static_cast<T>((a > T(0)) - is_negative(a));
  }
};
// The comparison is false for NaN, which stays.
struct Relu {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    return a <= T(0) ? T(0) : a;
  }
};
struct BitNot {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    if constexpr (std::is_same_v<T, bool>) {
      return !a;
    } else {
      return static_cast<T>(~a);
    }
  }
};

/// Rounded to decimals right of the point, of which `power` is the power of ten, or left of it.
template <class T>
struct RoundRight {
  T power;
  GRADUS_HOST_DEVICE T operator()(T a) const { return std::nearbyint(a * power) / power; }
};
template <class T>
struct RoundLeft {
  T power;
  GRADUS_HOST_DEVICE T operator()(T a) const { return std::nearbyint(a / power) * power; }
};

}  // namespace gradus::inline v0::kernels::bodies
