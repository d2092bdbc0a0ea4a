// A value of any kind that an operator takes or returns.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {

/// None, a Tensor, int, double, bool, complex number, string, Device, Generator, or a list, which it owns. ScalarType,
/// Layout and MemoryFormat are ints with ATen's numbers. The names are libtorch's: isInt(), toInt(), toTensorVector().
class IValue {
 public:
  enum class Tag : uint8_t {
    None,
    Tensor,
    Int,
    Double,
    Bool,
    Complex,
    String,
    Device,
    Generator,
    IntList,
    DoubleList,
    BoolList,
    ScalarList,
    TensorList,
    OptionalTensorList
  };
  using OptionalTensors = std::vector<std::optional<Tensor>>;

  IValue() = default;
  IValue(std::nullopt_t) {}                   // NOLINT: conversions are the point of this class
  IValue(Tensor v) : value_(std::move(v)) {}  // NOLINT
  template <class T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, int> = 0>
  IValue(T v) : value_(static_cast<int64_t>(v)) {}  // NOLINT
  template <class T, std::enable_if_t<std::is_same<T, bool>::value, bool> = true>
  IValue(T v) : value_(v) {}                                   // NOLINT
  IValue(double v) : value_(v) {}                              // NOLINT
  IValue(complex<double> v) : value_(v) {}                     // NOLINT
  GRADUS_API IValue(const Scalar& v);                          // NOLINT
  IValue(ScalarType v) : IValue(static_cast<int64_t>(v)) {}    // NOLINT
  IValue(Layout v) : IValue(static_cast<int64_t>(v)) {}        // NOLINT
  IValue(MemoryFormat v) : IValue(static_cast<int64_t>(v)) {}  // NOLINT
  IValue(std::string v) : value_(std::move(v)) {}              // NOLINT
  IValue(std::string_view v) : value_(std::string(v)) {}       // NOLINT
  IValue(const char* v) : value_(std::string(v)) {}            // NOLINT
  IValue(Device v) : value_(v) {}                              // NOLINT
  IValue(Generator v) : value_(std::move(v)) {}                // NOLINT
  IValue(std::vector<int64_t> v) : value_(std::move(v)) {}     // NOLINT
  IValue(std::vector<double> v) : value_(std::move(v)) {}      // NOLINT
  IValue(std::vector<bool> v) : value_(std::move(v)) {}        // NOLINT
  IValue(std::vector<Scalar> v) : value_(std::move(v)) {}      // NOLINT
  IValue(std::vector<Tensor> v) : value_(std::move(v)) {}      // NOLINT
  IValue(OptionalTensors v) : value_(std::move(v)) {}          // NOLINT
  IValue(IntArrayRef v) : IValue(v.vec()) {}                   // NOLINT
  IValue(ArrayRef<double> v) : IValue(v.vec()) {}              // NOLINT
  IValue(TensorList v) : IValue(v.vec()) {}                    // NOLINT
  template <class T>
  IValue(const std::optional<T>& v) {  // NOLINT
    if (v) *this = IValue(*v);
  }
  IValue(OptionalIntArrayRef v) {  // NOLINT
    if (v) *this = IValue(*v);
  }

  Tag tag() const { return static_cast<Tag>(value_.index()); }
  bool isNone() const { return tag() == Tag::None; }
  bool isTensor() const { return tag() == Tag::Tensor; }
  bool isInt() const { return tag() == Tag::Int; }
  bool isDouble() const { return tag() == Tag::Double; }
  bool isBool() const { return tag() == Tag::Bool; }
  bool isComplexDouble() const { return tag() == Tag::Complex; }
  /// A number of any kind.
  bool isScalar() const { return isInt() || isDouble() || isBool() || isComplexDouble(); }
  bool isString() const { return tag() == Tag::String; }
  bool isDevice() const { return tag() == Tag::Device; }
  bool isGenerator() const { return tag() == Tag::Generator; }
  bool isIntList() const { return tag() == Tag::IntList; }
  bool isDoubleList() const { return tag() == Tag::DoubleList; }
  bool isBoolList() const { return tag() == Tag::BoolList; }
  bool isScalarList() const { return tag() == Tag::ScalarList; }
  bool isTensorList() const { return tag() == Tag::TensorList; }
  bool isOptionalTensorList() const { return tag() == Tag::OptionalTensorList; }
  bool isList() const { return tag() >= Tag::IntList; }

  // Each throws TypeError where the value is of another kind.
  const Tensor& toTensor() const { return get<Tensor>(Tag::Tensor); }
  Tensor& toTensor() { return const_cast<Tensor&>(get<Tensor>(Tag::Tensor)); }
  int64_t toInt() const { return get<int64_t>(Tag::Int); }
  /// A double, or an int as one.
  double toDouble() const { return isInt() ? static_cast<double>(toInt()) : get<double>(Tag::Double); }
  bool toBool() const { return get<bool>(Tag::Bool); }
  complex<double> toComplexDouble() const { return get<complex<double>>(Tag::Complex); }
  GRADUS_API Scalar toScalar() const;
  const std::string& toStringRef() const { return get<std::string>(Tag::String); }
  std::string_view toStringView() const { return toStringRef(); }
  Device toDevice() const { return get<Device>(Tag::Device); }
  const Generator& toGenerator() const { return get<Generator>(Tag::Generator); }
  ScalarType toScalarType() const { return static_cast<ScalarType>(toInt()); }
  Layout toLayout() const { return static_cast<Layout>(toInt()); }
  MemoryFormat toMemoryFormat() const { return static_cast<MemoryFormat>(toInt()); }
  const std::vector<int64_t>& toIntVector() const { return get<std::vector<int64_t>>(Tag::IntList); }
  const std::vector<double>& toDoubleVector() const { return get<std::vector<double>>(Tag::DoubleList); }
  const std::vector<bool>& toBoolVector() const { return get<std::vector<bool>>(Tag::BoolList); }
  const std::vector<Scalar>& toScalarVector() const { return get<std::vector<Scalar>>(Tag::ScalarList); }
  const std::vector<Tensor>& toTensorVector() const { return get<std::vector<Tensor>>(Tag::TensorList); }
  const OptionalTensors& toOptionalTensorVector() const { return get<OptionalTensors>(Tag::OptionalTensorList); }

  /// "Tensor", "int", "int[]", as schemas spell it.
  const char* type_name() const { return type_name(tag()); }
  GRADUS_API static const char* type_name(Tag tag);
  /// A short text for logs: "Tensor(2, 3) float", "[1, 2]", "None".
  GRADUS_API std::string str() const;

 private:
  template <class T>
  const T& get(Tag wanted) const {
    const T* v = std::get_if<T>(&value_);
    if (GRADUS_UNLIKELY(v == nullptr)) wrong_kind(wanted);
    return *v;
  }
  [[noreturn]] GRADUS_API void wrong_kind(Tag wanted) const;

  std::variant<std::monostate, Tensor, int64_t, double, bool, complex<double>, std::string, Device, Generator,
               std::vector<int64_t>, std::vector<double>, std::vector<bool>, std::vector<Scalar>, std::vector<Tensor>,
               OptionalTensors>
      value_;
};

/// The arguments of a call in schema order; afterwards its results.
using Stack = std::vector<IValue>;

}  // namespace v0
}  // namespace gradus
