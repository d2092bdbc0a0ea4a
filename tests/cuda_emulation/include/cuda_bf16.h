// CUDA's bfloat16 as far as conversions and wmma need it; arithmetic on it is not here.
#pragma once

#include "cuda_runtime.h"

struct __nv_bfloat16 {
  unsigned short bits;
};

inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 b) {
  return b.bits;
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return {bits};
}
/// To nearest, ties to even; every NaN becomes the same one.
inline __nv_bfloat16 __float2bfloat16_rn(float f) {
  const uint32_t v = __float_as_uint(f);
  if ((v & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {static_cast<unsigned short>((v + 0x7fffu + (v >> 16 & 1u)) >> 16)};
}
inline __nv_bfloat16 __float2bfloat16(float f) {
  return __float2bfloat16_rn(f);
}
inline float __bfloat162float(__nv_bfloat16 b) {
  return __uint_as_float(static_cast<uint32_t>(b.bits) << 16);
}
