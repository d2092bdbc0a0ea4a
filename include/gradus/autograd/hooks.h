// Hooks over several tensors. Those of one are Tensor's methods, those of a node are Node's.
#pragma once

#include <functional>
#include <string>

#include <gradus/autograd/node.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

/// Calls `hook` once in a backward pass. With mode "all", when the gradients of all those `tensors` that take part in
/// the pass are known; it gets as many as there are tensors, undefined for those without one. With mode "any", as soon
/// as the first is known; the others are undefined. What the hook does to them does not change the pass. Throws
/// ValueError for another mode, Error where a tensor of mode "all" needs no gradient. See
/// https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.register_multi_grad_hook
GRADUS_API RemovableHandle register_multi_grad_hook(const variable_list& tensors,
                                                    std::function<void(const variable_list& grads)> hook,
                                                    const std::string& mode = "all");

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
