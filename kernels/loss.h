// Negative log likelihood of class indices.
#pragma once

#include <kernels/data_error.h>
#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

/// at::Reduction's numbers.
enum class LossReduction : int64_t { None = 0, Mean = 1, Sum = 2 };

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
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
