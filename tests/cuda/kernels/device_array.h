// For kernel tests: arrays of tests/kernels/reference.h with a copy on the current CUDA device, real or emulated.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "../../kernels/reference.h"
#include "kernels/cuda/device.h"

namespace gradus::inline v0::kernels {

inline Device on_cuda() {
  return Device(DeviceType::CUDA, 0);
}

/// Memory on the device that begins with a copy of `host`, `shift` elements behind an aligned address.
template <class T>
class DeviceCopy {
 public:
  explicit DeviceCopy(const std::vector<T>& host, size_t shift = 0) : count_(host.size()), shift_(shift) {
    EXPECT_EQ(cudaMalloc(&memory_, (count_ + shift) * sizeof(T) + 1), cudaSuccess);
    const auto plain = std::make_unique<T[]>(count_ + 1);  // a vector of bool has no array
    std::copy(host.begin(), host.end(), plain.get());
    EXPECT_EQ(cudaMemcpy(data(), plain.get(), count_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~DeviceCopy() { cudaFree(memory_); }
  DeviceCopy(const DeviceCopy&) = delete;
  T* data() const { return static_cast<T*>(memory_) + shift_; }
  void read(std::vector<T>& host) const {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const auto plain = std::make_unique<T[]>(count_ + 1);
    EXPECT_EQ(cudaMemcpy(plain.get(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    std::copy(plain.get(), plain.get() + count_, host.begin());
  }

 private:
  size_t count_, shift_;
  void* memory_ = nullptr;
};

/// A copy of an array on the device, as a kernel takes it.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(Array<T>& host, size_t shift = 0) : host_(host), copy_(host.data, shift) {}
  View view() const {
    return {copy_.data(),
            host_.sizes.data(),
            host_.strides.data(),
            static_cast<int>(host_.sizes.size()),
            CppTypeToScalarType<T>::value,
            on_cuda()};
  }
  /// Into the array that it was made of.
  Array<T>& read() {
    copy_.read(host_.data);
    return host_;
  }

 private:
  Array<T>& host_;
  DeviceCopy<T> copy_;
};

inline ConstView no_cuda_view() {
  return ConstView{nullptr, nullptr, nullptr, 0, kFloat, on_cuda()};
}
inline View no_cuda_result() {
  return View{nullptr, nullptr, nullptr, 0, kFloat, on_cuda()};
}

}  // namespace gradus::inline v0::kernels
