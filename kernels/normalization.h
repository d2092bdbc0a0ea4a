// Batch and layer normalisation.
#pragma once

#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

// Images are [batch, channels, spatial...] (2 or more dimensions) in one dense layout per call, contiguous or channels
// innermost (channels_last), and one floating dtype. Vectors of parameters and statistics are contiguous, of any
// floating dtypes, and empty (data == nullptr) where absent. All is computed in float, or double for f64.

GRADUS_TABLES_BEGIN
/// training: normalises by the batch's mean and variance, which go to save_mean and save_invstd, and into the running
/// ones (unbiased) where present: running = (1 - momentum) running + momentum batch. Else by the running ones; save_*
/// are empty.
extern KernelTable<void(View output, View save_mean, View save_invstd, ConstView input, ConstView weight,
                        ConstView bias, View running_mean, View running_var, bool training, double momentum,
                        double eps)>
    batch_norm_forward;

/// The gradients that are not empty. training: from the saved statistics; else from the running ones.
extern KernelTable<void(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                        ConstView weight, ConstView running_mean, ConstView running_var, ConstView save_mean,
                        ConstView save_invstd, bool training, double eps)>
    batch_norm_backward;

// Layer normalisation over rows of `row` elements, the product of the normalised sizes; all views contiguous; weight
// and bias have `row` elements or are empty; mean and rstd one element per row.

extern KernelTable<void(View output, View mean, View rstd, ConstView input, ConstView weight, ConstView bias,
                        int64_t row, double eps)>
    layer_norm_forward;

/// The gradients that are not empty.
extern KernelTable<void(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                        ConstView mean, ConstView rstd, ConstView weight, int64_t row)>
    layer_norm_backward;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
