// Typed element access without an operator call per element.
#pragma once

#include <gradus/core/error.h>
#include <gradus/core/array_ref.h>

namespace gradus {
inline namespace v0 {

/// `auto a = t.accessor<float, 2>(); a[i][j] = 1;`. Valid while the tensor lives; no bounds checks, as in libtorch.
template <class T, size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  IntArrayRef sizes() const { return IntArrayRef(sizes_, N); }
  IntArrayRef strides() const { return IntArrayRef(strides_, N); }
  int64_t size(int64_t i) const { return sizes_[i]; }
  int64_t stride(int64_t i) const { return strides_[i]; }
  T* data() const { return data_; }
  TensorAccessor<T, N - 1> operator[](int64_t i) const {
    return TensorAccessor<T, N - 1>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};

template <class T>
class TensorAccessor<T, 1> {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  IntArrayRef sizes() const { return IntArrayRef(sizes_, 1); }
  IntArrayRef strides() const { return IntArrayRef(strides_, 1); }
  int64_t size(int64_t i) const { return sizes_[i]; }
  int64_t stride(int64_t i) const { return strides_[i]; }
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[strides_[0] * i]; }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};

/// An accessor that owns its sizes and strides, with indices of type I: libtorch's packed accessor.
template <class T, size_t N, class I = int64_t>
class PackedTensorAccessor {
 public:
  PackedTensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t i = 0; i < N; ++i) {
      sizes_[i] = sizes[i];
      strides_[i] = strides[i];
    }
  }
  I size(int64_t i) const { return static_cast<I>(sizes_[i]); }
  I stride(int64_t i) const { return static_cast<I>(strides_[i]); }
  T* data() const { return data_; }
  decltype(auto) operator[](int64_t i) const { return TensorAccessor<T, N>(data_, sizes_, strides_)[i]; }

 private:
  T* data_;
  int64_t sizes_[N];
  int64_t strides_[N];
};
template <class T, size_t N>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, int64_t>;
template <class T, size_t N>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, int32_t>;

/// What libtorch's packed accessors can say of their pointer; it makes no difference here.
template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T*;
};

}  // namespace v0
}  // namespace gradus
