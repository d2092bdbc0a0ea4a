#pragma once

#include "kernels/view.h"

namespace gradus::inline v0::kernels::cuda {

/// The table `sort` on the device, for kernels that sort as a part of their work.
void sort_along(View values, View indices, ConstView self, int dim, bool descending);

}  // namespace gradus::inline v0::kernels::cuda
