// Arithmetic that is the same on a host and on a device: functors on plain values, which the CPU's loops vectorise and
// the CUDA kernels call. Elements narrower than what is computed in (16-bit floats) are converted by the caller.
#pragma once

// kernels/cuda/device.h, which then comes first, says how a function is made for both.
#ifndef GRADUS_HOST_DEVICE
#define GRADUS_HOST_DEVICE
#endif
