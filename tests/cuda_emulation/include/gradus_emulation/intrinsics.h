// Arithmetic and bit functions that CUDA has beside those of the C library. Where CUDA names a rounding, only the one
// that the host computes in (to nearest) is here.
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <chrono>

#include "gradus_emulation/execution.h"

#define GRADUS_EMULATED_MIN_MAX(T) \
  constexpr T min(T a, T b) {      \
    return b < a ? b : a;          \
  }                                \
  constexpr T max(T a, T b) {      \
    return a < b ? b : a;          \
  }
GRADUS_EMULATED_MIN_MAX(int)
GRADUS_EMULATED_MIN_MAX(unsigned int)
GRADUS_EMULATED_MIN_MAX(long)
GRADUS_EMULATED_MIN_MAX(unsigned long)
GRADUS_EMULATED_MIN_MAX(long long)
GRADUS_EMULATED_MIN_MAX(unsigned long long)
#undef GRADUS_EMULATED_MIN_MAX
// As fmin and fmax: the number where the other operand is NaN.
inline float min(float a, float b) {
  return fminf(a, b);
}
inline float max(float a, float b) {
  return fmaxf(a, b);
}
inline double min(double a, double b) {
  return ::fmin(a, b);
}
inline double max(double a, double b) {
  return ::fmax(a, b);
}

inline int __popc(unsigned int v) {
  return __builtin_popcount(v);
}
inline int __popcll(unsigned long long v) {
  return __builtin_popcountll(v);
}
inline int __clz(int v) {
  return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v));
}
inline int __clzll(long long v) {
  return v == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(v));
}
inline int __ffs(int v) {
  return __builtin_ffs(v);
}
inline int __ffsll(long long v) {
  return __builtin_ffsll(v);
}
inline int __mulhi(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) * b) >> 32);
}
inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  __extension__ using Wide = __int128;
  return static_cast<long long>((static_cast<Wide>(a) * b) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>((static_cast<Wide>(a) * b) >> 64);
}
inline unsigned int __brev(unsigned int v) {
  unsigned int r = 0;
  for (int i = 0; i < 32; ++i) r |= ((v >> i) & 1u) << (31 - i);
  return r;
}
inline unsigned long long __brevll(unsigned long long v) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(v))) << 32 |
         __brev(static_cast<unsigned>(v >> 32));
}
inline unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned int r = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned int byte = static_cast<unsigned int>(bytes >> (((selector >> (4 * i)) & 7u) * 8)) & 0xffu;
    const bool replicate_sign = ((selector >> (4 * i)) & 8u) != 0;
    r |= (replicate_sign ? ((byte & 0x80u) != 0 ? 0xffu : 0u) : byte) << (8 * i);
  }
  return r;
}
inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}

inline int __float_as_int(float v) {
  return __builtin_bit_cast(int, v);
}
inline unsigned int __float_as_uint(float v) {
  return __builtin_bit_cast(unsigned int, v);
}
inline float __int_as_float(int v) {
  return __builtin_bit_cast(float, v);
}
inline float __uint_as_float(unsigned int v) {
  return __builtin_bit_cast(float, v);
}
inline long long __double_as_longlong(double v) {
  return __builtin_bit_cast(long long, v);
}
inline double __longlong_as_double(long long v) {
  return __builtin_bit_cast(double, v);
}

inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline float __fsqrt_rn(float v) {
  return sqrtf(v);
}
inline float __frcp_rn(float v) {
  return 1.0f / v;
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dsub_rn(double a, double b) {
  return a - b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline double __ddiv_rn(double a, double b) {
  return a / b;
}
inline double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}
inline double __dsqrt_rn(double v) {
  return sqrt(v);
}
inline float __saturatef(float v) {
  return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __expf(float v) {
  return expf(v);
}
inline float __logf(float v) {
  return logf(v);
}
inline float rsqrtf(float v) {
  return 1.0f / sqrtf(v);
}
inline double rsqrt(double v) {
  return 1.0 / sqrt(v);
}
inline float rsqrt(float v) {
  return rsqrtf(v);
}
inline float sinpif(float v) {
  return static_cast<float>(sin(3.14159265358979323846 * fmod(v, 2.0)));
}
inline float cospif(float v) {
  return static_cast<float>(cos(3.14159265358979323846 * fmod(v, 2.0)));
}
inline double sinpi(double v) {
  return sin(3.14159265358979323846 * fmod(v, 2.0));
}
inline double cospi(double v) {
  return cos(3.14159265358979323846 * fmod(v, 2.0));
}
inline void sincospif(float v, float* s, float* c) {
  *s = sinpif(v), *c = cospif(v);
}
inline void sincospi(double v, double* s, double* c) {
  *s = sinpi(v), *c = cospi(v);
}

#define GRADUS_EMULATED_FLOAT_TO(name, T) \
  inline T name##_rn(float v) {           \
    return static_cast<T>(nearbyintf(v)); \
  }                                       \
  inline T name##_rz(float v) {           \
    return static_cast<T>(truncf(v));     \
  }                                       \
  inline T name##_rd(float v) {           \
    return static_cast<T>(floorf(v));     \
  }                                       \
  inline T name##_ru(float v) {           \
    return static_cast<T>(ceilf(v));      \
  }
GRADUS_EMULATED_FLOAT_TO(__float2int, int)
GRADUS_EMULATED_FLOAT_TO(__float2uint, unsigned int)
GRADUS_EMULATED_FLOAT_TO(__float2ll, long long)
#undef GRADUS_EMULATED_FLOAT_TO
inline float __int2float_rn(int v) {
  return static_cast<float>(v);
}
inline float __uint2float_rn(unsigned int v) {
  return static_cast<float>(v);
}
inline float __double2float_rn(double v) {
  return static_cast<float>(v);
}

// Loads and stores that give the caches a hint.
#define GRADUS_EMULATED_LOAD(name)  \
  template <class T>                \
  inline T name(const T* address) { \
    return *address;                \
  }
GRADUS_EMULATED_LOAD(__ldg)
GRADUS_EMULATED_LOAD(__ldca)
GRADUS_EMULATED_LOAD(__ldcg)
GRADUS_EMULATED_LOAD(__ldcs)
GRADUS_EMULATED_LOAD(__ldlu)
GRADUS_EMULATED_LOAD(__ldcv)
#undef GRADUS_EMULATED_LOAD
#define GRADUS_EMULATED_STORE(name)                             \
  template <class T>                                            \
  inline void name(T* address, std::type_identity_t<T> value) { \
    *address = value;                                           \
  }
GRADUS_EMULATED_STORE(__stwb)
GRADUS_EMULATED_STORE(__stcg)
GRADUS_EMULATED_STORE(__stcs)
GRADUS_EMULATED_STORE(__stwt)
#undef GRADUS_EMULATED_STORE

inline long long clock64() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
