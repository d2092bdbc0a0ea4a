// Where a fill's numbers go: chunk after chunk into a tensor of any real type and any strides.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/memory_order.h"
#include "kernels/view.h"

namespace gradus::inline v0::kernels {

/// Takes values in the order of out's memory (Note [Order of draws]) and casts them as PyTorch does. What makes the
/// numbers so need not be compiled for every type that stores them.
class RandomSink {
 public:
  explicit RandomSink(const View& out) : order_(out), data_(out.data), dtype_(out.dtype) {
    if (order_.empty) return;
    left_ = 1;
    for (int d = 0; d < order_.ndim; ++d) left_ *= order_.size[d];
  }

  /// How many values are still wanted.
  int64_t left() const { return left_; }

  /// The place of the next n values where they can be written without a cast, and takes them as put; else nullptr.
  template <class V>
  V* take(int64_t n) {
    if (!order_.contiguous() || dtype_ != CppTypeToScalarType<V>::value) return nullptr;
    V* p = static_cast<V*>(data_) + position_[0];
    position_[0] += n;
    left_ -= n;
    return p;
  }

  void put(const float* values, int64_t n);   // into float types
  void put(const double* values, int64_t n);  // into every real type
  void put(const int64_t* values, int64_t n);
  void put(const uint8_t* values, int64_t n);  // of 0 and 1

 private:
  template <class T, class V>
  void store(const V* values, int64_t n);
  template <class V>
  void store_by_type(const V* values, int64_t n);

  MemoryOrder order_;
  void* data_;
  ScalarType dtype_;
  int64_t left_ = 0;
  int64_t offset_ = 0;                            // of the current run
  int64_t position_[MemoryOrder::kMaxDims] = {};  // its index, and the place within it
};

}  // namespace gradus::inline v0::kernels
