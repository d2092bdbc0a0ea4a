// For kernel tests: tensors of any strides with a copy on the current CUDA device, real or emulated.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <kernels/view.h>

#include "kernels/cuda/data_record.h"
#include "kernels/cuda/device.h"

namespace gradus::inline v0::kernels {

inline Device the_cuda_device() {
  return Device(DeviceType::CUDA, 0);
}

inline std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) strides[d] = step;
  return strides;
}
/// Strides of a tensor whose dimensions lie in memory in `order`, outermost first, every `gap`-th element in use.
inline std::vector<int64_t> permuted_strides(const std::vector<int64_t>& sizes, const std::vector<size_t>& order,
                                             int64_t gap = 1) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = gap;
  for (size_t i = order.size(); i-- > 0; step *= sizes[order[i]]) strides[order[i]] = step;
  return strides;
}

/// Elements in host memory: t[i] is number i in row-major order.
template <class T>
class DeviceTensor {
 public:
  explicit DeviceTensor(std::vector<int64_t> s, std::vector<int64_t> t = {}, int64_t shift = 0)
      : sizes(std::move(s)), strides(t.empty() ? dense_strides(sizes) : std::move(t)), shift_(shift) {
    extent_ = shift_;
    int64_t last = 0;
    for (size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    if (numel() > 0) extent_ += last + 1;
    host_ = std::make_unique<T[]>(static_cast<size_t>(extent_) + 1);
    std::memset(static_cast<void*>(host_.get()), 0x2a, nbytes());
    EXPECT_EQ(cudaMalloc(&device_, nbytes() + 16), cudaSuccess);
  }
  ~DeviceTensor() { cudaFree(device_); }
  DeviceTensor(const DeviceTensor&) = delete;

  int64_t numel() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }
  T& operator[](int64_t flat) const { return host_[static_cast<size_t>(place(flat))]; }
  double real(int64_t flat) const { return static_cast<double>((*this)[flat]); }
  /// The index along dimension `dim` of element number `flat`.
  int64_t index(int64_t flat, size_t dim) const {
    for (size_t d = sizes.size(); d-- > dim + 1;) flat /= sizes[d];
    return flat % sizes[dim];
  }
  template <class F>
  DeviceTensor& fill(const F& f) {
    for (int64_t i = 0; i < numel(); ++i) (*this)[i] = static_cast<T>(f(i));
    return *this;
  }

  /// The elements in row-major order.
  std::unique_ptr<T[]> copy() const {
    auto r = std::make_unique<T[]>(static_cast<size_t>(numel()) + 1);
    for (int64_t i = 0; i < numel(); ++i) r[static_cast<size_t>(i)] = (*this)[i];
    return r;
  }

  /// Copies the elements to the device.
  View give() {
    EXPECT_EQ(cudaMemcpy(device_, host_.get(), nbytes(), cudaMemcpyHostToDevice), cudaSuccess);
    return view();
  }
  View view() const {
    return {static_cast<T*>(device_) + shift_, sizes.data(),     strides.data(), static_cast<int>(sizes.size()),
            CppTypeToScalarType<T>::value,     the_cuda_device()};
  }
  T* data() const { return static_cast<T*>(device_) + shift_; }
  /// Copies them back. What lies between them must be as it was.
  void take() {
    const auto before = std::make_unique<T[]>(static_cast<size_t>(extent_) + 1);
    std::memcpy(static_cast<void*>(before.get()), host_.get(), nbytes());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(host_.get(), device_, nbytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    std::vector<bool> used(static_cast<size_t>(extent_) + 1);
    for (int64_t i = 0; i < numel(); ++i) used[static_cast<size_t>(place(i))] = true;
    for (size_t i = 0; i < static_cast<size_t>(extent_); ++i) {
      if (used[i]) continue;
      ASSERT_EQ(std::memcmp(&before[i], &host_[i], sizeof(T)), 0) << "memory between elements was written, at " << i;
    }
  }

  std::vector<int64_t> sizes, strides;

 private:
  int64_t place(int64_t flat) const {
    int64_t at = shift_;
    for (size_t d = sizes.size(); d-- > 0; flat /= sizes[d]) at += flat % sizes[d] * strides[d];
    return at;
  }
  size_t nbytes() const { return static_cast<size_t>(extent_) * sizeof(T); }

  int64_t shift_, extent_;
  std::unique_ptr<T[]> host_;
  void* device_ = nullptr;
};

/// What kernels reported, and forgets it.
struct Reported {
  bool any;
  unsigned what;
  int64_t position, value, limit;
  std::string operation;
};
inline Reported take_report() {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const cuda::DataError e = *cuda::data_error_record();
  if (e.taken == 0) return {false, 0, 0, 0, 0, ""};
  EXPECT_ANY_THROW(cuda::throw_data_error(0));
  return {true, e.what, e.position, e.value, e.limit, e.operation};
}

/// A pseudo-random number for a place.
inline uint64_t mixed(int64_t i, uint64_t salt = 0) {
  uint64_t x = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u + salt * 0xbf58476d1ce4e5b9u + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
inline int64_t below(int64_t limit, int64_t i, uint64_t salt = 0) {
  return static_cast<int64_t>(mixed(i, salt) % static_cast<uint64_t>(limit));
}

}  // namespace gradus::inline v0::kernels
