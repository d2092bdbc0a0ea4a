// Kernels that are wrong in what threads wait for: each launch ends with an error and a report, in every build.
#include "test_support.h"

namespace {

using SchedulerDetectors = EmulationTest;

// The launch or what waits for it fails, and goes on failing, as with CUDA; then the device is as good as new.
cudaError_t run(cudaError_t launched) {
  const cudaError_t error = launched != cudaSuccess ? launched : cudaDeviceSynchronize();
  EXPECT_EQ(cudaDeviceSynchronize(), error);
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 8), error);
  EXPECT_EQ(cudaGetLastError(), error);
  gradus_emulation::clear_errors();
  return error;
}

constexpr int kLineOfBarrier = __LINE__ + 3;
__global__ void exit_before_barrier(int* out) {
  if (threadIdx.x >= 32) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

TEST_F(SchedulerDetectors, ExitBeforeBarrier) {
  OnDevice<int> out(64);
  EXPECT_EQ(run(launch(exit_before_barrier, {.block = 64}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("left the kernel before a barrier");
  EXPECT_REPORT("threads 0-31 wait in __syncthreads at");
  EXPECT_REPORT("detectors_scheduler_test.cpp:" + std::to_string(kLineOfBarrier));
  EXPECT_REPORT("threads 32-63 have left the kernel");
}

__global__ void exit_of_one_lane(int* out) {
  GRADUS_SHARED(int, values, [33]);
  if (threadIdx.x == 7) return;
  values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

TEST_F(SchedulerDetectors, ExitOfOneLane) {
  OnDevice<int> out(33);
  EXPECT_EQ(run(launch(exit_of_one_lane, {.grid = 2, .block = 33}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("threads 0-6 8-32 wait in __syncthreads");
  EXPECT_REPORT("threads 7 have left the kernel");
}

__global__ void divergent_barriers(int* out) {
  if (threadIdx.x < 32) {
    __syncthreads();
    out[0] = 1;
  } else {
    __syncthreads();
    out[1] = 1;
  }
}

TEST_F(SchedulerDetectors, DivergentBarriers) {
  OnDevice<int> out(2);
  EXPECT_EQ(run(launch(divergent_barriers, {.block = 64}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("wait at different barriers");
  EXPECT_REPORT("threads 0-31 wait in __syncthreads");
  EXPECT_REPORT("threads 32-63 wait in __syncthreads");
}

__global__ void barrier_in_loop_of_different_length(int* out) {
  for (unsigned i = 0; i < 1 + threadIdx.x / 32; ++i) {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

TEST_F(SchedulerDetectors, LoopsOfDifferentLength) {
  OnDevice<int> out(64);
  EXPECT_EQ(run(launch(barrier_in_loop_of_different_length, {.block = 64}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("threads 0-31 have left the kernel");
}

__global__ void barrier_against_shuffle(int* out) {
  int v = static_cast<int>(threadIdx.x);
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    v = __shfl_sync(0xffffffffu, v, 20);
  }
  out[threadIdx.x] = v;
}

TEST_F(SchedulerDetectors, BarrierAgainstShuffle) {
  OnDevice<int> out(32);
  EXPECT_EQ(run(launch(barrier_against_shuffle, {.block = 32}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("no thread of the block can go on");
  EXPECT_REPORT("threads 16-31 wait with mask 0xffffffff in __shfl_sync");
}

__global__ void not_in_mask(int* out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, static_cast<int>(threadIdx.x), 0);
}

TEST_F(SchedulerDetectors, LaneNotInMask) {
  OnDevice<int> out(32);
  EXPECT_EQ(run(launch(not_in_mask, {.block = 32}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("thread 16 (lane 16) is not in the mask 0x0000ffff of its __shfl_sync at");
}

__global__ void mask_names_lanes_that_are_elsewhere(unsigned* out) {
  if (threadIdx.x < 8) out[threadIdx.x] = __ballot_sync(0x0000ffffu, 1);
  __syncthreads();
}

TEST_F(SchedulerDetectors, MaskNamesLanesThatDoNotCome) {
  OnDevice<unsigned> out(32);
  EXPECT_EQ(run(launch(mask_names_lanes_that_are_elsewhere, {.block = 32}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("threads 0-7 wait with mask 0x0000ffff in __ballot_sync");
  EXPECT_REPORT("threads 8-31 wait in __syncthreads");
}

__global__ void different_operations(int* out) {
  int v = static_cast<int>(threadIdx.x);
  if (threadIdx.x % 2 == 0) {
    v = __shfl_sync(0xffffffffu, v, 0);
  } else {
    v = __any_sync(0xffffffffu, v);
  }
  out[threadIdx.x] = v;
}

TEST_F(SchedulerDetectors, DifferentWarpOperations) {
  OnDevice<int> out(32);
  EXPECT_EQ(run(launch(different_operations, {.block = 32}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("thread 1 is in __any_sync at");
  EXPECT_REPORT("while lane 0 of its warp, with the same mask 0xffffffff, is in __shfl_sync at");
}

__global__ void shuffle_from_lane_outside(int* out) {
  if (threadIdx.x >= 16) return;
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, static_cast<int>(threadIdx.x), static_cast<int>(threadIdx.x) + 8);
}

TEST_F(SchedulerDetectors, ShuffleFromLaneOutsideOfMask) {
  OnDevice<int> out(32);
  EXPECT_EQ(run(launch(shuffle_from_lane_outside, {.block = 32}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("thread 8 (lane 8) reads lane 16, which is not in the mask");
}

__global__ void shuffle_from_lane_that_left(int* out) {
  if (threadIdx.x == 31) return;
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, static_cast<int>(threadIdx.x), 1);
}

TEST_F(SchedulerDetectors, ShuffleFromLaneThatLeft) {
  OnDevice<int> out(32);
  EXPECT_EQ(run(launch(shuffle_from_lane_that_left, {.block = 32}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("reads lane 31, which has left the kernel or is not in the block");
}

__global__ void sum_of_a_part_of_a_warp(int* out) {
  int v = 1;
  for (int step = 16; step > 0; step /= 2) {
    v += __shfl_xor_sync(0xffffffffu, v, step);
  }
  out[threadIdx.x] = v;
}

TEST_F(SchedulerDetectors, ShuffleFromLaneThatTheBlockDoesNotHave) {
  OnDevice<int> out(48);
  EXPECT_EQ(run(launch(sum_of_a_part_of_a_warp, {.block = 48}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("thread 32 (lane 0) reads lane 16");
}

__global__ void width_of_three(int* out) {
  out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0, 3);
}

TEST_F(SchedulerDetectors, BadWidth) {
  OnDevice<int> out(32);
  EXPECT_EQ(run(launch(width_of_three, {.block = 32}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("width is not a power of two");
}

__global__ void wait_for_another_block(int* flag) {
  if (blockIdx.x == 1) {
    atomicExch(flag, 1);
    return;
  }
  while (atomicAdd(flag, 0) == 0) {
  }
}

TEST_F(SchedulerDetectors, WaitingForALaterBlock) {
  gradus_emulation::set_block_order(gradus_emulation::BlockOrder::Forward);
  OnDevice<int> flag(std::vector<int>(1));
  EXPECT_EQ(run(launch(wait_for_another_block, {.grid = 2}, flag.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("waits for ever");
}

__global__ void trapping(const int* in) {
  if (in[threadIdx.x] == 2) __trap();
}

TEST_F(SchedulerDetectors, Trap) {
  OnDevice<int> in(std::vector<int>{1, 2, 3});
  EXPECT_EQ(run(launch(trapping, {.block = 3}, in.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("thread 1 reached __trap at");
}

__global__ void too_much_static_shared(int* out) {
  GRADUS_SHARED(double, first, [4096]);
  GRADUS_SHARED(double, second, [2049]);
  first[0] = second[0] = 1;
  out[0] = static_cast<int>(first[0] + second[0]);
}

TEST_F(SchedulerDetectors, TooMuchStaticSharedMemory) {
  OnDevice<int> out(1);
  EXPECT_EQ(run(launch(too_much_static_shared, {}, out.data())), cudaErrorLaunchFailure);
  EXPECT_REPORT("second at");
}

__global__ void store_index(int* out) {
  out[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
}

// Failures leave stacks in the middle of kernels; later launches are not disturbed.
TEST_F(SchedulerDetectors, LaunchesAfterFailures) {
  for (int i = 0; i < 20; ++i) {
    OnDevice<int> out(64);
    EXPECT_EQ(run(launch(exit_before_barrier, {.block = 64}, out.data())), cudaErrorLaunchFailure);
    EXPECT_EQ(launch(store_index, {.block = 64}, out.data()), cudaSuccess);
    EXPECT_EQ(out.values()[63], 63);
  }
  EXPECT_NE(launch(exit_before_barrier, {.block = 64}, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
