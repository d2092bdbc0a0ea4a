// Batches of matrix transposes: NCHW to NHWC and back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::inline v0::kernels {

/// to[b][c][r] = from[b][r][c], with elements of 2, 4 or 8 bytes, inner dimensions dense; threaded. `from` has `rows`
/// rows of `columns` at `from_row` elements from one another, `to` the other way about.
void transpose_batch(size_t element, int64_t batch, int64_t rows, int64_t columns, const void* from, int64_t from_batch,
                     int64_t from_row, void* to, int64_t to_batch, int64_t to_row);

}  // namespace gradus::inline v0::kernels
