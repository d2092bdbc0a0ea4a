// Tensors from numbers in the program: tensor({{1, 2}, {3, 4}}); in a vector's memory: from_vector(std::move(v)); and
// over memory that stays another's: from_blob.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {

namespace detail {

template <class T, class = void>
struct has_scalar_type : std::false_type {};
template <class T>
struct has_scalar_type<T, decltype(void(CppTypeToScalarType<T>::value))> : std::true_type {};

/// What tensor() takes: a number, a braced list of these (nested as deep as the tensor has dimensions), or an array.
class TensorData {
 public:
  template <class T, std::enable_if_t<has_scalar_type<T>::value && std::is_constructible<Scalar, T>::value, int> = 0>
  TensorData(T number) : number_(number), type_(CppTypeToScalarType<T>::value) {}  // NOLINT
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  TensorData(std::initializer_list<TensorData> list)  // NOLINT: the list lives to the end of the full expression
      : kind_(Kind::kList), list_(list.begin()), count_(list.size()) {}
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
#pragma GCC diagnostic pop
#endif
  template <class T>
  TensorData(ArrayRef<T> values)  // NOLINT
      : kind_(Kind::kArray), type_(CppTypeToScalarType<T>::value), array_(values.data()), count_(values.size()) {}
  template <class T>
  TensorData(const std::vector<T>& values) : TensorData(ArrayRef<T>(values)) {}  // NOLINT
  TensorData(const std::vector<bool>&) = delete;                                 // it has no array of bools inside

  Tensor make(const TensorOptions& options) const;

 private:
  enum class Kind : uint8_t { kNumber, kList, kArray };
  void shape(std::vector<int64_t>& sizes, ScalarType& type) const;
  char* write(char* out, ScalarType type, const std::vector<int64_t>& sizes, size_t depth) const;

  Kind kind_ = Kind::kNumber;
  Scalar number_;
  ScalarType type_ = ScalarType::Undefined;
  const TensorData* list_ = nullptr;
  const void* array_ = nullptr;
  size_t count_ = 0;
};

GRADUS_API Tensor make_tensor(const TensorData& data, const TensorOptions& options);
GRADUS_API Tensor borrow(void* data, ScalarType pointed_to, IntArrayRef sizes, const IntArrayRef* strides,
                         std::function<void(void*)> deleter, const TensorOptions& options);
GRADUS_API void check_vector(size_t count, ScalarType dtype, const OptionalIntArrayRef& sizes,
                             const TensorOptions& options);
template <class T>
constexpr ScalarType pointed_to() {
  if constexpr (has_scalar_type<std::remove_cv_t<T>>::value) {
    return CppTypeToScalarType<std::remove_cv_t<T>>::value;
  } else {
    return ScalarType::Undefined;
  }
}
}  // namespace detail

/// A tensor of the numbers given: tensor(1.5), tensor({1, 2, 3}), tensor({{true}, {false}}), tensor(a_vector). Integers
/// make kLong, floating numbers the default dtype, unless `options` say otherwise; other C++ types make their own
/// dtype. Throws ValueError where lists at one depth differ in length, TypeError where numbers differ in type. See
/// https://pytorch.org/cppdocs/notes/tensor_creation.html
inline Tensor tensor(const detail::TensorData& data, const TensorOptions& options = {}) {
  return detail::make_tensor(data, options);
}

/// A tensor that takes over a vector's memory, without a copy: from_vector(std::move(v)) has one dimension,
/// from_vector(std::move(v), {2, 3}) those given. The vector's type is the dtype, and the tensor cannot be resized
/// beyond its elements. Throws ValueError, and leaves the vector as it was, where the sizes need another number of
/// elements or `options` ask for another dtype or device. To copy a vector, write tensor(v); to borrow one, from_blob.
template <class T>
Tensor from_vector(std::vector<T>&& values, OptionalIntArrayRef sizes = std::nullopt,
                   const TensorOptions& options = {}) {
  static_assert(detail::has_scalar_type<T>::value, "from_vector: no dtype has this element type");
  static_assert(!std::is_same<T, bool>::value, "from_vector: std::vector<bool> has no array of bools inside");
  detail::check_vector(values.size(), CppTypeToScalarType<T>::value, sizes, options);
  const int64_t count = static_cast<int64_t>(values.size());
  auto kept = std::make_shared<std::vector<T>>(std::move(values));
  return detail::borrow(
      kept->data(), CppTypeToScalarType<T>::value, sizes.value_or(count), nullptr, [kept](void*) {}, options);
}

/// A tensor over memory of the caller's, who keeps it alive, or hands it over with a `deleter` that is called with
/// `data` when the last tensor over it is gone. Where `options` name no dtype, the pointer's type decides (of a void*,
/// the default dtype). Strides are counted in elements.
template <class T>
Tensor from_blob(T* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  return detail::borrow(const_cast<std::remove_cv_t<T>*>(data), detail::pointed_to<T>(), sizes, nullptr, nullptr,
                        options);
}
template <class T>
Tensor from_blob(T* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
  return detail::borrow(const_cast<std::remove_cv_t<T>*>(data), detail::pointed_to<T>(), sizes, &strides, nullptr,
                        options);
}
template <class T>
Tensor from_blob(T* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options = {}) {
  return detail::borrow(const_cast<std::remove_cv_t<T>*>(data), detail::pointed_to<T>(), sizes, nullptr,
                        std::move(deleter), options);
}
template <class T>
Tensor from_blob(T* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options = {}) {
  return detail::borrow(const_cast<std::remove_cv_t<T>*>(data), detail::pointed_to<T>(), sizes, &strides,
                        std::move(deleter), options);
}

}  // namespace v0
}  // namespace gradus
