// backward, grad and what belongs to them.
#pragma once

#include <gradus/autograd/grad_mode.h>
#include <gradus/autograd/node.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

/// Accumulates the gradients of `tensors` into the leaves' grads. `grad_tensors` may be empty where all have one
/// element. `retain_graph` defaults to `create_graph`. With `inputs`, only they receive gradients. See
/// https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
GRADUS_API void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                         std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                         const variable_list& inputs = {});

/// The gradients of `outputs` with respect to `inputs`; nothing is accumulated. An input that does not take part throws
/// unless `allow_unused`; then its gradient is undefined, or zeros where `materialize_grads`. Throws ValueError where
/// `materialize_grads` comes with an `allow_unused` of false. Hooks of the inputs have seen their gradients; hooks of
/// the nodes that made them run where other inputs need those nodes. See
/// https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
GRADUS_API variable_list grad(const variable_list& outputs, const variable_list& inputs,
                              const variable_list& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                              bool create_graph = false, std::optional<bool> allow_unused = std::nullopt,
                              bool materialize_grads = false);

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
