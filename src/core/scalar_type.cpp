// Names, promotion and the 8-bit floats.
#include <gradus/core/scalar_type.h>

#include <atomic>
#include <cmath>

#include <gradus/core/device.h>

namespace gradus::inline v0 {

const char* to_string(ScalarType t) {
  switch (t) {
    case ScalarType::Byte:
      return "Byte";
    case ScalarType::Char:
      return "Char";
    case ScalarType::Short:
      return "Short";
    case ScalarType::Int:
      return "Int";
    case ScalarType::Long:
      return "Long";
    case ScalarType::Half:
      return "Half";
    case ScalarType::Float:
      return "Float";
    case ScalarType::Double:
      return "Double";
    case ScalarType::ComplexHalf:
      return "ComplexHalf";
    case ScalarType::ComplexFloat:
      return "ComplexFloat";
    case ScalarType::ComplexDouble:
      return "ComplexDouble";
    case ScalarType::Bool:
      return "Bool";
    case ScalarType::QInt8:
      return "QInt8";
    case ScalarType::QUInt8:
      return "QUInt8";
    case ScalarType::QInt32:
      return "QInt32";
    case ScalarType::BFloat16:
      return "BFloat16";
    case ScalarType::Float8_e5m2:
      return "Float8_e5m2";
    case ScalarType::Float8_e4m3fn:
      return "Float8_e4m3fn";
    case ScalarType::UInt16:
      return "UInt16";
    case ScalarType::UInt32:
      return "UInt32";
    case ScalarType::UInt64:
      return "UInt64";
    default:
      return "Undefined";
  }
}

std::string TypeMeta::name() const {
  switch (type_) {
    case ScalarType::Byte:
      return "unsigned char";
    case ScalarType::Char:
      return "signed char";
    case ScalarType::Short:
      return "short int";
    case ScalarType::Int:
      return "int";
    case ScalarType::Long:
      return "long int";
    case ScalarType::Half:
      return "c10::Half";
    case ScalarType::Float:
      return "float";
    case ScalarType::Double:
      return "double";
    case ScalarType::ComplexHalf:
      return "c10::complex<c10::Half>";
    case ScalarType::ComplexFloat:
      return "c10::complex<float>";
    case ScalarType::ComplexDouble:
      return "c10::complex<double>";
    case ScalarType::Bool:
      return "bool";
    case ScalarType::BFloat16:
      return "c10::BFloat16";
    case ScalarType::QInt8:
      return "c10::qint8";
    case ScalarType::QUInt8:
      return "c10::quint8";
    case ScalarType::QInt32:
      return "c10::qint32";
    case ScalarType::UInt16:
      return "unsigned short";
    case ScalarType::UInt32:
      return "unsigned int";
    case ScalarType::UInt64:
      return "unsigned long";
    case ScalarType::Float8_e5m2:
      return "c10::Float8_e5m2";
    case ScalarType::Float8_e4m3fn:
      return "c10::Float8_e4m3fn";
    default:
      return "nullptr (uninitialized)";
  }
}

namespace {

// Signed integers by width; a Byte with a signed one needs one step more than itself.
int signed_rank(ScalarType t) {
  switch (t) {
    case ScalarType::Char:
      return 1;
    case ScalarType::Short:
      return 2;
    case ScalarType::Int:
      return 3;
    case ScalarType::Long:
      return 4;
    default:
      return 0;
  }
}

ScalarType promote_integers(ScalarType a, ScalarType b) {
  if (a == ScalarType::Byte || b == ScalarType::Byte) {
    const ScalarType other = a == ScalarType::Byte ? b : a;
    const int r = signed_rank(other);
    if (r == 0) return ScalarType::Undefined;
    return r == 1 ? ScalarType::Short : other;
  }
  const int ra = signed_rank(a), rb = signed_rank(b);
  if (ra == 0 || rb == 0) return ScalarType::Undefined;
  return ra > rb ? a : b;
}

ScalarType promote_floats(ScalarType a, ScalarType b) {
  auto is8 = [](ScalarType t) { return t == ScalarType::Float8_e5m2 || t == ScalarType::Float8_e4m3fn; };
  if (is8(a) || is8(b)) return ScalarType::Undefined;
  if (a == ScalarType::Double || b == ScalarType::Double) return ScalarType::Double;
  return ScalarType::Float;  // two different ones of Half, BFloat16, Float
}

ScalarType to_complex(ScalarType t) {
  return t == ScalarType::Double ? ScalarType::ComplexDouble
         : t == ScalarType::Half ? ScalarType::ComplexHalf
         : is_complex(t)         ? t
                                 : ScalarType::ComplexFloat;
}

ScalarType promote_or_undefined(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (a == ScalarType::Undefined || b == ScalarType::Undefined || is_quantized(a) || is_quantized(b))
    return ScalarType::Undefined;
  if (a == ScalarType::Bool) return b;
  if (b == ScalarType::Bool) return a;
  if (is_complex(a) || is_complex(b)) {
    const ScalarType real_a = is_integral(a, true) ? ScalarType::Undefined : to_real(a);
    const ScalarType real_b = is_integral(b, true) ? ScalarType::Undefined : to_real(b);
    if (real_a == ScalarType::Undefined) return b;
    if (real_b == ScalarType::Undefined) return a;
    const ScalarType real = real_a == real_b ? real_a : promote_floats(real_a, real_b);
    return real == ScalarType::Undefined ? real : to_complex(real);
  }
  const bool float_a = is_floating_point(a), float_b = is_floating_point(b);
  if (float_a && float_b) return promote_floats(a, b);
  if (float_a) return a;
  if (float_b) return b;
  return promote_integers(a, b);
}

std::atomic<ScalarType> default_dtype{ScalarType::Float};

}  // namespace

ScalarType promote_types(ScalarType a, ScalarType b) {
  const ScalarType r = promote_or_undefined(a, b);
  GRADUS_CHECK_AS(TypeError, r != ScalarType::Undefined, "promote_types: no dtype holds both ", a, " and ", b,
                  "; convert one of them with to()");
  return r;
}

bool can_cast(ScalarType from, ScalarType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating_point(from) && is_integral(to, true)) return false;
  if (from != ScalarType::Bool && to == ScalarType::Bool) return false;
  return true;
}

ScalarType get_default_dtype() {
  return default_dtype.load(std::memory_order_relaxed);
}
void set_default_dtype(ScalarType t) {
  GRADUS_CHECK_AS(
      TypeError,
      t == ScalarType::Float || t == ScalarType::Double || t == ScalarType::Half || t == ScalarType::BFloat16,
      "set_default_dtype: ", t, " was given; expected Float, Double, Half or BFloat16");
  default_dtype.store(t, std::memory_order_relaxed);
}

namespace detail {

namespace {
struct Float8Form {
  int mantissa_bits, bias, max_exponent;  // max_exponent: of the largest finite number, unbiased
  double largest;
};
Float8Form form_of(int exponent_bits) {
  return exponent_bits == 4 ? Float8Form{3, 7, 8, 448.0} : Float8Form{2, 15, 15, 57344.0};
}
}  // namespace

float float8_to_float(uint8_t b, int exponent_bits) {
  const Float8Form f = form_of(exponent_bits);
  const int man_mask = (1 << f.mantissa_bits) - 1;
  const int exp = (b & 0x7f) >> f.mantissa_bits, man = b & man_mask;
  const float sign = (b & 0x80) ? -1.0f : 1.0f;
  if (exponent_bits == 4 ? (b & 0x7f) == 0x7f : exp == 31) {
    return exponent_bits == 5 && man == 0 ? sign * HUGE_VALF : bits_to_float((b & 0x80) ? 0xffc00000u : 0x7fc00000u);
  }
  if (exp == 0) return sign * std::ldexp(static_cast<float>(man), 1 - f.bias - f.mantissa_bits);
  return sign * std::ldexp(static_cast<float>(man | (1 << f.mantissa_bits)), exp - f.bias - f.mantissa_bits);
}

uint8_t float_to_float8(float value, int exponent_bits) {
  const Float8Form f = form_of(exponent_bits);
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const double a = std::fabs(static_cast<double>(value));
  if (std::isnan(value)) return sign | 0x7f;
  const uint8_t overflow = exponent_bits == 4 ? 0x7f : 0x7c;
  if (std::isinf(value)) return sign | overflow;
  if (a == 0) return sign;
  int e;
  std::frexp(a, &e);  // a = m * 2^e, m in [0.5, 1)
  const int exponent = e - 1 < 1 - f.bias ? 1 - f.bias : e - 1;
  // In units of the last place; rounded half to even by the default mode.
  const double units = std::nearbyint(std::ldexp(a, f.mantissa_bits - exponent));
  const double rounded = std::ldexp(units, exponent - f.mantissa_bits);
  if (rounded > f.largest) return sign | overflow;
  const int u = static_cast<int>(units);
  // The bits of exponent and mantissa follow one another, so that a carry out of the mantissa is an addition.
  return static_cast<uint8_t>(sign | (((exponent + f.bias - 1) << f.mantissa_bits) + u));
}

const char* name(Layout layout) {
  return layout == Layout::Strided ? "Strided" : layout == Layout::Sparse ? "Sparse" : "SparseCsr";
}
const char* name(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Contiguous:
      return "Contiguous";
    case MemoryFormat::Preserve:
      return "Preserve";
    case MemoryFormat::ChannelsLast:
      return "ChannelsLast";
    default:
      return "ChannelsLast3d";
  }
}

}  // namespace detail
}  // namespace gradus::inline v0
