// Sorting along one dimension. NaN counts as greater than any number; equal elements keep their order.
#pragma once

#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

GRADUS_TABLES_BEGIN
/// values and indices (int64) along `dim`, the first `values.sizes[dim]` of the order; those alone are computed.
extern KernelTable<void(View values, View indices, ConstView self, int dim, bool descending)> sort;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
