#include <gradus/optim/optimizer.h>

#include <algorithm>
#include <unordered_set>

#include <gradus/autograd/grad_mode.h>
#include <gradus/autograd/node.h>
#include <gradus/core/ivalue.h>
#include <gradus/ops/ops.h>
#include <gradus/serialize/archive.h>

namespace gradus::inline v0::optim {

OptimizerOptions::~OptimizerOptions() = default;
OptimizerParamState::~OptimizerParamState() = default;
Optimizer::~Optimizer() = default;

namespace detail {

void write_option(serialize::OutputArchive& a, const char* name, double v) {
  a.write(name, IValue(v));
}
void write_option(serialize::OutputArchive& a, const char* name, bool v) {
  a.write(name, IValue(v));
}
void write_option(serialize::OutputArchive& a, const char* name, int64_t v) {
  a.write(name, IValue(v));
}
void write_option(serialize::OutputArchive& a, const char* name, const std::tuple<double, double>& v) {
  a.write(name, IValue(std::vector<double>{std::get<0>(v), std::get<1>(v)}));
}
void write_option(serialize::OutputArchive& a, const char* name, const Tensor& v) {
  if (v.defined()) a.write(name, v);
}

namespace {
IValue read_value(serialize::InputArchive& a, const char* name) {
  IValue v;
  a.read(name, v);
  return v;
}
}  // namespace

void read_option(serialize::InputArchive& a, const char* name, double& v) {
  v = read_value(a, name).toDouble();
}
void read_option(serialize::InputArchive& a, const char* name, bool& v) {
  v = read_value(a, name).toBool();
}
void read_option(serialize::InputArchive& a, const char* name, int64_t& v) {
  v = read_value(a, name).toInt();
}
void read_option(serialize::InputArchive& a, const char* name, std::tuple<double, double>& v) {
  const IValue value = read_value(a, name);
  const auto& list = value.toDoubleVector();
  GRADUS_CHECK(list.size() == 2, "load: option ", name, " has ", list.size(), " numbers; expected 2");
  v = {list[0], list[1]};
}
void read_option(serialize::InputArchive& a, const char* name, Tensor& v) {
  Tensor read;
  v = a.try_read(name, read) ? read : Tensor();
}

void wrong_options() {
  throw TypeError("Optimizer: a group's options belong to another optimizer; expected the options class of this one");
}

}  // namespace detail

OptimizerOptions& OptimizerParamGroup::options() {
  GRADUS_CHECK(options_,
               "OptimizerParamGroup: the group has no options yet; it gets them when an optimizer takes it in");
  return *options_;
}

Optimizer::Optimizer(std::unique_ptr<OptimizerOptions> defaults) : defaults_(std::move(defaults)) {}

void Optimizer::add_param_group(const OptimizerParamGroup& group) {
  OptimizerParamGroup added(group);
  if (added.has_options()) {
    added.options().inherit(*defaults_);
  } else {
    added.set_options(defaults_->clone());
  }
  check_options(added.options());
  std::unordered_map<const TensorImpl*, std::pair<size_t, size_t>> seen;
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    const auto& params = param_groups_[g].params();
    for (size_t i = 0; i < params.size(); ++i) seen.emplace(params[i].impl(), std::make_pair(g, i));
  }
  for (size_t i = 0; i < added.params().size(); ++i) {
    const Tensor& p = added.params()[i];
    GRADUS_CHECK_AS(ValueError, p.defined(), "Optimizer: parameter ", i, " of group ", param_groups_.size(),
                    " is undefined");
    GRADUS_CHECK_AS(ValueError, p.is_leaf(), "Optimizer: parameter ", i, " of group ", param_groups_.size(),
                    " is not a leaf: it was made by ", p.grad_fn()->name(), "; expected a tensor made by the user");
    auto [at, fresh] = seen.emplace(p.impl(), std::make_pair(param_groups_.size(), i));
    GRADUS_CHECK_AS(ValueError, fresh, "Optimizer: parameter ", i, " of group ", param_groups_.size(),
                    " is the same tensor as parameter ", at->second.second, " of group ", at->second.first,
                    "; expected each once");
  }
  param_groups_.push_back(std::move(added));
}

void Optimizer::zero_grad(bool set_to_none) {
  for (OptimizerParamGroup& group : param_groups_) {
    for (const Tensor& p : group.params()) {
      Tensor& g = p.mutable_grad();
      if (!g.defined()) continue;
      if (set_to_none) {
        g.reset();
      } else {
        if (g.grad_fn() || g.requires_grad()) g = g.detach();
        g.zero_();
      }
    }
  }
}

size_t Optimizer::size() const noexcept {
  size_t n = 0;
  for (const auto& g : param_groups_) n += g.params().size();
  return n;
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> r;
  for (const auto& g : param_groups_) r.insert(r.end(), g.params().begin(), g.params().end());
  return r;
}

void Optimizer::set_lr(double lr) {
  for (OptimizerParamGroup& g : param_groups_) {
    auto changed = g.options().clone();
    changed->set_lr(lr);
    check_options(*changed);
    g.set_options(std::move(changed));
  }
}

Tensor Optimizer::evaluate(const LossClosure& closure) const {
  if (!closure) return Tensor();
  AutoGradMode on(true);
  return closure();
}

void Optimizer::save(serialize::OutputArchive& archive) const {
  archive.write("groups", IValue(static_cast<int64_t>(param_groups_.size())));
  size_t index = 0;
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    serialize::OutputArchive group;
    group.write("parameters", IValue(static_cast<int64_t>(param_groups_[g].params().size())));
    serialize::OutputArchive options;
    param_groups_[g].options().serialize(options);
    group.write("options", options);
    archive.write("group" + std::to_string(g), group);
    for (const Tensor& p : param_groups_[g].params()) {
      auto it = state_.find(p.impl());
      if (it != state_.end()) {
        serialize::OutputArchive state;
        it->second->serialize(state);
        archive.write("state" + std::to_string(index), state);
      }
      ++index;
    }
  }
}

void Optimizer::load(serialize::InputArchive& archive) {
  IValue count;
  archive.read("groups", count);
  GRADUS_CHECK(count.toInt() == static_cast<int64_t>(param_groups_.size()), "load: the file has ", count.toInt(),
               " parameter groups; the optimizer has ", param_groups_.size());
  std::string problems;
  std::vector<std::unique_ptr<OptimizerOptions>> options;
  State states;
  size_t index = 0;
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    serialize::InputArchive group, group_options;
    archive.read("group" + std::to_string(g), group);
    IValue parameters;
    group.read("parameters", parameters);
    const auto& params = param_groups_[g].params();
    if (parameters.toInt() != static_cast<int64_t>(params.size())) {
      problems +=
          str("\n  group ", g, ": the file has ", parameters.toInt(), " parameters; the optimizer has ", params.size());
    }
    group.read("options", group_options);
    options.push_back(param_groups_[g].options().clone());
    options.back()->serialize(group_options);
    for (size_t i = 0; i < params.size(); ++i, ++index) {
      serialize::InputArchive one;
      if (!archive.try_read("state" + std::to_string(index), one)) continue;
      auto state = make_state();
      state->serialize(one);
      for (const Tensor& t : state->tensors()) {
        if (t.defined() && t.sizes() != params[i].sizes()) {
          problems += str("\n  parameter ", i, " of group ", g, ": the file's state has shape ", t.sizes(),
                          "; the parameter has ", params[i].sizes());
          break;
        }
      }
      for (const Tensor& t : state->tensors()) {  // the parameter may have been elsewhere when the state was saved
        if (t.defined() && t.device() != params[i].device()) t.set_data(t.to(TensorOptions(params[i].device())));
      }
      states[params[i].impl()] = std::move(state);
    }
  }
  GRADUS_CHECK(problems.empty(), "load: the file does not fit the optimizer:", problems);
  for (size_t g = 0; g < param_groups_.size(); ++g) param_groups_[g].set_options(std::move(options[g]));
  state_ = std::move(states);
}

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Optimizer& optimizer) {
  optimizer.save(archive);
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Optimizer& optimizer) {
  optimizer.load(archive);
  return archive;
}

}  // namespace gradus::inline v0::optim
