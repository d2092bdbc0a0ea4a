// A value of any kind that an operator takes or returns.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  IValue(std::nullopt_t) {}                                       // NOLINT: conversions are the point of this class
  IValue(Tensor v) : tag_(Tag::Tensor), tensor_(std::move(v)) {}  // NOLINT
  template <class T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, int> = 0>
  IValue(T v) : tag_(Tag::Int), int_(static_cast<int64_t>(v)) {}  // NOLINT
  template <class T, std::enable_if_t<std::is_same<T, bool>::value, bool> = true>
  IValue(T v) : tag_(Tag::Bool), int_(v) {}                                    // NOLINT
  IValue(double v) : tag_(Tag::Double), double_(v) {}                          // NOLINT
  IValue(complex<double> v) : tag_(Tag::Complex), double_(v.re), im_(v.im) {}  // NOLINT
  GRADUS_API IValue(const Scalar& v);                                          // NOLINT
  IValue(ScalarType v) : IValue(static_cast<int64_t>(v)) {}                    // NOLINT
  IValue(Layout v) : IValue(static_cast<int64_t>(v)) {}                        // NOLINT
  IValue(MemoryFormat v) : IValue(static_cast<int64_t>(v)) {}                  // NOLINT
  GRADUS_API IValue(std::string v);                                            // NOLINT
  IValue(std::string_view v) : IValue(std::string(v)) {}                       // NOLINT
  IValue(const char* v) : IValue(std::string(v)) {}                            // NOLINT
  IValue(Device v) : tag_(Tag::Device), device_(v) {}                          // NOLINT
  GRADUS_API IValue(Generator v);                                              // NOLINT
  GRADUS_API IValue(std::vector<int64_t> v);                                   // NOLINT
  GRADUS_API IValue(std::vector<double> v);                                    // NOLINT
  GRADUS_API IValue(std::vector<bool> v);                                      // NOLINT
  GRADUS_API IValue(std::vector<Scalar> v);                                    // NOLINT
  GRADUS_API IValue(std::vector<Tensor> v);                                    // NOLINT
  GRADUS_API IValue(OptionalTensors v);                                        // NOLINT
  IValue(IntArrayRef v) : IValue(v.vec()) {}                                   // NOLINT
  IValue(ArrayRef<double> v) : IValue(v.vec()) {}                              // NOLINT
  IValue(TensorList v) : IValue(v.vec()) {}                                    // NOLINT
  template <class T>
  IValue(const std::optional<T>& v) {  // NOLINT
    if (v) *this = IValue(*v);
  }
  IValue(OptionalIntArrayRef v) {  // NOLINT
    if (v) *this = IValue(*v);
  }

  Tag tag() const { return tag_; }
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
  const Tensor& toTensor() const {
    check(Tag::Tensor);
    return tensor_;
  }
  Tensor& toTensor() {
    check(Tag::Tensor);
    return tensor_;
  }
  int64_t toInt() const {
    check(Tag::Int);
    return int_;
  }
  /// A double, or an int as one.
  double toDouble() const {
    if (isInt()) return static_cast<double>(int_);
    check(Tag::Double);
    return double_;
  }
  bool toBool() const {
    check(Tag::Bool);
    return int_ != 0;
  }
  complex<double> toComplexDouble() const {
    check(Tag::Complex);
    return {double_, im_};
  }
  GRADUS_API Scalar toScalar() const;
  const std::string& toStringRef() const { return get<std::string>(Tag::String); }
  std::string_view toStringView() const { return toStringRef(); }
  Device toDevice() const {
    check(Tag::Device);
    return device_;
  }
  const Generator& toGenerator() const { return get<Generator>(Tag::Generator); }
  // These throw for a number that stands for none of them, too.
  GRADUS_API ScalarType toScalarType() const;
  GRADUS_API Layout toLayout() const;
  GRADUS_API MemoryFormat toMemoryFormat() const;
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
  void check(Tag wanted) const {
    if (GRADUS_UNLIKELY(tag_ != wanted)) wrong_kind(wanted);
  }
  template <class T>
  const T& get(Tag wanted) const {
    check(wanted);
    return *static_cast<const T*>(object_.get());
  }
  [[noreturn]] GRADUS_API void wrong_kind(Tag wanted) const;

  // No std::variant: its visitors for this many kinds cost every user's program a third of a second to compile.
  Tag tag_ = Tag::None;
  Device device_;
  union {
    int64_t int_ = 0;
    double double_;
  };
  double im_ = 0;
  Tensor tensor_;
  std::shared_ptr<const void> object_;  // a string, a generator or a list; nobody writes to it, so copies share it
};

/// The arguments of a call in schema order; afterwards its results.
using Stack = std::vector<IValue>;

}  // namespace v0
}  // namespace gradus
