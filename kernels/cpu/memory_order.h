// Walks a strided tensor in the order of its memory (Note [Order of draws]).
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/view.h"

namespace gradus::inline v0::kernels {

/// The dimensions of `first` by ascending stride, merged where they touch; `second` follows it (broadcast: stride 0).
struct MemoryOrder {
  static constexpr int kMaxDims = 64;

  explicit MemoryOrder(const ConstView& first) : MemoryOrder(first, first) {}

  MemoryOrder(const ConstView& first, const ConstView& second) {
    for (int d = first.ndim - 1; d >= 0; --d) {
      empty = empty || first.sizes[d] == 0;
      if (first.sizes[d] == 1) continue;
      size[ndim] = first.sizes[d];
      stride[0][ndim] = first.strides[d];
      stride[1][ndim] = second.strides[d];
      for (int i = ndim++; i > 0 && stride[0][i] < stride[0][i - 1]; --i) {
        std::swap(size[i], size[i - 1]);
        for (auto& s : stride) std::swap(s[i], s[i - 1]);
      }
    }
    merge();
  }

  /// f(offset in first, offset in second) for each run of size[0] elements, stride[.][0] apart.
  template <class F>
  void for_each_run(F&& f) const {
    if (empty) return;
    int64_t index[kMaxDims] = {}, offset[2] = {0, 0};
    for (;;) {
      f(offset[0], offset[1]);
      int d = 1;
      for (; d < ndim; ++d) {
        for (int k = 0; k < 2; ++k) offset[k] += stride[k][d];
        if (++index[d] < size[d]) break;
        for (int k = 0; k < 2; ++k) offset[k] -= stride[k][d] * size[d];
        index[d] = 0;
      }
      if (d >= ndim) return;
    }
  }

  bool contiguous() const { return ndim == 1 && stride[0][0] == 1; }

  int ndim = 0;
  bool empty = false;
  int64_t size[kMaxDims];
  int64_t stride[2][kMaxDims];

 private:
  void merge() {
    if (ndim == 0) {
      size[0] = stride[0][0] = stride[1][0] = 1;
      ndim = 1;
    }
    int last = 0;
    for (int d = 1; d < ndim; ++d) {
      const bool touches = stride[0][d] == stride[0][last] * size[last] && stride[1][d] == stride[1][last] * size[last];
      if (touches) {
        size[last] *= size[d];
        continue;
      }
      ++last;
      size[last] = size[d];
      for (auto& s : stride) s[last] = s[d];
    }
    ndim = last + 1;
  }
};

}  // namespace gradus::inline v0::kernels
