// Powers.
#pragma once

#include <cmath>

#include "kernels/bodies/integers.h"

namespace gradus::inline v0::kernels::bodies {

// Wraps on overflow. A negative exponent gives 0, but for bases 1 and -1.
template <class T>
GRADUS_HOST_DEVICE inline T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return base == 1 ? T(1) : base == -1 ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  }
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

struct Power {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T base, T exponent) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(base, exponent);
    } else {
      return integer_power(base, exponent);
    }
  }
};
template <class T>
struct PowerOf {
  T exponent;
  GRADUS_HOST_DEVICE T operator()(T base) const { return Power()(base, exponent); }
};

// The exponents that programs use: 1, 2, 3, 4, -1, -2.
struct Identity {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    return a;
  }
};
struct Square {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    return a * a;
  }
};
struct Cube {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    return a * a * a;
  }
};
struct Fourth {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    return (a * a) * (a * a);
  }
};
struct Inverse {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    return 1 / a;
  }
};
struct InverseSquare {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a) const {
    return 1 / (a * a);
  }
};

}  // namespace gradus::inline v0::kernels::bodies
