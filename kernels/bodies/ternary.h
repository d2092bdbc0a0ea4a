// Three operands, or one between bounds.
#pragma once

#include "kernels/bodies/integers.h"

namespace gradus::inline v0::kernels::bodies {

struct Where {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

/// What wraps: integers are computed unsigned.
template <class T>
using Wrapping = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;

template <class T>
struct AddProduct {
  Wrapping<T> factor;
  GRADUS_HOST_DEVICE T operator()(T a, T b, T c) const {
    using W = Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) + factor * static_cast<W>(b) * static_cast<W>(c));
  }
};
template <class T>
struct AddQuotient {
  T factor;
  GRADUS_HOST_DEVICE T operator()(T a, T b, T c) const { return a + factor * b / c; }
};

/// a + weight * (b - a), from the nearer end, so that weight 1 gives b exactly.
struct Lerp {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T b, T weight) const {
    return (weight < 0 ? -weight : weight) < T(0.5) ? a + weight * (b - a) : b - (b - a) * (1 - weight);
  }
};
template <class T>
struct LerpBy {
  T weight;
  GRADUS_HOST_DEVICE T operator()(T a, T b) const { return Lerp()(a, b, weight); }
};

// A NaN among bound and value wins. Without ||, whose branch the vectoriser would not take.
struct AtLeast {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T low) const {
    const bool keep = std::is_floating_point_v<T> ? (a != a) | (low < a) : low < a;
    return keep ? a : low;
  }
};
struct AtMost {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T high) const {
    const bool keep = std::is_floating_point_v<T> ? (a != a) | (a < high) : a < high;
    return keep ? a : high;
  }
};
struct Clamp {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T a, T low, T high) const {
    return AtMost()(AtLeast()(a, low), high);
  }
};
template <class T>
struct ClampFrom {
  T low;
  GRADUS_HOST_DEVICE T operator()(T a) const { return AtLeast()(a, low); }
};
template <class T>
struct ClampTo {
  T high;
  GRADUS_HOST_DEVICE T operator()(T a) const { return AtMost()(a, high); }
};
template <class T>
struct ClampBetween {
  T low, high;
  GRADUS_HOST_DEVICE T operator()(T a) const { return Clamp()(a, low, high); }
};

}  // namespace gradus::inline v0::kernels::bodies
