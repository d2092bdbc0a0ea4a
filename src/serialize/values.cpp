#include "serialize/values.h"

#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>

namespace gradus::inline v0::serialize {
namespace {

using Json = nlohmann::json;
using Tag = IValue::Tag;

constexpr int kDeepest = 4;
constexpr size_t kMostTensors = 10'000'000;

// Hexadecimal, so that the value comes back bit for bit, infinities and NaN included.
std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

double double_of(const Json& json) {
  const auto& text = json.get_ref<const std::string&>();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') throw Json::type_error::create(302, "not a number", nullptr);
  return value;
}

Json json_of(const std::string& what, const IValue& value) {
  switch (value.tag()) {
    case Tag::None:
      return nullptr;
    case Tag::Int:
      return value.toInt();
    case Tag::Bool:
      return value.toBool();
    case Tag::String:
      return value.toStringRef();
    case Tag::Double:
      return {{"double", text_of(value.toDouble())}};
    case Tag::Complex: {
      const auto number = value.toComplexDouble();
      return {{"complex", {text_of(number.real()), text_of(number.imag())}}};
    }
    case Tag::Device:
      return {{"device", value.toDevice().str()}};
    case Tag::IntList:
      return {{"ints", value.toIntVector()}};
    case Tag::BoolList:
      return {{"bools", value.toBoolVector()}};
    case Tag::DoubleList: {
      Json texts = Json::array();
      for (const double number : value.toDoubleVector()) texts.push_back(text_of(number));
      return {{"doubles", std::move(texts)}};
    }
    case Tag::TensorList:
      return {{"tensors", value.toTensorVector().size()}};
    default:
      break;
  }
  GRADUS_CHECK(false, what, ": a value of kind ", value.type_name(),
               " was given; expected a tensor, number, string, device or a list of numbers or tensors");
  return nullptr;
}

IValue value_of(const Json& json, size_t& tensors) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_string()) return json.get<std::string>();
  const auto entry = json.begin();
  const std::string& kind = entry.key();
  const Json& content = entry.value();
  if (kind == "double") return double_of(content);
  if (kind == "complex") return complex<double>(double_of(content.at(0)), double_of(content.at(1)));
  if (kind == "device") return Device(content.get<std::string>());
  if (kind == "ints") return content.get<std::vector<int64_t>>();
  if (kind == "bools") return content.get<std::vector<bool>>();
  if (kind == "doubles") {
    std::vector<double> numbers;
    for (const auto& number : content) numbers.push_back(double_of(number));
    return numbers;
  }
  if (kind != "tensors" || content.get<size_t>() > kMostTensors) {
    throw Json::type_error::create(302, "unknown kind", nullptr);
  }
  tensors = content.get<size_t>();
  return std::vector<Tensor>();
}

}  // namespace

std::string value_to_text(const std::string& what, const IValue& value) {
  try {
    return json_of(what, value).dump();
  } catch (const Json::exception&) {
    GRADUS_CHECK(false, what, ": a string is not valid UTF-8; expected one that is");
  }
  return {};
}

IValue value_from_text(const std::string& what, const std::string& text, size_t& tensors) {
  try {
    const Json json = Json::parse(
        text, [](int depth, Json::parse_event_t, Json&) { return depth < kDeepest; }, false);
    if (!json.is_discarded() && (json.is_primitive() || (json.is_object() && json.size() == 1))) {
      return value_of(json, tensors);
    }
  } catch (const Json::exception&) {
  }
  GRADUS_CHECK(false, what, ": holds a damaged value; expected one that an archive wrote");
  return {};
}

}  // namespace gradus::inline v0::serialize
