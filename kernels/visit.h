// From a dtype to a C++ type: visit_floating(dtype, [&]<class T>() { ... }).
#pragma once

#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::kernels {

/// A dtype that the kernel is not made for reached it: the operator should have refused it.
[[noreturn]] GRADUS_API void unsupported_dtype(ScalarType t);

#define GRADUS_VISIT(name, T) \
  case ScalarType::name:      \
    return f.template operator()<T>()

/// The four floating types.
template <class F>
decltype(auto) visit_floating(ScalarType t, F&& f) {
  switch (t) {
    GRADUS_VISIT(Float, float);
    GRADUS_VISIT(Double, double);
    GRADUS_VISIT(Half, Half);
    GRADUS_VISIT(BFloat16, BFloat16);
    default:
      unsupported_dtype(t);
  }
}

/// The signed and unsigned integers of up to 64 bits that have arithmetic (u8, i8, i16, i32, i64).
template <class F>
decltype(auto) visit_integral(ScalarType t, F&& f) {
  switch (t) {
    GRADUS_VISIT(Byte, uint8_t);
    GRADUS_VISIT(Char, int8_t);
    GRADUS_VISIT(Short, int16_t);
    GRADUS_VISIT(Int, int32_t);
    GRADUS_VISIT(Long, int64_t);
    default:
      unsupported_dtype(t);
  }
}

/// Floating types and integers, without bool.
template <class F>
decltype(auto) visit_numbers(ScalarType t, F&& f) {
  switch (t) {
    GRADUS_VISIT(Float, float);
    GRADUS_VISIT(Double, double);
    GRADUS_VISIT(Half, Half);
    GRADUS_VISIT(BFloat16, BFloat16);
    GRADUS_VISIT(Byte, uint8_t);
    GRADUS_VISIT(Char, int8_t);
    GRADUS_VISIT(Short, int16_t);
    GRADUS_VISIT(Int, int32_t);
    GRADUS_VISIT(Long, int64_t);
    default:
      unsupported_dtype(t);
  }
}

/// Numbers and bool.
template <class F>
decltype(auto) visit_all(ScalarType t, F&& f) {
  if (t == ScalarType::Bool) return f.template operator()<bool>();
  return visit_numbers(t, static_cast<F&&>(f));
}

/// By width, for kernels that only move elements.
struct Bytes16 {
  uint64_t halves[2];
};
template <class F>
decltype(auto) visit_width(size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint64_t>();
    default:
      return f.template operator()<Bytes16>();
  }
}
#undef GRADUS_VISIT

}  // namespace gradus::inline v0::kernels
