// Pooling over images [batch, channels, height, width].
#pragma once

#include <kernels/data_error.h>
#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

struct PoolingGeometry {
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
};

/// Which count a mean is divided by.
struct AverageDivisor {
  bool count_include_pad = true;
  int64_t override = 0;  // 0: none
};

// All views of a call have one dense layout, contiguous or channels innermost (channels_last), and one floating dtype
// but for the i64 indices. The output's size decides whether the last window hangs over (ceil mode).

GRADUS_TABLES_BEGIN
/// The largest element of each window and its position height_index * width + width_index. NaN wins.
extern KernelTable<void(View output, View indices, ConstView input, const PoolingGeometry& geometry)>
    max_pool2d_forward;
/// grad_input is written whole, or not at all where an index lies outside of the image. Whether an index that its
/// window does not cover counts is the backend's choice.
extern KernelTable<BadIndex(View grad_input, ConstView grad_output, ConstView indices, const PoolingGeometry& geometry)>
    max_pool2d_backward;

extern KernelTable<void(View output, ConstView input, const PoolingGeometry& geometry, AverageDivisor divisor)>
    avg_pool2d_forward;
extern KernelTable<void(View grad_input, ConstView grad_output, const PoolingGeometry& geometry,
                        AverageDivisor divisor)>
    avg_pool2d_backward;

/// Windows as even as the sizes allow: row i of the output averages rows floor(i h / out) to ceil((i + 1) h / out).
extern KernelTable<void(View output, ConstView input)> adaptive_avg_pool2d_forward;
extern KernelTable<void(View grad_input, ConstView grad_output)> adaptive_avg_pool2d_backward;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
