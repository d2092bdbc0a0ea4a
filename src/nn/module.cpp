#include <gradus/nn/module.h>

#include <cxxabi.h>

#include <cstdlib>
#include <ostream>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>

#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>
#include <gradus/serialize/archive.h>

namespace gradus::inline v0::nn {

namespace detail {
struct CloneMemo {
  std::unordered_map<const Module*, std::shared_ptr<Module>> modules;
  std::unordered_map<const TensorImpl*, Tensor> tensors;
};
}  // namespace detail

namespace {

thread_local detail::CloneMemo* clone_memo = nullptr;

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

void check_name(const char* op, const std::string& name) {
  GRADUS_CHECK_AS(ValueError, !name.empty(), op, ": the name is empty; expected one");
  GRADUS_CHECK_AS(ValueError, name.find('.') == std::string::npos, op, ": the name '", name,
                  "' contains a dot; dots separate the levels of modules");
}

// A copy of the registrations that shares the tensors. Members of the other object are not ours to point at.
void copy_slots(OrderedDict<std::string, detail::Slot>& to, const OrderedDict<std::string, detail::Slot>& from) {
  to.clear();
  for (const auto& item : from)
    to.insert(item.key(), detail::Slot{nullptr, std::make_unique<Tensor>(item.value().get())});
}

Tensor& add_slot(OrderedDict<std::string, detail::Slot>& slots, std::string name, Tensor* member, Tensor value) {
  if (member) {
    *member = std::move(value);
    slots.insert(std::move(name), detail::Slot{member, nullptr});
    return *member;
  }
  return slots.insert(std::move(name), detail::Slot{nullptr, std::make_unique<Tensor>(std::move(value))}).get();
}

}  // namespace

Module::Module() : parameters_("Parameter"), buffers_("Buffer"), children_("Submodule") {}
Module::Module(std::string name) : Module() {
  name_ = std::move(name);
}
Module::~Module() = default;

Module::Module(const Module& o)
    : std::enable_shared_from_this<Module>(),
      parameters_("Parameter"),
      buffers_("Buffer"),
      children_(o.children_),
      name_(o.name_),
      is_training_(o.is_training_) {
  copy_slots(parameters_, o.parameters_);
  copy_slots(buffers_, o.buffers_);
}
Module& Module::operator=(const Module& o) {
  if (this == &o) return *this;
  copy_slots(parameters_, o.parameters_);
  copy_slots(buffers_, o.buffers_);
  children_ = o.children_;
  name_ = o.name_;
  is_training_ = o.is_training_;
  return *this;
}
// Bound members stay where they are when an object is moved from: moving copies the handles.
Module::Module(Module&& o) noexcept : Module(static_cast<const Module&>(o)) {}
Module& Module::operator=(Module&& o) noexcept {
  return *this = static_cast<const Module&>(o);
}

const std::string& Module::name() const noexcept {
  if (name_.empty()) {
    int status = 0;
    char* text = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
    name_ = status == 0 ? text : typeid(*this).name();
    std::free(text);
    // As the layers print themselves, and as libtorch has it: "torch::nn::LinearImpl".
    const std::string inner = "gradus::v0::", outer = "torch::";
    for (size_t at; (at = name_.find(inner)) != std::string::npos;) name_.replace(at, inner.size(), outer);
  }
  return name_;
}

std::shared_ptr<Module> Module::clone(const std::optional<Device>&) const {
  throw NotImplementedError(
      str("clone: ", name(), " has no clone(); derive it from nn::Cloneable<", name(), "> and give it a reset()"));
}

void Module::apply(const ModuleApplyFunction& f) {
  f(*this);
  for (auto& child : children_) child.value()->apply(f);
}
void Module::apply(const ConstModuleApplyFunction& f) const {
  f(*this);
  for (const auto& child : children_) static_cast<const Module&>(*child.value()).apply(f);
}
void Module::apply(const NamedModuleApplyFunction& f, const std::string& prefix) {
  f(prefix, *this);
  for (auto& child : children_) child.value()->apply(f, join(prefix, child.key()));
}
void Module::apply(const ModulePointerApplyFunction& f) const {
  for (const auto& m : modules()) f(m);
}

namespace {

using Slots = OrderedDict<std::string, detail::Slot>;

// Walks the tree; a module or tensor met before is passed over.
template <class F>
void walk_modules(const Module& m, const std::string& prefix, std::unordered_set<const Module*>& seen, const F& f) {
  if (!seen.insert(&m).second) return;
  f(prefix, m);
  for (const auto& child : m.named_children()) walk_modules(*child.value(), join(prefix, child.key()), seen, f);
}

OrderedDict<std::string, Tensor> collect(const Module& root, bool recurse, const Slots& (*slots)(const Module&)) {
  OrderedDict<std::string, Tensor> result;
  std::unordered_set<const Module*> seen_modules;
  std::unordered_set<const TensorImpl*> seen;
  auto add = [&](const std::string& prefix, const Module& m) {
    for (const auto& item : slots(m)) {
      const Tensor& t = item.value().get();
      if (t.defined() && seen.insert(t.impl()).second) result.insert(join(prefix, item.key()), t);
    }
  };
  if (recurse) {
    walk_modules(root, "", seen_modules, add);
  } else {
    add("", root);
  }
  return result;
}

}  // namespace

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  return collect(*this, recurse, [](const Module& m) -> const Slots& { return m.parameters_; });
}
OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  return collect(*this, recurse, [](const Module& m) -> const Slots& { return m.buffers_; });
}
std::vector<Tensor> Module::parameters(bool recurse) const {
  return named_parameters(recurse).values();
}
std::vector<Tensor> Module::buffers(bool recurse) const {
  return named_buffers(recurse).values();
}

std::shared_ptr<Module> Module::shared_from_this_checked() const {
  std::shared_ptr<const Module> self = weak_from_this().lock();
  GRADUS_CHECK(self, name(),
               ": the module is not owned by a shared_ptr; make it with std::make_shared or a holder, or call with "
               "include_self=false");
  return std::const_pointer_cast<Module>(self);
}

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> result;
  std::unordered_set<const Module*> seen;
  walk_modules(*this, prefix, seen, [&](const std::string& name, const Module& m) {
    if (&m != this || include_self) result.insert(name, m.shared_from_this_checked());
  });
  return result;
}
std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  return named_modules("", include_self).values();
}
OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const {
  return children_;
}
std::vector<std::shared_ptr<Module>> Module::children() const {
  return children_.values();
}

void Module::train(bool on) {
  for (auto& child : children_) child.value()->train(on);
  is_training_ = on;
}

namespace {
// Converts in place: handles that users hold keep pointing at the parameter.
void convert(const Tensor& t, const std::function<Tensor(const Tensor&)>& f) {
  if (!t.defined()) return;
  NoGradGuard guard;
  Tensor converted = f(t.detach());
  if (!converted.is_alias_of(t)) t.set_data(converted);
  if (t.is_leaf() && t.grad().defined()) t.mutable_grad() = f(t.grad().detach());
}
}  // namespace

static void convert_all(const Module& m, const std::function<Tensor(const Tensor&)>& f) {
  for (const Tensor& t : m.parameters()) convert(t, f);
  for (const Tensor& t : m.buffers()) convert(t, f);
}

void Module::to(Device device, ScalarType dtype, bool non_blocking) {
  convert_all(*this, [&](const Tensor& t) {
    return t.is_floating_point() || t.is_complex() ? t.to(device, dtype, non_blocking)
                                                   : t.to(device, t.scalar_type(), non_blocking);
  });
}
void Module::to(ScalarType dtype, bool non_blocking) {
  GRADUS_CHECK_AS(TypeError, is_differentiable(dtype), "to: a module's dtype must be floating or complex; got ", dtype);
  convert_all(*this,
              [&](const Tensor& t) { return t.is_floating_point() || t.is_complex() ? t.to(dtype, non_blocking) : t; });
}
void Module::to(Device device, bool non_blocking) {
  convert_all(*this, [&](const Tensor& t) { return t.to(device, t.scalar_type(), non_blocking); });
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& t : parameters()) {
    Tensor& g = t.mutable_grad();
    if (!g.defined()) continue;
    if (set_to_none) {
      g.reset();
    } else {
      g = g.detach();
      g.zero_();
    }
  }
}

void Module::save(serialize::OutputArchive& archive) const {
  for (const auto& p : parameters_) {
    if (p.value().get().defined()) archive.write(p.key(), p.value().get());
  }
  for (const auto& b : buffers_) {
    if (b.value().get().defined()) archive.write(b.key(), b.value().get(), /*is_buffer=*/true);
  }
  for (const auto& child : children_) {
    if (!child.value()->is_serializable()) continue;
    serialize::OutputArchive nested;
    child.value()->save(nested);
    archive.write(child.key(), nested);
  }
}

void Module::load(serialize::InputArchive& archive) {
  NoGradGuard guard;
  serialize::LoadTransaction transaction(archive);
  for (auto& p : parameters_) {
    if (p.value().get().defined()) archive.read(p.key(), p.value().get());
  }
  for (auto& b : buffers_) {
    if (b.value().get().defined()) archive.read(b.key(), b.value().get(), /*is_buffer=*/true);
  }
  for (auto& child : children_) {
    if (!child.value()->is_serializable()) continue;
    serialize::InputArchive nested;
    archive.read(child.key(), nested);
    child.value()->load(nested);
  }
  transaction.commit();
}

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_name("register_parameter", name);
  if (tensor.defined()) tensor.set_requires_grad(requires_grad);
  return add_slot(parameters_, std::move(name), nullptr, std::move(tensor));
}
Tensor& Module::bind_parameter(std::string name, Tensor& member, Tensor value, bool requires_grad) {
  check_name("bind_parameter", name);
  if (value.defined()) value.set_requires_grad(requires_grad);
  return add_slot(parameters_, std::move(name), &member, std::move(value));
}
Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_name("register_buffer", name);
  return add_slot(buffers_, std::move(name), nullptr, std::move(tensor));
}
Tensor& Module::bind_buffer(std::string name, Tensor& member, Tensor value) {
  check_name("bind_buffer", name);
  return add_slot(buffers_, std::move(name), &member, std::move(value));
}
void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name("register_module", name);
  GRADUS_CHECK(module, "register_module: the module '", name, "' is null; expected one");
  children_.insert(std::move(name), std::move(module));
}
void Module::replace_child(const std::string& name, std::shared_ptr<Module> module) {
  GRADUS_CHECK(module, "replace_module: the module '", name, "' is null; expected one");
  children_[name] = std::move(module);
}
void Module::unregister_module(const std::string& name) {
  GRADUS_CHECK(children_.contains(name), "unregister_module: no submodule is named '", name, "'");
  children_.erase(name);
}

void Module::forget_registrations() {
  parameters_.clear();
  buffers_.clear();
  children_.clear();
}

Module::CloneScope::CloneScope() : outermost(clone_memo == nullptr) {
  if (outermost) clone_memo = new detail::CloneMemo;
}
Module::CloneScope::~CloneScope() {
  if (!outermost) return;
  delete clone_memo;
  clone_memo = nullptr;
}
std::shared_ptr<Module> Module::find_clone(const Module* original) {
  auto it = clone_memo->modules.find(original);
  return it == clone_memo->modules.end() ? nullptr : it->second;
}
void Module::remember_clone(const Module* original, const std::shared_ptr<Module>& copy) {
  clone_memo->modules.emplace(original, copy);
}

namespace {
Tensor copy_tensor(const Tensor& t, const std::optional<Device>& device) {
  if (!t.defined()) return Tensor();
  auto [it, fresh] = clone_memo->tensors.try_emplace(t.impl());
  if (fresh) {
    NoGradGuard guard;
    Tensor copy = device && *device != t.device() ? t.detach().to(*device, t.scalar_type()) : t.detach().clone();
    {
      AutoGradMode on(true);
      if (t.is_leaf()) copy.set_requires_grad(t.requires_grad());
    }
    it->second = copy;
  }
  return it->second;
}

void copy_into_slots(const char* kind, const Module& original, Slots& to, const Slots& from,
                     const std::optional<Device>& device) {
  GRADUS_CHECK(to.size() == from.size(), "clone: reset() of ", original.name(), " registered ", to.size(), " ", kind,
               "s; the original has ", from.size(), ": register in reset(), not in the constructor");
  for (const auto& item : from) to[item.key()].get() = copy_tensor(item.value().get(), device);
}
}  // namespace

void Module::copy_state_from(const Module& o, const std::optional<Device>& device) {
  copy_into_slots("parameter", o, parameters_, o.parameters_, device);
  copy_into_slots("buffer", o, buffers_, o.buffers_, device);
  GRADUS_CHECK(children_.size() == o.children_.size(), "clone: reset() of ", o.name(), " registered ", children_.size(),
               " submodules; the original has ", o.children_.size(), ": register in reset(), not in the constructor");
  // The children that reset() made are members of the copy too: they take over state, so that both stay one.
  for (const auto& child : o.children_) {
    std::shared_ptr<Module>& mine = children_[child.key()];
    if (mine.get() == child.value().get()) {  // reset() registered the original's own child again
      mine = child.value()->clone(device);
    } else {
      mine->copy_state_from(*child.value(), device);
      remember_clone(child.value().get(), mine);
    }
  }
  is_training_ = o.is_training_;
}

void Module::pretty_print(std::ostream& stream) const {
  stream << name();
}

void Module::print_children(std::ostream& stream, const std::string& indentation) const {
  pretty_print(stream);
  if (children_.is_empty()) return;
  stream << "(\n";
  const std::string deeper = indentation + "  ";
  for (const auto& child : children_) {
    stream << deeper << "(" << child.key() << "): ";
    child.value()->print_children(stream, deeper);
    stream << '\n';
  }
  stream << indentation << ")";
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  module.print_children(stream, "");
  return stream;
}

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::shared_ptr<Module>& module) {
  GRADUS_CHECK(module, "save: the module is null; expected one");
  module->save(archive);
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, const std::shared_ptr<Module>& module) {
  GRADUS_CHECK(module, "load: the module is null; expected one");
  module->load(archive);
  return archive;
}

}  // namespace gradus::inline v0::nn
