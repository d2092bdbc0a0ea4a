// Calls of the runtime: devices, memory, copies, streams, events, and the errors of wrong use.
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "test_support.h"

namespace {

using Runtime = EmulationTest;
using LazyRuntime = LazyTest;
using gradus_emulation::StreamOrder;

__global__ void store(int* out, int value) {
  *out = value;
}
__global__ void add_one(int* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += 1;
}
__global__ void nothing() {}

TEST_F(Runtime, Devices) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  ASSERT_EQ(count, 2);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  int device = -1;
  std::thread([&] { cudaGetDevice(&device); }).join();
  EXPECT_EQ(device, 0) << "each thread has its own current device";
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, 227u * 1024);
  int value = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_EQ(value, properties.multiProcessorCount);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

TEST_F(Runtime, WrongLaunches) {
  Stream other;
  EXPECT_EQ(launch(nothing, {.block = 1025}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(nothing, {.block = {1, 1, 65}}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(nothing, {.grid = {1, 65536}}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(nothing, {.grid = 0}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(nothing, {.shared = 49 * 1024}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024), cudaSuccess);
  EXPECT_EQ(launch(nothing, {.shared = 227 * 1024}), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(launch(nothing, {.stream = other}), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  int blocks = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 100 * 1024), cudaSuccess);
  EXPECT_EQ(blocks, 2);
}

TEST_F(Runtime, Memory) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  void* huge = nullptr;
  EXPECT_EQ(cudaMalloc(&huge, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "no error that stays";
  {
    OnDevice<unsigned> memory(1000);
    ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
    EXPECT_EQ(before - after, 4096u);
    for (const unsigned v : memory.values()) ASSERT_EQ(v, 0xffffffffu) << "new memory is poison";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 512, 0u);
    cudaPointerAttributes where;
    ASSERT_EQ(cudaPointerGetAttributes(&where, memory.data() + 999), cudaSuccess);
    EXPECT_EQ(where.type, cudaMemoryTypeDevice);
    EXPECT_EQ(where.device, 0);
    unsigned values[2] = {};
    EXPECT_EQ(cudaMemcpy(memory.data() + 999, values, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(memory.data(), values, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFree(memory.data() + 1), cudaErrorInvalidValue);
  }
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before, after);
  Pinned<int> pinned(3);
  int on_stack = 0;
  cudaPointerAttributes where;
  ASSERT_EQ(cudaPointerGetAttributes(&where, pinned.data()), cudaSuccess);
  EXPECT_EQ(where.type, cudaMemoryTypeHost);
  ASSERT_EQ(cudaPointerGetAttributes(&where, &on_stack), cudaSuccess);
  EXPECT_EQ(where.type, cudaMemoryTypeUnregistered);
}

TEST_F(Runtime, CopiesBetweenDevices) {
  OnDevice<int> first(std::vector<int>{1, 2, 3});
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  OnDevice<int> second(3);
  ASSERT_EQ(cudaMemcpyPeerAsync(second.data(), 1, first.data(), 0, 12), cudaSuccess);
  EXPECT_EQ(second.values(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(cudaMemcpyPeerAsync(second.data(), 0, first.data(), 1, 12), cudaErrorInvalidValue);
}

// Nothing has happened when an asynchronous call returns, and memory that is not page-locked has been read.
TEST_F(LazyRuntime, CopiesAreDeferred) {
  OnDevice<int> memory(1);
  Stream stream;
  Pinned<int> pinned(2);
  pinned[0] = 1;
  pinned[1] = -1;
  ASSERT_EQ(cudaMemcpyAsync(memory.data(), pinned.data(), 4, cudaMemcpyHostToDevice, stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(pinned.data() + 1, memory.data(), 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  if (!kTsan) {  // which finds that both are too early
    EXPECT_EQ(pinned[1], -1);
    pinned[0] = 2;
  }
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(pinned[1], kTsan ? 1 : 2);
  int pageable = 3;
  ASSERT_EQ(cudaMemcpyAsync(memory.data(), &pageable, 4, cudaMemcpyHostToDevice, stream), cudaSuccess);
  pageable = 4;
  ASSERT_EQ(cudaMemcpyAsync(&pageable, memory.data(), 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(pageable, 3) << "a copy to pageable memory waits";
}

TEST_F(LazyRuntime, QueriesMakeProgress) {
  OnDevice<int> memory(std::vector<int>(1));
  Stream stream;
  Event event;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch(add_one, {.stream = stream}, memory.data(), 1), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  int asked = 0;
  while (cudaStreamQuery(stream) == cudaErrorNotReady) ASSERT_LT(++asked, 10);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 3);
}

TEST_F(LazyRuntime, EventsOrderStreams) {
  OnDevice<int> memory(1);
  Stream first, second, unrelated;
  Event event, never;
  ASSERT_EQ(launch(store, {.stream = first}, memory.data(), 1), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, event), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, never), cudaSuccess) << "one that was never recorded";
  ASSERT_EQ(launch(add_one, {.stream = second}, memory.data(), 1), cudaSuccess);
  ASSERT_EQ(launch(nothing, {.stream = unrelated}), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(unrelated), cudaErrorNotReady);
  Pinned<int> got(1);
  ASSERT_EQ(cudaMemcpyAsync(got.data(), memory.data(), 4, cudaMemcpyDefault, second), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, second), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(got[0], 2);
}

// A wait is for the recording that was the last one when it was enqueued.
TEST_F(LazyRuntime, EventsMayBeRecordedAnew) {
  OnDevice<int> memory(std::vector<int>(2));
  Stream first, second, third;
  Event event;
  ASSERT_EQ(launch(store, {.stream = first}, memory.data(), 1), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, event), cudaSuccess);
  ASSERT_EQ(launch(store, {.stream = third}, memory.data() + 1, 1), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, third), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(first), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(third), cudaErrorNotReady);
}

TEST_F(LazyRuntime, DefaultStreamWaitsForBlockingOnes) {
  OnDevice<int> memory(1);
  Stream blocking(cudaStreamDefault), free_running;
  ASSERT_EQ(launch(nothing, {.stream = free_running}), cudaSuccess);
  ASSERT_EQ(launch(store, {.stream = blocking}, memory.data(), 1), cudaSuccess);
  ASSERT_EQ(launch(add_one, {}, memory.data(), 1), cudaSuccess);
  ASSERT_EQ(launch(add_one, {.stream = blocking}, memory.data(), 1), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(blocking), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(free_running), cudaErrorNotReady);
  EXPECT_EQ(memory.values()[0], 3);
}

TEST_F(Runtime, EventsOfOtherDevices) {
  Event event(cudaEventDefault), quick;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  Stream stream;
  EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  Event end(cudaEventDefault);
  ASSERT_EQ(cudaEventRecord(event), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(quick), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  float milliseconds = -1;
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, event, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0.0f);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event, quick), cudaErrorInvalidResourceHandle);
}

TEST_F(Runtime, AnyOrderGivesTheSameResult) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    gradus_emulation::set_stream_order(StreamOrder::Random, seed);
    OnDevice<int> memory(std::vector<int>(40));
    Stream streams[4];
    Event events[4];
    for (int round = 0; round < 5; ++round) {
      for (int s = 0; s < 4; ++s) {
        ASSERT_EQ(launch(add_one, {.block = 10, .stream = streams[s]}, memory.data() + 10 * s, 10), cudaSuccess);
      }
      ASSERT_EQ(cudaEventRecord(events[round % 4], streams[round % 4]), cudaSuccess);
      for (cudaStream_t s : streams) ASSERT_EQ(cudaStreamWaitEvent(s, events[round % 4]), cudaSuccess);
      ASSERT_EQ(launch(add_one, {.block = 40, .stream = streams[0]}, memory.data() + 10 * (round % 4), 10),
                cudaSuccess);
      ASSERT_EQ(cudaEventRecord(events[0], streams[0]), cudaSuccess);
      for (cudaStream_t s : streams) ASSERT_EQ(cudaStreamWaitEvent(s, events[0]), cudaSuccess);
    }
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const std::vector<int> got = memory.values();
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i < 10 ? 7 : 6) << i;
  }
  gradus_emulation::set_stream_order(StreamOrder::Eager);
}

// Functions of the host run on a thread of their own: they may take a lock that the thread that enqueues holds.
TEST_F(Runtime, HostFunctions) {
  struct Shared {
    std::mutex mutex;
    int calls = 0;
    std::thread::id thread;
  } shared;
  const auto function = [](void* data) {
    Shared& s = *static_cast<Shared*>(data);
    const std::lock_guard lock(s.mutex);
    ++s.calls;
    s.thread = std::this_thread::get_id();
  };
  Stream stream, other;
  Event event;
  {
    const std::lock_guard lock(shared.mutex);
    ASSERT_EQ(cudaLaunchHostFunc(stream, function, &shared), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(other, event), cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(other, function, &shared), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(other), cudaErrorNotReady);
  }
  ASSERT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(shared.calls, 2);
  EXPECT_NE(shared.thread, std::this_thread::get_id());
}

TEST_F(Runtime, SeveralHostThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      cudaSetDevice(t % 2);
      Stream stream;
      for (int i = 0; i < 20; ++i) {
        OnDevice<int> memory(std::vector<int>(50, i));
        launch(add_one, {.block = 64, .stream = stream}, memory.data(), 50);
        Pinned<int> got(50);
        cudaMemcpyAsync(got.data(), memory.data(), 200, cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
        for (size_t j = 0; j < 50; ++j) wrong += got[j] != i + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Runtime, DestroyedHandlesAreErrors) {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle);
}

TEST_F(Runtime, PeersMustBeEnabled) {
  int can = 0;
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 1);
  OnDevice<int> memory(1);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
  ASSERT_EQ(launch(store, {}, memory.data(), 8), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaDeviceDisablePeerAccess(0), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 8);
}

}  // namespace
