// An operator's schema, read from its text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gradus/core/ivalue.h>

namespace gradus {
inline namespace v0 {

/// A type of a schema: `int[2]?` is Int, a list of 2, optional.
struct SchemaType {
  enum class Base : uint8_t {
    Tensor,
    Scalar,
    Int,
    Float,
    Bool,
    String,
    ScalarType,
    Layout,
    Device,
    MemoryFormat,
    Generator
  };
  Base base = Base::Tensor;
  bool is_list = false;
  bool is_optional = false;
  bool optional_element = false;  // Tensor?[]
  int64_t size = 0;               // N of int[N]; 0 where none
  std::string text;               // without alias
  /// Whether `value` is of this type, as it is or by convert().
  bool accepts(const IValue& value) const;
  /// Makes ints doubles, single values lists, Tensors optional ones where the type asks for it. False: it does not fit.
  bool convert(IValue& value) const;
};

struct SchemaArgument {
  std::string name;
  SchemaType type;
  bool has_default = false;
  bool kwarg_only = false;
  bool written = false;  // Tensor(a!): the operator writes into it
  bool aliased = false;  // any alias mark
  std::string alias;     // "a", "a!", "a -> *"
  IValue default_value;
};

/// `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor` taken apart.
struct FunctionSchema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor"
  std::string text;      // as it was given, without namespace
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaArgument> returns;

  /// "aten::add.Tensor".
  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
  /// The place of argument `name`, or -1.
  GRADUS_API int find(std::string_view name) const;
};

/// Reads a schema; a name without namespace gets `ns`. Throws Error that says where the text is wrong.
GRADUS_API FunctionSchema parse_schema(std::string_view text, std::string_view ns = "aten");

}  // namespace v0
}  // namespace gradus
