// Copies between devices, and between them and the host.
#pragma once

#include "device.h"

namespace gradus::inline v0::cuda::runtime {

/// core::Accelerator::copy.
void copy(void* to, Device to_device, const void* from, Device from_device, size_t nbytes, bool non_blocking);

/// Waits for a stream, and throws what the device's kernels found wrong with their data.
void synchronize_stream(int device, cudaStream_t stream);
void synchronize_device(int device);

}  // namespace gradus::inline v0::cuda::runtime
