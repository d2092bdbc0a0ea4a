// Least significant digit first, eight bits a pass. A pass counts the digits of each tile, sums the counts over the
// tiles, and moves each tile's keys to where its digits go, sorted within the tile so that runs are written together.
#include "kernels/cuda/radix_sort.h"

#include <gradus/core/error.h>

#include "kernels/cuda/block_scan.h"
#include "kernels/cuda/launch.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kDigits = 256, kThreads = 256, kWarps = kThreads / kWarp;
constexpr unsigned kItems = 16, kTile = kThreads * kItems;

struct Tiles {
  uint32_t length;       // of a segment
  uint32_t per_segment;  // tiles
  int shift;             // of the digit
  uint32_t* counts;      // [segment][digit][tile], then the sums over the tiles before
  uint32_t* totals;      // [segment][digit]
};

template <class Key>
__device__ unsigned digit_of(Key key, int shift) {
  return static_cast<unsigned>(key >> shift) & (kDigits - 1);
}

template <class Key>
__global__ void __launch_bounds__(kThreads) count_digits(const Key* keys, Tiles tiles) {
  GRADUS_SHARED(unsigned, counts, [kDigits]);
  counts[threadIdx.x] = 0;
  __syncthreads();
  const int64_t segment = blockIdx.x / tiles.per_segment;
  const uint32_t tile = blockIdx.x % tiles.per_segment;
  const Key* from = keys + segment * tiles.length;
  const uint32_t begin = tile * kTile, end = tiles.length - begin < kTile ? tiles.length : begin + kTile;
  for (uint32_t i = begin + threadIdx.x; i < end; i += kThreads) atomicAdd(&counts[digit_of(from[i], tiles.shift)], 1u);
  __syncthreads();
  tiles.counts[(segment * kDigits + threadIdx.x) * tiles.per_segment + tile] = counts[threadIdx.x];
}

// A warp turns the counts of one digit into sums over the tiles before.
__global__ void __launch_bounds__(kThreads) sum_over_tiles(Tiles tiles, int64_t rows) {
  constexpr uint32_t kEach = 8;  // neighbours that a lane adds up
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (row >= rows) return;
  const uint32_t lane = threadIdx.x % kWarp;
  uint32_t* counts = tiles.counts + row * tiles.per_segment;
  uint32_t running = 0;
  for (uint32_t base = 0; base < tiles.per_segment; base += kWarp * kEach) {
    uint32_t value[kEach], sum = 0;
    const uint32_t first = base + lane * kEach;
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k) {
      value[k] = first + k < tiles.per_segment ? counts[first + k] : 0;
      sum += value[k];
    }
    const uint32_t inclusive = warp_inclusive_sum(sum);
    uint32_t before = running + inclusive - sum;
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k) {
      if (first + k < tiles.per_segment) counts[first + k] = before;
      before += value[k];
    }
    running += __shfl_sync(0xffffffffu, inclusive, kWarp - 1);
  }
  if (lane == 0) tiles.totals[row] = running;
}

template <class Key>
struct SharedTile {
  Key keys[kTile];
  uint32_t order[kTile];
  uint32_t counts[kWarps][kDigits];  // of each warp; then where its next key of that digit goes
  uint32_t start[kDigits];  // where the tile's first key of a digit would go in the segment, less its place here
  uint32_t partial[2][kWarps];
};

// Ranks the warp's keys: rank[i] counts the keys of the same digit before this one in the warp.
template <class Key>
__device__ void rank_in_warp(const Key (&key)[kItems], uint32_t first, uint32_t length, int shift, uint32_t* counts,
                             uint32_t (&rank)[kItems]) {
  const uint32_t lane = threadIdx.x % kWarp, lanes_before = (1u << lane) - 1;
#pragma unroll
  for (uint32_t i = 0; i < kItems; ++i) {
    const bool there = first + i * kWarp < length;
    const unsigned digit = there ? digit_of(key[i], shift) : kDigits;
    const unsigned peers = __match_any_sync(0xffffffffu, digit);
    const uint32_t before = there ? counts[digit] : 0, place = __popc(peers & lanes_before);
    rank[i] = before + place;
    __syncwarp();
    if (there && place == 0) counts[digit] = before + __popc(peers);
    __syncwarp();
  }
}

// `order` is null in the first pass: keys lie where they came from.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    move_to_digits(const Key* keys, const uint32_t* order, Key* to_keys, uint32_t* to_order, Tiles tiles) {
  GRADUS_DYNAMIC_SHARED(SharedTile<Key>, shared);
  const uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int64_t segment = blockIdx.x / tiles.per_segment;
  const uint32_t tile = blockIdx.x % tiles.per_segment;
  for (uint32_t w = 0; w < kWarps; ++w) shared->counts[w][threadIdx.x] = 0;
  __syncthreads();

  const int64_t base = segment * tiles.length;
  const uint32_t first = tile * kTile + warp * (kTile / kWarps) + lane;
  Key key[kItems];
  uint32_t rank[kItems];
#pragma unroll
  for (uint32_t i = 0; i < kItems; ++i) {
    key[i] = first + i * kWarp < tiles.length ? keys[base + first + i * kWarp] : 0;
  }
  rank_in_warp(key, first, tiles.length, tiles.shift, shared->counts[warp], rank);
  __syncthreads();

  // From here on a thread stands for a digit.
  const int64_t row = segment * kDigits + threadIdx.x;
  uint32_t here = 0, sum, start = 0;
  for (uint32_t w = 0; w < kWarps; ++w) here += shared->counts[w][threadIdx.x];
  uint32_t local = block_exclusive_sum(here, shared->partial[0], &sum);
  start = block_exclusive_sum(tiles.totals[row], shared->partial[1], &sum);
  shared->start[threadIdx.x] = start + tiles.counts[row * tiles.per_segment + tile] - local;
  for (uint32_t w = 0; w < kWarps; ++w) {
    const uint32_t count = shared->counts[w][threadIdx.x];
    shared->counts[w][threadIdx.x] = local;
    local += count;
  }
  __syncthreads();

#pragma unroll
  for (uint32_t i = 0; i < kItems; ++i) {
    const uint32_t at = first + i * kWarp;
    if (at >= tiles.length) break;
    const uint32_t place = shared->counts[warp][digit_of(key[i], tiles.shift)] + rank[i];
    shared->keys[place] = key[i];
    shared->order[place] = order == nullptr ? at : order[base + at];
  }
  __syncthreads();
  const uint32_t count = tiles.length - tile * kTile < kTile ? tiles.length - tile * kTile : kTile;
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const Key k = shared->keys[i];
    const int64_t to = base + static_cast<uint32_t>(shared->start[digit_of(k, tiles.shift)] + i);
    to_keys[to] = k;
    to_order[to] = shared->order[i];
  }
}

constexpr size_t padded(size_t nbytes) {
  return (nbytes + 255) / 256 * 256;
}

}  // namespace

template <class Key>
RadixSorted<Key> radix_sort(Key* keys, int64_t segments, int64_t length, int bits) {
  const int64_t per_segment = ceil_div(length, kTile), blocks = segments * per_segment, rows = segments * kDigits;
  GRADUS_CHECK(length < int64_t{1} << 31 && blocks < int64_t{1} << 31, "sort: ", segments, " lines of ", length,
               " elements are more than a CUDA device sorts at once; expected fewer than 2^31 a line");
  const auto n = static_cast<size_t>(segments * length);
  const size_t key_bytes = padded(n * sizeof(Key)), order_bytes = padded(n * sizeof(uint32_t));
  const size_t count_bytes = padded(static_cast<size_t>(rows * per_segment) * sizeof(uint32_t));
  Scratch memory(key_bytes + 2 * order_bytes + count_bytes + static_cast<size_t>(rows) * sizeof(uint32_t));
  auto* at = memory.template as<unsigned char>();
  Key* other_keys = reinterpret_cast<Key*>(at);
  auto *order = reinterpret_cast<uint32_t*>(at += key_bytes),
       *other_order = reinterpret_cast<uint32_t*>(at += order_bytes);
  Tiles tiles{};
  tiles.length = static_cast<uint32_t>(length);
  tiles.per_segment = static_cast<uint32_t>(per_segment);
  tiles.counts = reinterpret_cast<uint32_t*>(at += order_bytes);
  tiles.totals = reinterpret_cast<uint32_t*>(at + count_bytes);
  const auto grid = static_cast<unsigned>(blocks);
  for (int shift = 0; shift < bits; shift += 8) {
    tiles.shift = shift;
    launch("radix_sort_count", count_digits<Key>, grid, kThreads, 0, keys, tiles);
    launch("radix_sort_sum", sum_over_tiles, static_cast<unsigned>(ceil_div(rows, kWarps)), kThreads, 0, tiles, rows);
    launch("radix_sort_move", move_to_digits<Key>, grid, kThreads, sizeof(SharedTile<Key>), keys,
           shift == 0 ? nullptr : order, other_keys, other_order, tiles);
    std::swap(keys, other_keys);
    std::swap(order, other_order);
  }
  return {keys, order, std::move(memory)};
}

template RadixSorted<uint32_t> radix_sort(uint32_t*, int64_t, int64_t, int);
template RadixSorted<uint64_t> radix_sort(uint64_t*, int64_t, int64_t, int);

}  // namespace gradus::inline v0::kernels::cuda
