#include "kernels/cuda/positions.h"

#include <gradus/core/error.h>

#include "kernels/cuda/arithmetic.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/radix_sort.h"
#include "kernels/cuda/segmented_sum.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kThreads = 256;

// --- the last of several writers ---

/// For each place, or slot of a hash table, the last position (counted from 1) that names it.
struct Claims {
  uint32_t* last;
  unsigned long long* key;  // of a slot, counted from 1, 0 where free; null where slots are places
  uint32_t* slot_of;        // of a position
  int log2_slots;
};

__global__ void __launch_bounds__(kThreads) clear_words(uint32_t* words, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) words[i] = 0;
}

// The slot of a key in the hash table: its own, or one that it takes.
__device__ uint32_t take_slot(const Claims& claims, uint64_t key) {
  const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << claims.log2_slots) - 1);
  uint32_t slot = static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> (64 - claims.log2_slots));
  for (;;) {
    const unsigned long long found = atomicCAS(&claims.key[slot], 0ull, static_cast<unsigned long long>(key + 1));
    if (found == 0 || found == key + 1) return slot;
    slot = (slot + 1) & mask;
  }
}

__global__ void __launch_bounds__(kThreads)
    claim_places(PositionKeys keys, int64_t count, uint64_t places, Claims claims) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const uint64_t key = keys.load(i);
    if (key >= places) continue;
    const uint32_t slot = claims.key == nullptr ? static_cast<uint32_t>(key) : take_slot(claims, key);
    if (claims.slot_of != nullptr) claims.slot_of[i] = slot;
    atomicMax(&claims.last[slot], static_cast<uint32_t>(i + 1));
  }
}

__global__ void __launch_bounds__(kThreads)
    drop_earlier(PositionKeys keys, int64_t* offset, int64_t count, uint64_t places, Claims claims) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const uint64_t key = keys.load(i);
    if (key >= places) continue;
    const uint32_t slot = claims.slot_of == nullptr ? static_cast<uint32_t>(key) : claims.slot_of[i];
    if (claims.last[slot] != static_cast<uint32_t>(i + 1)) offset[i] = -1;
  }
}

// --- sums ---

/// The operands of an Accumulation.
struct Places {
  char* target;
  const char* values;
  const int64_t* offset;
  StridedWalk<2, uint64_t> columns;
  StridedWalk<1, uint32_t> value_of_position;

  struct Column {
    int64_t target, value;
  };
  __device__ Column column(int64_t c) const {
    int64_t at[2];
    columns.locate(static_cast<uint64_t>(c), at);
    return {at[0], at[1]};
  }
  template <class T>
  __device__ const T* value(int64_t position, const Column& c) const {
    int64_t at[1];
    value_of_position.locate(static_cast<uint32_t>(position), at);
    return reinterpret_cast<const T*>(values + at[0] + c.value);
  }
  template <class T>
  __device__ T* place(int64_t position, const Column& c) const {
    return reinterpret_cast<T*>(target + offset[position] + c.target);
  }
};

/// The Terms of sum_runs.
template <class T>
struct AccumulationTerms : Places {
  using Sum = typename Arithmetic<T>::Sum;
  bool multiply;
  __device__ Sum load(int64_t position, const Column& c) const { return Arithmetic<T>::from(*value<T>(position, c)); }
  __device__ Sum add(Sum a, Sum b) const { return multiply ? Arithmetic<T>::multiply(a, b) : Arithmetic<T>::add(a, b); }
  __device__ void finish(int64_t position, uint64_t, const Column& c, Sum sum, int64_t) const {
    T* to = place<T>(position, c);
    *to = Arithmetic<T>::to(add(Arithmetic<T>::from(*to), sum));
  }
};

/// For integers, whose sums are the same in any order. T is what the atomic addition takes.
template <class T>
__global__ void __launch_bounds__(kThreads) add_integers(Places places, IndexDivider<uint64_t> columns, int64_t work) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t w = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; w < work; w += step) {
    const auto position = static_cast<int64_t>(columns.quotient(static_cast<uint64_t>(w)));
    if (places.offset[position] < 0) continue;
    const Places::Column c = places.column(w - position * static_cast<int64_t>(columns.divisor));
    atomicAdd(places.place<T>(position, c), *places.value<T>(position, c));
  }
}

SortedKeys sort_keys(const Positions& p, Scratch* memory) {
  SortedKeys sorted = {p.key, nullptr, p.count, p.places};
  if (p.count == 1) return sorted;
  const int bits = bits_below(p.places + 1);
  if (p.key.wide) {
    auto r = radix_sort(static_cast<uint64_t*>(p.key.data), 1, p.count, bits);
    sorted.keys.data = const_cast<uint64_t*>(r.keys), sorted.order = r.order;
    *memory = std::move(r.memory);
  } else {
    auto r = radix_sort(static_cast<uint32_t*>(p.key.data), 1, p.count, bits);
    sorted.keys.data = const_cast<uint32_t*>(r.keys), sorted.order = r.order;
    *memory = std::move(r.memory);
  }
  return sorted;
}

constexpr size_t padded(size_t nbytes) {
  return (nbytes + 255) / 256 * 256;
}

}  // namespace

Positions allocate_positions(const char* op, int64_t count, uint64_t places) {
  GRADUS_CHECK(count < int64_t{1} << 31, op, ": there are ", count,
               " indices; expected fewer than 2^31 on a CUDA device");
  Positions p{count, places, {nullptr, places >= UINT32_MAX}, nullptr, Scratch()};
  const size_t key_bytes = padded(static_cast<size_t>(count) * (p.key.wide ? 8 : 4));
  p.memory = Scratch(key_bytes + static_cast<size_t>(count) * sizeof(int64_t));
  p.key.data = p.memory.as<char>();
  p.offset = reinterpret_cast<int64_t*>(p.memory.as<char>() + key_bytes);
  return p;
}

void keep_last(const Positions& p) {
  const int64_t n = p.count;
  // A hash table of twice as many slots as positions where there are many more places.
  const bool direct = p.places <= static_cast<uint64_t>(std::max<int64_t>(4 * n, 1 << 16));
  int log2_slots = 1;
  while (!direct && int64_t{1} << log2_slots < 2 * n) ++log2_slots;
  const int64_t slots = direct ? static_cast<int64_t>(p.places) : int64_t{1} << log2_slots;
  const size_t key_bytes = direct ? 0 : static_cast<size_t>(slots) * 8, last_bytes = static_cast<size_t>(slots) * 4;
  const Scratch memory(key_bytes + last_bytes + (direct ? 0 : static_cast<size_t>(n) * 4));
  Claims claims{};
  claims.key = direct ? nullptr : memory.as<unsigned long long>();
  claims.last = reinterpret_cast<uint32_t*>(memory.as<char>() + key_bytes);
  claims.slot_of = direct ? nullptr : claims.last + slots;
  claims.log2_slots = log2_slots;
  const int64_t words = static_cast<int64_t>((key_bytes + last_bytes) / 4);
  launch("clear_words", clear_words, blocks_for(words, kThreads), kThreads, 0, memory.as<uint32_t>(), words);
  const unsigned blocks = blocks_for(n, kThreads);
  launch("claim_places", claim_places, blocks, kThreads, 0, p.key, n, p.places, claims);
  launch("drop_earlier", drop_earlier, blocks, kThreads, 0, p.key, p.offset, n, p.places, claims);
}

void accumulate(const Positions& p, const Accumulation& how) {
  const Places places = {how.target, how.values, p.offset, StridedWalk<2, uint64_t>(how.columns),
                         StridedWalk<1, uint32_t>(how.value_of_position)};
  const int64_t columns = how.columns.numel(), work = p.count * columns;
  if (work == 0) return;
  if (!how.multiply && (how.dtype == ScalarType::Int || how.dtype == ScalarType::Long)) {
    const unsigned blocks = blocks_for(work, kThreads);
    const IndexDivider<uint64_t> by_columns(static_cast<uint64_t>(columns));
    if (how.dtype == ScalarType::Int) {
      launch("add_integers", add_integers<unsigned int>, blocks, kThreads, 0, places, by_columns, work);
    } else {
      launch("add_integers", add_integers<unsigned long long>, blocks, kThreads, 0, places, by_columns, work);
    }
    return;
  }
  Scratch memory;
  const SortedKeys sorted = sort_keys(p, &memory);
  const auto run = [&]<class T>() {
    sum_runs("accumulate", sorted, AccumulationTerms<T>{places, how.multiply}, columns);
  };
  visit_arithmetic(how.dtype, run);
}

}  // namespace gradus::inline v0::kernels::cuda
