#include "scalar_range.h"

#include <gradus/core/error.h>

namespace gradus::inline v0::ops {

namespace {

struct Range {
  int64_t low;
  uint64_t high;
};
Range range_of(ScalarType t) {
  const auto bits = static_cast<unsigned>(8 * element_size(t));
  const bool is_unsigned =
      t == ScalarType::Byte || t == ScalarType::UInt16 || t == ScalarType::UInt32 || t == ScalarType::UInt64;
  const uint64_t all = ~uint64_t{0} >> (64 - bits);
  if (is_unsigned) return {0, all};
  return {-static_cast<int64_t>(all / 2) - 1, all / 2};
}

bool is_number(const Scalar& v) {
  return v.isIntegral(true) || v.as_double() == v.as_double();
}
bool is_below(const Scalar& v, const Range& r) {
  return v.isIntegral(true) ? v.as_int() < r.low : v.as_double() < static_cast<double>(r.low);
}
bool is_above(const Scalar& v, const Range& r) {
  if (v.isIntegral(true)) return v.as_int() > 0 && static_cast<uint64_t>(v.as_int()) > r.high;
  // high + 1 is a power of two: exact as a double, as high itself need not be.
  return v.as_double() >= 2 * static_cast<double>(r.high / 2 + 1);
}

}  // namespace

void check_storable(const char* op, const Scalar& value, ScalarType dtype) {
  if (!is_integral(dtype, false)) return;
  const Range r = range_of(dtype);
  const bool wraps = value.isIntegral(false) && r.low == 0 && value.as_int() < 0;
  const bool fits = wraps ? uint64_t{0} - static_cast<uint64_t>(value.as_int()) <= r.high
                          : is_number(value) && !is_below(value, r) && !is_above(value, r) &&
                                (!value.isComplex() || value.as_complex().im == 0);
  GRADUS_CHECK_AS(ValueError, fits, op, ": the value ", value, " cannot be represented as ", dtype,
                  "; expected one without overflow");
}

Scalar lower_bound(const char* op, const Scalar& bound, ScalarType dtype) {
  if (!is_integral(dtype, false)) return bound;
  const Range r = range_of(dtype);
  GRADUS_CHECK_AS(ValueError, is_number(bound) && !is_above(bound, r), op, ": the lower bound ", bound,
                  " is outside the representable range of ", dtype);
  return is_below(bound, r) ? Scalar(r.low) : bound;
}

Scalar upper_bound(const char* op, const Scalar& bound, ScalarType dtype) {
  if (!is_integral(dtype, false)) return bound;
  const Range r = range_of(dtype);
  GRADUS_CHECK_AS(ValueError, is_number(bound) && !is_below(bound, r), op, ": the upper bound ", bound,
                  " is outside the representable range of ", dtype);
  return is_above(bound, r) ? Scalar(r.high) : bound;
}

}  // namespace gradus::inline v0::ops
