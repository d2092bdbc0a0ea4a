// libtorch's namespaces and names for Gradus' API. Every header under include/compat leads here.
//
// `torch` is a macro for `gradus`: a program may reopen torch::nn, specialise its templates and overload its functions
// as if the library were libtorch. What it cannot do is declare a class of the library itself (`namespace torch { class
// Tensor; }`). `at` and `c10` cannot be macros, for `at` is the name of many methods; they are namespaces that show
// gradus' names.
#pragma once

#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gradus/core/cpu_generator.h>
#include <gradus/gradus.h>

#define torch gradus

namespace gradus {
inline namespace v0 {
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using Dtype = ScalarType;
inline ScalarType typeMetaToScalarType(TypeMeta type) {
  return type.toScalarType();
}
inline TypeMeta scalarTypeToTypeMeta(ScalarType type) {
  return type;
}

namespace autograd {
using tensor_list = std::vector<Tensor>;
}  // namespace autograd

namespace compat {

inline void append_all(std::ostream&) {}
template <class T, class... Rest>
void append_all(std::ostream& out, const T& value, const Rest&... rest) {
  out << value;
  append_all(out, rest...);
}
// What c10::str gives: the arguments as streams write them ("[2, 3]" for sizes), where gradus::str writes "(2, 3)".
template <class... Args>
std::string text(const Args&... args) {
  std::ostringstream out;
  append_all(out, args...);
  return out.str();
}
template <class E, class... Args>
[[noreturn]] void fail(const char* condition, const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    throw E(std::string("Expected ") + condition + " to be true, but got false.");
  } else {
    throw E(text(args...));
  }
}

// The integers from `begin` up to `end`, for range-for.
template <class T>
class IntegerRange {
 public:
  class Iterator {
   public:
    explicit Iterator(T value) : value_(value) {}
    T operator*() const { return value_; }
    Iterator& operator++() {
      ++value_;
      return *this;
    }
    bool operator!=(const Iterator& o) const { return value_ != o.value_; }
    bool operator==(const Iterator& o) const { return value_ == o.value_; }

   private:
    T value_;
  };
  IntegerRange(T begin, T end) : begin_(begin), end_(end < begin ? begin : end) {}
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }

 private:
  T begin_, end_;
};

// The C++ type of a ScalarType that is known when compiling.
template <ScalarType>
struct CppType;
#define GRADUS_COMPAT_CPP_TYPE(name, cpp) \
  template <>                             \
  struct CppType<ScalarType::name> {      \
    using type = cpp;                     \
  }
GRADUS_COMPAT_CPP_TYPE(Byte, uint8_t);
GRADUS_COMPAT_CPP_TYPE(Char, int8_t);
GRADUS_COMPAT_CPP_TYPE(Short, int16_t);
GRADUS_COMPAT_CPP_TYPE(Int, int);
GRADUS_COMPAT_CPP_TYPE(Long, int64_t);
GRADUS_COMPAT_CPP_TYPE(Half, Half);
GRADUS_COMPAT_CPP_TYPE(Float, float);
GRADUS_COMPAT_CPP_TYPE(Double, double);
GRADUS_COMPAT_CPP_TYPE(ComplexFloat, complex<float>);
GRADUS_COMPAT_CPP_TYPE(ComplexDouble, complex<double>);
GRADUS_COMPAT_CPP_TYPE(Bool, bool);
GRADUS_COMPAT_CPP_TYPE(BFloat16, BFloat16);
#undef GRADUS_COMPAT_CPP_TYPE

}  // namespace compat
}  // namespace v0
}  // namespace gradus

namespace c10 {
using namespace gradus;  // NOLINT: that is what this namespace is
using std::get;
using std::get_if;
using std::holds_alternative;
using std::in_place;
using std::make_optional;
using std::monostate;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;
using std::variant;
using std::visit;

template <class... Args>
std::string str(const Args&... args) {
  return gradus::compat::text(args...);
}
template <class T>
gradus::compat::IntegerRange<T> irange(T end) {
  return {T(0), end};
}
template <class T, class U>
gradus::compat::IntegerRange<U> irange(T begin, U end) {
  return {static_cast<U>(begin), end};
}
template <class T>
using OptionalRef = std::optional<std::reference_wrapper<const T>>;

namespace guts {
// The text that libtorch keys an optimizer's state with.
template <class T>
std::string to_string(const T& value) {
  return gradus::compat::text(value);
}
}  // namespace guts

namespace impl {
template <gradus::ScalarType type>
using ScalarTypeToCPPTypeT = typename gradus::compat::CppType<type>::type;
}  // namespace impl
}  // namespace c10

namespace at {
using namespace gradus;  // NOLINT: that is what this namespace is
using c10::irange;
using c10::str;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
}  // namespace at

namespace caffe2 {
using gradus::TypeMeta;
}  // namespace caffe2
