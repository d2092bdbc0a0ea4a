// A vector of plain values that keeps up to N of them inside itself.
#pragma once

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>

#include <gradus/core/array_ref.h>

namespace gradus {
inline namespace v0 {

/// Sizes, strides and dims: no heap up to N elements. T must be trivially copyable.
template <class T, unsigned N>
class SmallVector {
  static_assert(std::is_trivially_copyable<T>::value, "SmallVector holds plain values only");

 public:
  SmallVector() = default;
  explicit SmallVector(size_t n, T value = T()) { resize(n, value); }
  SmallVector(const T* first, const T* last) { assign(first, static_cast<size_t>(last - first)); }
  SmallVector(std::initializer_list<T> v) { assign(v.begin(), v.size()); }
  SmallVector(ArrayRef<T> v) { assign(v.data(), v.size()); }  // NOLINT
  SmallVector(const SmallVector& o) { assign(o.data(), o.size_); }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) assign(o.data(), o.size_);
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      drop();
      take(o);
    }
    return *this;
  }
  SmallVector& operator=(ArrayRef<T> v) {
    assign(v.data(), v.size());
    return *this;
  }
  ~SmallVector() { drop(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  void clear() { size_ = 0; }
  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void resize(size_t n, T value = T()) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(T v) {
    if (size_ == capacity_) grow(size_ * 2 + 1);
    data_[size_++] = v;
  }
  void pop_back() { --size_; }
  void insert_at(size_t i, T v) {
    push_back(v);
    for (size_t k = size_ - 1; k > i; --k) data_[k] = data_[k - 1];
    data_[i] = v;
  }
  void erase_at(size_t i) {
    for (size_t k = i; k + 1 < size_; ++k) data_[k] = data_[k + 1];
    --size_;
  }
  void assign(const T* v, size_t n) {
    reserve(n);
    if (n) std::memmove(static_cast<void*>(data_), v, n * sizeof(T));
    size_ = static_cast<uint32_t>(n);
  }

 private:
  bool is_inline() const { return data_ == inline_; }
  void drop() {
    if (!is_inline()) std::free(data_);
  }
  void take(SmallVector& o) {
    size_ = o.size_;
    if (o.is_inline()) {
      data_ = inline_;
      capacity_ = N;
      if (size_) std::memcpy(static_cast<void*>(inline_), o.inline_, size_ * sizeof(T));
    } else {
      data_ = o.data_;
      capacity_ = o.capacity_;
      o.data_ = o.inline_;
      o.capacity_ = N;
    }
    o.size_ = 0;
  }
  void grow(size_t n) {
    T* bigger = static_cast<T*>(std::malloc(n * sizeof(T)));
    if (!bigger) throw std::bad_alloc();
    if (size_) std::memcpy(static_cast<void*>(bigger), data_, size_ * sizeof(T));
    drop();
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(n);
  }

  T* data_ = inline_;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  T inline_[N];
};

/// A list of sizes, strides or dimensions.
using DimVector = SmallVector<int64_t, 6>;

}  // namespace v0
}  // namespace gradus
