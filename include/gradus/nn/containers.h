// Sequential, ModuleList, Functional.
#pragma once

#include <gradus/nn/any_module.h>

namespace gradus {
inline namespace v0 {
namespace nn {

namespace detail {
template <class T>
struct holder_check {
  template <class M>
  static std::true_type test(const ModuleHolder<M>*);
  static std::false_type test(...);
  static constexpr bool value = decltype(test(static_cast<std::decay_t<T>*>(nullptr)))::value;
};
template <class T>
struct is_shared_module : std::false_type {};
template <class M>
struct is_shared_module<std::shared_ptr<M>> : std::is_base_of<Module, M> {};
template <class T>
constexpr bool is_module_like =
    holder_check<T>::value || is_shared_module<std::decay_t<T>>::value ||
    std::is_base_of<Module, std::decay_t<T>>::value || std::is_same<std::decay_t<T>, AnyModule>::value;
template <class M>
AnyModule to_any(M&& m) {
  if constexpr (std::is_same<std::decay_t<M>, AnyModule>::value) {
    return std::forward<M>(m);
  } else {
    return AnyModule(std::forward<M>(m));
  }
}
}  // namespace detail

/// A module with a name, for Sequential and ModuleDict: {"conv1", Conv2d(...)}.
class NamedAnyModule {
 public:
  template <class M>
  NamedAnyModule(std::string name, M&& module)
      : name_(std::move(name)), module_(detail::to_any(std::forward<M>(module))) {}
  const std::string& name() const noexcept { return name_; }
  AnyModule& module() noexcept { return module_; }
  const AnyModule& module() const noexcept { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

/// Modules one after the other: the output of each is the input of the next.
class GRADUS_API SequentialImpl : public Cloneable<SequentialImpl> {
 public:
  using Iterator = std::vector<AnyModule>::iterator;
  using ConstIterator = std::vector<AnyModule>::const_iterator;

  SequentialImpl() = default;
  SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
    for (const NamedAnyModule& m : modules) push_back(m.name(), m.module());
  }
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
    for (auto& m : modules) push_back(m.key(), m.value());
  }
  template <class... M, class = std::enable_if_t<(sizeof...(M) > 0) && (detail::is_module_like<M> && ...)>>
  explicit SequentialImpl(M&&... modules) {
    (push_back(std::forward<M>(modules)), ...);
  }

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  /// Feeds the arguments to the first module and each output to the next. `R` is what the last one returns.
  template <class R = Tensor, class... Args>
  R forward(Args&&... args) {
    if constexpr (sizeof...(Args) == 1 && std::is_same<R, Tensor>::value &&
                  (std::is_convertible<Args, const Tensor&>::value && ...)) {
      if (all_plain_) return plain_forward(args...);
    }
    GRADUS_CHECK(!modules_.empty(), "Sequential: it is empty; expected at least one module");
    AnyValue value = modules_[0].any_forward(std::forward<Args>(args)...);
    return run_rest(std::move(value)).template get<R>();
  }
  /// forward() on arguments of any types, as AnyModule holds them.
  AnyValue forward_any(std::vector<AnyValue>&& args);

  template <class M, class = std::enable_if_t<detail::is_module_like<M>>>
  void push_back(M&& module) {
    push_back(std::to_string(modules_.size()), std::forward<M>(module));
  }
  template <class M, class = std::enable_if_t<detail::is_module_like<M>>>
  void push_back(std::string name, M&& module) {
    push_back(std::move(name), detail::to_any(std::forward<M>(module)));
  }
  void push_back(std::string name, AnyModule module);
  void extend(const SequentialImpl& other) {
    for (const AnyModule& m : other.modules_) push_back(std::to_string(modules_.size()), m);
  }

  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator begin() const { return modules_.begin(); }
  ConstIterator end() const { return modules_.end(); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }
  std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
  std::shared_ptr<Module> ptr(size_t i) const;
  template <class T>
  std::shared_ptr<T> ptr(size_t i) const {
    return checked(i).ptr<T>();
  }
  template <class T>
  T& at(size_t i) {
    return checked(i).get<T>();
  }

 private:
  const AnyModule& checked(size_t i) const;
  Tensor plain_forward(const Tensor& x);
  AnyValue run_rest(AnyValue value);
  std::vector<AnyModule> modules_;
  bool all_plain_ = true;
};
extern template class Cloneable<SequentialImpl>;

class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential() : ModuleHolder(std::make_shared<SequentialImpl>()) {}
  Sequential(std::initializer_list<NamedAnyModule> modules) : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}
};

/// A list of modules that are registered; forward() is yours.
class GRADUS_API ModuleListImpl : public Cloneable<ModuleListImpl> {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;
  ModuleListImpl() = default;
  template <class... M, class = std::enable_if_t<(sizeof...(M) > 0) && (detail::is_module_like<M> && ...)>>
  explicit ModuleListImpl(M&&... modules) {
    (push_back(std::forward<M>(modules)), ...);
  }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  void push_back(std::shared_ptr<Module> module);
  template <class M, class = std::enable_if_t<std::is_base_of<Module, M>::value>>
  void push_back(std::shared_ptr<M> module) {
    push_back(std::static_pointer_cast<Module>(module));
  }
  template <class M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(std::static_pointer_cast<Module>(holder.ptr()));
  }
  template <class M, class = std::enable_if_t<std::is_base_of<Module, std::decay_t<M>>::value>, class = void>
  void push_back(M&& module) {
    push_back(std::static_pointer_cast<Module>(std::make_shared<std::decay_t<M>>(std::forward<M>(module))));
  }
  void extend(const ModuleListImpl& other) {
    for (const auto& m : other.modules_) push_back(m);
  }
  void insert(size_t index, std::shared_ptr<Module> module);
  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator begin() const { return modules_.begin(); }
  ConstIterator end() const { return modules_.end(); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }
  std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
  std::shared_ptr<Module> ptr(size_t i) const;
  template <class T>
  std::shared_ptr<T> ptr(size_t i) const {
    auto m = std::dynamic_pointer_cast<T>(ptr(i));
    GRADUS_CHECK_AS(TypeError, m, "ModuleList: module ", i, " is ", ptr(i)->name(), ", not of the type asked for");
    return m;
  }
  template <class T>
  T& at(size_t i) {
    return *ptr<T>(i);
  }

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};
extern template class Cloneable<ModuleListImpl>;
GRADUS_MODULE(ModuleList);

/// A function as a module: `Functional(relu)`, `Functional(leaky_relu, 0.2)`, `Functional([](Tensor x) { return x * 2;
/// })`.
class GRADUS_API FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = std::function<Tensor(Tensor)>;
  explicit FunctionalImpl(Function function) : function_(std::move(function)) {}
  /// Further arguments are bound behind the first.
  template <class F, class... Args, class = std::enable_if_t<(sizeof...(Args) > 0)>>
  explicit FunctionalImpl(F original, Args&&... args)
      : function_([f = std::move(original), bound = std::make_tuple(std::forward<Args>(args)...)](Tensor x) {
          return std::apply([&](const auto&... a) -> Tensor { return f(x, a...); }, bound);
        }) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input) { return function_(std::move(input)); }
  Tensor operator()(Tensor input) { return function_(std::move(input)); }
  bool is_serializable() const override { return false; }

 private:
  Function function_;
};
extern template class Cloneable<FunctionalImpl>;
GRADUS_MODULE(Functional);

}  // namespace nn
}  // namespace v0
}  // namespace gradus
