// CUDA's half as far as conversions and wmma need it; arithmetic on it is not here.
#pragma once

#include "cuda_runtime.h"

struct __half {
  unsigned short bits;
};
using half = __half;

inline unsigned short __half_as_ushort(__half h) {
  return h.bits;
}
inline __half __ushort_as_half(unsigned short bits) {
  return {bits};
}
/// To nearest, ties to even; every NaN becomes the same one.
inline __half __float2half_rn(float f) {
  const uint32_t all = __float_as_uint(f);
  const unsigned short sign = static_cast<unsigned short>(all >> 16 & 0x8000u);
  uint32_t v = all & 0x7fffffffu;
  if (v > 0x7f800000u) return {0x7fff};
  if (v >= 0x477ff000u) return {static_cast<unsigned short>(sign | 0x7c00u)};  // 65,520 and more
  if (v < 0x38800000u) {  // below 2^-14: the last bit of a sum with 0.5 is worth what the last bit of such a half is
    v = __float_as_uint(__uint_as_float(v) + 0.5f) - 0x3f000000u;
  } else {
    v = (v + 0xfffu + (v >> 13 & 1u) - 0x38000000u) >> 13;
  }
  return {static_cast<unsigned short>(sign | v)};
}
inline __half __float2half(float f) {
  return __float2half_rn(f);
}
inline float __half2float(__half h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000u) << 16;
  const uint32_t exponent = h.bits >> 10 & 0x1fu, fraction = h.bits & 0x3ffu;
  if (exponent == 0) {
    const float tiny = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -tiny : tiny;
  }
  return __uint_as_float(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13);
}
