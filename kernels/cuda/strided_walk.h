// From the number of an element to where several operands keep it: for kernels that walk tensors of any strides.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device.h"
#include "kernels/view.h"

namespace gradus::inline v0::kernels::cuda {

__device__ inline uint32_t upper_half(uint32_t a, uint32_t b) {
  return __umulhi(a, b);
}
__device__ inline uint64_t upper_half(uint64_t a, uint64_t b) {
  return __umul64hi(a, b);
}

/// Division by a number known before the launch, of numerators below half of I's range: a multiplication, an addition
/// and a shift (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994). I is uint32_t or
/// uint64_t.
template <class I>
struct IndexDivider {
  I divisor = 1, factor = 1;
  int shift = 0;
  IndexDivider() = default;
  explicit IndexDivider(uint64_t d) : divisor(static_cast<I>(d)) {
    __extension__ using Wide = unsigned __int128;
    constexpr int kBits = 8 * sizeof(I);
    while (shift < kBits - 1 && (uint64_t{1} << shift) < d) ++shift;
    factor = static_cast<I>((Wide{(uint64_t{1} << shift) - d} << kBits) / d + 1);
  }
  __device__ I quotient(I n) const { return (upper_half(n, factor) + n) >> shift; }
};

constexpr int kMaxWalkDims = 64;

/// The dimensions of a loop over K operands on the host, innermost first. Strides are in bytes.
template <int K>
struct WalkDims {
  int ndim = 0;
  int64_t size[kMaxWalkDims];
  int64_t stride[K][kMaxWalkDims];

  /// The next outer dimension; becomes a part of the one before where all operands walk both as one.
  void add(int64_t n, const int64_t (&strides)[K]) {
    if (n == 1) return;
    bool touches = ndim > 0;
    for (int k = 0; touches && k < K; ++k) touches = strides[k] == stride[k][ndim - 1] * size[ndim - 1];
    if (touches) {
      size[ndim - 1] *= n;
      return;
    }
    size[ndim] = n;
    for (int k = 0; k < K; ++k) stride[k][ndim] = strides[k];
    ++ndim;
  }
  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= size[d];
    return n;
  }
};

/// The same as a kernel's argument.
template <int K, class I>
struct StridedWalk {
  int ndim;
  IndexDivider<I> size[kMaxWalkDims];
  int64_t stride[K][kMaxWalkDims];

  StridedWalk() = default;
  explicit StridedWalk(const WalkDims<K>& dims) : ndim(dims.ndim) {
    for (int d = 0; d < ndim; ++d) {
      size[d] = IndexDivider<I>(static_cast<uint64_t>(dims.size[d]));
      for (int k = 0; k < K; ++k) stride[k][d] = dims.stride[k][d];
    }
  }
  /// Where element number `at` lies in each operand, in bytes from its first.
  __device__ void locate(I at, int64_t (&offset)[K]) const {
    for (int k = 0; k < K; ++k) offset[k] = 0;
    for (int d = 0; d + 1 < ndim; ++d) {
      const I rest = size[d].quotient(at);
      const auto index = static_cast<int64_t>(at - rest * size[d].divisor);
      for (int k = 0; k < K; ++k) offset[k] += index * stride[k][d];
      at = rest;
    }
    if (ndim > 0) {
      for (int k = 0; k < K; ++k) offset[k] += static_cast<int64_t>(at) * stride[k][ndim - 1];
    }
  }
};

inline int64_t numel_of(const ConstView& v) {
  int64_t n = 1;
  for (int d = 0; d < v.ndim; ++d) n *= v.sizes[d];
  return n;
}

/// f.template operator()<I>() with the narrowest type that counts `numel` elements and one grid beyond them.
template <class F>
void visit_index_width(int64_t numel, F&& f) {
  if (numel < (int64_t{1} << 30)) {
    f.template operator()<uint32_t>();
  } else {
    f.template operator()<uint64_t>();
  }
}

}  // namespace gradus::inline v0::kernels::cuda
