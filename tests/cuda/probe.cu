#include "probe.h"

#include "kernels/cuda/data_error.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/scratch.h"

namespace gradus_test {

using namespace gradus::kernels::cuda;

namespace {

__global__ void fill_kernel(int64_t* out, int64_t count, int64_t value, bool add) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = add ? out[i] + value : value;
}

__global__ void check_kernel(const int64_t* indices, int64_t count, int64_t limit, DataErrorSlot errors) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count && indices[i] >= limit) errors.report(kIndexOutOfRange, i, indices[i], limit);
}

__global__ void philox_kernel(int64_t* out, gradus::cuda::PhiloxState s) {
  if (threadIdx.x != 0) return;
  out[0] = s.captured_seed ? *s.captured_seed : static_cast<int64_t>(s.seed);
  out[1] = static_cast<int64_t>(s.offset) + (s.captured_offset ? *s.captured_offset : 0);
}

// One of two warps waits for the other one, which never comes.
__global__ void broken_kernel() {
  if (threadIdx.x < 32) __syncthreads();
}

constexpr int kThreads = 64;
unsigned blocks(int64_t count) {
  return static_cast<unsigned>(ceil_div(count, kThreads));
}

}  // namespace

void fill(int64_t* out, int64_t count, int64_t value) {
  launch("fill", fill_kernel, blocks(count), kThreads, 0, out, count, value, false);
}
void add(int64_t* out, int64_t count, int64_t value) {
  launch("add", fill_kernel, blocks(count), kThreads, 0, out, count, value, true);
}
void check_indices(const int64_t* indices, int64_t count, int64_t limit) {
  launch("check_indices", check_kernel, blocks(count), kThreads, 0, indices, count, limit,
         data_error_slot("embedding_forward"));
}
void write_philox(int64_t* out, const gradus::cuda::PhiloxState& state) {
  launch("write_philox", philox_kernel, 1, kThreads, 0, out, state);
}
void fail_on_the_device() {
  launch("fail_on_the_device", broken_kernel, 1, kThreads, 0);
}

}  // namespace gradus_test

namespace gradus::inline v0::kernels {

constinit KernelTable<void(View, ConstView, gradus_test::Failure)> failing_views{"failing_views", nullptr};
constinit KernelTable<void(const Loop&)> failing_loop{"failing_loop", nullptr};
constinit KernelTable<void(const IndexPlan&)> failing_plan{"failing_plan", nullptr};

namespace cuda {
namespace {

__global__ void idle_kernel() {}

void fail_with_views(View, ConstView, gradus_test::Failure how) {
  switch (how) {
    case gradus_test::Failure::kThreads:
      return launch("idle_kernel", idle_kernel, dim3(3, 2), 2048, 0);
    case gradus_test::Failure::kSharedMemory:
      return launch("idle_kernel", idle_kernel, 1, 32, 1 << 20);
    case gradus_test::Failure::kOnTheDevice:
      return gradus_test::fail_on_the_device();
    case gradus_test::Failure::kMemory:
      return (void)Scratch(size_t{1} << 50);
    case gradus_test::Failure::kData:
      throw IndexError("an index");
  }
}
void fail_with_loop(const Loop&) {
  launch("idle_kernel", idle_kernel, 1, 2048, 0);
}
void fail_with_plan(const IndexPlan&) {
  launch("idle_kernel", idle_kernel, 1, 2048, 0);
}

}  // namespace

GRADUS_CUDA_KERNEL(failing_views, fail_with_views)
GRADUS_CUDA_KERNEL(failing_loop, fail_with_loop)
GRADUS_CUDA_KERNEL(failing_plan, fail_with_plan)

}  // namespace cuda
}  // namespace gradus::inline v0::kernels
