// Rounded division and remainders. Nothing here traps: an integer divided by zero gives 0, the smallest integer divided
// by -1 wraps.
#pragma once

#include <cmath>

#include "kernels/bodies/integers.h"

namespace gradus::inline v0::kernels::bodies {

// Rounding the quotient itself would round twice; the remainder is exact.
template <class T>
GRADUS_HOST_DEVICE inline T floor_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && is_negative(b) != is_negative(rest)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T whole = std::floor(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}

/// A divisor that the processor must not be given, and that has a result of its own.
template <class T>
GRADUS_HOST_DEVICE inline bool is_minus_one(T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1);
}

struct DivideFloor {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return floor_quotient(a, b);
    } else {
      if (b == 0) return 0;
      if (is_minus_one(b)) return wrapping_negative(a);
      return static_cast<T>(a / b - (a % b != 0 && is_negative(a) != is_negative(b)));
    }
  }
};
struct DivideTrunc {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::trunc(a / b);
    } else {
      if (b == 0) return 0;
      if (is_minus_one(b)) return wrapping_negative(a);
      return static_cast<T>(a / b);
    }
  }
};
/// With the divisor's sign.
struct Remainder {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    T rest;
    if constexpr (std::is_floating_point_v<T>) {
      rest = std::fmod(a, b);
    } else {
      if (b == 0 || is_minus_one(b)) return 0;
      rest = static_cast<T>(a % b);
    }
    return static_cast<T>(rest != 0 && is_negative(b) != is_negative(rest) ? rest + b : rest);
  }
};
/// With the dividend's sign.
struct Fmod {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == 0 || is_minus_one(b)) return 0;
      return static_cast<T>(a % b);
    }
  }
};

}  // namespace gradus::inline v0::kernels::bodies
