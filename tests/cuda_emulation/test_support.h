// What the tests of the emulation share: launches, memory, orders, and which sanitizer watches.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gradus_emulation/testing.h"

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAsan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kAsan = true;
#else
constexpr bool kAsan = false;
#endif
#else
constexpr bool kAsan = false;
#endif
#ifdef GRADUS_EMULATION_TSAN
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif

struct Shape {
  dim3 grid = 1;
  dim3 block = 1;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};

template <class... P, class... A>
cudaError_t launch(void (*kernel)(P...), const Shape& shape, A... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared;
  config.stream = shape.stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...);
}

/// Device memory of `count` elements.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(size_t count) : count_(count) { EXPECT_EQ(cudaMalloc(&data_, count * sizeof(T)), cudaSuccess); }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> v(count_);
    EXPECT_EQ(cudaMemcpy(v.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return v;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

/// Page-locked memory.
template <class T>
class Pinned {
 public:
  explicit Pinned(size_t count) { EXPECT_EQ(cudaMallocHost(&data_, count * sizeof(T)), cudaSuccess); }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* data() const { return data_; }
  T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, flags), cudaSuccess);
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};
class Event {
 public:
  explicit Event(unsigned flags = cudaEventDisableTiming) {
    EXPECT_EQ(cudaEventCreateWithFlags(&event_, flags), cudaSuccess);
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Each test begins without errors, on device 0, in the orders that the environment asks for.
class EmulationTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaSetDevice(0), cudaSuccess); }
  void TearDown() override { gradus_emulation::clear_errors(); }
};
/// Streams run only when the host waits.
class LazyTest : public EmulationTest {
 protected:
  void SetUp() override {
    EmulationTest::SetUp();
    gradus_emulation::set_stream_order(gradus_emulation::StreamOrder::Lazy);
  }
  void TearDown() override {
    cudaDeviceSynchronize();
    gradus_emulation::set_stream_order(gradus_emulation::StreamOrder::Eager);
    EmulationTest::TearDown();
  }
};

#define EXPECT_REPORT(text)                                                             \
  EXPECT_NE(std::string(gradus_emulation::last_report()).find(text), std::string::npos) \
      << gradus_emulation::last_report()
