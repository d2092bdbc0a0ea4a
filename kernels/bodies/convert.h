// Casts among bool, integers, float and double, and the formats of 8-bit floats.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/bodies/host_device.h"

namespace gradus::inline v0::kernels::bodies {

// Float to integer as vector instructions truncate, made defined: through 32 bits for narrow types and through 64 for
// wide ones, of which what is out of range and NaN give the smallest number.
template <class To, class F>
GRADUS_HOST_DEVICE inline To integer_from(F v) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    if (v >= F(9223372036854775808.0) && v < F(18446744073709551616.0)) return static_cast<uint64_t>(v);
  }
  if constexpr (sizeof(To) < 4 || std::is_same_v<To, int32_t>) {
    const bool fits = (v >= F(-2147483648.0)) & (v < F(2147483648.0));
    return static_cast<To>(fits ? static_cast<int32_t>(v) : std::numeric_limits<int32_t>::min());
  } else {
    const bool fits = (v >= F(-9223372036854775808.0)) & (v < F(9223372036854775808.0));
    return static_cast<To>(fits ? static_cast<int64_t>(v) : std::numeric_limits<int64_t>::min());
  }
}

template <class To, class From>
GRADUS_HOST_DEVICE inline To convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return integer_from<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

/// An 8-bit float of kExponentBits: 4 (e4m3fn: no infinity, NaN has all bits set) or 5 (e5m2: the upper half of a
/// half).
template <int kExponentBits>
struct Float8Format {
  static constexpr int kMantissaBits = 7 - kExponentBits;
  static constexpr int kShift = 23 - kMantissaBits;  // from a float's mantissa
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - kBias) << 23;
  static constexpr uint32_t kNan = 0x7f;
  static constexpr uint32_t kLargest = kExponentBits == 4 ? 0x7e : 0x7b;
  static constexpr uint32_t kOverflow = kLargest + 1;  // NaN, or infinity
};

/// Rounded half to even; what is too large becomes infinity or, without one, NaN.
template <int kExponentBits>
GRADUS_HOST_DEVICE inline uint8_t float8_bits(float f) {
  using Format = Float8Format<kExponentBits>;
  const auto bits = std::bit_cast<uint32_t>(f);
  const uint32_t sign = bits >> 24 & 0x80u, a = bits & 0x7fffffffu;
  uint32_t result;
  if (a > 0x7f800000u) {
    result = Format::kNan;
  } else if (a < Format::kSmallestNormal) {
    // Added to a number whose last place is the format's smallest, the hardware rounds.
    const float unit_place =
        std::bit_cast<float>(static_cast<uint32_t>(127 + 24 - Format::kBias - Format::kMantissaBits) << 23);
    result = std::bit_cast<uint32_t>(std::bit_cast<float>(a) + unit_place) - std::bit_cast<uint32_t>(unit_place);
  } else {
    const uint32_t odd = a >> Format::kShift & 1u;
    const uint32_t rounded = a + ((1u << (Format::kShift - 1)) - 1) + odd;
    result = (rounded - (static_cast<uint32_t>(127 - Format::kBias) << 23)) >> Format::kShift;
    if (result > Format::kLargest) result = Format::kOverflow;
  }
  return static_cast<uint8_t>(sign | result);
}
template <int kExponentBits>
GRADUS_HOST_DEVICE inline float float8_value(uint8_t bits) {
  using Format = Float8Format<kExponentBits>;
  const uint32_t a = bits & 0x7fu;
  uint32_t magnitude;
  if (a > Format::kLargest) {
    magnitude = kExponentBits == 5 && a == Format::kOverflow ? 0x7f800000u : 0x7fc00000u;
  } else {
    // The same digits with a float's bias: a power of two too small, subnormals included.
    const float scale = std::bit_cast<float>(static_cast<uint32_t>(127 + 127 - Format::kBias) << 23);
    magnitude = std::bit_cast<uint32_t>(std::bit_cast<float>(a << Format::kShift) * scale);
  }
  return std::bit_cast<float>(magnitude | static_cast<uint32_t>(bits & 0x80u) << 24);
}

}  // namespace gradus::inline v0::kernels::bodies
