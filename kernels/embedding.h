// Rows of a table by index, and the table's gradient.
#pragma once

#include <kernels/data_error.h>
#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

// weight is [rows, width] with contiguous rows (any stride between them); indices are contiguous i64 or i32 of any
// shape; output and grad_output are contiguous [indices..., width]. Any dtype of 1 to 16 bytes forward, floating ones
// backward.

GRADUS_TABLES_BEGIN
/// output[i] = weight[indices[i]].
extern KernelTable<BadIndex(View output, ConstView weight, ConstView indices)> embedding_forward;

/// grad_weight [rows, width], contiguous, is written whole: each row the sum of its indices' gradients, divided by how
/// often it was used where scale_by_frequency. Row padding_index gets none (-1: there is no such row). The order of the
/// sums does not depend on the threads.
extern KernelTable<void(View grad_weight, ConstView grad_output, ConstView indices, int64_t padding_index,
                        bool scale_by_frequency)>
    embedding_backward;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
