// Random integers, trials and permutations.
#include <cmath>

#include "kernels/cuda/data_error.h"
#include "kernels/cuda/numeric.h"
#include "kernels/cuda/radix_sort.h"
#include "kernels/cuda/random_fill.h"
#include "kernels/random.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

/// Writes a number as an element of any real type: not worth a kernel for each.
struct AnyElement {
  ScalarType dtype;
  unsigned nbytes;
  explicit AnyElement(ScalarType t) : dtype(t), nbytes(static_cast<unsigned>(element_size(t))) {}
  template <class V>
  __device__ void store(char* to, V v) const {
    switch (dtype) {
      case ScalarType::Float:
        *reinterpret_cast<float*>(to) = static_cast<float>(v);
        return;
      case ScalarType::Double:
        *reinterpret_cast<double*>(to) = static_cast<double>(v);
        return;
      case ScalarType::Half:
        *reinterpret_cast<Half*>(to) = narrow<Half>(v);
        return;
      case ScalarType::BFloat16:
        *reinterpret_cast<BFloat16*>(to) = narrow<BFloat16>(v);
        return;
      default:
        store_integer(to, static_cast<int64_t>(v));
    }
  }
  __device__ void move(const char* from, char* to) const {
    for (unsigned i = 0; i < nbytes; ++i) to[i] = from[i];
  }

 private:
  __device__ void store_integer(char* to, int64_t v) const {
    switch (dtype) {
      case ScalarType::Bool:
        *reinterpret_cast<bool*>(to) = v != 0;
        return;
      case ScalarType::Byte:
      case ScalarType::Char:
        *reinterpret_cast<uint8_t*>(to) = static_cast<uint8_t>(v);
        return;
      case ScalarType::Short:
      case ScalarType::UInt16:
        *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(v);
        return;
      case ScalarType::Int:
      case ScalarType::UInt32:
        *reinterpret_cast<uint32_t*>(to) = static_cast<uint32_t>(v);
        return;
      default:
        *reinterpret_cast<uint64_t*>(to) = static_cast<uint64_t>(v);
    }
  }
};

// --- integers ---

/// base + bits % range; all bits where range is 0.
template <class Bits>
struct IntegerInRange {
  uint64_t range;
  int64_t base;
  IndexDivider<uint64_t> by_range;
  AnyElement element;
  IntegerInRange(uint64_t r, int64_t b, ScalarType dtype) : range(r), base(b), by_range(r ? r : 1), element(dtype) {}
  __device__ void operator()(char* to, Bits bits) const {
    uint64_t v = bits;
    if (range != 0) {
      if constexpr (sizeof(Bits) == 4) {
        v -= by_range.quotient(v) * range;
      } else {
        v %= range;
      }
    }
    element.store(to, static_cast<int64_t>(v + static_cast<uint64_t>(base)));
  }
};

void fill_integers(const char* name, const View& out, bool wide, uint64_t range, int64_t base, GeneratorImpl& g) {
  if (wide) {
    random_fill<DrawDoubleWords>(name, out, g, IntegerInRange<uint64_t>(range, base, out.dtype));
  } else {
    random_fill<DrawWords>(name, out, g, IntegerInRange<uint32_t>(range, base, out.dtype));
  }
}

void integer_range(const View& out, uint64_t range, int64_t base, GeneratorImpl& g) {
  // PyTorch's bound: below it 32 bits are drawn, and the modulo favours some numbers by at most 5 %.
  fill_integers("integer_range", out, range == 0 || range >= uint64_t{1} << 28, range, base, g);
}

void integer_all(const View& out, GeneratorImpl& g) {
  fill_integers("integer_all", out, true, 0, 0, g);
}

// One more than the greatest number integer_type gives a type; 0 for 2^64.
uint64_t integers_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
      return 2;
    case ScalarType::Half:
      return (uint64_t{1} << 11) + 1;
    case ScalarType::BFloat16:
      return (uint64_t{1} << 8) + 1;
    case ScalarType::Float:
      return (uint64_t{1} << 24) + 1;
    case ScalarType::Double:
      return (uint64_t{1} << 53) + 1;
    case ScalarType::UInt64:
      return 0;
    case ScalarType::Byte:
    case ScalarType::UInt16:
    case ScalarType::UInt32:
      return uint64_t{1} << (8 * element_size(dtype));
    default:
      return uint64_t{1} << (8 * element_size(dtype) - 1);
  }
}

void integer_type(const View& out, GeneratorImpl& g) {
  fill_integers("integer_type", out, element_size(out.dtype) == 8, integers_of(out.dtype), 0, g);
}

// --- trials ---

template <class V>
struct Geometric {
  V failure, log_of_failure;  // the probability of one, and its logarithm
  AnyElement element;
  __device__ void operator()(char* to, V v) const {
    if constexpr (std::is_same_v<V, float>) {
      // PyTorch's logarithms, but where that of a number next to 1 would be 0.
      element.store(to, ceilf(rough_log(v) / (failure < 1 ? rough_log(failure) : log_of_failure)));
    } else {
      element.store(to, ceil(log(v) / log_of_failure));
    }
  }
};

void geometric(const View& out, double p, GeneratorImpl& g) {
  const AnyElement element(out.dtype);
  const double log_of_failure = std::log1p(-p);
  if (out.dtype == ScalarType::Double) {
    random_fill<DrawUniformDouble>("geometric", out, g, Geometric<double>{1 - p, log_of_failure, element});
  } else {
    random_fill<DrawUniform>("geometric", out, g,
                             Geometric<float>{1 - static_cast<float>(p), static_cast<float>(log_of_failure), element});
  }
}

// The bits of 1 in a type.
uint64_t bits_of_one(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Float:
      return 0x3f800000u;
    case ScalarType::Double:
      return 0x3ff0000000000000u;
    case ScalarType::Half:
      return 0x3c00u;
    case ScalarType::BFloat16:
      return 0x3f80u;
    default:
      return 1;
  }
}

/// 1 with probability p, else 0. Bits holds an element.
template <class Bits, class V>
struct Trial {
  V p;
  Bits one;
  __device__ void operator()(char* to, V v) const { *reinterpret_cast<Bits*>(to) = v < p ? one : Bits(0); }
};

// f.template operator()<Bits>() with the unsigned integer that holds an element.
template <class F>
void visit_bits(ScalarType dtype, const F& f) {
  switch (element_size(dtype)) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    default:
      return f.template operator()<uint64_t>();
  }
}

void bernoulli(const View& out, double p, GeneratorImpl& g) {
  const uint64_t one = bits_of_one(out.dtype);
  if (out.dtype == ScalarType::Double) {
    return random_fill<DrawUniformDouble>("bernoulli", out, g, Trial<uint64_t, double>{p, one});
  }
  visit_bits(out.dtype, [&]<class Bits>() {
    random_fill<DrawUniform>("bernoulli", out, g, Trial<Bits, float>{static_cast<float>(p), static_cast<Bits>(one)});
  });
}

/// A probability per element, of any floating type.
struct Probabilities {
  ScalarType dtype;
  __device__ double load(const char* p) const {
    switch (dtype) {
      case ScalarType::Double:
        return *reinterpret_cast<const double*>(p);
      case ScalarType::Float:
        return *reinterpret_cast<const float*>(p);
      case ScalarType::Half:
        return widen(*reinterpret_cast<const Half*>(p));
      default:
        return widen(*reinterpret_cast<const BFloat16*>(p));
    }
  }
};

// A thread makes four neighbours of one block of words. The walk's operands: out, p.
template <class Bits>
__global__ void __launch_bounds__(kRandomThreads)
    bernoulli_each_kernel(char* out, const char* p, Probabilities type, StridedWalk<2, uint64_t> walk, int64_t numel,
                          PhiloxState state, Bits one, bool in_double, DataErrorSlot errors) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kRandomThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kRandomThreads + threadIdx.x; 4 * i < numel; i += step) {
    PhiloxDraws draws(state, static_cast<uint64_t>(i));
    float value[DrawUniform::count];
    DrawUniform()(draws.next(), value);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int64_t at = 4 * i + k;
      if (at >= numel) break;
      int64_t offset[2];
      walk.locate(static_cast<uint64_t>(at), offset);
      const double probability = type.load(p + offset[1]);
      if (!(probability >= 0 && probability <= 1)) errors.report(kProbability, at, 0, 0);
      const bool success =
          in_double ? static_cast<double>(value[k]) <= probability : value[k] <= static_cast<float>(probability);
      *reinterpret_cast<Bits*>(out + offset[0]) = success ? one : Bits(0);
    }
  }
}

bool bernoulli_each(const View& out, const ConstView& p, GeneratorImpl& g) {
  const int64_t numel = numel_of(out);
  if (numel == 0) return true;
  const auto item = static_cast<int64_t>(element_size(out.dtype)), p_item = static_cast<int64_t>(element_size(p.dtype));
  int order[kMaxWalkDims], n = 0;
  for (int d = out.ndim; d-- > 0;) {
    int i = n++;
    for (; i > 0 && out.strides[d] < out.strides[order[i - 1]]; --i) order[i] = order[i - 1];
    order[i] = d;
  }
  WalkDims<2> dims;
  for (int i = 0; i < n; ++i) {
    const int d = order[i];
    dims.add(out.sizes[d], {out.strides[d] * item, p.strides[d] * p_item});
  }
  const PhiloxState state = cuda_generator(g).reserve(10);  // PyTorch's number
  visit_bits(out.dtype, [&]<class Bits>() {
    launch("bernoulli_each", bernoulli_each_kernel<Bits>, blocks_for(ceil_div(numel, 4), kRandomThreads),
           kRandomThreads, 0, out.as<char>(), p.as<char>(), Probabilities{p.dtype}, StridedWalk<2, uint64_t>(dims),
           numel, state, static_cast<Bits>(bits_of_one(out.dtype)), out.dtype == ScalarType::Double,
           data_error_slot("bernoulli"));
  });
  return true;
}

// --- permutations ---

// Sorted by random keys of `bits` bits, the numbers 0 .. n - 1 are a permutation, each as likely as the others if those
// with equal keys are shuffled among themselves.

template <class Key>
__global__ void __launch_bounds__(kRandomThreads) draw_keys(Key* keys, int64_t n, Key mask, PhiloxState state) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kRandomThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kRandomThreads + threadIdx.x; i < n; i += step) {
    const PhiloxBlock words = PhiloxDraws(state, static_cast<uint64_t>(i)).next();
    keys[i] = static_cast<Key>(static_cast<uint64_t>(words.x[0]) << 32 | words.x[1]) & mask;
  }
}

/// The thread of a run's first key shuffles the run (Fisher and Yates). `state` comes after the keys' draws.
template <class Key>
__global__ void __launch_bounds__(kRandomThreads)
    shuffle_runs(const Key* keys, const uint32_t* order, char* to, int64_t stride, AnyElement element, int64_t n,
                 PhiloxState state) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kRandomThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kRandomThreads + threadIdx.x; i < n; i += step) {
    if (i > 0 && keys[i - 1] == keys[i]) continue;
    int64_t end = i + 1;
    while (end < n && keys[end] == keys[i]) ++end;
    const auto length = static_cast<uint64_t>(end - i);
    if (length == 1) {
      element.store(to + i * stride, static_cast<int64_t>(order[i]));
      continue;
    }
    // Inside out: the next number goes to a place among those up to its own, and what was there to its own.
    PhiloxDraws draws(state, static_cast<uint64_t>(i));
    for (uint64_t k = 0; k < length; ++k) {
      const PhiloxBlock words = draws.next();
      const uint64_t place = (static_cast<uint64_t>(words.x[0]) << 32 | words.x[1]) % (k + 1);
      if (place != k)
        element.move(to + (i + static_cast<int64_t>(place)) * stride, to + (i + static_cast<int64_t>(k)) * stride);
      element.store(to + (i + static_cast<int64_t>(place)) * stride,
                    static_cast<int64_t>(order[i + static_cast<int64_t>(k)]));
    }
  }
}

template <class Key>
void permute(const View& out, int64_t n, int bits, GeneratorImpl& g) {
  const Scratch memory(static_cast<size_t>(n) * sizeof(Key));
  const unsigned blocks = blocks_for(n, kRandomThreads);
  const Key mask = static_cast<Key>(~uint64_t{0} >> (64 - bits));
  launch("permutation_keys", draw_keys<Key>, blocks, kRandomThreads, 0, memory.as<Key>(), n, mask,
         cuda_generator(g).reserve(4));
  const auto sorted = radix_sort(memory.as<Key>(), 1, n, bits);
  // Runs of more than a few keys do not occur.
  launch("permutation", shuffle_runs<Key>, blocks, kRandomThreads, 0, sorted.keys, sorted.order, out.as<char>(),
         out.strides[0] * static_cast<int64_t>(element_size(out.dtype)), AnyElement(out.dtype), n,
         cuda_generator(g).reserve(4 * 32));
}

void permutation(const View& out, GeneratorImpl& g) {
  const int64_t n = out.sizes[0];
  if (n == 0) return;
  // So many that about one in 500 permutations has two equal keys.
  const int bits = std::min(64, (2 * bits_below(static_cast<uint64_t>(n)) + 8 + 7) / 8 * 8);
  if (bits <= 32) {
    permute<uint32_t>(out, n, bits, g);
  } else {
    permute<uint64_t>(out, n, bits, g);
  }
}

}  // namespace

GRADUS_CUDA_KERNEL(geometric_fill, geometric)
GRADUS_CUDA_KERNEL(bernoulli_fill, bernoulli)
GRADUS_CUDA_KERNEL(bernoulli_each_fill, bernoulli_each)
GRADUS_CUDA_KERNEL(integer_range_fill, integer_range)
GRADUS_CUDA_KERNEL(integer_all_fill, integer_all)
GRADUS_CUDA_KERNEL(integer_type_fill, integer_type)
GRADUS_CUDA_KERNEL(permutation_fill, permutation)

}  // namespace gradus::inline v0::kernels::cuda
