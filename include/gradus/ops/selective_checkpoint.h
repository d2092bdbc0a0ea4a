// Checkpoints that keep what is dear and compute the rest again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gradus/autograd/checkpoint.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

/// Whether the results of an operator are kept or computed again.
enum class CheckpointPolicy { kSave, kRecompute };
/// Asked for each operator by its full name: "aten::mm", "aten::add.Tensor".
using SelectivePolicy = std::function<CheckpointPolicy(const std::string& name)>;

/// Options for checkpoint() by which the results of some operators are kept in the forward and not computed again:
///
///     auto options = selective_checkpoint({"aten::mm", "aten::addmm"});
///     Tensor y = checkpoint(block, x, options);
///
/// The policy is asked about the parts of composite operators, not about the whole: matmul is mm, bmm or others.
/// In-place operators, views and random operators are computed again whatever it says, and so is all that a checkpoint
/// inside the function holds. `options` gives everything else. In backward, throws CheckpointError where the function
/// calls other operators than before, Error where a kept result was written in place. See
/// https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.create_selective_checkpoint_contexts
GRADUS_API CheckpointOptions selective_checkpoint(SelectivePolicy policy, CheckpointOptions options = {});
/// The same with the names of the operators to keep.
GRADUS_API CheckpointOptions selective_checkpoint(std::vector<std::string> saved, CheckpointOptions options = {});

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
