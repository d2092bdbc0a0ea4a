// Element types.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include <gradus/core/error.h>

namespace gradus {
inline namespace v0 {

/// A complex number in two reals, layout-compatible with std::complex<T> (convert with its constructor).
template <class T>
struct complex {
  using value_type = T;
  T re = 0, im = 0;
  constexpr complex() = default;
  constexpr complex(T r, T i = 0) : re(r), im(i) {}  // NOLINT
  template <class U>
  explicit constexpr complex(const complex<U>& o) : re(static_cast<T>(o.re)), im(static_cast<T>(o.im)) {}
  constexpr T real() const { return re; }
  constexpr T imag() const { return im; }
  constexpr bool operator==(const complex& o) const { return re == o.re && im == o.im; }
  constexpr bool operator!=(const complex& o) const { return !(*this == o); }
  constexpr complex operator+(const complex& o) const { return {re + o.re, im + o.im}; }
  constexpr complex operator-(const complex& o) const { return {re - o.re, im - o.im}; }
  constexpr complex operator-() const { return {-re, -im}; }
  constexpr complex operator*(const complex& o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  constexpr complex& operator+=(const complex& o) { return *this = *this + o; }
  constexpr complex& operator-=(const complex& o) { return *this = *this - o; }
  constexpr complex& operator*=(const complex& o) { return *this = *this * o; }
};

namespace detail {
inline float bits_to_float(uint32_t b) {
  float f;
  std::memcpy(&f, &b, 4);
  return f;
}
inline uint32_t float_to_bits(float f) {
  uint32_t b;
  std::memcpy(&b, &f, 4);
  return b;
}
// IEEE half <-> float, round to nearest even, subnormals kept.
inline float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exp = (h >> 10) & 31u, man = h & 0x3ffu;
  if (exp == 31) return bits_to_float(sign | 0x7f800000u | (man << 13));
  if (exp == 0) {
    const float v = static_cast<float>(man) * 5.9604644775390625e-8f;  // 2^-24
    return bits_to_float(sign | float_to_bits(v));
  }
  return bits_to_float(sign | ((exp + 112u) << 23) | (man << 13));
}
inline uint16_t float_to_half(float f) {
  const uint32_t x = float_to_bits(f), sign = (x >> 16) & 0x8000u, a = x & 0x7fffffffu;
  if (a >= 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7c00u | (a > 0x7f800000u ? 0x200u | ((a >> 13) & 0x3ffu) : 0u));
  if (a >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (a < 0x38800000u) {
    // Adding 0.5 puts the half's last bit at the float's last bit, so the hardware rounds.
    const uint32_t r = float_to_bits(bits_to_float(a) + 0.5f) - 0x3f000000u;
    return static_cast<uint16_t>(sign | r);
  }
  const uint32_t odd = (a >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((a - 0x38000000u + 0xfffu + odd) >> 13));
}
inline uint16_t float_to_bfloat16(float f) {
  const uint32_t x = float_to_bits(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}
GRADUS_API uint8_t float_to_float8(float f, int exponent_bits);
GRADUS_API float float8_to_float(uint8_t b, int exponent_bits);
}  // namespace detail

/// IEEE 754 binary16.
struct Half {
  uint16_t x = 0;
  Half() = default;
  Half(float f) : x(detail::float_to_half(f)) {}  // NOLINT
  operator float() const { return detail::half_to_float(x); }
};
/// The upper half of a float.
struct BFloat16 {
  uint16_t x = 0;
  BFloat16() = default;
  BFloat16(float f) : x(detail::float_to_bfloat16(f)) {}  // NOLINT
  operator float() const { return detail::bits_to_float(static_cast<uint32_t>(x) << 16); }
};
/// 8-bit floats: storage and casts only.
struct Float8_e4m3fn {
  uint8_t x = 0;
  Float8_e4m3fn() = default;
  Float8_e4m3fn(float f) : x(detail::float_to_float8(f, 4)) {}  // NOLINT
  operator float() const { return detail::float8_to_float(x, 4); }
};
struct Float8_e5m2 {
  uint8_t x = 0;
  Float8_e5m2() = default;
  Float8_e5m2(float f) : x(detail::float_to_float8(f, 5)) {}  // NOLINT
  operator float() const { return detail::float8_to_float(x, 5); }
};
struct quint8 {
  uint8_t val = 0;
};
struct qint8 {
  int8_t val = 0;
};
struct qint32 {
  int32_t val = 0;
};

/// The element types, with libtorch's numbers.
enum class ScalarType : int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  ComplexHalf = 8,
  ComplexFloat = 9,
  ComplexDouble = 10,
  Bool = 11,
  QInt8 = 12,
  QUInt8 = 13,
  QInt32 = 14,
  BFloat16 = 15,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
  Undefined = 46
};

constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte;
constexpr ScalarType kChar = ScalarType::Char, kInt8 = ScalarType::Char;
constexpr ScalarType kShort = ScalarType::Short, kInt16 = ScalarType::Short;
constexpr ScalarType kInt = ScalarType::Int, kInt32 = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long, kInt64 = ScalarType::Long;
constexpr ScalarType kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64;
constexpr ScalarType kHalf = ScalarType::Half, kFloat16 = ScalarType::Half;
constexpr ScalarType kBFloat16 = ScalarType::BFloat16;
constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = ScalarType::Float;
constexpr ScalarType kDouble = ScalarType::Double, kFloat64 = ScalarType::Double;
constexpr ScalarType kComplexHalf = ScalarType::ComplexHalf;
constexpr ScalarType kComplexFloat = ScalarType::ComplexFloat;
constexpr ScalarType kComplexDouble = ScalarType::ComplexDouble;
constexpr ScalarType kBool = ScalarType::Bool;
constexpr ScalarType kQInt8 = ScalarType::QInt8, kQUInt8 = ScalarType::QUInt8, kQInt32 = ScalarType::QInt32;
constexpr ScalarType kFloat8_e5m2 = ScalarType::Float8_e5m2, kFloat8_e4m3fn = ScalarType::Float8_e4m3fn;

/// Bytes of one element; 0 for Undefined.
constexpr size_t element_size(ScalarType t) {
  switch (t) {
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Bool:
    case ScalarType::QInt8:
    case ScalarType::QUInt8:
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e4m3fn:
      return 1;
    case ScalarType::Short:
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::UInt16:
      return 2;
    case ScalarType::Int:
    case ScalarType::Float:
    case ScalarType::ComplexHalf:
    case ScalarType::QInt32:
    case ScalarType::UInt32:
      return 4;
    case ScalarType::Long:
    case ScalarType::Double:
    case ScalarType::ComplexFloat:
    case ScalarType::UInt64:
      return 8;
    case ScalarType::ComplexDouble:
      return 16;
    default:
      return 0;
  }
}
inline size_t elementSize(ScalarType t) {
  return element_size(t);
}
/// float, double and the 16- and 8-bit floats.
constexpr bool is_floating_point(ScalarType t) {
  return t == ScalarType::Float || t == ScalarType::Double || t == ScalarType::Half || t == ScalarType::BFloat16 ||
         t == ScalarType::Float8_e5m2 || t == ScalarType::Float8_e4m3fn;
}
constexpr bool is_complex(ScalarType t) {
  return t == ScalarType::ComplexFloat || t == ScalarType::ComplexDouble || t == ScalarType::ComplexHalf;
}
constexpr bool is_quantized(ScalarType t) {
  return t == ScalarType::QInt8 || t == ScalarType::QUInt8 || t == ScalarType::QInt32;
}
constexpr bool is_integral(ScalarType t, bool include_bool) {
  return t == ScalarType::Byte || t == ScalarType::Char || t == ScalarType::Short || t == ScalarType::Int ||
         t == ScalarType::Long || t == ScalarType::UInt16 || t == ScalarType::UInt32 || t == ScalarType::UInt64 ||
         (include_bool && t == ScalarType::Bool);
}
inline bool isFloatingType(ScalarType t) {
  return is_floating_point(t);
}
inline bool isComplexType(ScalarType t) {
  return is_complex(t);
}
inline bool isIntegralType(ScalarType t, bool include_bool) {
  return is_integral(t, include_bool);
}
/// Types a gradient can have.
constexpr bool is_differentiable(ScalarType t) {
  return is_floating_point(t) || is_complex(t);
}
/// The real type of a complex one (float for ComplexFloat); other types are returned as they are.
constexpr ScalarType to_real(ScalarType t) {
  return t == ScalarType::ComplexFloat    ? ScalarType::Float
         : t == ScalarType::ComplexDouble ? ScalarType::Double
         : t == ScalarType::ComplexHalf   ? ScalarType::Half
                                          : t;
}
/// "Float", "Long", ...: as libtorch prints a ScalarType.
GRADUS_API const char* to_string(ScalarType t);
inline const char* toString(ScalarType t) {
  return to_string(t);
}
/// The type that holds both, by PyTorch's promotion table.
GRADUS_API ScalarType promote_types(ScalarType a, ScalarType b);
inline ScalarType promoteTypes(ScalarType a, ScalarType b) {
  return promote_types(a, b);
}
/// Whether a result of type `from` may be written into a tensor of type `to` (not float into int, and so on).
GRADUS_API bool can_cast(ScalarType from, ScalarType to);
/// The dtype of new floating tensors: float until set. Only floating types are accepted.
GRADUS_API ScalarType get_default_dtype();
GRADUS_API void set_default_dtype(ScalarType t);

/// What `x.dtype()` returns in libtorch: converts to ScalarType, prints as "float".
class TypeMeta {
 public:
  constexpr TypeMeta() = default;
  constexpr TypeMeta(ScalarType t) : type_(t) {}           // NOLINT
  constexpr operator ScalarType() const { return type_; }  // NOLINT
  constexpr ScalarType toScalarType() const { return type_; }
  constexpr size_t itemsize() const { return element_size(type_); }
  /// "float", "double", "long", "int", "bool", "c10::Half", ...
  GRADUS_API std::string name() const;

 private:
  ScalarType type_ = ScalarType::Undefined;
};
inline bool operator==(TypeMeta a, TypeMeta b) {
  return a.toScalarType() == b.toScalarType();
}
inline bool operator!=(TypeMeta a, TypeMeta b) {
  return !(a == b);
}
inline bool operator==(TypeMeta a, ScalarType b) {
  return a.toScalarType() == b;
}
inline bool operator!=(TypeMeta a, ScalarType b) {
  return a.toScalarType() != b;
}
inline bool operator==(ScalarType a, TypeMeta b) {
  return a == b.toScalarType();
}
inline bool operator!=(ScalarType a, TypeMeta b) {
  return a != b.toScalarType();
}

/// The ScalarType of a C++ type: CppTypeToScalarType<float>::value. Does not compile for types no tensor holds.
template <class T>
struct CppTypeToScalarType;
#define GRADUS_MAP_TYPE(cpp, st) \
  template <>                    \
  struct CppTypeToScalarType<cpp> : std::integral_constant<ScalarType, ScalarType::st> {}
GRADUS_MAP_TYPE(uint8_t, Byte);
GRADUS_MAP_TYPE(int8_t, Char);
GRADUS_MAP_TYPE(int16_t, Short);
GRADUS_MAP_TYPE(int, Int);
GRADUS_MAP_TYPE(long, Long);
GRADUS_MAP_TYPE(long long, Long);
GRADUS_MAP_TYPE(uint16_t, UInt16);
GRADUS_MAP_TYPE(uint32_t, UInt32);
GRADUS_MAP_TYPE(unsigned long, UInt64);
GRADUS_MAP_TYPE(unsigned long long, UInt64);
GRADUS_MAP_TYPE(Half, Half);
GRADUS_MAP_TYPE(BFloat16, BFloat16);
GRADUS_MAP_TYPE(float, Float);
GRADUS_MAP_TYPE(double, Double);
GRADUS_MAP_TYPE(complex<float>, ComplexFloat);
GRADUS_MAP_TYPE(complex<double>, ComplexDouble);
GRADUS_MAP_TYPE(bool, Bool);
GRADUS_MAP_TYPE(Float8_e5m2, Float8_e5m2);
GRADUS_MAP_TYPE(Float8_e4m3fn, Float8_e4m3fn);
GRADUS_MAP_TYPE(quint8, QUInt8);
GRADUS_MAP_TYPE(qint8, QInt8);
GRADUS_MAP_TYPE(qint32, QInt32);
#undef GRADUS_MAP_TYPE

inline void append_text(std::string& s, ScalarType t) {
  s.append(to_string(t));
}
inline void append_text(std::string& s, TypeMeta t) {
  s.append(to_string(t.toScalarType()));
}

}  // namespace v0
}  // namespace gradus
