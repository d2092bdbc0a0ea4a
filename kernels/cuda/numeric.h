// Elements in device code: what arithmetic on a dtype is done in, loads and stores that convert.
#pragma once

#include <type_traits>

#include <gradus/core/scalar.h>
#include <gradus/core/scalar_type.h>

#include "kernels/cuda/device.h"

namespace gradus::inline v0::kernels::cuda {

/// What arithmetic on a T is done in: float for the 16-bit floats.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

/// An element as a number to compute with.
template <class T>
__device__ inline Compute<T> widen(T v) {
  if constexpr (std::is_same_v<T, Half>) {
    return half_to_float(v.x);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return bfloat16_to_float(v.x);
  } else {
    return v;
  }
}
/// A number of the computing type, or of a wider one, as an element.
template <class T, class C>
__device__ inline T narrow(C v) {
  if constexpr (std::is_same_v<T, Half>) {
    T r;
    r.x = float_to_half(static_cast<float>(v));
    return r;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    T r;
    r.x = float_to_bfloat16(static_cast<float>(v));
    return r;
  } else {
    return static_cast<T>(v);
  }
}
template <class T>
__device__ inline Compute<T> load(const T* p) {
  return widen(*p);
}
template <class T, class C>
__device__ inline void store(T* p, C v) {
  *p = narrow<T>(v);
}

/// N neighbours that are read and written at once; the address must be a multiple of their size.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};
/// How many elements of T make 16 bytes, the widest access.
template <class T>
constexpr int kPackSize = sizeof(T) >= 16 ? 1 : static_cast<int>(16 / sizeof(T));

/// A number as a T (host): a fraction's integer part where T is an integer.
template <class T>
inline T as(const Scalar& s) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(s.as_double());
  } else if constexpr (std::is_same_v<T, bool>) {
    return s.as_double() != 0;
  } else {
    return static_cast<T>(s.as_int());
  }
}

}  // namespace gradus::inline v0::kernels::cuda
