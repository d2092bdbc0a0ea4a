#include <gradus/core/ivalue.h>

namespace gradus::inline v0 {
namespace {

std::string text_of(const Tensor& t) {
  if (!t.defined()) return "Tensor(undefined)";
  return str("Tensor", t.sizes(), " ", t.scalar_type());
}
std::string text_of(bool v) {
  return v ? "True" : "False";
}
std::string text_of(complex<double> v) {
  return str("(", v.re, v.im < 0 ? "" : "+", v.im, "j)");
}
std::string text_of(const std::optional<Tensor>& t) {
  return t ? text_of(*t) : "None";
}
template <class T>
std::string text_of(const T& v) {
  return str(v);
}

template <class List>
std::string text_of_list(const List& list) {
  std::string s = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) s += ", ";
    s += text_of(list[i]);
  }
  return s + "]";
}

template <class T>
std::shared_ptr<const void> share(std::vector<T> list) {
  return std::make_shared<const std::vector<T>>(std::move(list));
}

}  // namespace

IValue::IValue(const Scalar& v) {
  if (v.isComplex()) {
    *this = IValue(v.as_complex());
  } else if (v.isFloatingPoint()) {
    *this = IValue(v.as_double());
  } else if (v.isBoolean()) {
    *this = IValue(v.as_int() != 0);
  } else {
    *this = IValue(v.as_int());
  }
}

IValue::IValue(std::string v) : tag_(Tag::String), object_(std::make_shared<const std::string>(std::move(v))) {}
IValue::IValue(Generator v) : tag_(Tag::Generator), object_(std::make_shared<const Generator>(std::move(v))) {}
IValue::IValue(std::vector<int64_t> v) : tag_(Tag::IntList), object_(share(std::move(v))) {}
IValue::IValue(std::vector<double> v) : tag_(Tag::DoubleList), object_(share(std::move(v))) {}
IValue::IValue(std::vector<bool> v) : tag_(Tag::BoolList), object_(share(std::move(v))) {}
IValue::IValue(std::vector<Scalar> v) : tag_(Tag::ScalarList), object_(share(std::move(v))) {}
IValue::IValue(std::vector<Tensor> v) : tag_(Tag::TensorList), object_(share(std::move(v))) {}
IValue::IValue(OptionalTensors v) : tag_(Tag::OptionalTensorList), object_(share(std::move(v))) {}

Scalar IValue::toScalar() const {
  switch (tag()) {
    case Tag::Int:
      return Scalar(toInt());
    case Tag::Double:
      return Scalar(toDouble());
    case Tag::Bool:
      return Scalar(toBool());
    case Tag::Complex:
      return Scalar(toComplexDouble());
    default:
      throw TypeError(gradus::str("expected a number, got ", type_name()));
  }
}

ScalarType IValue::toScalarType() const {
  const int64_t number = toInt();
  const auto type = static_cast<ScalarType>(number);
  const bool known = number >= 0 && number < static_cast<int64_t>(ScalarType::Undefined) && element_size(type) != 0;
  GRADUS_CHECK_AS(TypeError, known, "expected a dtype, got the number ", number, ", which is that of none");
  return type;
}
Layout IValue::toLayout() const {
  const int64_t number = toInt();
  const bool known = number >= 0 && number <= static_cast<int64_t>(Layout::SparseCsr);
  GRADUS_CHECK_AS(TypeError, known, "expected a layout, got the number ", number, ", which is that of none");
  return static_cast<Layout>(number);
}
MemoryFormat IValue::toMemoryFormat() const {
  const int64_t number = toInt();
  const bool known = number >= 0 && number <= static_cast<int64_t>(MemoryFormat::ChannelsLast3d);
  GRADUS_CHECK_AS(TypeError, known, "expected a memory format, got the number ", number, ", which is that of none");
  return static_cast<MemoryFormat>(number);
}

const char* IValue::type_name(Tag tag) {
  static constexpr const char* kNames[] = {"None",    "Tensor", "int",      "float",     "bool",
                                           "complex", "str",    "Device",   "Generator", "int[]",
                                           "float[]", "bool[]", "Scalar[]", "Tensor[]",  "Tensor?[]"};
  return kNames[static_cast<int>(tag)];
}

void IValue::wrong_kind(Tag wanted) const {
  throw TypeError(gradus::str("expected a value of type ", type_name(wanted), ", got ", type_name()));
}

std::string IValue::str() const {
  switch (tag()) {
    case Tag::None:
      return "None";
    case Tag::Tensor:
      return text_of(toTensor());
    case Tag::Int:
      return gradus::str(toInt());
    case Tag::Double:
      return gradus::str(toDouble());
    case Tag::Bool:
      return text_of(toBool());
    case Tag::Complex:
      return text_of(toComplexDouble());
    case Tag::String:
      return "'" + toStringRef() + "'";
    case Tag::Device:
      return toDevice().str();
    case Tag::Generator:
      return "Generator";
    case Tag::IntList:
      return text_of_list(toIntVector());
    case Tag::DoubleList:
      return text_of_list(toDoubleVector());
    case Tag::BoolList:
      return text_of_list(toBoolVector());
    case Tag::ScalarList:
      return text_of_list(toScalarVector());
    case Tag::TensorList:
      return text_of_list(toTensorVector());
    case Tag::OptionalTensorList:
      return text_of_list(toOptionalTensorVector());
  }
  return "?";
}

}  // namespace gradus::inline v0
