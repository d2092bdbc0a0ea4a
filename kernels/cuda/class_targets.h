// Class indices as targets, on the device: what the kernels of losses read of them.
#pragma once

#include <gradus/core/scalar_type.h>

#include "kernels/cuda/block.h"
#include "kernels/cuda/data_error.h"

namespace gradus::inline v0::kernels::cuda {

/// Targets of any of the three integer types, and where the score of a target's class lies in [batch, classes,
/// spatial].
struct Targets {
  const void* data;
  ScalarType dtype;
  int64_t count, classes, spatial, ignore;

  Targets(const ConstView& target, const View& scores, int64_t ignored) : Targets(target, ConstView(scores), ignored) {}
  Targets(const ConstView& target, const ConstView& scores, int64_t ignored)
      : data(target.data), dtype(target.dtype), classes(scores.sizes[1]), spatial(1), ignore(ignored) {
    for (int d = 2; d < scores.ndim; ++d) spatial *= scores.sizes[d];
    count = scores.sizes[0] * spatial;
  }
  __device__ int64_t operator[](int64_t i) const {
    return dtype == ScalarType::Long  ? static_cast<const int64_t*>(data)[i]
           : dtype == ScalarType::Int ? static_cast<const int32_t*>(data)[i]
                                      : static_cast<const uint8_t*>(data)[i];
  }
  __device__ int64_t at(int64_t i, int64_t c) const { return (i / spatial * classes + c) * spatial + i % spatial; }
  /// The class of target i, or -1 where nothing is to be counted: an ignored one, or a bad one.
  __device__ int64_t counted(int64_t i) const {
    const int64_t c = (*this)[i];
    return c != ignore && c >= 0 && c < classes ? c : -1;
  }
  /// The same; a bad one is reported.
  __device__ int64_t counted(int64_t i, const DataErrorSlot& errors) const {
    const int64_t c = counted(i);
    if (c < 0 && (*this)[i] != ignore) errors.report(kIndexOutOfRange, i, (*this)[i], classes);
    return c;
  }
};

/// A loss and the weight that it was counted with.
template <class C>
struct Weighed {
  C loss, weight;
};
struct AddWeighed {
  template <class C>
  __device__ Weighed<C> operator()(const Weighed<C>& a, const Weighed<C>& b) const {
    return {a.loss + b.loss, a.weight + b.weight};
  }
};

template <class T>
__device__ inline Compute<T> weight_of(const T* weight, int64_t c) {
  return weight ? load(weight + c) : Compute<T>(1);
}

}  // namespace gradus::inline v0::kernels::cuda
