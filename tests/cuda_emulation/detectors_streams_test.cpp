// Host code that forgets what orders streams: lazy order gives a wrong result, and ThreadSanitizer a report.
#include "test_support.h"
#include "tsan_reports.h"

namespace {

class StreamDetectors : public LazyTest {
 protected:
  void SetUp() override {
    LazyTest::SetUp();
    take_tsan_reports();
  }
  // The mistake must have been found by the sanitizer if there is one.
  void expect_race() { EXPECT_EQ(take_tsan_reports() > 0, kTsan); }
};

__global__ void store(int* out, int value) {
  *out = value;
}
__global__ void copy_one(const int* in, int* out) {
  *out = *in;
}

// What the second stream reads, with an event between the two and without.
int read_from_second_stream(bool with_event) {
  OnDevice<int> memory(std::vector<int>(1)), out(1);
  Stream first, second;
  Event event;
  EXPECT_EQ(launch(store, {.stream = first}, memory.data(), 5), cudaSuccess);
  if (with_event) {
    EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(second, event), cudaSuccess);
  }
  EXPECT_EQ(launch(copy_one, {.stream = second}, memory.data(), out.data()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  Pinned<int> got(1);
  EXPECT_EQ(cudaMemcpyAsync(got.data(), out.data(), 4, cudaMemcpyDeviceToHost, second), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(first), cudaSuccess);
  return got[0];
}

TEST_F(StreamDetectors, MissingEvent) {
  EXPECT_EQ(read_from_second_stream(true), 5);
  EXPECT_EQ(take_tsan_reports(), 0);
  EXPECT_EQ(read_from_second_stream(false), 0);
  expect_race();
}

TEST_F(StreamDetectors, HostReadsTooEarly) {
  OnDevice<int> memory(std::vector<int>{5});
  Pinned<int> got(1);
  got[0] = 0;
  Stream stream;
  ASSERT_EQ(cudaMemcpyAsync(got.data(), memory.data(), 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(got[0], 0);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(got[0], 5);
  expect_race();
}

TEST_F(StreamDetectors, HostWritesTooEarly) {
  OnDevice<int> memory(1);
  Pinned<int> source(1);
  source[0] = 5;
  Stream stream;
  ASSERT_EQ(cudaMemcpyAsync(memory.data(), source.data(), 4, cudaMemcpyHostToDevice, stream), cudaSuccess);
  source[0] = 6;
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 6);
  expect_race();
}

TEST_F(StreamDetectors, WaitForTheWrongStream) {
  OnDevice<int> memory(std::vector<int>(1));
  Pinned<int> got(1);
  got[0] = 0;
  Stream stream, other;
  ASSERT_EQ(launch(store, {.stream = stream}, memory.data(), 5), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(got.data(), memory.data(), 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(got[0], 0);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  expect_race();
}

// Memory that is given to another stream while the first one still uses it.
TEST_F(StreamDetectors, ReuseWithoutWaiting) {
  OnDevice<int> memory(std::vector<int>(1)), out(1);
  Stream first, second;
  ASSERT_EQ(launch(store, {.stream = first}, memory.data(), 5), cudaSuccess);
  ASSERT_EQ(launch(copy_one, {.stream = first}, memory.data(), out.data()), cudaSuccess);
  ASSERT_EQ(launch(store, {.stream = second}, memory.data(), 7), cudaSuccess);
  gradus_emulation::set_stream_order(gradus_emulation::StreamOrder::Random, 11);
  bool wrong = false;
  for (int i = 0; i < 50 && !wrong; ++i) {
    ASSERT_EQ(launch(store, {.stream = first}, memory.data(), 5), cudaSuccess);
    ASSERT_EQ(launch(copy_one, {.stream = first}, memory.data(), out.data()), cudaSuccess);
    ASSERT_EQ(launch(store, {.stream = second}, memory.data(), 7), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    wrong = out.values()[0] == 7;
  }
  EXPECT_TRUE(wrong);
  expect_race();
}

}  // namespace
