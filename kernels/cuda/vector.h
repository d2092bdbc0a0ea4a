// Vectors of parameters and statistics on the device, of any floating dtype.
#pragma once

#include <kernels/view.h>

#include "kernels/cuda/numeric.h"

namespace gradus::inline v0::kernels::cuda {

struct FloatVector {
  const void* data;  // null where there is none
  ScalarType dtype;
  FloatVector() = default;
  explicit FloatVector(const ConstView& v) : data(v.data), dtype(v.dtype) {}

  /// An element, or `otherwise` where there is no vector.
  template <class C>
  __device__ C at(int64_t i, C otherwise) const {
    C of[1];
    get(of, i, otherwise);
    return of[0];
  }
  /// V neighbours.
  template <int V, class C>
  __device__ void get(C (&of)[V], int64_t i, C otherwise) const {
    if (!data) {
#pragma unroll
      for (int v = 0; v < V; ++v) of[v] = otherwise;
      return;
    }
    switch (dtype) {
      case ScalarType::Float:
        return get_as<float>(of, i);
      case ScalarType::Double:
        return get_as<double>(of, i);
      case ScalarType::Half:
        return get_as<Half>(of, i);
      default:
        return get_as<BFloat16>(of, i);
    }
  }

 private:
  template <class T, int V, class C>
  __device__ void get_as(C (&of)[V], int64_t i) const {
#pragma unroll
    for (int v = 0; v < V; ++v) of[v] = static_cast<C>(load(static_cast<const T*>(data) + i + v));
  }
};

struct FloatResults {
  void* data;
  ScalarType dtype;
  FloatResults() = default;
  explicit FloatResults(const View& v) : data(v.data), dtype(v.dtype) {}

  /// Writes an element where there is a vector.
  template <class C>
  __device__ void put(int64_t i, C v) const {
    if (!data) return;
    switch (dtype) {
      case ScalarType::Float:
        return store(static_cast<float*>(data) + i, v);
      case ScalarType::Double:
        return store(static_cast<double*>(data) + i, v);
      case ScalarType::Half:
        return store(static_cast<Half*>(data) + i, v);
      default:
        return store(static_cast<BFloat16*>(data) + i, v);
    }
  }
};

}  // namespace gradus::inline v0::kernels::cuda
