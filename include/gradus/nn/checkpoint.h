// Checkpointing modules. What it is, and for functions: gradus/autograd/checkpoint.h.
#pragma once

#include <gradus/autograd/checkpoint.h>
#include <gradus/nn/containers.h>

namespace gradus {
inline namespace v0 {
namespace nn {

/// Runs the modules of `sequential` in `segments` of equal length of which all but the last are checkpointed. Each
/// module must map one tensor to one. Throws ValueError where there are fewer modules than segments. See
/// https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.checkpoint_sequential
inline Tensor checkpoint_sequential(const Sequential& sequential, int64_t segments, const Tensor& input,
                                    const autograd::CheckpointOptions& options = {}) {
  std::vector<std::function<Tensor(const Tensor&)>> functions;
  for (const AnyModule& m : *sequential) {
    functions.push_back([module = AnyModule(m)](const Tensor& x) mutable { return module.forward(x); });
  }
  return autograd::checkpoint_sequential(std::move(functions), segments, input, options);
}

}  // namespace nn
}  // namespace v0
}  // namespace gradus
