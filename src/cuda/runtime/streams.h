// Streams of this process: each device's default one, its pools, and those that programs bring.
#pragma once

#include <utility>

#include "device.h"

namespace gradus::inline v0::cuda::runtime {

/// The handle behind an id. Throws ValueError for an id that was never given out.
cudaStream_t handle_of(core::StreamId stream);
/// The next stream of the pool of a priority (0: lowest, negative: sooner). Round robin.
core::StreamId next_of_pool(int device, int priority);
/// An id for a stream that the program made.
core::StreamId id_of_external(int device, cudaStream_t handle);
std::pair<int, int> priority_range();
bool is_capturing(cudaStream_t stream);

core::StreamId current_stream(int device);
void set_current_stream(core::StreamId stream);

/// An event without timing, of the device that is current to CUDA on this thread; given back it is used again.
cudaEvent_t take_event(int device);
void give_event(int device, cudaEvent_t event) noexcept;
/// What is enqueued on `waiting` from now on begins after all that `first` holds now.
void order(int first_device, cudaStream_t first, int waiting_device, cudaStream_t waiting);

}  // namespace gradus::inline v0::cuda::runtime
