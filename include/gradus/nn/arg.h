// What the options of modules are made of.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gradus/core/array_ref.h>
#include <gradus/core/printing.h>

// A member with a setter that returns the options (for chaining) and a getter, as libtorch's options have them:
//     GRADUS_ARG(double, momentum) = 0;      options.momentum(0.9);  options.momentum()
#define GRADUS_ARG(T, name)                          \
 public:                                             \
  auto name(const T& new_##name)->decltype(*this)& { \
    this->name##_ = new_##name;                      \
    return *this;                                    \
  }                                                  \
  auto name(T&& new_##name)->decltype(*this)& {      \
    this->name##_ = std::move(new_##name);           \
    return *this;                                    \
  }                                                  \
  const T& name() const noexcept {                   \
    return this->name##_;                            \
  }                                                  \
  T& name() noexcept {                               \
    return this->name##_;                            \
  }                                                  \
                                                     \
 private:                                            \
  T name##_ /* NOLINT */

namespace gradus {
inline namespace v0 {

/// D numbers, given as a list of D or as one number for all.
template <size_t D, class T = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(std::initializer_list<T> list) : ExpandingArray(ArrayRef<T>(list)) {}  // NOLINT
  ExpandingArray(const std::vector<T>& v) : ExpandingArray(ArrayRef<T>(v)) {}           // NOLINT
  ExpandingArray(ArrayRef<T> v) {                                                       // NOLINT
    GRADUS_CHECK_AS(ValueError, v.size() == D, "expected ", D, " numbers (or one for all); got ", v.size());
    for (size_t i = 0; i < D; ++i) values_[i] = v[i];
  }
  ExpandingArray(T one) { values_.fill(one); }               // NOLINT
  ExpandingArray(const std::array<T, D>& v) : values_(v) {}  // NOLINT
  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  operator ArrayRef<T>() const { return values_; }  // NOLINT
  size_t size() const { return D; }
  const T& operator[](size_t i) const { return values_[i]; }

 private:
  std::array<T, D> values_;
};

/// As libtorch prints it: [1, 2].
template <size_t D, class T>
void append_text(std::string& s, const ExpandingArray<D, T>& v) {
  s.push_back('[');
  for (size_t i = 0; i < D; ++i) {
    if (i) s.append(", ");
    detail::append_text(s, v[i]);
  }
  s.push_back(']');
}

template <size_t D, class T>
std::ostream& operator<<(std::ostream& out, const ExpandingArray<D, T>& v) {
  return out << ArrayRef<T>(*v);
}

}  // namespace v0
}  // namespace gradus
