#include "probe.h"

#include "kernels/cuda/data_error.h"
#include "kernels/cuda/launch.h"

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
