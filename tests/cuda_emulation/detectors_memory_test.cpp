// Kernels and host code that are wrong in the memory they touch. What AddressSanitizer finds ends the program, so that
// its tests are death tests; what the processor finds in a plain build ends the launch.
#include <cmath>
#include <cstdlib>

#include "test_support.h"

namespace {

using MemoryDetectors = EmulationTest;
using MemoryDetectorsDeathTest = EmulationTest;

#define NEEDS_ASAN() \
  if (!kAsan) GTEST_SKIP() << "found by AddressSanitizer: build with -fsanitize=address"

__global__ void write_at(int* out, int64_t i) {
  out[i] = 1;
}
__global__ void read_at(const int* in, int64_t i, int* out) {
  *out = in[i];
}

TEST_F(MemoryDetectorsDeathTest, GlobalOutOfBounds) {
  NEEDS_ASAN();
  OnDevice<int> memory(1000);
  EXPECT_DEATH(launch(write_at, {}, memory.data(), 1000), "use-after-poison.*\n.*WRITE of size 4(.*\n)*.*write_at");
  OnDevice<int> out(1);
  EXPECT_DEATH(launch(read_at, {}, memory.data(), 1000, out.data()), "use-after-poison");
}

TEST_F(MemoryDetectorsDeathTest, CopyOutOfBounds) {
  OnDevice<int> memory(1000);
  std::vector<int> values(1001);
  EXPECT_EQ(cudaMemcpy(memory.data(), values.data(), 4004, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(memory.data(), 0, 4004), cudaErrorInvalidValue);
}

TEST_F(MemoryDetectorsDeathTest, UseAfterFree) {
  if (kTsan) GTEST_SKIP() << "needs a build without ThreadSanitizer";
  int* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4000), cudaSuccess);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  if (kAsan) {
    EXPECT_DEATH(launch(write_at, {}, memory, 0), "use-after-poison");
  } else {
    EXPECT_EQ(launch(write_at, {}, memory, 0), cudaErrorIllegalAddress);
    EXPECT_REPORT("out of bounds, or freed");
  }
}

__global__ void static_shared_out_of_bounds(int* out, int i) {
  GRADUS_SHARED(int, values, [10]);
  GRADUS_SHARED(int, others, [10]);
  values[threadIdx.x] = others[threadIdx.x] = 1;
  __syncthreads();
  int* p = values;
  *out = p[i];
}

TEST_F(MemoryDetectorsDeathTest, StaticSharedOutOfBounds) {
  NEEDS_ASAN();
  OnDevice<int> out(1);
  ASSERT_EQ(launch(static_shared_out_of_bounds, {.block = 10}, out.data(), 9), cudaSuccess);
  EXPECT_DEATH(launch(static_shared_out_of_bounds, {.block = 10}, out.data(), 10), "use-after-poison");
  EXPECT_DEATH(launch(static_shared_out_of_bounds, {.block = 10}, out.data(), -1), "use-after-poison");
}

__global__ void row_overflow(int* out, int column) {
  GRADUS_SHARED(int, tile, [4][33]);
  tile[1][0] = 7;
  *out = tile[0][column];
}

// Builds with AddressSanitizer have the undefined-behaviour one, too. Whether it goes on after its report depends on
// its options: the process ends here in any case.
TEST_F(MemoryDetectorsDeathTest, RowOfSharedArrayOverflows) {
  NEEDS_ASAN();
  OnDevice<int> out(1);
  EXPECT_DEATH(
      {
        launch(row_overflow, {}, out.data(), 33);
        std::_Exit(1);
      },
      "index 33 out of bounds");
}

__global__ void dynamic_shared_use(int* out) {
  GRADUS_DYNAMIC_SHARED(int, values);
  values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[0];
}

// In a plain build the end of dynamic shared memory, rounded to 16 bytes, is the end of what may be touched.
void expect_dynamic_overflow(size_t bytes) {
  if (kTsan) GTEST_SKIP() << "needs a build without ThreadSanitizer";
  OnDevice<int> out(64);
  const Shape shape = {.block = 64, .shared = bytes};
  if (kAsan) {
    EXPECT_DEATH(launch(dynamic_shared_use, shape, out.data()), "dynamic_shared_use");
  } else {
    EXPECT_EQ(launch(dynamic_shared_use, shape, out.data()), cudaErrorIllegalAddress);
  }
}

TEST_F(MemoryDetectorsDeathTest, DynamicSharedOutOfBounds) {
  OnDevice<int> out(64);
  ASSERT_EQ(launch(dynamic_shared_use, {.block = 64, .shared = 256}, out.data()), cudaSuccess);
  expect_dynamic_overflow(kAsan ? 252 : 240);
}
TEST_F(MemoryDetectorsDeathTest, DynamicSharedBytesNotPassed) {
  expect_dynamic_overflow(0);
}

__global__ void sum_of_uninitialised_shared(float* out) {
  GRADUS_SHARED(float, values, [33]);
  GRADUS_DYNAMIC_SHARED(float, more);
  values[threadIdx.x] = more[threadIdx.x] = 1.0f;
  __syncthreads();
  if (threadIdx.x != 0) return;
  out[2 * blockIdx.x] = values[31] + values[32];
  out[2 * blockIdx.x + 1] = more[31] + more[32];
}

TEST_F(MemoryDetectors, UninitialisedSharedMemoryIsNaN) {
  OnDevice<float> out(8);  // earlier blocks have written to the same memory
  ASSERT_EQ(launch(sum_of_uninitialised_shared, {.grid = 4, .block = 32, .shared = 132}, out.data()), cudaSuccess);
  for (const float sum : out.values()) EXPECT_TRUE(std::isnan(sum));
}

__global__ void copy_first(const float* in, float* out) {
  *out = *in;
}

TEST_F(MemoryDetectors, UninitialisedGlobalMemoryIsNaN) {
  OnDevice<float> in(1), out(1);
  ASSERT_EQ(launch(copy_first, {}, in.data(), out.data()), cudaSuccess);
  EXPECT_TRUE(std::isnan(out.values()[0]));
}

TEST_F(MemoryDetectors, FaultsEndTheLaunch) {
  if (kAsan || kTsan) GTEST_SKIP() << "sanitizers report faults themselves";
  EXPECT_EQ(launch(write_at, {.block = 33}, nullptr, 0), cudaErrorIllegalAddress);
  EXPECT_REPORT("thread 0 touched the address 0x0, a null pointer");
  gradus_emulation::clear_errors();
  OnDevice<int> memory(1024);
  EXPECT_EQ(launch(write_at, {}, memory.data(), 1024), cudaErrorIllegalAddress) << "the page behind";
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  gradus_emulation::clear_errors();
  EXPECT_EQ(launch(write_at, {}, memory.data(), 5), cudaSuccess);
}

__global__ void divide(int* out, int by) {
  *out = 7 / by;
}

TEST_F(MemoryDetectors, DivisionByZeroEndsTheLaunch) {
  if (kAsan || kTsan) GTEST_SKIP() << "sanitizers report faults themselves";
  OnDevice<int> out(1);
  EXPECT_EQ(launch(divide, {}, out.data(), 0), cudaErrorLaunchFailure);
  EXPECT_REPORT("divided an integer by zero");
}

int deep(int depth, volatile char* before) {
  volatile char here[1024] = {};
  here[0] = before != nullptr ? before[0] : '\1';
  return depth == 0 ? here[0] : deep(depth - 1, here) + here[1];
}
__global__ void deep_recursion(int* out) {
  *out = deep(1'000'000, nullptr);
}

TEST_F(MemoryDetectors, StackOverflowEndsTheLaunch) {
  if (kAsan || kTsan) GTEST_SKIP() << "sanitizers report faults themselves";
  OnDevice<int> out(1);
  EXPECT_EQ(launch(deep_recursion, {}, out.data()), cudaErrorIllegalAddress);
  EXPECT_REPORT("its stack, which was too small");
}

// Whether memory of devices is protected from the host at all.
bool has_protection_keys() {
  const OnDevice<int> memory(1), out(1);
  cudaSetDevice(1);
  const cudaError_t error = launch(read_at, {}, memory.data(), 0, out.data());
  cudaSetDevice(0);
  gradus_emulation::clear_errors();
  return error == cudaErrorIllegalAddress;
}

TEST_F(MemoryDetectorsDeathTest, HostTouchesDeviceMemory) {
  if (kAsan || kTsan) GTEST_SKIP() << "sanitizers report faults themselves";
  if (!has_protection_keys()) GTEST_SKIP() << "the processor has no protection keys";
  const OnDevice<int> memory(1);
  EXPECT_DEATH(*memory.data() = 1, "host code touched the memory of a device");
}

TEST_F(MemoryDetectors, KernelTouchesAnotherDevice) {
  if (kAsan || kTsan) GTEST_SKIP() << "sanitizers report faults themselves";
  if (!has_protection_keys()) GTEST_SKIP() << "the processor has no protection keys";
  const OnDevice<int> memory(1);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(launch(write_at, {}, memory.data(), 0), cudaErrorIllegalAddress);
  EXPECT_REPORT("memory of a device that is not its own and no peer");
}

}  // namespace
