// Memory of the current CUDA device, real or emulated, for kernel tests.
#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <kernels/cuda/device.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

inline Device test_device() {
  return Device(DeviceType::CUDA, 0);
}

/// A copy on the device of elements in host memory. What was never written there is NaN, in floating types.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : count_(values.size()) {
    EXPECT_EQ(cudaMalloc(&data_, count_ * sizeof(T) + 16), cudaSuccess);
    if (count_ > 0) {
      EXPECT_EQ(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
    }
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  /// Waits for the device.
  std::vector<T> read() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    if (count_ > 0) {
      EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    }
    return values;
  }

 private:
  size_t count_;
  void* data_ = nullptr;
};

}  // namespace gradus::inline v0::kernels
