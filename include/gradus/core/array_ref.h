// A borrowed, read-only range. It owns nothing: keep what it points to alive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <gradus/core/error.h>

namespace gradus {
inline namespace v0 {

/// libtorch's c10::ArrayRef: a pointer and a length over elements somebody else owns.
template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  using size_type = size_t;
  using reverse_iterator = std::reverse_iterator<iterator>;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}  // NOLINT: implicit, as in libtorch (`x.sum(1)`)
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}  // NOLINT
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}  // NOLINT
  template <size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}  // NOLINT
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ArrayRef(const std::initializer_list<T>& list)  // NOLINT: the list lives to the end of the full expression
      : data_(list.begin() == list.end() ? nullptr : list.begin()), size_(list.size()) {}
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
#pragma GCC diagnostic pop
#endif
  /// Any container of T with data() and size() (SmallVector, std::span).
  template <class C, class = decltype(static_cast<const T*>(std::declval<const C&>().data())),
            class = decltype(static_cast<size_t>(std::declval<const C&>().size()))>
  constexpr ArrayRef(const C& c) : data_(c.data()), size_(c.size()) {}  // NOLINT

  constexpr const T* data() const {
    return data_;
  }
  constexpr size_t size() const {
    return size_;
  }
  constexpr bool empty() const {
    return size_ == 0;
  }
  constexpr const T* begin() const {
    return data_;
  }
  constexpr const T* end() const {
    return data_ + size_;
  }
  reverse_iterator rbegin() const {
    return reverse_iterator(end());
  }
  reverse_iterator rend() const {
    return reverse_iterator(begin());
  }
  constexpr const T& operator[](size_t i) const {
    return data_[i];
  }
  const T& at(size_t i) const {
    GRADUS_CHECK_AS(IndexError, i < size_, "ArrayRef: index ", i, " is out of range for a length of ", size_);
    return data_[i];
  }
  const T& front() const {
    return at(0);
  }
  const T& back() const {
    GRADUS_CHECK_AS(IndexError, size_ > 0, "ArrayRef: back() of an empty range");
    return data_[size_ - 1];
  }
  /// `count` elements from `start` on.
  ArrayRef slice(size_t start, size_t count) const {
    GRADUS_CHECK_AS(IndexError, start <= size_ && count <= size_ - start, "ArrayRef: slice(", start, ", ", count,
                    ") is out of range for a length of ", size_);
    return ArrayRef(data_ + start, count);
  }
  ArrayRef slice(size_t start) const {
    return slice(start, size_ - (start < size_ ? start : size_));
  }
  std::vector<T> vec() const {
    return std::vector<T>(begin(), end());
  }
  bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; ++i)
      if (!(data_[i] == other.data_[i])) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <class T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}
template <class T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
  return !a.equals(b);
}
template <class T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b) {
  return ArrayRef<T>(a).equals(b);
}
template <class T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) {
  return a.equals(ArrayRef<T>(b));
}
template <class T>
bool operator!=(ArrayRef<T> a, const std::vector<T>& b) {
  return !a.equals(ArrayRef<T>(b));
}
template <class T>
bool operator!=(const std::vector<T>& a, ArrayRef<T> b) {
  return !ArrayRef<T>(a).equals(b);
}

using IntArrayRef = ArrayRef<int64_t>;

/// An IntArrayRef that may be absent; takes a number, a list or std::nullopt.
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}                                                   // NOLINT
  OptionalIntArrayRef(IntArrayRef v) : value_(v), has_(true) {}                            // NOLINT
  OptionalIntArrayRef(const int64_t& one) : value_(one), has_(true) {}                     // NOLINT
  OptionalIntArrayRef(const std::vector<int64_t>& v) : value_(v), has_(true) {}            // NOLINT
  OptionalIntArrayRef(const std::initializer_list<int64_t>& v) : value_(v), has_(true) {}  // NOLINT
  OptionalIntArrayRef(const std::optional<IntArrayRef>& v) : has_(v.has_value()) {         // NOLINT
    if (v) value_ = *v;
  }
  bool has_value() const { return has_; }
  explicit operator bool() const { return has_; }
  const IntArrayRef& value() const {
    GRADUS_CHECK(has_, "OptionalIntArrayRef: value() of an absent list");
    return value_;
  }
  const IntArrayRef& operator*() const { return value_; }
  const IntArrayRef* operator->() const { return &value_; }
  IntArrayRef value_or(IntArrayRef other) const { return has_ ? value_ : other; }

 private:
  IntArrayRef value_;
  bool has_ = false;
};

/// "(2, 3)", as error messages show shapes.
template <class T>
void append_text(std::string& s, ArrayRef<T> v) {
  using detail::append_text;
  s.push_back('(');
  for (size_t i = 0; i < v.size(); ++i) {
    if (i) s.append(", ");
    append_text(s, v[i]);
  }
  s.push_back(')');
}

}  // namespace v0
}  // namespace gradus
