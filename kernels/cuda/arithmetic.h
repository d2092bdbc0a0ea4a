// Sums and products of any dtype that has them.
#pragma once

#include <type_traits>

#include "kernels/cuda/numeric.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

/// What numbers of type T are added up or multiplied in. Integers wrap.
template <class T>
struct Arithmetic {
  using Sum = Compute<T>;
  static __device__ Sum from(T v) { return widen(v); }
  static __device__ T to(Sum s) { return narrow<T>(s); }
  static __device__ Sum add(Sum a, Sum b) { return a + b; }
  static __device__ Sum multiply(Sum a, Sum b) { return a * b; }
};
template <class T>
requires std::is_integral_v<T>
struct Arithmetic<T> {
  using Sum = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  static __device__ Sum from(T v) { return static_cast<Sum>(v); }
  static __device__ T to(Sum s) { return static_cast<T>(s); }
  static __device__ Sum add(Sum a, Sum b) { return a + b; }
  static __device__ Sum multiply(Sum a, Sum b) { return a * b; }
};
template <>
struct Arithmetic<bool> {
  using Sum = uint32_t;
  static __device__ Sum from(bool v) { return v ? 1 : 0; }
  static __device__ bool to(Sum s) { return s != 0; }
  static __device__ Sum add(Sum a, Sum b) { return a | b; }
  static __device__ Sum multiply(Sum a, Sum b) { return a & b; }
};

/// f.template operator()<T>() with bool, an unsigned integer, a floating type or a complex one. Signed integers wrap as
/// the unsigned ones do.
template <class F>
void visit_arithmetic(ScalarType t, F&& f) {
  switch (t) {
    case ScalarType::Bool:
      return f.template operator()<bool>();
    case ScalarType::Byte:
    case ScalarType::Char:
      return f.template operator()<uint8_t>();
    case ScalarType::Short:
      return f.template operator()<uint16_t>();
    case ScalarType::Int:
      return f.template operator()<uint32_t>();
    case ScalarType::Long:
      return f.template operator()<uint64_t>();
    case ScalarType::ComplexFloat:
      return f.template operator()<complex<float>>();
    case ScalarType::ComplexDouble:
      return f.template operator()<complex<double>>();
    default:
      visit_floating(t, f);
  }
}

}  // namespace gradus::inline v0::kernels::cuda
