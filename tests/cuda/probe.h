// Kernels that the tests of the runtime run.
#pragma once

#include <cstdint>

#include <gradus/cuda/generator.h>

#include "kernels/elementwise.h"
#include "kernels/indexing.h"

namespace gradus_test {

/// out[i] = value, or out[i] += value.
void fill(int64_t* out, int64_t count, int64_t value);
void add(int64_t* out, int64_t count, int64_t value);
/// Reports each index that is not below the limit, as embedding_forward would.
void check_indices(const int64_t* indices, int64_t count, int64_t limit);
/// out[0] = the seed, out[1] = the offset that a kernel would draw with.
void write_philox(int64_t* out, const gradus::cuda::PhiloxState& state);
/// A kernel that the emulation stops, with cudaErrorLaunchFailure.
void fail_on_the_device();

/// How failing_views fails.
enum class Failure { kThreads, kSharedMemory, kOnTheDevice, kMemory, kData };

}  // namespace gradus_test

namespace gradus::inline v0::kernels {
/// Tables whose CUDA slots fail, for the texts of their errors.
extern KernelTable<void(View, ConstView, gradus_test::Failure)> failing_views;
extern KernelTable<void(const Loop&)> failing_loop;
extern KernelTable<void(const IndexPlan&)> failing_plan;
}  // namespace gradus::inline v0::kernels
