// The words and the vector types of the CUDA language.
#pragma once

#include <cstddef>
#include <cstdint>

// The library that is made of this emulation hides its symbols by default; kernels in other libraries need these.
#define GRADUS_EMULATION_API __attribute__((visibility("default")))

#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

// The vector types of one element type. CUDA aligns those of 2 and 4 elements to their size, up to 16 bytes.
#define GRADUS_EMULATED_VECTORS(T, name, align2, align4) \
  struct name##1 {                                       \
    T x;                                                 \
  };                                                     \
  struct alignas(align2) name##2 {                       \
    T x, y;                                              \
  };                                                     \
  struct name##3 {                                       \
    T x, y, z;                                           \
  };                                                     \
  struct alignas(align4) name##4 {                       \
    T x, y, z, w;                                        \
  };                                                     \
  constexpr name##1 make_##name##1(T x) {                \
    return {x};                                          \
  }                                                      \
  constexpr name##2 make_##name##2(T x, T y) {           \
    return {x, y};                                       \
  }                                                      \
  constexpr name##3 make_##name##3(T x, T y, T z) {      \
    return {x, y, z};                                    \
  }                                                      \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { \
    return {x, y, z, w};                                 \
  }

GRADUS_EMULATED_VECTORS(signed char, char, 2, 4)
GRADUS_EMULATED_VECTORS(unsigned char, uchar, 2, 4)
GRADUS_EMULATED_VECTORS(short, short, 4, 8)
GRADUS_EMULATED_VECTORS(unsigned short, ushort, 4, 8)
GRADUS_EMULATED_VECTORS(int, int, 8, 16)
GRADUS_EMULATED_VECTORS(unsigned int, uint, 8, 16)
GRADUS_EMULATED_VECTORS(long, long, 16, 16)
GRADUS_EMULATED_VECTORS(unsigned long, ulong, 16, 16)
GRADUS_EMULATED_VECTORS(long long, longlong, 16, 16)
GRADUS_EMULATED_VECTORS(unsigned long long, ulonglong, 16, 16)
GRADUS_EMULATED_VECTORS(float, float, 8, 16)
GRADUS_EMULATED_VECTORS(double, double, 16, 16)
#undef GRADUS_EMULATED_VECTORS

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
