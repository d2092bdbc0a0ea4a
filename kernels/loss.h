// Negative log likelihood and cross entropy of class indices.
#pragma once

#include <kernels/data_error.h>
#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

/// at::Reduction's numbers.
enum class LossReduction : int64_t { None = 0, Mean = 1, Sum = 2 };

/// What a cross entropy is told besides its operands.
struct CrossEntropy {
  LossReduction reduction;
  int64_t ignore_index;
  double smoothing;
};

// input is [batch, classes, spatial...] (or [batch, classes]), target [batch, spatial...] of i64, i32 or u8; weight is
// empty (data == nullptr) or [classes]. All contiguous, of one floating dtype but for target. Elements of ignore_index
// count nothing, whatever else is out of range.

GRADUS_TABLES_BEGIN
/// output is target's shape for None, else a scalar; total_weight, a scalar, is the sum of the counted weights. Mean
/// over nothing is NaN.
extern KernelTable<BadIndex(View output, View total_weight, ConstView input, ConstView target, ConstView weight,
                            LossReduction reduction, int64_t ignore_index)>
    nll_loss_forward;

/// grad_input is written whole, or not at all where a target is out of range.
extern KernelTable<BadIndex(View grad_input, ConstView grad_output, ConstView target, ConstView weight,
                            ConstView total_weight, LossReduction reduction, int64_t ignore_index)>
    nll_loss_backward;

/// The negative log likelihood of softmax(input), where input is [outer, classes, inner] and its softmax runs down the
/// classes: each target's is (1 - smoothing) times the target's own and smoothing / classes times the sum of all
/// classes'. peaks, [2, targets], gets what the gradient needs: the largest of each target's logits, and the sum of
/// exp(logit - largest). total_weight, [2], gets the sum of the counted weights, which is 0 for None, and that of all
/// classes' weights. Both are of the type that input's is computed in.
extern KernelTable<BadIndex(View output, View peaks, View total_weight, ConstView input, ConstView target,
                            ConstView weight, CrossEntropy options)>
    cross_entropy_forward;

/// A target that is out of range counts as an ignored one: forward has reported it.
extern KernelTable<void(View grad_input, ConstView grad_output, ConstView input, ConstView target, ConstView weight,
                        ConstView peaks, ConstView total_weight, CrossEntropy options)>
    cross_entropy_backward;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
