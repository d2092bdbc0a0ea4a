// What the emulated libraries share: work in a stream's order, elements by their type, and what tests ask of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <cuda_runtime.h>

#include "protection.h"

namespace gradus_emulation {

/// Runs `work` on the host when all that the stream holds now has run; a captured stream runs it at each replay.
inline cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  if (const cudaError_t error = cudaStreamIsCapturing(stream, &capturing); error != cudaSuccess) return error;
  auto* kept = new std::function<void()>([work = std::move(work)] {
    const DeviceAccess access;  // it stands for a kernel
    work();
  });
  if (capturing != cudaStreamCaptureStatusNone) {
    static auto& graphs = *new std::vector<std::unique_ptr<std::function<void()>>>;  // a graph may run at any time
    static auto& mutex = *new std::mutex;
    const std::lock_guard lock(mutex);
    graphs.emplace_back(kept);
    return cudaLaunchHostFunc(
        stream, [](void* p) { (*static_cast<std::function<void()>*>(p))(); }, kept);
  }
  return cudaLaunchHostFunc(
      stream,
      [](void* p) {
        const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(p));
        (*owned)();
      },
      kept);
}

/// The nearest number with 10 bits of mantissa, as the tensor cores read a float.
inline float to_tf32(float f) {
  uint32_t bits;
  __builtin_memcpy(&bits, &f, 4);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}

}  // namespace gradus_emulation
