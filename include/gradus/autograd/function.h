// Operators of your own with a gradient of your own.
#pragma once

#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include <gradus/autograd/node.h>
#include <gradus/core/ivalue.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

namespace detail {
struct FunctionRun;
}  // namespace detail

/// What a Function's forward leaves for its backward.
class GRADUS_API AutogradContext {
 public:
  AutogradContext();
  ~AutogradContext();
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  /// Keeps inputs, outputs or other tensors; they are checked for in-place writes when read back.
  void save_for_backward(variable_list to_save);
  /// What save_for_backward got. Throws Error where one was written in place since, or after the graph was freed.
  variable_list get_saved_variables() const;
  /// Inputs that forward changed in place (and returns).
  void mark_dirty(const variable_list& inputs);
  /// Outputs without gradient.
  void mark_non_differentiable(const variable_list& outputs);
  /// Whether backward gets zeros (true, the default) or undefined tensors for outputs that nobody used.
  void set_materialize_grads(bool value);
  /// Whether argument `i` of forward (tensors and others counted) is a tensor that needs a gradient.
  bool needs_input_grad(size_t i) const;

  /// Anything else backward needs.
  std::unordered_map<std::string, IValue> saved_data;

 private:
  friend struct detail::FunctionRun;
  struct State;
  std::unique_ptr<State> state_;
};

namespace detail {

struct GRADUS_API FunctionRun {
  std::shared_ptr<AutogradContext> context;
  /// `arguments`: forward's, in order; an undefined tensor stands for one that is no tensor.
  FunctionRun(const char* name, variable_list arguments);
  ~FunctionRun();
  /// Records the node and gives the outputs their history.
  void finish(variable_list& outputs, variable_list (*backward)(AutogradContext*, variable_list));

 private:
  const char* name_;
  variable_list arguments_;
  bool recording_;
  bool grad_mode_before_;
};

template <class T>
void add_argument(variable_list& list, const T& v) {
  if constexpr (std::is_same<std::decay_t<T>, Tensor>::value) {
    list.push_back(v);
  } else if constexpr (std::is_same<std::decay_t<T>, std::optional<Tensor>>::value) {
    list.push_back(v.value_or(Tensor()));
  } else {
    list.emplace_back();
  }
}

}  // namespace detail

/// Derive from it, give it static `forward(AutogradContext*, ...)` (returning a Tensor or variable_list) and
/// `backward(AutogradContext*, variable_list)` (a gradient per argument of forward), and call apply().
/// See https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function
template <class T>
struct Function {
  template <class X = T, class... Args>
  static auto apply(Args&&... args) -> decltype(X::forward(nullptr, args...)) {
    variable_list arguments;
    (detail::add_argument(arguments, args), ...);
    detail::FunctionRun run("CppFunction", std::move(arguments));
    auto result = X::forward(run.context.get(), std::forward<Args>(args)...);
    using Result = decltype(result);
    if constexpr (std::is_same<Result, Tensor>::value) {
      variable_list outputs{std::move(result)};
      run.finish(outputs, &X::backward);
      return std::move(outputs[0]);
    } else {
      run.finish(result, &X::backward);
      return result;
    }
  }
};

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
