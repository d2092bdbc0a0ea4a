#include "ops/registry.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace gradus::inline v0 {
namespace {

std::string full_name(const Operator& op) {
  std::string s = op.name;
  if (*op.overload) s.append(".").append(op.overload);
  return s;
}

class Registry {
 public:
  static Registry& get() {
    // Never destroyed: a user's library may ask for operators while the process ends.
    static Registry* registry = new Registry;
    return *registry;
  }

  const Operator* find(const std::string& name) {
    std::lock_guard lock(mutex_);
    const auto it = operators_.find(name);
    return it == operators_.end() ? nullptr : it->second;
  }

  void add(const Operator* op) {
    std::lock_guard lock(mutex_);
    const bool added = operators_.emplace(full_name(*op), op).second;
    GRADUS_CHECK(added, full_name(*op), ": an operator of this name exists already; choose another name or overload");
  }

  const FunctionSchema& schema(const Operator* op) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<FunctionSchema>& schema = schemas_[op];
    if (!schema) {
      const std::string_view name = op->name;
      schema = std::make_unique<FunctionSchema>(parse_schema(op->schema, name.substr(0, name.find("::"))));
    }
    return *schema;
  }

  std::vector<OperatorHandle> all() {
    std::vector<std::pair<std::string, const Operator*>> sorted;
    {
      std::lock_guard lock(mutex_);
      sorted.assign(operators_.begin(), operators_.end());
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<OperatorHandle> handles;
    for (const auto& [name, op] : sorted) handles.emplace_back(op);
    return handles;
  }

 private:
  Registry() {
    for (const surface::OperatorTable* const* table = surface::kTables; *table; ++table) {
      for (size_t i = 0; i < (*table)->count; ++i)
        operators_.emplace(full_name(*(*table)->entries[i]), (*table)->entries[i]);
    }
  }

  std::mutex mutex_;
  std::unordered_map<std::string, const Operator*> operators_;
  std::unordered_map<const Operator*, std::unique_ptr<FunctionSchema>> schemas_;
};

std::string with_namespace(std::string_view name) {
  return name.find("::") == std::string_view::npos ? "aten::" + std::string(name) : std::string(name);
}

// "add.Tensor", what error messages of an operator begin with.
std::string short_name(const OperatorHandle& op) {
  const std::string full = op.full_name();
  return full.rfind("aten::", 0) == 0 ? full.substr(6) : full;
}

[[noreturn]] void wrong_arguments(const OperatorHandle& op, const std::string& what) {
  throw TypeError(str(short_name(op), ": ", what, "; expected ", op.schema().text));
}

// The arguments in schema order, completed and converted.
Stack complete(const OperatorHandle& op, std::vector<IValue> args, std::vector<std::pair<std::string, IValue>> kwargs) {
  const FunctionSchema& schema = op.schema();
  const size_t count = schema.arguments.size(), given = args.size();
  if (given > count) wrong_arguments(op, str("got ", given, " arguments, there are ", count));
  Stack stack = std::move(args);
  stack.resize(count);
  std::vector<bool> set(count, false);
  std::fill(set.begin(), set.begin() + static_cast<std::ptrdiff_t>(given), true);
  for (auto& [name, value] : kwargs) {
    const int i = schema.find(name);
    if (i < 0) wrong_arguments(op, str("there is no argument '", name, "'"));
    if (set[static_cast<size_t>(i)]) wrong_arguments(op, str("argument '", name, "' is given twice"));
    stack[static_cast<size_t>(i)] = std::move(value);
    set[static_cast<size_t>(i)] = true;
  }
  for (size_t i = 0; i < count; ++i) {
    const SchemaArgument& a = schema.arguments[i];
    if (!set[i]) {
      if (!a.has_default) wrong_arguments(op, str("argument '", a.name, "' is missing"));
      stack[i] = a.default_value;
    } else if (!a.type.convert(stack[i])) {
      wrong_arguments(op, str("argument '", a.name, "' is ", stack[i].type_name(), " instead of ", a.type.text));
    }
  }
  return stack;
}

}  // namespace

std::string_view OperatorHandle::name() const {
  return op_->name;
}
std::string_view OperatorHandle::overload() const {
  return op_->overload;
}
std::string OperatorHandle::full_name() const {
  return gradus::v0::full_name(*op_);
}
const FunctionSchema& OperatorHandle::schema() const {
  return Registry::get().schema(op_);
}
bool OperatorHandle::is_composite() const {
  return op_->flags & Operator::kComposite;
}
bool OperatorHandle::is_inplace() const {
  return op_->flags & Operator::kInplace;
}
bool OperatorHandle::is_out() const {
  return op_->flags & Operator::kOut;
}
bool OperatorHandle::is_view() const {
  return op_->flags & Operator::kView;
}
bool OperatorHandle::is_random() const {
  return op_->flags & Operator::kRandom;
}
bool OperatorHandle::is_pointwise() const {
  return op_->flags & Operator::kPointwise;
}
bool OperatorHandle::is_reduction() const {
  return op_->flags & Operator::kReduction;
}
bool OperatorHandle::is_nondifferentiable() const {
  return op_->flags & Operator::kNondiff;
}
bool OperatorHandle::is_data_dependent() const {
  return op_->flags & Operator::kDataDependent;
}

void OperatorHandle::call(Stack& stack) const {
  const FunctionSchema& schema = this->schema();
  if (stack.size() != schema.arguments.size()) {
    wrong_arguments(*this,
                    str("the stack holds ", stack.size(), " values for ", schema.arguments.size(), " arguments"));
  }
  if (surface::intercepted(*op_)) return surface::run_interposed(*op_, stack);
  if (op_->flags & Operator::kUser) return call_user_operator(*op_, stack);
  op_->unbox(op_->function, stack);
  keep_results(*op_, stack);
}

std::optional<OperatorHandle> find_operator(std::string_view name) {
  const Operator* op = Registry::get().find(with_namespace(name));
  if (op == nullptr) return std::nullopt;
  return OperatorHandle(op);
}

OperatorHandle get_operator(std::string_view name) {
  if (auto op = find_operator(name)) return *op;
  const std::string full = with_namespace(name), base = full.substr(0, full.find('.'));
  std::string overloads;
  for (const OperatorHandle& op : all_operators()) {
    if (op.name() != base) continue;
    overloads += (overloads.empty() ? "" : ", ") + op.full_name();
  }
  throw NotImplementedError(overloads.empty() ? str(name, ": there is no operator of this name")
                                              : str(name, ": there is no such overload; there are ", overloads));
}

std::vector<OperatorHandle> all_operators() {
  return Registry::get().all();
}

std::vector<IValue> call(const OperatorHandle& op, std::vector<IValue> args,
                         std::vector<std::pair<std::string, IValue>> kwargs) {
  Stack stack = complete(op, std::move(args), std::move(kwargs));
  op.call(stack);
  return stack;
}
std::vector<IValue> call(std::string_view name, std::vector<IValue> args) {
  return call(get_operator(name), std::move(args));
}
std::vector<IValue> call(std::string_view name, std::vector<IValue> args,
                         std::vector<std::pair<std::string, IValue>> kwargs) {
  return call(get_operator(name), std::move(args), std::move(kwargs));
}

void register_operator(const Operator* op) {
  Registry::get().add(op);
}

void keep_results(const Operator& op, Stack& stack) {
  if (op.flags & Operator::kInplace) {
    stack.resize(1);
  } else if (op.flags & Operator::kOut) {
    stack.erase(stack.begin(), stack.end() - op.outs);
  }
}

namespace boxing {

void wrong_result_count(size_t is, size_t expected) {
  throw Error(str("boxed call: ", is, " results came back; expected ", expected));
}

void check_signature(const FunctionSchema& schema, const std::vector<std::string>& arguments,
                     const std::vector<std::string>& results) {
  const auto list = [](const std::vector<std::string>& names) {
    std::string s;
    for (const std::string& n : names) s += (s.empty() ? "" : ", ") + n;
    return "(" + s + ")";
  };
  // int[2] is int[] in C++; an optional Tensor may be taken as one that may be undefined.
  const auto same = [](const SchemaType& t, const std::string& name) {
    std::string text = t.text;
    if (t.is_list && t.size) text.erase(text.find('[') + 1, std::to_string(t.size).size());
    return text == name || (text == "Tensor?" && name == "Tensor");
  };
  bool ok = arguments.size() == schema.arguments.size();
  for (size_t i = 0; ok && i < arguments.size(); ++i) ok = same(schema.arguments[i].type, arguments[i]);
  // Results that are written arguments need no return value.
  bool written = !schema.returns.empty();
  for (const SchemaArgument& r : schema.returns) written = written && r.written;
  bool results_ok = results.size() == schema.returns.size() || (written && results.empty());
  for (size_t i = 0; results_ok && i < results.size(); ++i) results_ok = same(schema.returns[i].type, results[i]);
  GRADUS_CHECK_AS(TypeError, ok && results_ok, schema.full_name(), ": the C++ signature ", list(arguments), " -> ",
                  list(results), " is not that of the schema ", schema.text);
}

AnyFunction function_behind(const Operator* op, Unboxer unboxer) {
  return op->unbox == unboxer && !(op->flags & Operator::kUser) ? op->function : nullptr;
}

}  // namespace boxing
}  // namespace gradus::inline v0
