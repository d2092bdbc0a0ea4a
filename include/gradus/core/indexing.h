// What `x.index({...})` takes.
#pragma once

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {
namespace indexing {

enum class TensorIndexType { None, Ellipsis, Integer, Boolean, Slice, Tensor };

/// A new dimension of size 1.
constexpr std::nullopt_t None = std::nullopt;
struct EllipsisIndexType final {};
/// As many whole dimensions as are needed.
constexpr EllipsisIndexType Ellipsis{};

/// start:stop:step; what is left out is the whole range. step must be positive.
struct Slice {
  Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt,  // NOLINT
        std::optional<int64_t> step = std::nullopt)
      : start_(start), stop_(stop), step_(step.value_or(1)) {}
  std::optional<int64_t> start_, stop_;
  int64_t step_;
};

/// One index of a list: a number, a bool, a Slice, None, "..." or a tensor (integers or a mask).
class TensorIndex {
 public:
  TensorIndex(std::nullopt_t) : type_(TensorIndexType::None) {}         // NOLINT
  TensorIndex(EllipsisIndexType) : type_(TensorIndexType::Ellipsis) {}  // NOLINT
  TensorIndex(const char* s) : type_(TensorIndexType::Ellipsis) {       // NOLINT
    GRADUS_CHECK_AS(ValueError, std::string_view(s) == "...", "TensorIndex: \"", s, "\" was given; expected \"...\"");
  }
  template <class T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, int> = 0>
  TensorIndex(T i) : type_(TensorIndexType::Integer), integer_(static_cast<int64_t>(i)) {}  // NOLINT
  template <class T, std::enable_if_t<std::is_same<T, bool>::value, bool> = true>
  TensorIndex(T b) : type_(TensorIndexType::Boolean), integer_(b) {}                // NOLINT
  TensorIndex(Slice s) : type_(TensorIndexType::Slice), slice_(s) {}                // NOLINT
  TensorIndex(Tensor t) : type_(TensorIndexType::Tensor), tensor_(std::move(t)) {}  // NOLINT
  TensorIndexType type() const { return type_; }
  bool is_none() const { return type_ == TensorIndexType::None; }
  bool is_ellipsis() const { return type_ == TensorIndexType::Ellipsis; }
  bool is_integer() const { return type_ == TensorIndexType::Integer; }
  bool is_boolean() const { return type_ == TensorIndexType::Boolean; }
  bool is_slice() const { return type_ == TensorIndexType::Slice; }
  bool is_tensor() const { return type_ == TensorIndexType::Tensor; }
  int64_t integer() const { return integer_; }
  bool boolean() const { return integer_ != 0; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  TensorIndexType type_;
  int64_t integer_ = 0;
  Slice slice_;
  Tensor tensor_;
};

/// "1:9223372036854775807:2": start:stop:step, with what is left out filled in.
GRADUS_API std::ostream& operator<<(std::ostream& out, const Slice& slice);
/// The index as it would be written: 3, true, None, ..., a slice or a tensor.
GRADUS_API std::ostream& operator<<(std::ostream& out, const TensorIndex& index);

}  // namespace indexing

using indexing::Slice;

}  // namespace v0
}  // namespace gradus
