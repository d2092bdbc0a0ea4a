// A module of any type with any forward(), called through one interface.
#pragma once

#include <any>
#include <tuple>
#include <typeinfo>

#include <gradus/nn/module.h>

namespace gradus {
inline namespace v0 {
namespace nn {

/// What goes into and comes out of an AnyModule: a Tensor in the ordinary case, anything else by std::any.
class AnyValue {
 public:
  AnyValue() = default;
  AnyValue(Tensor t) : tensor_(std::move(t)) {}  // NOLINT
  template <class T, class = std::enable_if_t<!std::is_same<std::decay_t<T>, AnyValue>::value &&
                                              !std::is_convertible<T, Tensor>::value>>
  explicit AnyValue(T&& v) : other_(std::forward<T>(v)) {}
  template <class T>
  T get() {
    if constexpr (std::is_same<T, Tensor>::value) {
      GRADUS_CHECK_AS(TypeError, !other_.has_value(),
                      "AnyModule: the value is not a Tensor; ask for the type that forward() returns");
      return std::move(tensor_);
    } else {
      T* v = std::any_cast<T>(&other_);
      GRADUS_CHECK_AS(TypeError, v, "AnyModule: the value is of type ",
                      other_.has_value() ? other_.type().name() : "Tensor", "; asked for ", typeid(T).name());
      return std::move(*v);
    }
  }

 private:
  Tensor tensor_;
  std::any other_;
};

namespace detail {

template <class F>
struct ForwardTraits;
template <class M, class R, class... A>
struct ForwardTraits<R (M::*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<A>...>;
  static constexpr bool is_plain = std::is_same<R, Tensor>::value && std::is_same<Arguments, std::tuple<Tensor>>::value;
};
template <class M, class R, class... A>
struct ForwardTraits<R (M::*)(A...) const> : ForwardTraits<R (M::*)(A...)> {};

using PlainCall = Tensor (*)(Module&, const Tensor&);
using AnyCall = AnyValue (*)(Module&, std::vector<AnyValue>&&);

template <class M>
Tensor plain_call(Module& m, const Tensor& x) {
  return static_cast<M&>(m).forward(x);
}
template <class M, class Traits, size_t... I>
AnyValue spread_call(M& m, std::vector<AnyValue>& args, std::index_sequence<I...>) {
  return AnyValue(m.forward(args[I].get<std::tuple_element_t<I, typename Traits::Arguments>>()...));
}
// Containers forward any arguments: they have forward_any() in place of one signature.
template <class M, class = void>
struct has_forward_any : std::false_type {};
template <class M>
struct has_forward_any<M, decltype(void(std::declval<M&>().forward_any(std::declval<std::vector<AnyValue>>())))>
    : std::true_type {};

template <class M>
constexpr bool is_plain() {
  if constexpr (has_forward_any<M>::value) {
    return true;
  } else {
    return ForwardTraits<decltype(&M::forward)>::is_plain;
  }
}
template <class M>
AnyValue forward_any_call(Module& m, std::vector<AnyValue>&& args) {
  return static_cast<M&>(m).forward_any(std::move(args));
}
template <class M>
AnyValue any_call(Module& m, std::vector<AnyValue>&& args) {
  using Traits = ForwardTraits<decltype(&M::forward)>;
  constexpr size_t kCount = std::tuple_size<typename Traits::Arguments>::value;
  GRADUS_CHECK(args.size() == kCount, m.name(), ": forward() takes ", kCount, " arguments; ", args.size(),
               " were given");
  return spread_call<M, Traits>(static_cast<M&>(m), args, std::make_index_sequence<kCount>());
}

}  // namespace detail

/// libtorch's AnyModule: holds a module whose forward() is no template and not overloaded.
class AnyModule {
 public:
  AnyModule() = default;
  template <class M, class = std::enable_if_t<std::is_base_of<Module, M>::value>>
  explicit AnyModule(std::shared_ptr<M> module) : module_(std::move(module)) {
    if constexpr (detail::is_plain<M>()) plain_ = &detail::plain_call<M>;
    if constexpr (detail::has_forward_any<M>::value) {
      any_ = &detail::forward_any_call<M>;
    } else {
      any_ = &detail::any_call<M>;
    }
  }
  template <class M>
  explicit AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}
  template <class M, class = std::enable_if_t<std::is_base_of<Module, std::decay_t<M>>::value>, class = void>
  explicit AnyModule(M&& module) : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}

  /// forward() of what is held. Argument types must be those that forward() takes.
  template <class R = Tensor, class... Args>
  R forward(Args&&... args) {
    return any_forward(std::forward<Args>(args)...).template get<R>();
  }
  template <class... Args>
  AnyValue any_forward(Args&&... args) {
    GRADUS_CHECK(module_, "AnyModule: it is empty; expected a module");
    std::vector<AnyValue> values;
    values.reserve(sizeof...(Args));
    (values.push_back(AnyValue(std::forward<Args>(args))), ...);
    return any_(*module_, std::move(values));
  }
  /// Whether forward() is Tensor(Tensor), and its direct call.
  bool is_plain() const { return plain_ != nullptr; }
  Tensor plain_forward(const Tensor& x) const { return plain_(*module_, x); }
  AnyValue call(std::vector<AnyValue>&& values) const { return any_(*module_, std::move(values)); }

  const std::shared_ptr<Module>& ptr() const { return module_; }
  template <class M>
  std::shared_ptr<M> ptr() const {
    auto m = std::dynamic_pointer_cast<M>(module_);
    GRADUS_CHECK_AS(TypeError, m, "AnyModule: the module is not of the type asked for, but ",
                    module_ ? module_->name() : "empty");
    return m;
  }
  template <class M>
  M& get() const {
    return *ptr<M>();
  }
  bool is_empty() const noexcept { return module_ == nullptr; }
  /// The same calls on another module of the same class.
  AnyModule with(std::shared_ptr<Module> module) const {
    AnyModule r(*this);
    r.module_ = std::move(module);
    return r;
  }
  AnyModule clone(const std::optional<Device>& device = std::nullopt) const {
    return module_ ? with(module_->clone(device)) : AnyModule();
  }

 private:
  std::shared_ptr<Module> module_;
  detail::PlainCall plain_ = nullptr;
  detail::AnyCall any_ = nullptr;
};

}  // namespace nn
}  // namespace v0
}  // namespace gradus
