// The CUDA language for kernel files, and the only place that knows which compiler reads it: nvcc, or any C++ compiler
// with the emulation of tests/cuda_emulation, whose folder then comes first on the include path.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

/// Functions of kernels/bodies, which the CPU's kernels share.
#define GRADUS_HOST_DEVICE __host__ __device__

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>

/// Shared memory of a fixed shape: GRADUS_SHARED(float, tile, [32][33]); tile[row][column] = ...
#define GRADUS_SHARED(T, name, shape) __shared__ T name shape
/// The shared memory that the launch was given: GRADUS_DYNAMIC_SHARED(float, partial); partial[i] = ...
#define GRADUS_DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char gradus_dynamic_shared[]; \
  T* name = reinterpret_cast<T*>(gradus_dynamic_shared)

namespace gradus::inline v0::kernels::cuda {

__device__ inline float half_to_float(uint16_t bits) {
  return __half2float(__ushort_as_half(bits));
}
__device__ inline uint16_t float_to_half(float f) {
  return __half_as_ushort(__float2half_rn(f));
}
__device__ inline float bfloat16_to_float(uint16_t bits) {
  return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}
__device__ inline uint16_t float_to_bfloat16(float f) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(f));
}

/// By the special function units: a hundred times the error of the C library's, for what must agree with numbers that
/// were made so.
__device__ inline void rough_sincos(float f, float* sine, float* cosine) {
  __sincosf(f, sine, cosine);
}
__device__ inline float rough_log(float f) {
  return __logf(f);
}
__device__ inline float rough_exp(float f) {
  return __expf(f);
}
__device__ inline float rough_tan(float f) {
  return __tanf(f);
}
/// A store that several threads may make at once, all of the same value.
template <class T>
__device__ inline void store_shared_value(T* to, T v) {
  *to = v;
}

}  // namespace gradus::inline v0::kernels::cuda

#else
#include <math.h>

#include <cstring>
#include <type_traits>

#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::kernels::cuda {

inline float half_to_float(uint16_t bits) {
  return gradus::detail::half_to_float(bits);
}
inline uint16_t float_to_half(float f) {
  return gradus::detail::float_to_half(f);
}
inline float bfloat16_to_float(uint16_t bits) {
  return gradus::detail::bits_to_float(static_cast<uint32_t>(bits) << 16);
}
inline uint16_t float_to_bfloat16(float f) {
  return gradus::detail::float_to_bfloat16(f);
}

inline void rough_sincos(float f, float* sine, float* cosine) {
  *sine = sinf(f), *cosine = cosf(f);
}
inline float rough_log(float f) {
  return logf(f);
}
inline float rough_exp(float f) {
  return expf(f);
}
inline float rough_tan(float f) {
  return tanf(f);
}
template <class T>
void store_shared_value(T* to, T v) {
  using Part = std::conditional_t<(sizeof(T) < 8), T, uint64_t>;
  Part parts[sizeof(T) / sizeof(Part)];
  std::memcpy(parts, &v, sizeof v);
  for (size_t i = 0; i < sizeof(T) / sizeof(Part); ++i)
    __atomic_store_n(reinterpret_cast<Part*>(to) + i, parts[i], __ATOMIC_RELAXED);
}

}  // namespace gradus::inline v0::kernels::cuda
#endif
