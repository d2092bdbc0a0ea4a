// Reads schemas in ATen's notation at run time: for boxed calls by name and for users' operators.
#include <charconv>

#include <gradus/ops/function_schema.h>

namespace gradus::inline v0 {
namespace {

constexpr struct {
  std::string_view text;
  SchemaType::Base base;
} kBases[] = {
    {"Tensor", SchemaType::Base::Tensor},
    {"Scalar", SchemaType::Base::Scalar},
    {"int", SchemaType::Base::Int},
    {"float", SchemaType::Base::Float},
    {"bool", SchemaType::Base::Bool},
    {"str", SchemaType::Base::String},
    {"ScalarType", SchemaType::Base::ScalarType},
    {"Layout", SchemaType::Base::Layout},
    {"Device", SchemaType::Base::Device},
    {"MemoryFormat", SchemaType::Base::MemoryFormat},
    {"Generator", SchemaType::Base::Generator},
};

// Names that stand for ints as defaults, with ATen's numbers.
constexpr struct {
  std::string_view text;
  int64_t value;
} kConstants[] = {
    {"Mean", 1},
    {"long", static_cast<int64_t>(ScalarType::Long)},
    {"float", static_cast<int64_t>(ScalarType::Float)},
    {"contiguous_format", static_cast<int64_t>(MemoryFormat::Contiguous)},
    {"preserve_format", static_cast<int64_t>(MemoryFormat::Preserve)},
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view ns) : text_(text) {
    schema_.text = std::string(text);
    std::string_view name = word();
    std::string space(ns);
    if (text_.substr(at_, 2) == "::") {
      at_ += 2;
      space = std::string(name);
      name = word();
      schema_.text = std::string(text.substr(space.size() + 2));
    }
    if (name.empty()) fail("an operator name");
    schema_.name = space + "::" + std::string(name);
    if (take('.')) {
      schema_.overload = std::string(word());
      if (schema_.overload.empty()) fail("an overload name");
    }
  }

  FunctionSchema parse() {
    expect('(');
    bool kwarg_only = false;
    skip_space();
    while (!take(')')) {
      if (take('*')) {
        kwarg_only = true;
      } else {
        SchemaArgument a = argument();
        if (schema_.find(a.name) >= 0) fail("another name than '" + a.name + "', which is there already");
        a.kwarg_only = kwarg_only;
        schema_.arguments.push_back(std::move(a));
      }
      skip_space();
      if (!take(',') && peek() != ')') fail("',' or ')'");
      skip_space();
    }
    skip_space();
    if (text_.substr(at_, 2) != "->") fail("'->'");
    at_ += 2;
    skip_space();
    if (take('(')) {
      skip_space();
      while (!take(')')) {
        schema_.returns.push_back(result());
        skip_space();
        if (!take(',') && peek() != ')') fail("',' or ')'");
        skip_space();
      }
    } else {
      schema_.returns.push_back(result());
    }
    skip_space();
    if (at_ != text_.size()) fail("the end");
    return std::move(schema_);
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(str("schema '", text_, "': at character ", at_, ": expected ", expected));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (peek() == ' ') ++at_;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(str("'", c, "'"));
  }
  std::string_view word() {
    const size_t start = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_') ++at_;
    return text_.substr(start, at_ - start);
  }

  void type(SchemaArgument& a) {
    const std::string_view name = word();
    bool known = false;
    for (const auto& b : kBases) {
      if (b.text != name) continue;
      a.type.base = b.base;
      known = true;
    }
    if (!known)
      fail("a type (Tensor, Scalar, int, float, bool, str, ScalarType, Layout, Device, MemoryFormat, Generator)");
    a.type.text = std::string(name);
    if (take('(')) {
      const size_t end = text_.find(')', at_);
      if (end == std::string_view::npos) fail("')' after an alias");
      a.alias = std::string(text_.substr(at_, end - at_));
      a.aliased = true;
      a.written = a.alias.find('!') != std::string::npos;
      at_ = end + 1;
    }
    const bool question = take('?');
    if (take('[')) {
      a.type.is_list = true;
      a.type.optional_element = question;
      const std::string_view n = word();
      if (!n.empty()) a.type.size = number<int64_t>(n);
      expect(']');
      a.type.is_optional = take('?');
      a.type.text += str(question ? "?" : "", "[", n, "]", a.type.is_optional ? "?" : "");
    } else {
      a.type.is_optional = question;
      if (question) a.type.text += "?";
    }
  }

  template <class T>
  T number(std::string_view s) const {
    T v{};
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (error != std::errc() || end != s.data() + s.size()) fail(str("a number instead of '", s, "'"));
    return v;
  }

  SchemaArgument argument() {
    SchemaArgument a;
    type(a);
    expect(' ');
    skip_space();
    a.name = std::string(word());
    if (a.name.empty()) fail("an argument name");
    if (take('=')) {
      a.has_default = true;
      a.default_value = value(a.type);
      if (!a.type.convert(a.default_value)) fail(str("a default of type ", a.type.text, " for '", a.name, "'"));
    }
    return a;
  }

  SchemaArgument result() {
    SchemaArgument a;
    type(a);
    skip_space();
    a.name = std::string(word());
    return a;
  }

  IValue value(const SchemaType& type) {
    if (take('[')) {
      std::vector<double> numbers;
      bool whole = true;
      skip_space();
      while (!take(']')) {
        const std::string_view s = token();
        whole = whole && s.find_first_of(".e") == std::string_view::npos;
        numbers.push_back(number<double>(s));
        skip_space();
        if (!take(',') && peek() != ']') fail("',' or ']'");
        skip_space();
      }
      if (!whole) return IValue(std::move(numbers));
      return IValue(std::vector<int64_t>(numbers.begin(), numbers.end()));
    }
    if (const char quote = peek(); quote == '\'' || quote == '"') {
      const size_t end = text_.find(quote, ++at_);
      if (end == std::string_view::npos) fail("the string's end");
      IValue v(text_.substr(at_, end - at_));
      at_ = end + 1;
      return v;
    }
    const std::string_view s = token();
    if (s == "None") return IValue();
    if (s == "True" || s == "False") return IValue(s == "True");
    for (const auto& c : kConstants) {
      if (c.text == s) return IValue(c.value);
    }
    if (type.base == SchemaType::Base::Float || s.find_first_of(".e") != std::string_view::npos) {
      return IValue(number<double>(s));
    }
    return IValue(number<int64_t>(s));
  }

  std::string_view token() {
    const size_t start = at_;
    while (at_ < text_.size() && std::string_view(",)] ").find(peek()) == std::string_view::npos) ++at_;
    if (at_ == start) fail("a value");
    return text_.substr(start, at_ - start);
  }

  std::string_view text_;
  size_t at_ = 0;
  FunctionSchema schema_;
};

template <class To, class From>
std::vector<To> each(const std::vector<From>& list) {
  return std::vector<To>(list.begin(), list.end());
}

bool convert_list(const SchemaType& type, IValue& value) {
  using Base = SchemaType::Base;
  // An empty list of any kind is an empty list of every kind.
  const bool empty =
      (value.isIntList() && value.toIntVector().empty()) || (value.isTensorList() && value.toTensorVector().empty());
  switch (type.base) {
    case Base::Tensor:
      if (empty) value = std::vector<Tensor>();
      if (type.optional_element) {
        if (value.isTensorList()) {
          // None cannot stand in a plain list of tensors; an undefined one takes its place.
          IValue::OptionalTensors optional;
          for (const Tensor& t : value.toTensorVector()) {
            optional.push_back(t.defined() ? std::optional<Tensor>(t) : std::nullopt);
          }
          value = std::move(optional);
        }
        return value.isOptionalTensorList();
      }
      if (value.isOptionalTensorList()) {
        std::vector<Tensor> plain;
        for (const auto& t : value.toOptionalTensorVector()) {
          if (!t) return false;
          plain.push_back(*t);
        }
        value = std::move(plain);
      }
      return value.isTensorList();
    case Base::Int:
      if (empty) value = std::vector<int64_t>();
      if (value.isInt()) value = std::vector<int64_t>(static_cast<size_t>(type.size ? type.size : 1), value.toInt());
      return value.isIntList();
    case Base::Float:
      if (empty) value = std::vector<double>();
      if (value.isIntList()) value = each<double>(value.toIntVector());
      if (type.size && (value.isInt() || value.isDouble())) {
        value = std::vector<double>(static_cast<size_t>(type.size), value.toDouble());
      }
      return value.isDoubleList();
    case Base::Bool:
      if (empty) value = std::vector<bool>();
      if (value.isBool() && type.size) value = std::vector<bool>(static_cast<size_t>(type.size), value.toBool());
      return value.isBoolList() && (type.size == 0 || static_cast<int64_t>(value.toBoolVector().size()) == type.size);
    case Base::Scalar:
      if (empty) value = std::vector<Scalar>();
      if (value.isIntList()) value = each<Scalar>(value.toIntVector());
      if (value.isDoubleList()) value = each<Scalar>(value.toDoubleVector());
      return value.isScalarList();
    default:
      return false;
  }
}

}  // namespace

bool SchemaType::convert(IValue& value) const {
  if (value.isNone()) return is_optional;
  if (is_list) return convert_list(*this, value);
  switch (base) {
    case Base::Tensor:
      return value.isTensor();
    case Base::Scalar:
      return value.isScalar();
    case Base::Int:
    case Base::ScalarType:
    case Base::Layout:
    case Base::MemoryFormat:
      return value.isInt();
    case Base::Float:
      if (value.isInt()) value = value.toDouble();
      return value.isDouble();
    case Base::Bool:
      return value.isBool();
    case Base::String:
      return value.isString();
    case Base::Device:
      if (value.isString()) value = Device(value.toStringRef());
      return value.isDevice();
    case Base::Generator:
      return value.isGenerator();
  }
  return false;
}

bool SchemaType::accepts(const IValue& value) const {
  IValue copy = value;
  return convert(copy);
}

int FunctionSchema::find(std::string_view name) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

FunctionSchema parse_schema(std::string_view text, std::string_view ns) {
  return Parser(text, ns).parse();
}

}  // namespace gradus::inline v0
