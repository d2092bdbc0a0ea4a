// Operators of your own, registered beside the built-in ones.
//
//     Tensor scale(const Tensor& x, double factor) { return x.mul(factor); }
//
//     GRADUS_LIBRARY(mine, m) {
//       m.def("scale(Tensor x, float factor=2.0) -> Tensor", &scale);
//     }
//
//     Tensor y = gradus::call("mine::scale", {x, 3.0})[0].toTensor();
//     auto scale_op = gradus::get_operator("mine::scale").typed<Tensor(const Tensor&, double)>();
//
// Interposers (autocast, tracers, loggers) see such an operator as they see a built-in one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gradus/ops/boxing.h>

namespace gradus {
inline namespace v0 {

/// What a registered gradient is computed from.
class GRADUS_API GradientCall {
 public:
  GradientCall(const Stack& arguments, const Stack& results, const std::vector<Tensor>& grads,
               const std::vector<bool>& needs)
      : arguments_(arguments), results_(results), grads_(grads), needs_(needs) {}
  /// The operator's arguments in schema order.
  const IValue& argument(size_t i) const;
  const Tensor& tensor(size_t i) const { return argument(i).toTensor(); }
  /// The operator's results.
  const IValue& result(size_t i = 0) const;
  /// The gradient of result `i`; zeros where nobody used it.
  const Tensor& grad(size_t i = 0) const;
  /// Whether argument `i` needs a gradient; of a list of tensors, whether any of them does.
  bool needs(size_t i) const;

 private:
  const Stack& arguments_;
  const Stack& results_;
  const std::vector<Tensor>& grads_;
  const std::vector<bool>& needs_;
};

namespace detail {

/// A function that takes its arguments from the stack, and what its C++ signature is.
struct BoxedFunction {
  std::function<void(Stack&)> call;
  std::vector<std::string> arguments, results;
};

template <class F>
struct CallSignature : CallSignature<decltype(&F::operator())> {};
template <class R, class... A>
struct CallSignature<R (*)(A...)> {
  template <class F>
  static BoxedFunction box(F f) {
    BoxedFunction b;
    boxing::describe<R, A...>(b.arguments, b.results);
    b.call = [f = std::move(f)](Stack& stack) mutable {
      boxing::invoke<R, A...>(f, stack, std::index_sequence_for<A...>());
    };
    return b;
  }
};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...) const> : CallSignature<R (*)(A...)> {};
template <class C, class R, class... A>
struct CallSignature<R (C::*)(A...)> : CallSignature<R (*)(A...)> {};

template <class F>
BoxedFunction box_function(F&& f) {
  using Callable = std::decay_t<F>;
  return CallSignature<Callable>::template box<Callable>(std::forward<F>(f));
}

}  // namespace detail

/// The operators of one namespace, as GRADUS_LIBRARY's body fills it. Each call throws Error that says what is wrong.
class GRADUS_API Library {
 public:
  using Gradient = std::function<std::vector<Tensor>(const GradientCall&)>;

  explicit Library(std::string ns) : ns_(std::move(ns)) {}

  /// Declares an operator by its schema, in ATen's notation.
  Library& def(std::string_view schema);
  /// The same, with an implementation for all devices.
  template <class F>
  Library& def(std::string_view schema, F&& f) {
    const std::string name = define(schema);
    add(name, nullptr, detail::box_function(std::forward<F>(f)));
    return *this;
  }
  /// An implementation for all devices that have none of their own. Made of Gradus operators, it has a gradient and
  /// runs on meta tensors as it is.
  template <class F>
  Library& impl(std::string_view name, F&& f) {
    add(name, nullptr, detail::box_function(std::forward<F>(f)));
    return *this;
  }
  /// An implementation for one kind of device, that of the first tensor argument.
  template <class F>
  Library& impl(std::string_view name, DeviceType device, F&& f) {
    add(name, &device, detail::box_function(std::forward<F>(f)));
    return *this;
  }
  /// The operator's gradient: one for each tensor among the arguments (a list's elements one by one), undefined where
  /// none is needed. The implementation then runs without recording. Written with Gradus operators, it can be
  /// differentiated again.
  Library& gradient(std::string_view name, Gradient f);

  const std::string& ns() const { return ns_; }

 private:
  std::string define(std::string_view schema);
  void add(std::string_view name, const DeviceType* device, detail::BoxedFunction f);
  std::string ns_;
};

namespace detail {

struct GRADUS_API LibraryInit {
  // An exception would end the program before main(): what went wrong goes to the warning handler instead.
  LibraryInit(const char* ns, void (*fill)(Library&));
};

}  // namespace detail

#define GRADUS_LIBRARY_JOIN_(a, b) a##b
#define GRADUS_LIBRARY_JOIN(a, b) GRADUS_LIBRARY_JOIN_(a, b)
#define GRADUS_LIBRARY_AT(ns, m, n)                                                               \
  static void GRADUS_LIBRARY_JOIN(gradus_library_##ns##_, n)(::gradus::Library&);                 \
  static const ::gradus::detail::LibraryInit GRADUS_LIBRARY_JOIN(gradus_library_init_##ns##_, n)( \
      #ns, &GRADUS_LIBRARY_JOIN(gradus_library_##ns##_, n));                                      \
  static void GRADUS_LIBRARY_JOIN(gradus_library_##ns##_, n)(::gradus::Library & m)
/// Registers operators when the program or library that holds it is loaded: GRADUS_LIBRARY(ns, m) { m.def(...); }. May
/// stand several times for one namespace.
#define GRADUS_LIBRARY(ns, m) GRADUS_LIBRARY_AT(ns, m, __LINE__)

}  // namespace v0
}  // namespace gradus
