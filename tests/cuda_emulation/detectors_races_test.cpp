// Kernels that race: ThreadSanitizer names both places. Right twins of them give no report.
#include "test_support.h"
#include "tsan_reports.h"

namespace {

class RaceDetectors : public EmulationTest {
 protected:
  void SetUp() override {
    if (!kTsan) GTEST_SKIP() << "found by ThreadSanitizer: build with -fsanitize=thread";
    EmulationTest::SetUp();
    take_tsan_reports();
  }
};

// Neighbours swap through shared memory, twice: a barrier before reading, and one before writing anew.
template <bool first_barrier, bool second_barrier>
__global__ void neighbours(int* out) {
  GRADUS_SHARED(int, values, [64]);
  int v = static_cast<int>(threadIdx.x);
  for (int round = 0; round < 2; ++round) {
    values[threadIdx.x] = v;
    if constexpr (first_barrier) {
      __syncthreads();
    }
    v += values[(threadIdx.x + 1) % 64];
    if constexpr (second_barrier) {
      __syncthreads();
    }
  }
  out[threadIdx.x] = v;
}

TEST_F(RaceDetectors, MissingBarrier) {
  OnDevice<int> out(64);
  ASSERT_EQ((launch(neighbours<true, true>, {.block = 64}, out.data())), cudaSuccess);
  EXPECT_EQ(take_tsan_reports(), 0);
  ASSERT_EQ((launch(neighbours<false, true>, {.block = 64}, out.data())), cudaSuccess);
  EXPECT_GT(take_tsan_reports(), 0);
}
TEST_F(RaceDetectors, MissingSecondBarrier) {
  OnDevice<int> out(64);
  ASSERT_EQ((launch(neighbours<true, false>, {.block = 64}, out.data())), cudaSuccess);
  EXPECT_GT(take_tsan_reports(), 0);
}

__global__ void through_shared_in_warp(int* out, bool sync) {
  GRADUS_SHARED(int, values, [32]);
  values[threadIdx.x] = __shfl_xor_sync(0xffffffffu, static_cast<int>(threadIdx.x), 1);
  if (sync) {
    __syncwarp();
  }
  out[threadIdx.x] = values[31 - threadIdx.x];
}

TEST_F(RaceDetectors, MissingSyncwarpAfterShuffle) {
  OnDevice<int> out(32);
  ASSERT_EQ(launch(through_shared_in_warp, {.block = 32}, out.data(), true), cudaSuccess);
  EXPECT_EQ(take_tsan_reports(), 0);
  ASSERT_EQ(launch(through_shared_in_warp, {.block = 32}, out.data(), false), cudaSuccess);
  EXPECT_GT(take_tsan_reports(), 0);
}

__global__ void add_plainly(float* sum) {
  if (threadIdx.x == 0) *sum += 1.0f;
}
__global__ void add_atomically(float* sum) {
  if (threadIdx.x == 0) atomicAdd(sum, 1.0f);
}

TEST_F(RaceDetectors, PlainSumAcrossBlocks) {
  OnDevice<float> sum(std::vector<float>(1));
  ASSERT_EQ(launch(add_atomically, {.grid = 4, .block = 32}, sum.data()), cudaSuccess);
  EXPECT_EQ(take_tsan_reports(), 0);
  ASSERT_EQ(launch(add_plainly, {.grid = 4, .block = 32}, sum.data()), cudaSuccess);
  EXPECT_GT(take_tsan_reports(), 0);
}

__global__ void publish(int* data, unsigned* tickets, int* out, bool fence) {
  data[blockIdx.x] = 1;
  if (fence) __threadfence();
  const bool last = atomicAdd(tickets, 1u) == gridDim.x - 1;
  if (fence) __threadfence();
  if (!last) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += data[b];
  *out = sum;
}

TEST_F(RaceDetectors, MissingFence) {
  OnDevice<int> data(4), out(1);
  for (const bool fence : {true, false}) {
    OnDevice<unsigned> tickets(std::vector<unsigned>(1));
    ASSERT_EQ(launch(publish, {.grid = 4}, data.data(), tickets.data(), out.data(), fence), cudaSuccess);
    EXPECT_EQ(take_tsan_reports() > 0, !fence);
  }
}

__global__ void write_same(int* out) {
  out[threadIdx.x / 2] = 1;
}

// Even where the values are the same, and where no barrier is in the kernel.
TEST_F(RaceDetectors, TwoThreadsWriteOnePlace) {
  OnDevice<int> out(16);
  ASSERT_EQ(launch(write_same, {.block = 32}, out.data()), cudaSuccess);
  EXPECT_GT(take_tsan_reports(), 0);
}

__global__ void increment(int* values) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

// Kernels of one stream are in order, whatever threads touched the same memory; so are those of several hosts'
// launches.
TEST_F(RaceDetectors, NoReportForRightPrograms) {
  OnDevice<int> values(std::vector<int>(256));
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(launch(increment, {.grid = 4, .block = 64}, values.data()), cudaSuccess);
    ASSERT_EQ(launch(increment, {.grid = 8, .block = 32}, values.data()), cudaSuccess);
    ASSERT_EQ(launch(increment, {.grid = 256, .block = 1}, values.data()), cudaSuccess);
  }
  for (const int v : values.values()) EXPECT_EQ(v, 9);
  EXPECT_EQ(take_tsan_reports(), 0);
}

}  // namespace
