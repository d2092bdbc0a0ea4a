// Copies between layouts whose innermost dimensions differ.
#pragma once

#include <kernels/elementwise.h>

namespace gradus::inline v0::kernels::cuda {

/// Copies a matrix, or a batch of them, whose rows lie dense on one side and whose columns do on the other. Returns
/// false, and does nothing, where the loop is none or too small for it to pay.
bool move_transposed(const char* name, const Loop& l);

}  // namespace gradus::inline v0::kernels::cuda
