// pointwise_binary's arithmetic.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/bodies/integers.h"

namespace gradus::inline v0::kernels::bodies {

struct Add {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    return wrapping_add(a, b);
  }
};
template <class T>
struct AddScaled {
  T scale;
  GRADUS_HOST_DEVICE T operator()(T a, T b) const { return wrapping_add(a, wrapping_mul(scale, b)); }
};
/// Addition of bools.
struct OrScaled {
  bool scale;
  GRADUS_HOST_DEVICE bool operator()(bool a, bool b) const { return a || (scale && b); }
};
struct Multiply {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    return wrapping_mul(a, b);
  }
};
struct Divide {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    return a / b;
  }
};

// The squares of floats neither overflow nor underflow in double; doubles are brought near to 1 by powers of two first.
// Selections instead of branches, so that compilers vectorise it. At most 1.25 ULP, for floats 0.51.
struct Hypotenuse {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T x, T y) const {
    const T infinity = std::numeric_limits<T>::infinity();
    const T a = std::abs(x), b = std::abs(y);
    double scale = 1, back = 1;
    if constexpr (std::is_same_v<T, double>) {
      const double larger = a > b ? a : b;
      scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-500 ? 0x1p600 : 1;
      back = larger > 0x1p500 ? 0x1p600 : larger < 0x1p-500 ? 0x1p-600 : 1;
    }
    const double s = a * scale, t = b * scale;
    const T result = static_cast<T>(std::sqrt(s * s + t * t) * back);
    return a == infinity || b == infinity ? infinity : result;  // beside a NaN, too, as in C
  }
};

// NaN where either is: the comparison is false for a NaN b, and a NaN a is kept by the second test.
struct Larger {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a != a || a > b ? a : b;
    } else {
      return a > b ? a : b;
    }
  }
};
struct Smaller {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a != a || a < b ? a : b;
    } else {
      return a < b ? a : b;
    }
  }
};

struct BitAnd {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

}  // namespace gradus::inline v0::kernels::bodies
