// Copies between two layouts of the same elements: what the libraries' callers pack operands with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::inline v0::kernels::cuda {

constexpr int kMostLayoutDims = 5;

/// to[i . to_strides] = from[i . from_strides] for all indices of `sizes`; elements of 1, 2, 4, 8 or 16 bytes. Layouts
/// that are transposes of each other are read and written along contiguous memory. `to` has no element twice.
void copy_layout(size_t element, int ndim, const int64_t* sizes, const void* from, const int64_t* from_strides,
                 void* to, const int64_t* to_strides);

}  // namespace gradus::inline v0::kernels::cuda
