// Copies, casts and fills. Plain loops: they are bound by memory.
#include <kernels/pointwise.h>

#include <cstring>
#include <type_traits>

#include <kernels/cpu/transpose.h>
#include <kernels/visit.h>

#include "kernels/bodies/convert.h"

namespace gradus::inline v0::kernels {

namespace {

template <class F>
void visit_stored(ScalarType t, F&& f) {
  switch (t) {
#define GRADUS_VISIT(name, T) \
  case ScalarType::name:      \
    return f.template operator()<T>();
    GRADUS_VISIT(Byte, uint8_t)
    GRADUS_VISIT(Char, int8_t)
    GRADUS_VISIT(Short, int16_t)
    GRADUS_VISIT(Int, int32_t)
    GRADUS_VISIT(Long, int64_t)
    GRADUS_VISIT(UInt16, uint16_t)
    GRADUS_VISIT(UInt32, uint32_t)
    GRADUS_VISIT(UInt64, uint64_t)
    GRADUS_VISIT(Half, Half)
    GRADUS_VISIT(BFloat16, BFloat16)
    GRADUS_VISIT(Float, float)
    GRADUS_VISIT(Double, double)
    GRADUS_VISIT(Bool, bool)
    GRADUS_VISIT(ComplexFloat, complex<float>)
    GRADUS_VISIT(ComplexDouble, complex<double>)
    GRADUS_VISIT(Float8_e4m3fn, Float8_e4m3fn)
    GRADUS_VISIT(Float8_e5m2, Float8_e5m2)
#undef GRADUS_VISIT
    default:
      unsupported_dtype(t);
  }
}

template <class T>
constexpr bool is_small_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> ||
                                std::is_same_v<T, Float8_e4m3fn> || std::is_same_v<T, Float8_e5m2>;
template <class T>
constexpr bool is_complex_v = std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>;

template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>) {
      return To(v);
    } else {
      return convert<To>(v.re);
    }
  } else if constexpr (is_small_float<From>) {
    return convert<To>(static_cast<float>(v));
  } else if constexpr (is_complex_v<To>) {
    return To(static_cast<typename To::value_type>(v));
  } else if constexpr (is_small_float<To>) {
    return To(static_cast<float>(v));
  } else {
    return bodies::convert<To>(v);
  }
}

template <class T>
void move_row(void*, char* const* p, const int64_t* s, int64_t n) {
  if (s[0] == sizeof(T) && s[1] == sizeof(T)) {
    std::memmove(p[0], p[1], static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(p[0] + i * s[0]) = *reinterpret_cast<const T*>(p[1] + i * s[1]);
}

template <class To, class From>
void cast_row(void*, char* const* p, const int64_t* s, int64_t n) {
  if (s[0] == sizeof(To) && s[1] == sizeof(From)) {
    auto* to = reinterpret_cast<To*>(p[0]);
    auto* from = reinterpret_cast<const From*>(p[1]);
    for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    *reinterpret_cast<To*>(p[0] + i * s[0]) = convert<To>(*reinterpret_cast<const From*>(p[1] + i * s[1]));
}

// A matrix, or a batch of them, whose rows lie dense on one side and whose columns do on the other.
bool copy_as_transposes(const Loop& l) {
  const auto item = static_cast<int64_t>(element_size(l.dtype));
  if (l.ndim < 2 || l.ndim > 3 || l.numel < 4096 || (item != 2 && item != 4 && item != 8) || l.strides[0][0] != item)
    return false;
  int across = 1;
  while (across < l.ndim && l.strides[across][1] != item) ++across;
  if (across == l.ndim || l.sizes[0] < 4 || l.sizes[across] < 4) return false;
  const int batch = l.ndim == 3 ? 3 - across : 0;
  const int64_t from_row = l.strides[0][1], to_row = l.strides[across][0];
  const int64_t batches = batch ? l.sizes[batch] : 1, from_batch = batch ? l.strides[batch][1] : 0,
                to_batch = batch ? l.strides[batch][0] : 0;
  if (from_row < l.sizes[across] * item || to_row < l.sizes[0] * item) return false;
  if (from_row % item || to_row % item || from_batch % item || to_batch % item) return false;
  transpose_batch(static_cast<size_t>(item), batches, l.sizes[0], l.sizes[across], l.data[1], from_batch / item,
                  from_row / item, l.data[0], to_batch / item, to_row / item);
  return true;
}

void copy_kernel(const Loop& l) {
  if (l.dtype == l.out_dtype) {
    if (!l.contiguous && copy_as_transposes(l)) return;
    return visit_width(element_size(l.dtype), [&]<class T>() { for_rows(l, &move_row<T>, nullptr, 1); });
  }
  visit_stored(l.out_dtype, [&]<class To>() {
    visit_stored(l.dtype, [&]<class From>() { for_rows(l, &cast_row<To, From>, nullptr, 2); });
  });
}

template <class T>
void fill_row(void* value, char* const* p, const int64_t* s, int64_t n) {
  const T v = *static_cast<T*>(value);
  if (s[0] == sizeof(T)) {
    auto* to = reinterpret_cast<T*>(p[0]);
    for (int64_t i = 0; i < n; ++i) to[i] = v;
    return;
  }
  for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(p[0] + i * s[0]) = v;
}

void fill_kernel(const Loop& l, const Scalar& value) {
  visit_stored(l.out_dtype, [&]<class T>() {
    T v;
    if constexpr (is_complex_v<T>) {
      v = T(value.as_complex());
    } else if (value.isIntegral(true)) {
      v = convert<T>(value.as_int());
    } else {
      v = convert<T>(value.as_double());
    }
    for_rows(l, &fill_row<T>, &v, 1);
  });
}

}  // namespace

constinit UnaryTable copy{"copy_", &copy_kernel};
constinit ScaledTable fill{"fill_", &fill_kernel};

}  // namespace gradus::inline v0::kernels
