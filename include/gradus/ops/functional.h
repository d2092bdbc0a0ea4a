// Jacobians, Hessians and their products with vectors, of functions of tensors: torch.autograd.functional, by backward
// passes alone.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <gradus/autograd/node.h>

namespace gradus {
inline namespace v0 {
namespace autograd {
namespace functional {

/// A function of tensors.
using Function = std::function<variable_list(const variable_list&)>;

struct Options {
  /// The results can be differentiated again, also with respect to inputs that require a gradient. Else they are
  /// detached.
  bool create_graph = false;
  /// Throws Error where a result does not depend on an input; else its part is zeros.
  bool strict = false;
};

/// {f(inputs), v^T J}: the products of `v`, one tensor of each output's shape, with f's Jacobian; one of each input's
/// shape. `v` may be left out where f gives a single number. See
/// https://pytorch.org/docs/stable/generated/torch.autograd.functional.vjp.html
GRADUS_API std::pair<variable_list, variable_list> vjp(const Function& f, const variable_list& inputs,
                                                       const variable_list& v = {}, const Options& options = {});

/// {f(inputs), J v}: the products of f's Jacobian with `v`, one tensor of each input's shape; one of each output's
/// shape. `v` may be left out where there is one input, of one element. By two backward passes, so f must be twice
/// differentiable. See https://pytorch.org/docs/stable/generated/torch.autograd.functional.jvp.html
GRADUS_API std::pair<variable_list, variable_list> jvp(const Function& f, const variable_list& inputs,
                                                       const variable_list& v = {}, const Options& options = {});

/// The Jacobian: element [o][i] is the derivative of output o with respect to input i, of output o's shape followed by
/// input i's. A backward pass for each element of the outputs. See
/// https://pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html
GRADUS_API std::vector<variable_list> jacobian(const Function& f, const variable_list& inputs,
                                               const Options& options = {});
/// The same for one input and one output.
GRADUS_API Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input,
                           const Options& options = {});

/// The Hessian of f, which gives one tensor of one element: element [i][j] has input i's shape followed by input j's.
/// See https://pytorch.org/docs/stable/generated/torch.autograd.functional.hessian.html
GRADUS_API std::vector<variable_list> hessian(const Function& f, const variable_list& inputs,
                                              const Options& options = {});
/// The same for one input.
GRADUS_API Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input,
                          const Options& options = {});

/// {f(inputs), H v}: the product of the Hessian of f, which gives one tensor of one element, with `v`, one tensor of
/// each input's shape. `v` may be left out where there is one input, of one element. By one backward pass more than
/// vhp, and for functions whose Hessian is symmetric, nearly all, with its result. See
/// https://pytorch.org/docs/stable/generated/torch.autograd.functional.hvp.html
GRADUS_API std::pair<Tensor, variable_list> hvp(const Function& f, const variable_list& inputs,
                                                const variable_list& v = {}, const Options& options = {});

/// {f(inputs), v^T H}; see hvp. See https://pytorch.org/docs/stable/generated/torch.autograd.functional.vhp.html
GRADUS_API std::pair<Tensor, variable_list> vhp(const Function& f, const variable_list& inputs,
                                                const variable_list& v = {}, const Options& options = {});

}  // namespace functional
}  // namespace autograd
}  // namespace v0
}  // namespace gradus
