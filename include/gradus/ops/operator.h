// Operators by name: looking them up and calling them with boxed values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gradus/ops/function_schema.h>

namespace gradus {
inline namespace v0 {

struct Operator;

/// One operator: a built-in one or a user's. A pointer to a registry entry, which lives for ever.
class GRADUS_API OperatorHandle {
 public:
  explicit OperatorHandle(const Operator* op) : op_(op) {}
  /// "aten::add".
  std::string_view name() const;
  /// "Tensor".
  std::string_view overload() const;
  /// "aten::add.Tensor".
  std::string full_name() const;
  /// Parsed on first use and kept.
  const FunctionSchema& schema() const;
  bool is_composite() const;
  bool is_inplace() const;
  bool is_out() const;
  bool is_view() const;
  bool is_random() const;
  bool is_pointwise() const;
  bool is_reduction() const;
  bool is_nondifferentiable() const;
  bool is_data_dependent() const;

  /// Calls it. `stack` holds all arguments in schema order, of the schema's types; the results take their place.
  void call(Stack& stack) const;
  /// The same function, called as a C++ function: `op.typed<Tensor(const Tensor&, double)>()(x, 0.5)`. The types are
  /// those of the C++ surface. Throws TypeError where they are not the schema's.
  template <class Signature>
  auto typed() const;

  bool operator==(const OperatorHandle& o) const { return op_ == o.op_; }
  bool operator!=(const OperatorHandle& o) const { return op_ != o.op_; }
  const Operator* entry() const { return op_; }

 private:
  const Operator* op_;
};

/// The operator of that name ("aten::add.Tensor"; "aten::" may be left out), if there is one.
GRADUS_API std::optional<OperatorHandle> find_operator(std::string_view name);
/// As find_operator; throws NotImplementedError that lists the overloads there are.
GRADUS_API OperatorHandle get_operator(std::string_view name);
/// All operators, sorted by name.
GRADUS_API std::vector<OperatorHandle> all_operators();

/// Calls an operator by name. Arguments left out get the schema's defaults; several results come back as several
/// values. Throws NotImplementedError for an unknown name, TypeError where an argument is missing, too much or of the
/// wrong type.
GRADUS_API std::vector<IValue> call(std::string_view name, std::vector<IValue> args);
/// The same with keyword arguments.
GRADUS_API std::vector<IValue> call(std::string_view name, std::vector<IValue> args,
                                    std::vector<std::pair<std::string, IValue>> kwargs);
/// The same for a handle.
GRADUS_API std::vector<IValue> call(const OperatorHandle& op, std::vector<IValue> args,
                                    std::vector<std::pair<std::string, IValue>> kwargs = {});

}  // namespace v0
}  // namespace gradus
