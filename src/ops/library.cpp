// Operators registered at run time: choosing an implementation, recording a registered gradient.
#include <gradus/ops/library.h>

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>

#include <gradus/autograd/function.h>

#include "ops/registry.h"

namespace gradus::inline v0 {
namespace {

using Kernel = std::shared_ptr<const std::function<void(Stack&)>>;

const char* device_name(DeviceType type) {
  switch (type) {
    case DeviceType::CPU:
      return "cpu";
    case DeviceType::CUDA:
      return "cuda";
    case DeviceType::Meta:
      return "meta";
    case DeviceType::PrivateUse1:
      return "privateuse1";
  }
  return "unknown";
}

// A registry entry with what was registered for it. Lives for ever, as handles to it may.
struct UserOperator : Operator {
  std::string name_text, overload_text, schema_text;
  FunctionSchema parsed;
  std::mutex mutex;
  std::map<DeviceType, Kernel> by_device;
  Kernel generic;
  std::shared_ptr<const Library::Gradient> gradient;

  explicit UserOperator(FunctionSchema s) : Operator{}, parsed(std::move(s)) {
    name_text = parsed.name;
    overload_text = parsed.overload;
    schema_text = parsed.text;
    name = name_text.c_str();
    overload = overload_text.c_str();
    schema = schema_text.c_str();
    flags = kUser;
    for (const SchemaArgument& a : parsed.arguments) {
      if (a.written && a.kwarg_only) ++outs;
      if (a.type.base == SchemaType::Base::Generator) flags |= kRandom;
    }
    if (outs) {
      flags |= kOut;
    } else if (!parsed.arguments.empty() && parsed.arguments[0].written) {
      flags |= kInplace;
    }
    for (const SchemaArgument& r : parsed.returns) {
      if (r.aliased && !r.written) flags |= kView;
    }
  }

  Kernel kernel_for(DeviceType device) {
    std::lock_guard lock(mutex);
    const auto it = by_device.find(device);
    if (it != by_device.end()) return it->second;
    if (generic) return generic;
    std::string have;
    for (const auto& [type, kernel] : by_device) have += (have.empty() ? "" : ", ") + std::string(device_name(type));
    throw NotImplementedError(str(parsed.full_name(), ": there is no implementation for ", device_name(device),
                                  " tensors", have.empty() ? std::string() : str("; there are ones for ", have),
                                  ". Add one with m.impl in a GRADUS_LIBRARY(",
                                  name_text.substr(0, name_text.find(':')), ", m)"));
  }
};

std::map<std::string, UserOperator*>& user_operators() {
  static auto* all = new std::map<std::string, UserOperator*>;
  return *all;
}
std::mutex& user_operators_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

// The tensors among the values, lists' elements one by one.
std::vector<Tensor> tensors_of(const Stack& stack) {
  std::vector<Tensor> tensors;
  for (const IValue& v : stack) {
    if (v.isTensor()) {
      tensors.push_back(v.toTensor());
    } else if (v.isTensorList()) {
      tensors.insert(tensors.end(), v.toTensorVector().begin(), v.toTensorVector().end());
    } else if (v.isOptionalTensorList()) {
      for (const auto& t : v.toOptionalTensorVector()) tensors.push_back(t.value_or(Tensor()));
    }
  }
  return tensors;
}

// Puts tensors back where tensors_of() took them.
void put_tensors(Stack& stack, const std::vector<Tensor>& tensors, size_t& at) {
  for (IValue& v : stack) {
    if (v.isTensor()) {
      v = tensors[at++];
    } else if (v.isTensorList()) {
      const auto n = static_cast<std::ptrdiff_t>(v.toTensorVector().size());
      const auto first = tensors.begin() + static_cast<std::ptrdiff_t>(at);
      v = std::vector<Tensor>(first, first + n);
      at += static_cast<size_t>(n);
    } else if (v.isOptionalTensorList()) {
      IValue::OptionalTensors list = v.toOptionalTensorVector();
      for (auto& t : list) {
        if (t) t = tensors[at];
        ++at;
      }
      v = std::move(list);
    }
  }
}

// The values without their tensors, which autograd keeps itself: it checks their versions and must not form cycles.
Stack without_tensors(Stack stack) {
  std::vector<Tensor> none(tensors_of(stack).size());
  size_t at = 0;
  put_tensors(stack, none, at);
  return stack;
}

std::vector<bool> needs_by_argument(const Stack& arguments, const std::vector<bool>& by_tensor) {
  std::vector<bool> needs;
  size_t at = 0;
  for (const IValue& v : arguments) {
    size_t n = v.isTensor()               ? 1
               : v.isTensorList()         ? v.toTensorVector().size()
               : v.isOptionalTensorList() ? v.toOptionalTensorVector().size()
                                          : 0;
    bool any = false;
    for (; n > 0; --n, ++at) any = any || by_tensor[at];
    needs.push_back(any);
  }
  return needs;
}

// --- calls -----------------------------------------------------------------------------------------------------------

// AutogradContext::saved_data holds what is no tensor: the operator, and each argument and result with its tensors
// taken out.
void keep(autograd::AutogradContext& context, const char* prefix, Stack stack) {
  context.saved_data[std::string(prefix) + "count"] = static_cast<int64_t>(stack.size());
  for (size_t i = 0; i < stack.size(); ++i) context.saved_data[prefix + std::to_string(i)] = std::move(stack[i]);
}
Stack kept(autograd::AutogradContext& context, const char* prefix, const std::vector<Tensor>& tensors, size_t& at) {
  Stack stack;
  const int64_t count = context.saved_data[std::string(prefix) + "count"].toInt();
  for (int64_t i = 0; i < count; ++i) stack.push_back(context.saved_data[prefix + std::to_string(i)]);
  put_tensors(stack, tensors, at);
  return stack;
}

std::vector<Tensor> backward(autograd::AutogradContext* context, std::vector<Tensor> grads) {
  auto* op = reinterpret_cast<UserOperator*>(context->saved_data["operator"].toInt());
  const std::vector<Tensor> tensors = context->get_saved_variables();
  size_t at = 0;
  const Stack arguments = kept(*context, "a", tensors, at);
  const size_t inputs = at;
  const Stack results = kept(*context, "r", tensors, at);
  std::vector<bool> by_tensor;
  for (size_t i = 0; i < inputs; ++i) by_tensor.push_back(context->needs_input_grad(i));
  const std::vector<bool> needs = needs_by_argument(arguments, by_tensor);
  std::shared_ptr<const Library::Gradient> gradient;
  {
    std::lock_guard lock(op->mutex);
    gradient = op->gradient;
  }
  std::vector<Tensor> result = (*gradient)(GradientCall(arguments, results, grads, needs));
  GRADUS_CHECK(result.size() == inputs, op->parsed.full_name(), ": its gradient returned ", result.size(),
               " tensors; expected one for each of the ", inputs, " tensors among the arguments");
  return result;
}

void run_kernel(UserOperator& op, const Kernel& kernel, Stack& stack) {
  (*kernel)(stack);
  keep_results(op, stack);
  if (op.parsed.returns.empty()) stack.clear();
  GRADUS_CHECK(stack.size() == op.parsed.returns.size(), op.parsed.full_name(), ": its implementation returned ",
               stack.size(), " values; the schema has ", op.parsed.returns.size());
}

void run_recorded(UserOperator& op, const Kernel& kernel, Stack& stack, std::vector<Tensor> inputs) {
  autograd::detail::FunctionRun run(op.name, inputs);
  const Stack arguments = stack;
  if (op.flags & Operator::kInplace) run.context->mark_dirty({stack[0].toTensor()});
  run_kernel(op, kernel, stack);
  std::vector<Tensor> outputs = tensors_of(stack), saved = std::move(inputs);
  saved.insert(saved.end(), outputs.begin(), outputs.end());
  run.context->save_for_backward(std::move(saved));
  run.context->saved_data["operator"] = reinterpret_cast<int64_t>(&op);
  keep(*run.context, "a", without_tensors(arguments));
  keep(*run.context, "r", without_tensors(stack));
  run.finish(outputs, &backward);
  size_t at = 0;
  put_tensors(stack, outputs, at);
}

UserOperator& find_user_operator(const std::string& ns, std::string_view name) {
  std::string full(name);
  if (full.find("::") == std::string::npos) full = ns + "::" + full;
  std::lock_guard lock(user_operators_mutex());
  const auto it = user_operators().find(full);
  GRADUS_CHECK(it != user_operators().end(), full,
               ": no operator of this name was declared; call m.def with its schema first");
  return *it->second;
}

const IValue& at(const Stack& stack, size_t i, const char* what) {
  GRADUS_CHECK_AS(IndexError, i < stack.size(), "gradient: there is no ", what, " ", i, "; there are ", stack.size());
  return stack[i];
}

}  // namespace

void call_user_operator(const Operator& entry, Stack& stack) {
  auto& op = const_cast<UserOperator&>(static_cast<const UserOperator&>(entry));
  std::vector<Tensor> inputs = tensors_of(stack);
  DeviceType device = DeviceType::CPU;
  bool records = false, found = false;
  for (const Tensor& t : inputs) {
    if (!t.defined()) continue;
    if (!found) device = t.device().type();
    found = true;
    records = records || t.requires_grad();
  }
  for (size_t i = 0; !found && i < stack.size(); ++i) {
    if (stack[i].isDevice()) device = stack[i].toDevice().type();
  }
  const Kernel kernel = op.kernel_for(device);
  {
    std::lock_guard lock(op.mutex);
    records = records && op.gradient != nullptr;
  }
  if (records && grad_mode_enabled()) return run_recorded(op, kernel, stack, std::move(inputs));
  run_kernel(op, kernel, stack);
}

const IValue& GradientCall::argument(size_t i) const {
  return at(arguments_, i, "argument");
}
const IValue& GradientCall::result(size_t i) const {
  return at(results_, i, "result");
}
const Tensor& GradientCall::grad(size_t i) const {
  GRADUS_CHECK_AS(IndexError, i < grads_.size(), "gradient: there is no gradient ", i, "; there are ", grads_.size());
  return grads_[i];
}
bool GradientCall::needs(size_t i) const {
  return i < needs_.size() && needs_[i];
}

std::string Library::define(std::string_view schema) {
  FunctionSchema parsed = parse_schema(schema, ns_);
  const std::string space = parsed.name.substr(0, parsed.name.find("::")), name = parsed.full_name();
  GRADUS_CHECK(space == ns_, name, ": the schema's namespace is not the library's; expected ", ns_, "::");
  auto op = std::make_unique<UserOperator>(std::move(parsed));
  register_operator(op.get());
  std::lock_guard lock(user_operators_mutex());
  user_operators()[name] = op.release();
  return name;
}

Library& Library::def(std::string_view schema) {
  define(schema);
  return *this;
}

void Library::add(std::string_view name, const DeviceType* device, detail::BoxedFunction f) {
  UserOperator& op = find_user_operator(ns_, name);
  boxing::check_signature(op.parsed, f.arguments, f.results);
  auto kernel = std::make_shared<const std::function<void(Stack&)>>(std::move(f.call));
  std::lock_guard lock(op.mutex);
  Kernel& slot = device ? op.by_device[*device] : op.generic;
  GRADUS_CHECK(slot == nullptr, op.parsed.full_name(), ": there is an implementation for ",
               device ? device_name(*device) : "all devices", " already");
  slot = std::move(kernel);
  // Made of other operators, as far as anybody can tell: an interposer may ask for its parts.
  if (!device) op.flags |= Operator::kComposite;
}

Library& Library::gradient(std::string_view name, Gradient f) {
  UserOperator& op = find_user_operator(ns_, name);
  std::lock_guard lock(op.mutex);
  GRADUS_CHECK(op.gradient == nullptr, op.parsed.full_name(), ": it has a gradient already");
  op.gradient = std::make_shared<const Gradient>(std::move(f));
  return *this;
}

namespace detail {

namespace {

// Operators point into the code that registered them, for good: a plugin that brings some is never unmapped. A dlclose
// then does nothing, and a second dlopen finds it as it was instead of registering everything again.
void keep_loaded(void (*code)(Library&)) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(code), &info) && info.dli_fname) {
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

}  // namespace

LibraryInit::LibraryInit(const char* ns, void (*fill)(Library&)) {
  keep_loaded(fill);
  try {
    Library library(ns);
    fill(library);
  } catch (const std::exception& e) {
    warn(str("GRADUS_LIBRARY(", ns, "): ", e.what()));
  }
}

}  // namespace detail
}  // namespace gradus::inline v0
