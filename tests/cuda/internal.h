// For tests that are linked with the runtime's own objects and the emulation.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <gradus_emulation/testing.h>
#include <gradus/gradus.h>

#include "core/accelerator.h"
#include "cuda/runtime/allocator.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/streams.h"

#include <gtest/gtest.h>

extern "C" int gradus_cuda_initialize(const gradus::core::Handshake* caller, char* message, size_t size);

namespace gradus_test {

/// The runtime is here, not in a library: it is made usable by what the loader would call.
class InternalTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (gradus::core::loaded_accelerator(gradus::kCUDA) != nullptr) return;
    char message[512];
    const gradus::core::Handshake handshake;
    ASSERT_EQ(gradus_cuda_initialize(&handshake, message, sizeof message), 0) << message;
  }
  void TearDown() override {
    gradus::cuda::set_device(0);
    gradus::cuda::synchronize();
  }
  gradus::core::Accelerator& accelerator() { return *gradus::core::loaded_accelerator(gradus::kCUDA); }
  std::vector<int64_t> read(const void* from, size_t count, gradus::Device device = {gradus::kCUDA, 0}) {
    std::vector<int64_t> v(count);
    accelerator().copy(v.data(), gradus::kCPU, from, device, count * sizeof(int64_t), false);
    return v;
  }
};

/// An allocator of device 0 that outlives its test, as the library's own do: nothing takes one apart.
inline gradus::cuda::runtime::DeviceAllocator& new_allocator(const gradus::cuda::runtime::AllocatorConfig& config) {
  static auto& made = *new std::vector<gradus::cuda::runtime::DeviceAllocator*>;
  made.push_back(new gradus::cuda::runtime::DeviceAllocator(0, config));
  return *made.back();
}

template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "threw nothing";
  return std::string();
}
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace gradus_test
