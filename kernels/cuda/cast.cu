// Casts between all dtypes.
#include "kernels/cuda/cast.h"

#include <cstring>

#include "kernels/cuda/elementwise.h"

#include "kernels/bodies/convert.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr const char* kName = "copy_";

// --- the casts that training runs on: a kernel each ---

template <class To>
struct Cast {
  template <class From>
  __device__ Compute<To> operator()(From v) const {
    return bodies::convert<Compute<To>>(v);
  }
};
template <class To, class... From>
bool try_casts_to(const Loop& l) {
  const auto try_cast = [&]<class F>(F) {
    if (l.dtype != CppTypeToScalarType<F>::value) return false;
    elementwise<To, F>(kName, l, Cast<To>());
    return true;
  };
  return l.out_dtype == CppTypeToScalarType<To>::value && (try_cast(From()) || ...);
}
bool try_casts(const Loop& l) {
  return try_casts_to<float, Half, BFloat16, double, int64_t, uint8_t, bool>(l) ||
         try_casts_to<Half, float, BFloat16>(l) || try_casts_to<BFloat16, float, Half>(l) ||
         try_casts_to<double, float>(l) || try_casts_to<int64_t, int32_t>(l) || try_casts_to<int32_t, int64_t>(l);
}

// --- all others share kernels that look at both dtypes when they run ---

constexpr int kUnit = 4, kUnits = 2;

struct CastArguments {
  Walk walk;
  ScalarType to, from;
  char* out;
  const char* in;  // nullptr: it is the number
  uint64_t number[2];
};
/// A thread's elements on their way: as int64_t, uint64_t, float or double, which hold what was read as it is.
template <class Value>
using Values = Elements<Value, kUnit * kUnits>;

template <class From, class Value>
__device__ inline void load_values(const CastArguments& a, const Units<2, kUnits>& units, Values<Value>& values) {
  Input<From> in = {reinterpret_cast<const From*>(a.in), false, {}};
  std::memcpy(&in.number, a.number, sizeof(From));
  const auto loaded = load_units<1, kUnit>(a.walk, units, in);
#pragma unroll
  for (int i = 0; i < kUnit * kUnits; ++i) {
    if constexpr (std::is_same_v<From, Float8_e4m3fn>) {
      values.at[i] = bodies::float8_value<4>(loaded.at[i].x);
    } else if constexpr (std::is_same_v<From, Float8_e5m2>) {
      values.at[i] = bodies::float8_value<5>(loaded.at[i].x);
    } else {
      values.at[i] = static_cast<Value>(widen(loaded.at[i]));
    }
  }
}

template <class To, class Value>
__device__ inline void store_values(const CastArguments& a, const Units<2, kUnits>& units,
                                    const Values<Value>& values) {
  Values<To> out;
#pragma unroll
  for (int i = 0; i < kUnit * kUnits; ++i) {
    if constexpr (std::is_same_v<To, Float8_e4m3fn>) {
      out.at[i].x = bodies::float8_bits<4>(bodies::convert<float>(values.at[i]));
    } else if constexpr (std::is_same_v<To, Float8_e5m2>) {
      out.at[i].x = bodies::float8_bits<5>(bodies::convert<float>(values.at[i]));
    } else if constexpr (std::is_same_v<To, complex<float>> || std::is_same_v<To, complex<double>>) {
      out.at[i].re = bodies::convert<typename To::value_type>(values.at[i]);
      out.at[i].im = 0;
    } else {
      out.at[i] = narrow<To>(bodies::convert<Compute<To>>(values.at[i]));
    }
  }
  store_units<kUnit>(a.walk, units, reinterpret_cast<To*>(a.out), out);
}

#define GRADUS_LOAD(name, T)          \
  case ScalarType::name:              \
    load_values<T>(a, units, values); \
    break;
#define GRADUS_STORE(name, T)          \
  case ScalarType::name:               \
    store_values<T>(a, units, values); \
    break;

template <class Value>
__device__ inline void load_any(const CastArguments& a, const Units<2, kUnits>& units, Values<Value>& values) {
  if constexpr (std::is_same_v<Value, int64_t>) {
    switch (a.from) {
      GRADUS_LOAD(Bool, bool)
      GRADUS_LOAD(Byte, uint8_t)
      GRADUS_LOAD(Char, int8_t)
      GRADUS_LOAD(Short, int16_t)
      GRADUS_LOAD(Int, int32_t)
      GRADUS_LOAD(UInt16, uint16_t)
      GRADUS_LOAD(UInt32, uint32_t)
      default:
        load_values<int64_t>(a, units, values);
    }
  } else if constexpr (std::is_same_v<Value, float>) {
    switch (a.from) {
      GRADUS_LOAD(Half, Half)
      GRADUS_LOAD(BFloat16, BFloat16)
      GRADUS_LOAD(Float8_e4m3fn, Float8_e4m3fn)
      GRADUS_LOAD(Float8_e5m2, Float8_e5m2)
      default:
        load_values<float>(a, units, values);
    }
  } else {
    load_values<Value>(a, units, values);
  }
}
template <class Value>
__device__ inline void store_any(const CastArguments& a, const Units<2, kUnits>& units, const Values<Value>& values) {
  switch (a.to) {
    GRADUS_STORE(Bool, bool)
    GRADUS_STORE(Byte, uint8_t)
    GRADUS_STORE(Char, int8_t)
    GRADUS_STORE(Short, int16_t)
    GRADUS_STORE(Int, int32_t)
    GRADUS_STORE(Long, int64_t)
    GRADUS_STORE(UInt16, uint16_t)
    GRADUS_STORE(UInt32, uint32_t)
    GRADUS_STORE(UInt64, uint64_t)
    GRADUS_STORE(Half, Half)
    GRADUS_STORE(BFloat16, BFloat16)
    GRADUS_STORE(Float, float)
    GRADUS_STORE(Double, double)
    GRADUS_STORE(ComplexFloat, complex<float>)
    GRADUS_STORE(ComplexDouble, complex<double>)
    GRADUS_STORE(Float8_e4m3fn, Float8_e4m3fn)
    GRADUS_STORE(Float8_e5m2, Float8_e5m2)
    default:
      break;
  }
}
#undef GRADUS_LOAD
#undef GRADUS_STORE

template <class Value>
__global__ void __launch_bounds__(kElementwiseThreads) cast_kernel(CastArguments a) {
  const auto units = find_units<2, kUnits>(a.walk, kUnit);
  Values<Value> values;
  load_any(a, units, values);
  store_any(a, units, values);
}

void cast_part(void*, const Loop& l) {
  CastArguments a = {};
  a.to = l.out_dtype;
  a.from = l.dtype;
  a.out = l.data[0];
  if (l.on_host & 2) {
    std::memcpy(a.number, l.data[1], element_size(l.dtype));
  } else {
    a.in = l.data[1];
  }
  unsigned blocks = 0;
  const ItemSizes items = {{static_cast<int>(element_size(a.to)), static_cast<int>(element_size(a.from))}};
  a.walk = make_walk(l, items, kUnit, kUnits, kElementwiseThreads, &blocks);
  const auto kernel = l.dtype == kUInt64           ? &cast_kernel<uint64_t>
                      : l.dtype == kDouble         ? &cast_kernel<double>
                      : is_floating_point(l.dtype) ? &cast_kernel<float>
                                                   : &cast_kernel<int64_t>;
  launch(kName, kernel, blocks, kElementwiseThreads, 0, a);
}

// For a visit that does nothing. (nvcc warns of a lambda whose parameters do not tell its type.)
struct AnyType {
  template <class T>
  void operator()() const {}
};

}  // namespace

void cast(const Loop& l) {
  if (try_casts(l)) return;
  visit_stored(l.out_dtype, AnyType());  // throws for what is no such dtype
  visit_stored(l.dtype, AnyType());
  if (!is_complex(l.dtype)) return for_parts(l, &cast_part, nullptr);
  // The real parts, as numbers that lie apart; and the imaginary ones where there is a place for them.
  Loop part = l;
  part.contiguous = false;
  part.dtype = to_real(l.dtype);
  if (!is_complex(l.out_dtype)) return cast(part);
  part.out_dtype = to_real(l.out_dtype);
  cast(part);
  part.data[0] += element_size(part.out_dtype);
  part.data[1] += element_size(part.dtype);
  cast(part);
}

}  // namespace gradus::inline v0::kernels::cuda
