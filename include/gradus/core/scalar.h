// A number of any kind: what `x + 2` and `x + 0.5` pass.
#pragma once

#include <gradus/core/scalar_type.h>

namespace gradus {
inline namespace v0 {

/// A double, an integer, a bool or a complex number. Integers keep 64 bits; floats are held as double.
class Scalar {
 public:
  constexpr Scalar() : i_(0), tag_(Tag::kInt) {}
  template <class T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, int> = 0>
  constexpr Scalar(T v) : i_(static_cast<int64_t>(v)), tag_(Tag::kInt) {}  // NOLINT
  template <class T, std::enable_if_t<std::is_same<T, bool>::value, bool> = true>
  constexpr Scalar(T v) : i_(v), tag_(Tag::kBool) {}                                 // NOLINT
  constexpr Scalar(double v) : d_(v), tag_(Tag::kDouble) {}                          // NOLINT
  constexpr Scalar(float v) : d_(v), tag_(Tag::kDouble) {}                           // NOLINT
  Scalar(Half v) : d_(static_cast<float>(v)), tag_(Tag::kDouble) {}                  // NOLINT
  Scalar(BFloat16 v) : d_(static_cast<float>(v)), tag_(Tag::kDouble) {}              // NOLINT
  constexpr Scalar(complex<double> v) : d_(v.re), im_(v.im), tag_(Tag::kComplex) {}  // NOLINT
  constexpr Scalar(complex<float> v) : d_(v.re), im_(v.im), tag_(Tag::kComplex) {}   // NOLINT

  constexpr bool isIntegral(bool include_bool) const {
    return tag_ == Tag::kInt || (include_bool && tag_ == Tag::kBool);
  }
  constexpr bool isFloatingPoint() const { return tag_ == Tag::kDouble; }
  constexpr bool isComplex() const { return tag_ == Tag::kComplex; }
  constexpr bool isBoolean() const { return tag_ == Tag::kBool; }
  /// Long, Double, Bool or ComplexDouble.
  constexpr ScalarType type() const {
    return tag_ == Tag::kInt      ? ScalarType::Long
           : tag_ == Tag::kDouble ? ScalarType::Double
           : tag_ == Tag::kBool   ? ScalarType::Bool
                                  : ScalarType::ComplexDouble;
  }
  /// The value as T. Throws ValueError where it does not fit (overflow, imaginary part, NaN to an integer).
  template <class T>
  T to() const;
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return to<bool>(); }
  Scalar operator-() const {
    if (tag_ == Tag::kComplex) return Scalar(complex<double>(-d_, -im_));
    if (tag_ == Tag::kDouble) return Scalar(-d_);
    return Scalar(static_cast<int64_t>(0ull - static_cast<uint64_t>(i_)));
  }
  /// Equality of numbers, whatever their kind.
  template <class T>
  bool equal(T v) const {
    return tag_ == Tag::kComplex  ? im_ == 0 && d_ == static_cast<double>(v)
           : tag_ == Tag::kDouble ? d_ == static_cast<double>(v)
                                  : i_ == static_cast<int64_t>(v) && static_cast<T>(i_) == v;
  }
  // Unchecked, for the library's kernels: conversions as C++ casts them, NaN and overflow made defined.
  constexpr double as_double() const { return tag_ == Tag::kInt || tag_ == Tag::kBool ? static_cast<double>(i_) : d_; }
  constexpr int64_t as_int() const {
    return tag_ == Tag::kInt || tag_ == Tag::kBool                                  ? i_
           : d_ >= 9223372036854775808.0 || d_ < -9223372036854775808.0 || d_ != d_ ? INT64_MIN
                                                                                    : static_cast<int64_t>(d_);
  }
  constexpr complex<double> as_complex() const { return {as_double(), tag_ == Tag::kComplex ? im_ : 0.0}; }

 private:
  enum class Tag : uint8_t { kInt, kDouble, kBool, kComplex };
  template <class T>
  [[noreturn]] void does_not_fit() const;
  union {
    int64_t i_;
    double d_;
  };
  double im_ = 0;
  Tag tag_;
};

GRADUS_API void append_text(std::string& s, const Scalar& v);

namespace detail {
[[noreturn]] GRADUS_API void scalar_does_not_fit(const Scalar& v, ScalarType t);
template <class T>
struct is_complex_type : std::false_type {};
template <class T>
struct is_complex_type<complex<T>> : std::true_type {};
}  // namespace detail

template <class T>
T Scalar::to() const {
  constexpr ScalarType kTarget = CppTypeToScalarType<T>::value;
  if constexpr (detail::is_complex_type<T>::value) {
    return T(as_complex());
  } else {
    if (tag_ == Tag::kComplex && im_ != 0) detail::scalar_does_not_fit(*this, kTarget);
    if constexpr (std::is_same<T, bool>::value) {
      return tag_ == Tag::kInt || tag_ == Tag::kBool ? i_ != 0 : d_ != 0;
    } else if constexpr (std::is_integral<T>::value) {
      if (tag_ == Tag::kInt || tag_ == Tag::kBool) {
        if (!std::is_same<T, uint64_t>::value && static_cast<int64_t>(static_cast<T>(i_)) != i_) {
          detail::scalar_does_not_fit(*this, kTarget);
        }
        return static_cast<T>(i_);
      }
      const int64_t v = as_int();
      if ((v == INT64_MIN && d_ != -9223372036854775808.0) || static_cast<int64_t>(static_cast<T>(v)) != v) {
        detail::scalar_does_not_fit(*this, kTarget);
      }
      return static_cast<T>(v);
    } else {
      return static_cast<T>(as_double());
    }
  }
}

}  // namespace v0
}  // namespace gradus
