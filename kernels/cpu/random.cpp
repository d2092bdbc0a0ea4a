#include "kernels/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <type_traits>

#include <gradus/core/cpu_generator.h>

#include "kernels/cpu/random_sink.h"
#include "kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/random.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/box_muller-inl.h"

// Everything that rounds stands in here: the fused multiply-adds below are one instruction on the targets that have it,
// and GCC turns these loops into vector code.
HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

constexpr int64_t kChunk = 512;

inline void draw(CPUGeneratorImpl& generator, uint32_t* out, int64_t n) {
  generator.random(out, n);
}

inline void draw(CPUGeneratorImpl& generator, uint64_t* out, int64_t n) {
  uint32_t halves[2 * kChunk];
  generator.random(halves, 2 * n);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint64_t>(halves[2 * i]) << 32 | halves[2 * i + 1];
}

/// out[i] = f(the next bits) for n elements.
template <class Bits, class V, class F>
void transform_draws(CPUGeneratorImpl& generator, V* out, int64_t n, F f) {
  Bits bits[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    draw(generator, bits, m);
    for (int64_t j = 0; j < m; ++j) out[i + j] = f(bits[j]);
  }
}

/// Fills `out` with what make(V* p, n) makes, chunk after chunk.
template <class V, class Make>
void fill_by(const View& out, Make make) {
  RandomSink sink(out);
  V buffer[kChunk];
  while (sink.left() > 0) {
    const int64_t n = std::min(kChunk, sink.left());
    if (V* place = sink.take<V>(n)) {
      make(place, n);
    } else {
      make(buffer, n);
      sink.put(buffer, n);
    }
  }
}

template <class Bits, class V, class F>
void fill_from_draws(const View& out, GeneratorImpl& g, F f) {
  fill_by<V>(out, [&](V* p, int64_t n) { transform_draws<Bits>(static_cast<CPUGeneratorImpl&>(g), p, n, f); });
}

/// Bits to [0, 1), exactly.
inline float unit(uint32_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits & 0xffffffu)) * 0x1p-24f;
}
inline double unit(uint64_t bits) {
  return static_cast<double>(static_cast<int64_t>(bits & 0x1fffffffffffffu)) * 0x1p-53;
}
template <class V>
using BitsOf = std::conditional_t<std::is_same_v<V, double>, uint64_t, uint32_t>;

/// v as a number of the type `dtype`.
template <class V>
V rounded(ScalarType dtype, V v) {
  if (dtype == ScalarType::Half) return Half(static_cast<float>(v));
  if (dtype == ScalarType::BFloat16) return BFloat16(static_cast<float>(v));
  return v;
}

template <class V>
void uniform(const View& out, V from, V to, CPUGeneratorImpl& generator) {
  const V range = to - from, first = rounded(out.dtype, from), end = rounded(out.dtype, to);
  const bool narrow = element_size(out.dtype) == 2;
  fill_by<V>(out, [&](V* p, int64_t n) {
    transform_draws<BitsOf<V>>(generator, p, n, [=](BitsOf<V> bits) { return std::fma(unit(bits), range, from); });
    if (narrow)
      for (int64_t i = 0; i < n; ++i) p[i] = rounded(out.dtype, p[i]);
    for (int64_t i = 0; i < n; ++i) p[i] = p[i] == end ? first : p[i];  // rounding up reached the open end
  });
}

void UniformFill(const View& out, double from, double to, GeneratorImpl& g) {
  auto& generator = static_cast<CPUGeneratorImpl&>(g);
  if (out.dtype == ScalarType::Double) {
    uniform<double>(out, from, to, generator);
  } else {
    uniform<float>(out, static_cast<float>(from), static_cast<float>(to), generator);
  }
}

/// One normal number; every second call takes what the one before has left.
inline double normal_one(CPUGeneratorImpl& g, double mean, double std) {
  if (const auto left = g.next_double_normal_sample()) {
    g.set_next_double_normal_sample(std::nullopt);
    return std::fma(*left, std, mean);
  }
  const double u = unit(g.random64()), v = unit(g.random64());
  const double radius = std::sqrt(-2.0 * std::log1p(-v)), theta = 6.283185307179586 * u;
  g.set_next_double_normal_sample(radius * std::sin(theta));
  return std::fma(radius * std::cos(theta), std, mean);
}

/// n uniform numbers in [0, 1).
template <class V>
void unit_fill(CPUGeneratorImpl& generator, V* out, int64_t n) {
  transform_draws<BitsOf<V>>(generator, out, n, [](BitsOf<V> bits) { return unit(bits); });
}

// Note [Normal blocks]: the last n % 16 numbers do not fill a block, so the last 16 are drawn anew.
template <class V>
void normal_blocks(CPUGeneratorImpl& generator, V* out, int64_t n, V mean, V std) {
  unit_fill(generator, out, n);
  parallel_for(0, n / 16, 2048 / 16, [&](int64_t b, int64_t e) { BoxMuller(out + 16 * b, e - b, mean, std); });
  if (n % 16 == 0) return;
  unit_fill(generator, out + n - 16, 16);
  BoxMuller(out + n - 16, 1, mean, std);
}
// The 16-bit types draw nothing for the elements behind the last whole block but the block drawn anew.
template <class T>
void narrow_normal_blocks(CPUGeneratorImpl& generator, T* out, int64_t n, float mean, float std) {
  float buffer[kChunk];
  const auto blocks = [&](T* p, int64_t m) {
    unit_fill(generator, buffer, m);
    BoxMuller(buffer, m / 16, mean, std);
    for (int64_t j = 0; j < m; ++j) p[j] = T(buffer[j]);
  };
  const int64_t whole = n / 16 * 16;
  for (int64_t i = 0; i < whole; i += kChunk) blocks(out + i, std::min(kChunk, whole - i));
  if (n != whole) blocks(out + n - 16, 16);
}

/// Whether v is laid out as a new tensor would be, and how many elements it has.
inline bool row_major(const View& v, int64_t& numel) {
  numel = 1;
  bool contiguous = true;
  for (int d = v.ndim - 1; d >= 0; --d) {
    contiguous = contiguous && (v.sizes[d] == 1 || v.strides[d] == numel);
    numel *= v.sizes[d];
  }
  return contiguous;
}

void NormalFill(const View& out, double mean, double std, GeneratorImpl& g) {
  auto& generator = static_cast<CPUGeneratorImpl&>(g);
  int64_t numel;
  if (!row_major(out, numel) || numel < 16) {
    return fill_by<double>(out, [&](double* p, int64_t n) {
      for (int64_t i = 0; i < n; ++i) p[i] = normal_one(generator, mean, std);
    });
  }
  const auto mean_f = static_cast<float>(mean), std_f = static_cast<float>(std);
  switch (out.dtype) {
    case ScalarType::Double:
      return normal_blocks(generator, out.as<double>(), numel, mean, std);
    case ScalarType::Float:
      return normal_blocks(generator, out.as<float>(), numel, mean_f, std_f);
    case ScalarType::Half:
      return narrow_normal_blocks(generator, out.as<Half>(), numel, mean_f, std_f);
    default:
      return narrow_normal_blocks(generator, out.as<BFloat16>(), numel, mean_f, std_f);
  }
}

void LogNormalFill(const View& out, double mean, double std, GeneratorImpl& g) {
  fill_by<double>(out, [&](double* p, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = std::exp(normal_one(static_cast<CPUGeneratorImpl&>(g), mean, std));
  });
}

void CauchyFill(const View& out, double median, double sigma, GeneratorImpl& g) {
  constexpr double pi = 3.14159265358979323846;
  fill_from_draws<uint64_t, double>(
      out, g, [=](uint64_t bits) { return std::fma(sigma, std::tan(pi * (unit(bits) - 0.5)), median); });
}

void ExponentialFill(const View& out, double lambda, GeneratorImpl& g) {
  const double scale = -1.0 / lambda;
  fill_from_draws<uint64_t, double>(out, g, [=](uint64_t bits) { return scale * std::log1p(-unit(bits)); });
}

void GeometricFill(const View& out, double p, GeneratorImpl& g) {
  const double per_trial = std::log1p(-p);
  fill_from_draws<uint64_t, double>(out, g, [=](uint64_t bits) { return std::ceil(std::log(unit(bits)) / per_trial); });
}

void BernoulliFill(const View& out, double p, GeneratorImpl& g) {
  // u < p for u = k / 2^53 is k < ceil(p * 2^53).
  const auto threshold = static_cast<uint64_t>(std::ceil(p * 0x1p53));
  fill_from_draws<uint64_t, uint8_t>(out, g,
                                     [=](uint64_t bits) -> uint8_t { return (bits & 0x1fffffffffffffu) < threshold; });
}

/// Walks p beside the sink; one draw per element, of 24 bits for 16- and 32-bit p and 53 for double.
template <class P>
bool bernoulli_each(const View& out, const ConstView& p, CPUGeneratorImpl& generator) {
  using V = std::conditional_t<std::is_same_v<P, double>, double, float>;
  const MemoryOrder order(out, p);
  RandomSink sink(out);
  bool valid = true;
  order.for_each_run([&](int64_t, int64_t from) {
    const P* probabilities = p.as<P>() + from;
    for (int64_t i = 0; valid && i < order.size[0]; ++i) {
      const V probability = probabilities[i * order.stride[1][0]];
      valid = probability >= 0 && probability <= 1;
      if (!valid) return;
      BitsOf<V> bits;
      draw(generator, &bits, 1);
      const uint8_t success = unit(bits) < probability;
      sink.put(&success, 1);
    }
  });
  return valid;
}

bool BernoulliEachFill(const View& out, const ConstView& p, GeneratorImpl& g) {
  auto& generator = static_cast<CPUGeneratorImpl&>(g);
  switch (p.dtype) {
    case ScalarType::Double:
      return bernoulli_each<double>(out, p, generator);
    case ScalarType::Float:
      return bernoulli_each<float>(out, p, generator);
    case ScalarType::Half:
      return bernoulli_each<Half>(out, p, generator);
    default:
      return bernoulli_each<BFloat16>(out, p, generator);
  }
}

void IntegerRangeFill(const View& out, uint64_t range, int64_t base_, GeneratorImpl& g) {
  const auto base = static_cast<uint64_t>(base_);
  // PyTorch's bound: below it 32 bits are drawn, and the modulo favours some numbers by at most 5 %.
  if (range >= uint64_t{1} << 28) {
    fill_from_draws<uint64_t, int64_t>(out, g,
                                       [=](uint64_t bits) { return static_cast<int64_t>(bits % range + base); });
  } else {
    const auto narrow = static_cast<uint32_t>(range);
    fill_from_draws<uint32_t, int64_t>(out, g,
                                       [=](uint32_t bits) { return static_cast<int64_t>(bits % narrow + base); });
  }
}

void IntegerAllFill(const View& out, GeneratorImpl& g) {
  fill_from_draws<uint64_t, int64_t>(out, g, [](uint64_t bits) { return static_cast<int64_t>(bits); });
}

/// The greatest number IntegerTypeFill gives a type.
inline uint64_t greatest_integer(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
      return 1;
    case ScalarType::Byte:
      return std::numeric_limits<uint8_t>::max();
    case ScalarType::Char:
      return std::numeric_limits<int8_t>::max();
    case ScalarType::Short:
      return std::numeric_limits<int16_t>::max();
    case ScalarType::Int:
      return std::numeric_limits<int32_t>::max();
    case ScalarType::Long:
      return std::numeric_limits<int64_t>::max();
    case ScalarType::UInt16:
      return std::numeric_limits<uint16_t>::max();
    case ScalarType::UInt32:
      return std::numeric_limits<uint32_t>::max();
    case ScalarType::UInt64:
      return std::numeric_limits<uint64_t>::max();
    case ScalarType::Half:
      return uint64_t{1} << 11;
    case ScalarType::BFloat16:
      return uint64_t{1} << 8;
    case ScalarType::Float:
      return uint64_t{1} << 24;
    default:
      return uint64_t{1} << 53;
  }
}

void IntegerTypeFill(const View& out, GeneratorImpl& g) {
  const uint64_t greatest = greatest_integer(out.dtype);
  if (out.dtype == ScalarType::Double) {
    fill_from_draws<uint64_t, int64_t>(out, g,
                                       [=](uint64_t bits) { return static_cast<int64_t>(bits % (greatest + 1)); });
  } else if (element_size(out.dtype) == 8) {
    fill_from_draws<uint64_t, int64_t>(out, g, [=](uint64_t bits) { return static_cast<int64_t>(bits & greatest); });
  } else if (is_floating_point(out.dtype)) {
    const auto modulus = static_cast<uint32_t>(greatest + 1);
    fill_from_draws<uint32_t, int64_t>(out, g, [=](uint32_t bits) -> int64_t { return bits % modulus; });
  } else {
    fill_from_draws<uint32_t, int64_t>(out, g, [=](uint32_t bits) { return static_cast<int64_t>(bits & greatest); });
  }
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
namespace {
HWY_EXPORT(UniformFill);
HWY_EXPORT(NormalFill);
HWY_EXPORT(LogNormalFill);
HWY_EXPORT(CauchyFill);
HWY_EXPORT(ExponentialFill);
HWY_EXPORT(GeometricFill);
HWY_EXPORT(BernoulliFill);
HWY_EXPORT(BernoulliEachFill);
HWY_EXPORT(IntegerRangeFill);
HWY_EXPORT(IntegerAllFill);
HWY_EXPORT(IntegerTypeFill);

void uniform_cpu(const View& out, double from, double to, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(UniformFill)(out, from, to, g);
}
void normal_cpu(const View& out, double mean, double std, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(NormalFill)(out, mean, std, g);
}
void log_normal_cpu(const View& out, double mean, double std, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(LogNormalFill)(out, mean, std, g);
}
void cauchy_cpu(const View& out, double median, double sigma, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(CauchyFill)(out, median, sigma, g);
}
void exponential_cpu(const View& out, double lambda, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(ExponentialFill)(out, lambda, g);
}
void geometric_cpu(const View& out, double p, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(GeometricFill)(out, p, g);
}
void bernoulli_cpu(const View& out, double p, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(BernoulliFill)(out, p, g);
}
bool bernoulli_each_cpu(const View& out, const ConstView& p, GeneratorImpl& g) {
  return HWY_DYNAMIC_DISPATCH(BernoulliEachFill)(out, p, g);
}
void integer_range_cpu(const View& out, uint64_t range, int64_t base, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(IntegerRangeFill)(out, range, base, g);
}
void integer_all_cpu(const View& out, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(IntegerAllFill)(out, g);
}
void integer_type_cpu(const View& out, GeneratorImpl& g) {
  HWY_DYNAMIC_DISPATCH(IntegerTypeFill)(out, g);
}

// PyTorch's two shuffles: from about 2^32 / 20 elements on, 32 bits would be visibly uneven. Other types are shuffled
// as int64 and cast: the op has checked that they hold n.
void permute(int64_t* out, int64_t n, CPUGeneratorImpl& generator) {
  if (n < static_cast<int64_t>(std::numeric_limits<uint32_t>::max() / 20)) {
    std::iota(out, out + n, 0);
    for (int64_t i = 0; i < n - 1; ++i) {
      std::swap(out[i], out[i + static_cast<int64_t>(generator.random() % static_cast<uint32_t>(n - i))]);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto j = static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(i + 1));
    out[i] = out[j];
    out[j] = i;
  }
}

void permutation_cpu(const View& out, GeneratorImpl& g) {
  auto& generator = static_cast<CPUGeneratorImpl&>(g);
  const int64_t n = out.sizes[0];
  if (out.dtype == ScalarType::Long && out.strides[0] == 1) return permute(out.as<int64_t>(), n, generator);
  const auto scratch = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(n));
  permute(scratch.get(), n, generator);
  RandomSink(out).put(scratch.get(), n);
}
}  // namespace

constinit KernelTable<void(const View&, double, double, GeneratorImpl&)> uniform_fill("uniform_fill", &uniform_cpu);
constinit KernelTable<void(const View&, double, double, GeneratorImpl&)> normal_fill("normal_fill", &normal_cpu);
constinit KernelTable<void(const View&, double, double, GeneratorImpl&)> log_normal_fill("log_normal_fill",
                                                                                         &log_normal_cpu);
constinit KernelTable<void(const View&, double, double, GeneratorImpl&)> cauchy_fill("cauchy_fill", &cauchy_cpu);
constinit KernelTable<void(const View&, double, GeneratorImpl&)> exponential_fill("exponential_fill", &exponential_cpu);
constinit KernelTable<void(const View&, double, GeneratorImpl&)> geometric_fill("geometric_fill", &geometric_cpu);
constinit KernelTable<void(const View&, double, GeneratorImpl&)> bernoulli_fill("bernoulli_fill", &bernoulli_cpu);
constinit KernelTable<bool(const View&, const ConstView&, GeneratorImpl&)> bernoulli_each_fill("bernoulli_each_fill",
                                                                                               &bernoulli_each_cpu);
constinit KernelTable<void(const View&, uint64_t, int64_t, GeneratorImpl&)> integer_range_fill("integer_range_fill",
                                                                                               &integer_range_cpu);
constinit KernelTable<void(const View&, GeneratorImpl&)> integer_all_fill("integer_all_fill", &integer_all_cpu);
constinit KernelTable<void(const View&, GeneratorImpl&)> integer_type_fill("integer_type_fill", &integer_type_cpu);
constinit KernelTable<void(const View&, GeneratorImpl&)> permutation_fill("permutation_fill", &permutation_cpu);

}  // namespace gradus::inline v0::kernels
#endif
