// Sorting along one dimension. Elements become unsigned keys of the same order. Lines of up to some thousand elements
// are sorted in shared memory by a bitonic network on keys with their places, longer ones by radix_sort; where few of a
// long line's elements are wanted they are selected first.
#include "kernels/sorting.h"

#include <type_traits>

#include "kernels/cuda/block_scan.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"
#include "kernels/cuda/radix_sort.h"
#include "kernels/cuda/sorting.h"
#include "kernels/cuda/strided_walk.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kThreads = 256;

// --- keys ---

// Bits of a floating number to its key: NaN above all, zeros equal.
template <class Bits>
__device__ Bits key_of_float(Bits bits, Bits infinity) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const Bits magnitude = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
  if (magnitude > infinity) return static_cast<Bits>(~Bits{0});
  if (magnitude == 0) return kSign;
  return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
}

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// A number of 8 * sizeof(T) bits that is less where v is less; with `descending`, greater.
template <class T>
__device__ KeyOf<T> key_of(T v, bool descending) {
  KeyOf<T> key;
  if constexpr (std::is_same_v<T, Half>) {
    key = key_of_float<uint16_t>(v.x, 0x7c00);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    key = key_of_float<uint16_t>(v.x, 0x7f80);
  } else if constexpr (std::is_same_v<T, float>) {
    key = key_of_float<uint32_t>(__float_as_uint(v), 0x7f800000u);
  } else if constexpr (std::is_same_v<T, double>) {
    key = key_of_float<uint64_t>(static_cast<uint64_t>(__double_as_longlong(v)), 0x7ff0000000000000u);
  } else if constexpr (std::is_same_v<T, bool>) {
    key = v ? 1 : 0;
  } else if constexpr (std::is_unsigned_v<T>) {
    key = v;
  } else {
    constexpr KeyOf<T> kSign = KeyOf<T>{1} << (8 * sizeof(T) - 1);
    key = (static_cast<std::make_unsigned_t<T>>(v)) ^ kSign;
  }
  constexpr KeyOf<T> kAll = static_cast<KeyOf<T>>(~KeyOf<T>{0}) >> (8 * (sizeof(KeyOf<T>) - sizeof(T)));
  return descending ? kAll - key : key;
}

/// The lines of a sort: where they begin in self, values and indices, and the elements' distance there, in bytes.
struct SortLines {
  const char* self;
  char *values, *indices;
  StridedWalk<3, uint64_t> walk;
  int64_t self_stride, values_stride, indices_stride;
  int64_t count, length, kept;  // of a line's elements in order, those that are wanted

  struct Line {
    const char* self;
    char *values, *indices;
  };
  __device__ Line line(int64_t number) const {
    int64_t at[3];
    walk.locate(static_cast<uint64_t>(number), at);
    return {self + at[0], values + at[1], indices + at[2]};
  }
  template <class T>
  __device__ T element(const Line& l, int64_t i) const {
    return *reinterpret_cast<const T*>(l.self + i * self_stride);
  }
  /// Makes element `from` of a line the one at `rank`. The element itself, not its key: a NaN keeps its bits.
  template <class T>
  __device__ void put(const Line& l, int64_t rank, int64_t from) const {
    *reinterpret_cast<T*>(l.values + rank * values_stride) = element<T>(l, from);
    *reinterpret_cast<int64_t*>(l.indices + rank * indices_stride) = from;
  }
};

// --- lines in shared memory ---

/// A key with its place in the line, which makes all entries different and the order stable.
struct NarrowEntry {
  uint64_t both;
  __device__ NarrowEntry(uint32_t key, uint32_t place) : both(static_cast<uint64_t>(key) << 32 | place) {}
  __device__ bool operator<(const NarrowEntry& o) const { return both < o.both; }
  __device__ uint32_t place() const { return static_cast<uint32_t>(both); }
};
struct WideEntry {
  uint64_t key, at;
  __device__ WideEntry(uint64_t k, uint32_t place) : key(k), at(place) {}
  __device__ bool operator<(const WideEntry& o) const { return key < o.key || (key == o.key && at < o.at); }
  __device__ uint32_t place() const { return static_cast<uint32_t>(at); }
};
template <class T>
using EntryOf = std::conditional_t<sizeof(T) == 8, WideEntry, NarrowEntry>;
constexpr int64_t kSharedBytes = 32 * 1024;
template <class T>
constexpr int64_t kMaxShared = kSharedBytes / static_cast<int64_t>(sizeof(EntryOf<T>));  // entries

/// Sorts each group of `group` entries, a power of two, in place. The network's steps on neighbours within 64 entries
/// stay within a warp.
template <class Entry>
__device__ void sort_groups(Entry* entries, unsigned total, unsigned group) {
  for (unsigned size = 2; size <= group; size *= 2) {
    for (unsigned distance = size / 2; distance > 0; distance /= 2) {
      for (unsigned pair = threadIdx.x; pair < total / 2; pair += blockDim.x) {
        const unsigned low = 2 * pair - (pair & (distance - 1)), high = low + distance;
        const bool ascending = size == group || (low & size) == 0;
        const Entry a = entries[low], b = entries[high];
        if ((b < a) == ascending) entries[low] = b, entries[high] = a;
      }
      const unsigned next = distance > 1 ? distance / 2 : size;
      if (distance > 32 || next > 32) {
        __syncthreads();
      } else {
        __syncwarp();
      }
    }
  }
  __syncthreads();
}

/// A block sorts `lines_each` lines, filled up to `group` entries each.
template <class T>
__global__ void sort_in_shared(SortLines lines, unsigned group, unsigned lines_each, bool descending) {
  using Entry = EntryOf<T>;
  GRADUS_DYNAMIC_SHARED(Entry, entries);
  const unsigned total = group * lines_each;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * lines_each;
  for (unsigned i = threadIdx.x; i < total; i += blockDim.x) {
    const unsigned place = i & (group - 1);
    const int64_t number = first + i / group;
    KeyOf<T> key = static_cast<KeyOf<T>>(~KeyOf<T>{0});
    if (number < lines.count && place < lines.length)
      key = key_of(lines.template element<T>(lines.line(number), place), descending);
    entries[i] = Entry(key, place);
  }
  __syncthreads();
  sort_groups(entries, total, group);
  for (unsigned i = threadIdx.x; i < total; i += blockDim.x) {
    const unsigned rank = i & (group - 1);
    const int64_t number = first + i / group;
    if (number < lines.count && rank < lines.kept) lines.template put<T>(lines.line(number), rank, entries[i].place());
  }
}

// --- the first few of longer lines ---

constexpr unsigned kSelectThreads = 512;
constexpr unsigned kDigits = 256;

/// A block for each line: finds the key of the last element that is kept, eight bits a pass from the top, collects what
/// comes before it and as many equal ones, the first ones, as are missing, and sorts them.
template <class T>
__global__ void __launch_bounds__(kSelectThreads) select_in_block(SortLines lines, unsigned group, bool descending) {
  using Entry = EntryOf<T>;
  using Key = KeyOf<T>;
  GRADUS_DYNAMIC_SHARED(Entry, entries);
  GRADUS_SHARED(uint32_t, counts, [kDigits]);
  GRADUS_SHARED(uint32_t, partial, [2][kSelectThreads / kWarp]);
  GRADUS_SHARED(uint32_t, chosen, [2]);  // the digit, and how many elements come before it
  GRADUS_SHARED(uint32_t, collected, [1]);
  const auto line = lines.line(blockIdx.x);
  const auto length = static_cast<uint32_t>(lines.length), kept = static_cast<uint32_t>(lines.kept);
  if (threadIdx.x == 0) collected[0] = 0;
  Key prefix = 0, mask = 0;
  uint32_t missing = kept, all;
  for (int shift = 8 * static_cast<int>(sizeof(T)) - 8; shift >= 0; shift -= 8) {
    if (threadIdx.x < kDigits) counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < length; i += kSelectThreads) {
      const Key key = key_of(lines.template element<T>(line, i), descending);
      if ((key & mask) == prefix) atomicAdd(&counts[static_cast<unsigned>(key >> shift) % kDigits], 1u);
    }
    __syncthreads();
    const uint32_t here = threadIdx.x < kDigits ? counts[threadIdx.x] : 0;
    const uint32_t before = block_exclusive_sum(here, partial[0], &all);
    if (before < missing && missing <= before + here) chosen[0] = threadIdx.x, chosen[1] = before;
    __syncthreads();
    prefix |= static_cast<Key>(chosen[0]) << shift;
    mask |= static_cast<Key>(kDigits - 1) << shift;
    missing -= chosen[1];
  }

  // Entries before the last key go in front in any order, `missing` equal ones behind in theirs.
  for (uint32_t i = kept + threadIdx.x; i < group; i += kSelectThreads)
    entries[i] = Entry(static_cast<Key>(~Key{0}), ~0u);
  uint32_t equal_before = 0;
  for (uint32_t base = 0, turn = 0; base < length; base += kSelectThreads, turn ^= 1) {
    const uint32_t i = base + threadIdx.x;
    const Key key = i < length ? key_of(lines.template element<T>(line, i), descending) : 0;
    const bool equal = i < length && key == prefix;
    if (i < length && key < prefix) entries[atomicAdd(&collected[0], 1u)] = Entry(key, i);
    const uint32_t rank = equal_before + block_exclusive_sum(equal ? 1u : 0u, partial[turn], &all);
    if (equal && rank < missing) entries[kept - missing + rank] = Entry(key, i);
    equal_before += all;
  }
  __syncthreads();
  sort_groups(entries, group, group);
  for (uint32_t i = threadIdx.x; i < kept; i += kSelectThreads) lines.template put<T>(line, i, entries[i].place());
}

/// Whether blocks that select are faster than a sort: unless few of them have much to read.
template <class T>
bool selects(const SortLines& lines) {
  return lines.kept <= kMaxShared<T> / 2 && lines.kept <= lines.length / 4 && lines.length <= INT32_MAX &&
         (lines.count >= 24 || lines.length <= 1 << 17);
}

// --- longer lines ---

template <class T>
__global__ void __launch_bounds__(kThreads)
    make_keys(SortLines lines, IndexDivider<uint64_t> by_length, KeyOf<T>* keys, bool descending) {
  const int64_t total = lines.count * lines.length, step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < total; i += step) {
    const auto number = static_cast<int64_t>(by_length.quotient(static_cast<uint64_t>(i)));
    keys[i] = key_of(lines.template element<T>(lines.line(number), i - number * lines.length), descending);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    put_in_order(SortLines lines, IndexDivider<uint64_t> by_kept, const uint32_t* order) {
  const int64_t total = lines.count * lines.kept, step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < total; i += step) {
    const auto number = static_cast<int64_t>(by_kept.quotient(static_cast<uint64_t>(i)));
    const int64_t rank = i - number * lines.kept;
    lines.template put<T>(lines.line(number), rank, order[number * lines.length + rank]);
  }
}

template <class T>
void sort_lines(const SortLines& lines, bool descending) {
  if (lines.length <= kMaxShared<T>) {
    unsigned group = 2;
    while (group < lines.length) group *= 2;
    const unsigned lines_each = group >= 512 ? 1 : 512 / group, total = group * lines_each;
    launch("sort_in_shared", sort_in_shared<T>, static_cast<unsigned>(ceil_div(lines.count, lines_each)),
           std::min(1024u, total / 2), total * sizeof(EntryOf<T>), lines, group, lines_each, descending);
    return;
  }
  if (selects<T>(lines)) {
    unsigned group = 2;
    while (group < lines.kept) group *= 2;
    launch("sort_select", select_in_block<T>, static_cast<unsigned>(lines.count), kSelectThreads,
           group * sizeof(EntryOf<T>), lines, group, descending);
    return;
  }
  const int64_t total = lines.count * lines.length, kept = lines.count * lines.kept;
  const Scratch memory(static_cast<size_t>(total) * sizeof(KeyOf<T>));
  auto* keys = memory.as<KeyOf<T>>();
  launch("sort_keys", make_keys<T>, blocks_for(total, kThreads), kThreads, 0, lines,
         IndexDivider<uint64_t>(static_cast<uint64_t>(lines.length)), keys, descending);
  const auto sorted = radix_sort(keys, lines.count, lines.length, std::is_same_v<T, bool> ? 1 : 8 * sizeof(T));
  visit_width(sizeof(T), [&]<class Bits>() {
    if constexpr (sizeof(Bits) == sizeof(T)) {
      launch("sort_put", put_in_order<Bits>, blocks_for(kept, kThreads), kThreads, 0, lines,
             IndexDivider<uint64_t>(static_cast<uint64_t>(lines.kept)), sorted.order);
    }
  });
}

}  // namespace

void sort_along(View values, View indices, ConstView self, int dim, bool descending) {
  const auto item = static_cast<int64_t>(element_size(self.dtype));
  WalkDims<3> dims;
  SortLines lines{};
  lines.count = 1;
  for (int d = self.ndim; d-- > 0;) {
    if (d == dim) continue;
    dims.add(self.sizes[d], {self.strides[d] * item, values.strides[d] * item, indices.strides[d] * 8});
    lines.count *= self.sizes[d];
  }
  lines.length = self.sizes[dim], lines.kept = values.sizes[dim];
  if (lines.count == 0 || lines.kept == 0) return;
  lines.self = self.as<char>(), lines.values = values.as<char>(), lines.indices = indices.as<char>();
  lines.walk = StridedWalk<3, uint64_t>(dims);
  lines.self_stride = self.strides[dim] * item;
  lines.values_stride = values.strides[dim] * item, lines.indices_stride = indices.strides[dim] * 8;
  visit_all(self.dtype, [&]<class T>() { sort_lines<T>(lines, descending); });
}

GRADUS_CUDA_KERNEL(sort, sort_along)

}  // namespace gradus::inline v0::kernels::cuda
