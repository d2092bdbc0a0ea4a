// Kernels that make numbers out of nothing; dense memory.
#pragma once

#include <kernels/table.h>

#include <gradus/core/scalar.h>

namespace gradus::inline v0::kernels {

GRADUS_TABLES_BEGIN
/// to[i] = start + i * step, in 64-bit integers or doubles.
extern KernelTable<void(void* to, int64_t n, ScalarType dtype, const Scalar& start, const Scalar& step)> arange;
/// n numbers from start to end, both included; the second half is counted back from end.
extern KernelTable<void(void* to, int64_t n, ScalarType dtype, const Scalar& start, const Scalar& end)> linspace;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
