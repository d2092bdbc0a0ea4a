// What all optimizers share: groups of parameters, their options, the state per parameter. Names are libtorch's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {

namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize

namespace optim {

// An option that knows whether it was set: what a group leaves unset it inherits from the optimizer. `bit` numbers the
// options of a class from 0; Self is what the setter returns for chaining.
#define GRADUS_OPTION(Self, T, name, bit, initial) \
 public:                                           \
  Self& name(const T& new_##name) {                \
    this->name##_ = new_##name;                    \
    this->set_bits_ |= 1u << (bit);                \
    return static_cast<Self&>(*this);              \
  }                                                \
  const T& name() const noexcept {                 \
    return this->name##_;                          \
  }                                                \
  T& name() noexcept {                             \
    return this->name##_;                          \
  }                                                \
                                                   \
 protected:                                        \
  T name##_ = initial /* NOLINT */

/// Options of one group. Concrete ones are SGDOptions, AdamOptions, ...
class GRADUS_API OptimizerOptions {
 public:
  OptimizerOptions() = default;
  OptimizerOptions(const OptimizerOptions&) = default;
  OptimizerOptions& operator=(const OptimizerOptions&) = default;
  virtual ~OptimizerOptions();
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  virtual void serialize(serialize::InputArchive& archive) = 0;
  virtual void serialize(serialize::OutputArchive& archive) const = 0;
  virtual double get_lr() const = 0;
  virtual void set_lr(double lr) = 0;
  /// Takes over what is unset here. Throws TypeError where `defaults` belongs to another optimizer.
  virtual void inherit(const OptimizerOptions& defaults) = 0;

 protected:
  uint32_t set_bits_ = 0;
};

namespace detail {
GRADUS_API void write_option(serialize::OutputArchive& a, const char* name, double v);
GRADUS_API void write_option(serialize::OutputArchive& a, const char* name, bool v);
GRADUS_API void write_option(serialize::OutputArchive& a, const char* name, const std::tuple<double, double>& v);
GRADUS_API void write_option(serialize::OutputArchive& a, const char* name, int64_t v);
GRADUS_API void write_option(serialize::OutputArchive& a, const char* name, const Tensor& v);
GRADUS_API void read_option(serialize::InputArchive& a, const char* name, double& v);
GRADUS_API void read_option(serialize::InputArchive& a, const char* name, bool& v);
GRADUS_API void read_option(serialize::InputArchive& a, const char* name, std::tuple<double, double>& v);
GRADUS_API void read_option(serialize::InputArchive& a, const char* name, int64_t& v);
GRADUS_API void read_option(serialize::InputArchive& a, const char* name, Tensor& v);
[[noreturn]] GRADUS_API void wrong_options();
}  // namespace detail

/// Gives an options class clone(), comparison, inheritance and files, all from its one list: a static
/// `fields(f)` that calls f(name, &Derived::member, bit) for each option.
template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override { return std::make_unique<Derived>(self()); }
  void serialize(serialize::InputArchive& a) override {
    Derived read(self());
    Derived::fields([&](const char* name, auto member, int) { detail::read_option(a, name, read.*member); });
    self() = read;
  }
  void serialize(serialize::OutputArchive& a) const override {
    Derived::fields([&](const char* name, auto member, int) { detail::write_option(a, name, self().*member); });
  }
  double get_lr() const override { return self().lr(); }
  void set_lr(double lr) override { self().lr(lr); }
  void inherit(const OptimizerOptions& defaults) override {
    const auto* from = dynamic_cast<const Derived*>(&defaults);
    if (!from) detail::wrong_options();
    const Derived initial;
    Derived::fields([&](const char*, auto member, int bit) {
      // One written through a reference (`options.lr() = 0.1`) shows by its value.
      if (!(set_bits_ >> bit & 1u) && self().*member == initial.*member) self().*member = from->*member;
    });
  }
  friend bool operator==(const Derived& a, const Derived& b) {
    bool equal = true;
    Derived::fields([&](const char*, auto member, int) { equal = equal && a.*member == b.*member; });
    return equal;
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

/// What an optimizer remembers of one parameter.
class GRADUS_API OptimizerParamState {
 public:
  OptimizerParamState() = default;
  OptimizerParamState(const OptimizerParamState&) = default;
  OptimizerParamState& operator=(const OptimizerParamState&) = default;
  virtual ~OptimizerParamState();
  virtual std::unique_ptr<OptimizerParamState> clone() const = 0;
  virtual void serialize(serialize::InputArchive& archive) = 0;
  virtual void serialize(serialize::OutputArchive& archive) const = 0;
  /// The tensors that must have the parameter's shape.
  virtual std::vector<Tensor> tensors() const = 0;
};

template <class Derived>
class OptimizerCloneableParamState : public OptimizerParamState {
 public:
  std::unique_ptr<OptimizerParamState> clone() const override { return std::make_unique<Derived>(self()); }
  void serialize(serialize::InputArchive& a) override {
    Derived::fields(
        [&](const char* name, auto member) { detail::read_option(a, name, static_cast<Derived&>(*this).*member); });
  }
  void serialize(serialize::OutputArchive& a) const override {
    Derived::fields([&](const char* name, auto member) { detail::write_option(a, name, self().*member); });
  }
  std::vector<Tensor> tensors() const override {
    std::vector<Tensor> r;
    Derived::fields([&](const char*, auto member) {
      if constexpr (std::is_same<std::decay_t<decltype(self().*member)>, Tensor>::value) r.push_back(self().*member);
    });
    return r;
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

/// Parameters with options of their own.
class GRADUS_API OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}  // NOLINT
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& o)
      : params_(o.params_), options_(o.options_ ? o.options_->clone() : nullptr) {}
  OptimizerParamGroup(OptimizerParamGroup&&) noexcept = default;
  OptimizerParamGroup& operator=(OptimizerParamGroup o) noexcept {
    params_.swap(o.params_);
    options_.swap(o.options_);
    return *this;
  }
  bool has_options() const { return options_ != nullptr; }
  OptimizerOptions& options();
  const OptimizerOptions& options() const { return const_cast<OptimizerParamGroup*>(this)->options(); }
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
};

/// Base of all optimizers. A parameter without gradient is skipped; one with a zero gradient is still decayed.
class GRADUS_API Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;
  using State = std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>;

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer();

  /// Throws ValueError where a parameter is no leaf, or is in the optimizer already.
  void add_param_group(const OptimizerParamGroup& group);
  /// One step. With a closure: evaluates it first (with gradients on) and returns its loss.
  virtual Tensor step(LossClosure closure = nullptr) = 0;
  void zero_grad(bool set_to_none = true);

  std::vector<OptimizerParamGroup>& param_groups() noexcept { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return param_groups_; }
  /// The options that new groups inherit. Changing them does not touch groups that are there: use set_lr or
  /// param_groups().
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  const OptimizerOptions& defaults() const noexcept { return *defaults_; }
  /// By parameter: `state()[p.unsafeGetTensorImpl()]`.
  State& state() noexcept { return state_; }
  const State& state() const noexcept { return state_; }
  size_t size() const noexcept;
  std::vector<Tensor> parameters() const;
  /// Sets the learning rate of every group.
  void set_lr(double lr);

  /// Options of all groups and the state of all parameters. load() changes nothing where the number of groups or
  /// parameters or a shape does not fit; one Error lists all that do not.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);

 protected:
  /// Groups are taken in by the derived constructor, which knows how to check options.
  explicit Optimizer(std::unique_ptr<OptimizerOptions> defaults);
  virtual std::unique_ptr<OptimizerParamState> make_state() const = 0;
  /// Throws ValueError on options that cannot be.
  virtual void check_options(const OptimizerOptions& options) const = 0;
  Tensor evaluate(const LossClosure& closure) const;

  std::vector<OptimizerParamGroup> param_groups_;
  State state_;
  std::unique_ptr<OptimizerOptions> defaults_;
};

GRADUS_API serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Optimizer& optimizer);
GRADUS_API serialize::InputArchive& operator>>(serialize::InputArchive& archive, Optimizer& optimizer);

}  // namespace optim
}  // namespace v0
}  // namespace gradus
