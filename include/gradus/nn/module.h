// Module: parameters, buffers and submodules under names. Semantics are libtorch's torch::nn::Module.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gradus/core/tensor.h>
#include <gradus/nn/ordered_dict.h>

namespace gradus {
inline namespace v0 {

namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize

namespace nn {

class Module;

namespace detail {
/// A registered tensor: where it lies, in the module's member or (a plain registration) in storage of its own.
struct Slot {
  Tensor* member = nullptr;
  std::unique_ptr<Tensor> own;
  Tensor& get() const { return member ? *member : *own; }
};
/// Copies made so far by one clone(), so that shared modules and tensors stay shared.
struct CloneMemo;
}  // namespace detail

/// Holders and shared_ptrs both stand for a module.
template <class Contained>
class ModuleHolder;

/// Base of all layers and models. Derive from it, register what is trained, write forward().
///
///     struct Net : gradus::nn::Module {
///       Net() { fc = register_module("fc", gradus::nn::Linear(4, 2)); }
///       gradus::Tensor forward(const gradus::Tensor& x) { return fc->forward(x); }
///       gradus::nn::Linear fc{nullptr};
///     };
class GRADUS_API Module : public std::enable_shared_from_this<Module> {
 public:
  using ModuleApplyFunction = std::function<void(Module&)>;
  using ConstModuleApplyFunction = std::function<void(const Module&)>;
  using NamedModuleApplyFunction = std::function<void(const std::string&, Module&)>;
  using ModulePointerApplyFunction = std::function<void(const std::shared_ptr<Module>&)>;

  Module();
  explicit Module(std::string name);
  Module(const Module&);
  Module& operator=(const Module&);
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  virtual ~Module();

  /// The name given, or the class's own.
  const std::string& name() const noexcept;

  /// A deep copy with the same structure; tied parameters and shared submodules stay tied. For classes made with
  /// Cloneable; others throw Error.
  virtual std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const;

  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function, const std::string& name_prefix = std::string());
  void apply(const ModulePointerApplyFunction& function) const;

  /// Every parameter once, also where it is registered twice.
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = std::string(),
                                                                  bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  virtual void train(bool on = true);
  void eval() { train(false); }
  virtual bool is_training() const noexcept { return is_training_; }

  virtual void to(Device device, ScalarType dtype, bool non_blocking = false);
  virtual void to(ScalarType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  /// Drops all gradients, or sets them to zero. A parameter without gradient is skipped by optimizers; one with a zero
  /// gradient still decays.
  virtual void zero_grad(bool set_to_none = true);

  /// Writes parameters and buffers under their names.
  virtual void save(serialize::OutputArchive& archive) const;
  /// Reads them back. Nothing is changed where names, shapes or dtypes do not fit; one Error lists all that do not.
  virtual void load(serialize::InputArchive& archive);
  virtual bool is_serializable() const { return true; }
  virtual void pretty_print(std::ostream& stream) const;

  /// Registers a tensor that is trained. Returns the registered handle: `weight = register_parameter("weight", t)`.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  /// Registers the member itself: assigning to it later (`layer->weight = t`) changes what is registered.
  Tensor& bind_parameter(std::string name, Tensor& member, Tensor value, bool requires_grad = true);
  /// Registers a tensor that is saved but not trained.
  Tensor& register_buffer(std::string name, Tensor tensor);
  Tensor& bind_buffer(std::string name, Tensor& member, Tensor value);
  template <class M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    add_child(std::move(name), holder.ptr());
    return holder.ptr();
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    replace_child(name, module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

  template <class M>
  typename M::ContainedType* as() noexcept {
    return dynamic_cast<typename M::ContainedType*>(this);
  }
  template <class M, std::enable_if_t<std::is_base_of<Module, M>::value, int> = 0>
  M* as() noexcept {
    return dynamic_cast<M*>(this);
  }
  template <class M>
  const typename M::ContainedType* as() const noexcept {
    return dynamic_cast<const typename M::ContainedType*>(this);
  }
  template <class M, std::enable_if_t<std::is_base_of<Module, M>::value, int> = 0>
  const M* as() const noexcept {
    return dynamic_cast<const M*>(this);
  }

 protected:
  template <class Derived>
  friend class Cloneable;
  friend struct detail::CloneMemo;
  /// Forgets everything registered: a copied object registers its own anew.
  void forget_registrations();
  /// Takes over a fresh copy's tensors from the original.
  void copy_state_from(const Module& original, const std::optional<Device>& device);
  static std::shared_ptr<Module> find_clone(const Module* original);
  static void remember_clone(const Module* original, const std::shared_ptr<Module>& copy);
  struct GRADUS_API CloneScope {
    CloneScope();
    ~CloneScope();
    bool outermost;
  };

  OrderedDict<std::string, detail::Slot> parameters_;
  OrderedDict<std::string, detail::Slot> buffers_;
  OrderedDict<std::string, std::shared_ptr<Module>> children_;

 private:
  void add_child(std::string name, std::shared_ptr<Module> module);
  void replace_child(const std::string& name, std::shared_ptr<Module> module);
  void print_children(std::ostream& stream, const std::string& indentation) const;
  std::shared_ptr<Module> shared_from_this_checked() const;
  friend GRADUS_API std::ostream& operator<<(std::ostream& stream, const Module& module);

  mutable std::string name_;
  bool is_training_ = true;
};

GRADUS_API std::ostream& operator<<(std::ostream& stream, const Module& module);
GRADUS_API serialize::OutputArchive& operator<<(serialize::OutputArchive& archive,
                                                const std::shared_ptr<Module>& module);
GRADUS_API serialize::InputArchive& operator>>(serialize::InputArchive& archive, const std::shared_ptr<Module>& module);

/// Gives a module class clone(): copies the object, calls its reset() to register anew, copies the tensors.
template <class Derived>
class GRADUS_API Cloneable : public Module {
 public:
  using Module::Module;
  /// Registers parameters, buffers and submodules, and sets their initial values.
  virtual void reset() = 0;
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override {
    CloneScope scope;
    if (auto done = find_clone(this)) return done;
    auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
    remember_clone(this, copy);
    Module& base = *copy;
    base.forget_registrations();
    static_cast<Cloneable<Derived>&>(*copy).reset();
    base.copy_state_from(*this, device);
    return copy;
  }
};

/// A shared_ptr to a module that reads like a value: `Linear fc(4, 2); fc->forward(x); fc(x)`.
template <class Contained>
class ModuleHolder {
 public:
  using ContainedType = Contained;
  std::shared_ptr<Contained> impl_;

  /// Makes the module with its default constructor.
  ModuleHolder() : impl_(default_construct()) {}
  ModuleHolder(std::nullptr_t) : impl_(nullptr) {}                               // NOLINT
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}  // NOLINT
  template <
      class Head, class... Tail,
      class = std::enable_if_t<!(std::is_base_of<ModuleHolder, std::decay_t<Head>>::value && sizeof...(Tail) == 0) &&
                               !std::is_same<std::decay_t<Head>, std::nullptr_t>::value &&
                               !std::is_convertible<Head, std::shared_ptr<Contained>>::value>>
  explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(new Contained(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}

  explicit operator bool() const noexcept { return impl_ != nullptr; }
  bool is_empty() const noexcept { return impl_ == nullptr; }
  Contained* operator->() { return get(); }
  const Contained* operator->() const { return get(); }
  Contained& operator*() { return *get(); }
  const Contained& operator*() const { return *get(); }
  const std::shared_ptr<Contained>& ptr() const {
    GRADUS_CHECK(impl_, "ModuleHolder: the holder is empty; expected one with a module");
    return impl_;
  }
  Contained* get() const {
    GRADUS_CHECK(impl_, "ModuleHolder: the holder is empty; expected one with a module");
    return impl_.get();
  }
  template <class... Args, class C = Contained>
  auto operator()(Args&&... args) -> decltype(std::declval<C&>().forward(std::forward<Args>(args)...)) {
    return get()->forward(std::forward<Args>(args)...);
  }
  template <class Arg>
  decltype(auto) operator[](Arg&& arg) {
    return (*get())[std::forward<Arg>(arg)];
  }

 private:
  static std::shared_ptr<Contained> default_construct() {
    if constexpr (std::is_default_constructible<Contained>::value) {
      return std::make_shared<Contained>();
    } else {
      return nullptr;
    }
  }
};

template <class Contained>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<Contained>& module) {
  return stream << static_cast<const Module&>(*module);
}
template <class Contained>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const ModuleHolder<Contained>& module) {
  return archive << std::static_pointer_cast<Module>(module.ptr());
}
template <class Contained>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, ModuleHolder<Contained>& module) {
  return archive >> std::static_pointer_cast<Module>(module.ptr());
}

// Defines Name as a holder of a given implementation class, or of NameImpl.
#define GRADUS_MODULE_IMPL(Name, ImplType)                    \
  class Name : public ::gradus::nn::ModuleHolder<ImplType> {  \
   public:                                                    \
    using ::gradus::nn::ModuleHolder<ImplType>::ModuleHolder; \
    using Impl [[maybe_unused]] = ImplType;                   \
  }
#define GRADUS_MODULE(Name) GRADUS_MODULE_IMPL(Name, Name##Impl)

}  // namespace nn
}  // namespace v0
}  // namespace gradus
