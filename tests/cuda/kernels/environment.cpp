// The runtime of the CUDA library inside of this program: kernel tests call the kernels' tables directly.
#include <gtest/gtest.h>

#include "core/accelerator.h"

extern "C" int gradus_cuda_initialize(const gradus::core::Handshake* caller, char* message, size_t size);

namespace {

struct Runtime : ::testing::Environment {
  void SetUp() override {
    const gradus::core::Handshake caller;
    char message[512] = "";
    ASSERT_EQ(gradus_cuda_initialize(&caller, message, sizeof message), 0) << message;
  }
};
[[maybe_unused]] const auto* const runtime = ::testing::AddGlobalTestEnvironment(new Runtime);

}  // namespace
