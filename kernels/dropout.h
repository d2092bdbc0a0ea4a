// Dropout's arithmetic; what is dropped is drawn by bernoulli_fill.
#pragma once

#include <kernels/elementwise.h>

namespace gradus::inline v0::kernels {

GRADUS_TABLES_BEGIN
/// a * (mask ? scale : 0): floats; the mask is bool. What is dropped keeps a's sign, and NaN where a is not finite.
extern KernelTable<void(const Loop&, double scale)> masked_scale;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
