// From the number of an element to where it lies, over any strides, without a division in the kernel.
#pragma once

#include <cstdint>

#include "kernels/cuda/device.h"

namespace gradus::inline v0::kernels::cuda {

/// A kernel counts in 32 bits; the host cuts up what has more places.
constexpr int64_t kPlacesLimit = INT32_MAX;

/// Division by a number known on the host, of numbers below 2^31 (Granlund and Montgomery, "Division by invariant
/// integers using multiplication", 1994).
struct PlaceDivisor {
  uint32_t divisor, magic, shift;
  PlaceDivisor() = default;
  explicit PlaceDivisor(uint32_t d) : divisor(d), shift(0) {
    while (shift < 31 && (uint32_t{1} << shift) < d) ++shift;
    magic = static_cast<uint32_t>((((uint64_t{1} << shift) - d) << 32) / d + 1);
  }
  __device__ uint32_t quotient(uint32_t n) const { return (__umulhi(n, magic) + n) >> shift; }
};

/// Dimensions with a stride in each of kOperands, innermost first. Those of size 1 are left out, so that kDims are
/// enough for kPlacesLimit places; in one of size 0 nothing has a place.
template <int kOperands>
struct Places {
  static constexpr int kDims = 31;
  int dims;
  PlaceDivisor sizes[kDims];
  int64_t strides[kDims][kOperands];

  Places() = default;
  void clear() { dims = 0; }
  template <class... S>
  void add(int64_t size, S... each) {
    if (size <= 1) return;
    sizes[dims] = PlaceDivisor(static_cast<uint32_t>(size));
    const int64_t of[] = {each...};
    for (int k = 0; k < kOperands; ++k) strides[dims][k] = of[k];
    ++dims;
  }
  struct Offsets {
    int64_t of[kOperands];
  };
  __device__ Offsets offsets(uint32_t place) const {
    Offsets at = {};
#pragma unroll 1
    for (int d = 0; d < dims; ++d) {
      uint32_t i = place;
      if (d + 1 < dims) {
        place = sizes[d].quotient(place);
        i -= place * sizes[d].divisor;
      }
      for (int k = 0; k < kOperands; ++k) at.of[k] += i * strides[d][k];
    }
    return at;
  }
};

}  // namespace gradus::inline v0::kernels::cuda
