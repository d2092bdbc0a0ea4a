// Trading computation for memory: a part of the forward is computed again in backward instead of kept.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <gradus/autograd/node.h>
#include <gradus/core/error.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

/// A checkpointed function did not do the same when it was computed again.
class GRADUS_API CheckpointError : public Error {
 public:
  using Error::Error;
  ~CheckpointError() override;
};

struct CheckpointOptions {
  /// Random operators draw the same numbers again: of the default generators of the CPU and of the inputs' CUDA
  /// devices. Generators that the function passes itself are not looked after.
  bool preserve_rng_state = true;
  /// Computing again ends with the last tensor that backward needs, by an exception through the function.
  bool early_stop = true;
  /// Shapes, types and devices of the tensors that are saved are compared with those of the first time.
  bool check_determinism = true;
  /// Called before the function is computed first (false) and again (true); what it returns lives as long as that
  /// takes. For guards that must be on both times.
  std::function<std::shared_ptr<void>(bool recomputing)> context;
};

/// `function(inputs)`, of which backward keeps the inputs only: what its operators save is computed again when the
/// first of it is needed. As PyTorch's with use_reentrant=False: gradients also reach tensors that the function
/// captures, checkpoints nest, autograd::grad, retained graphs and double backward work. The function is called a
/// second time while backward runs, with grad mode on, so it must not depend on anything that changes. Without grad
/// mode it is just called. Throws CheckpointError in backward where it saves other tensors than before, Error where an
/// input was written in place since or saved-tensor hooks are disabled. See
/// https://pytorch.org/docs/stable/checkpoint.html
GRADUS_API variable_list checkpoint(std::function<variable_list(const variable_list&)> function,
                                    const variable_list& inputs, const CheckpointOptions& options = {});
/// The same for one tensor.
GRADUS_API Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input,
                             const CheckpointOptions& options = {});

/// Applies `functions` one after the other, in `segments` of equal length of which all but the last are checkpointed.
/// Throws ValueError where there are fewer functions than segments. For a Sequential see nn/checkpoint.h. See
/// https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.checkpoint_sequential
GRADUS_API Tensor checkpoint_sequential(std::vector<std::function<Tensor(const Tensor&)>> functions, int64_t segments,
                                        const Tensor& input, const CheckpointOptions& options = {});

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
