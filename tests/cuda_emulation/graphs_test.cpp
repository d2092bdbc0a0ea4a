// Capture and replay.
#include <thread>

#include "test_support.h"

namespace {

using Graphs = EmulationTest;
using gradus_emulation::StreamOrder;

__global__ void add_to(int* values, int amount) {
  values[threadIdx.x] += amount;
}
__global__ void multiply(int* values, int factor) {
  values[threadIdx.x] *= factor;
}
__global__ void sum_of(const int* a, const int* b, int* out) {
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  return status;
}

TEST_F(Graphs, ReplaysOneStream) {
  OnDevice<int> values(std::vector<int>(8, 1));
  Pinned<int> out(8);
  Stream stream;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
  ASSERT_EQ(launch(add_to, {.block = 8, .stream = stream}, values.data(), 1), cudaSuccess);
  ASSERT_EQ(launch(multiply, {.block = 8, .stream = stream}, values.data(), 3), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(out.data(), values.data(), 32, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
  EXPECT_EQ(values.values()[0], 1) << "capturing does nothing";
  size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 3u);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(out[7], ((1 + 1) * 3 + 1) * 3 * 3 + 3);
}

// A second stream joins by an event and comes back by one; both branches are there, in every order.
TEST_F(Graphs, ForkAndJoin) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    gradus_emulation::set_stream_order(StreamOrder::Random, seed);
    OnDevice<int> a(std::vector<int>(4, 1)), b(std::vector<int>(4, 2)), out(4);
    Stream main, side;
    Event fork, join;
    ASSERT_EQ(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(fork, main), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(side, fork), cudaSuccess);
    EXPECT_EQ(status_of(side), cudaStreamCaptureStatusActive);
    ASSERT_EQ(launch(add_to, {.block = 4, .stream = side}, b.data(), 5), cudaSuccess);
    ASSERT_EQ(launch(add_to, {.block = 4, .stream = main}, a.data(), 10), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(join, side), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(fork), cudaErrorStreamCaptureUnsupported) << "forbidden while this thread captures";
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(main, &graph), cudaErrorStreamCaptureInvalidated);
    // Once more, without the mistake.
    ASSERT_EQ(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(fork, main), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(side, fork), cudaSuccess);
    ASSERT_EQ(launch(add_to, {.block = 4, .stream = side}, b.data(), 5), cudaSuccess);
    ASSERT_EQ(launch(add_to, {.block = 4, .stream = main}, a.data(), 10), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(join, side), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(main, join), cudaSuccess);
    ASSERT_EQ(launch(sum_of, {.block = 4, .stream = main}, a.data(), b.data(), out.data()), cudaSuccess);
    ASSERT_EQ(cudaStreamEndCapture(main, &graph), cudaSuccess);
    EXPECT_EQ(status_of(side), cudaStreamCaptureStatusNone);
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, main), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, main), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(main), cudaSuccess);
    EXPECT_EQ(out.values()[0], 21 + 12);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  gradus_emulation::set_stream_order(StreamOrder::Eager);
}

TEST_F(Graphs, UnjoinedWorkIsAnError) {
  OnDevice<int> a(std::vector<int>(1));
  Stream main, side;
  Event fork;
  ASSERT_EQ(cudaStreamBeginCapture(main, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork, main), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(side, fork), cudaSuccess);
  ASSERT_EQ(launch(add_to, {.stream = side}, a.data(), 5), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(main, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(status_of(side), cudaStreamCaptureStatusNone);
}

TEST_F(Graphs, WhatCaptureForbids) {
  Stream main, other;
  Event outside;
  OnDevice<int> a(std::vector<int>(1));
  ASSERT_EQ(cudaEventRecord(outside, other), cudaSuccess);
  cudaGraph_t graph = nullptr;
  const auto ends_with = [&](cudaError_t expected) {
    EXPECT_EQ(cudaStreamEndCapture(main, &graph), expected);
    if (expected == cudaSuccess) cudaGraphDestroy(graph);
  };
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);

  ASSERT_EQ(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(main), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(status_of(main), cudaStreamCaptureStatusInvalidated);
  ends_with(cudaErrorStreamCaptureInvalidated);

  ASSERT_EQ(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal), cudaSuccess);
  void* data = nullptr;
  std::thread([&] { EXPECT_EQ(cudaMalloc(&data, 8), cudaErrorStreamCaptureUnsupported); }).join();
  ends_with(cudaErrorStreamCaptureInvalidated);

  ASSERT_EQ(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  ASSERT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&data, 8), cudaSuccess) << "this thread says that it knows what it does";
  ASSERT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  ends_with(cudaSuccess);
  ASSERT_EQ(cudaFree(data), cudaSuccess);

  ASSERT_EQ(cudaStreamBeginCapture(main, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(main, outside), cudaErrorStreamCaptureIsolation);
  ends_with(cudaErrorStreamCaptureInvalidated);

  ASSERT_EQ(cudaStreamBeginCapture(main, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  ends_with(cudaErrorStreamCaptureInvalidated);

  Stream blocking(cudaStreamDefault);
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(launch(add_to, {}, a.data(), 1), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);

  ASSERT_EQ(cudaStreamBeginCapture(main, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(outside, main), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(outside), cudaErrorCapturedEvent);
  ends_with(cudaSuccess);
}

TEST_F(Graphs, HostFunctionsAndExternalEvents) {
  int calls = 0;
  Stream stream;
  Event event;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  ASSERT_EQ(cudaLaunchHostFunc(stream, count, &calls), cudaSuccess);
  ASSERT_EQ(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(calls, 2);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

}  // namespace
