// A stable sort of unsigned keys on the device, the work of sort, embedding_backward, index_put and permutations.
#pragma once

#include <cstdint>

#include "kernels/cuda/scratch.h"

namespace gradus::inline v0::kernels::cuda {

/// What radix_sort leaves: the sorted keys, and where in its segment each came from. The keys may lie in the memory
/// that the caller gave.
template <class Key>
struct RadixSorted {
  const Key* keys;
  const uint32_t* order;
  Scratch memory;
};

/// Sorts each of `segments` segments of `length` (below 2^32) keys, which lie one after the other, by their lowest
/// `bits` bits; those above must be zero up to a multiple of 8. Overwrites `keys`. Key is uint32_t or uint64_t.
template <class Key>
RadixSorted<Key> radix_sort(Key* keys, int64_t segments, int64_t length, int bits);

/// How many bits the numbers 0 .. n - 1 take, at least 1.
constexpr int bits_below(uint64_t n) {
  int bits = 1;
  while (bits < 64 && ((n - 1) >> bits) != 0) ++bits;
  return bits;
}

}  // namespace gradus::inline v0::kernels::cuda
