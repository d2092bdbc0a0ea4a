// Softmax and its logarithm.
#pragma once

#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

// Views are contiguous and have one shape and one floating dtype; 16-bit floats are computed in float.

GRADUS_TABLES_BEGIN
/// output = softmax of input along `dim`, or its logarithm. A row of nothing but -inf gives NaN.
extern KernelTable<void(View output, ConstView input, int64_t dim, bool log)> softmax_forward;

/// The gradient of the input from the output's and the output.
extern KernelTable<void(View grad_input, ConstView grad_output, ConstView output, int64_t dim, bool log)>
    softmax_backward;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
