#include <gradus/nn/containers.h>

#include <ostream>

namespace gradus::inline v0::nn {

void SequentialImpl::push_back(std::string name, AnyModule module) {
  GRADUS_CHECK(!module.is_empty(), "Sequential: the module '", name, "' is empty; expected one");
  register_module(std::move(name), module.ptr());
  all_plain_ = all_plain_ && module.is_plain();
  modules_.push_back(std::move(module));
}

std::shared_ptr<Module> SequentialImpl::clone(const std::optional<Device>& device) const {
  CloneScope scope;
  if (auto done = find_clone(this)) return done;
  auto copy = std::make_shared<SequentialImpl>();
  remember_clone(this, copy);
  size_t i = 0;
  for (const auto& child : named_children()) copy->push_back(child.key(), modules_[i++].clone(device));
  copy->train(is_training());
  return copy;
}

void SequentialImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::Sequential";
}

const AnyModule& SequentialImpl::checked(size_t i) const {
  GRADUS_CHECK_AS(IndexError, i < modules_.size(), "Sequential: index ", i, " is out of range for ", modules_.size(),
                  " modules");
  return modules_[i];
}
std::shared_ptr<Module> SequentialImpl::ptr(size_t i) const {
  return checked(i).ptr();
}

Tensor SequentialImpl::plain_forward(const Tensor& x) {
  GRADUS_CHECK(!modules_.empty(), "Sequential: it is empty; expected at least one module");
  Tensor value = modules_[0].plain_forward(x);
  for (size_t i = 1; i < modules_.size(); ++i) value = modules_[i].plain_forward(value);
  return value;
}

AnyValue SequentialImpl::forward_any(std::vector<AnyValue>&& args) {
  GRADUS_CHECK(!modules_.empty(), "Sequential: it is empty; expected at least one module");
  return run_rest(modules_[0].call(std::move(args)));
}

AnyValue SequentialImpl::run_rest(AnyValue value) {
  for (size_t i = 1; i < modules_.size(); ++i) {
    std::vector<AnyValue> next;
    next.push_back(std::move(value));
    value = modules_[i].call(std::move(next));
  }
  return value;
}

std::shared_ptr<Module> ModuleListImpl::clone(const std::optional<Device>& device) const {
  CloneScope scope;
  if (auto done = find_clone(this)) return done;
  auto copy = std::make_shared<ModuleListImpl>();
  remember_clone(this, copy);
  for (const auto& m : modules_) copy->push_back(m->clone(device));
  copy->train(is_training());
  return copy;
}

void ModuleListImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::ModuleList";
}

void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(modules_.size()), module);
  modules_.push_back(std::move(module));
}

void ModuleListImpl::insert(size_t index, std::shared_ptr<Module> module) {
  GRADUS_CHECK_AS(IndexError, index <= modules_.size(), "ModuleList: index ", index, " is out of range for ",
                  modules_.size(), " modules");
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
  // The names are the positions.
  for (size_t i = index; i < modules_.size(); ++i) {
    if (i + 1 == modules_.size()) {
      register_module(std::to_string(i), modules_[i]);
    } else {
      replace_module(std::to_string(i), modules_[i]);
    }
  }
}

std::shared_ptr<Module> ModuleListImpl::ptr(size_t i) const {
  GRADUS_CHECK_AS(IndexError, i < modules_.size(), "ModuleList: index ", i, " is out of range for ", modules_.size(),
                  " modules");
  return modules_[i];
}

void FunctionalImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::Functional()";
}

}  // namespace gradus::inline v0::nn
