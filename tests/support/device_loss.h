// A kernel that goes astray takes the process's use of the device with it: what is asked afterwards fails whatever it
// is. Tests that go through hundreds of operators end there, with a status of its own, so that whoever started them
// (benchmarks/gpu_suite.py) can go on behind that place in a new process.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <gtest/gtest.h>

#include <gradus/cuda/cuda.h>

namespace gradus_test {

constexpr int kDeviceLost = 86;

/// Waits for the device; ends the process if it is lost.
inline void stop_if_device_is_lost() {
  std::string why;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the first may say what a kernel found wrong with its data
    try {
      gradus::cuda::synchronize();
      return;
    } catch (const std::exception& e) {
      why = e.what();
    }
  }
  std::printf("the device is lost: %s\n", why.c_str());
  std::fflush(nullptr);
  std::_Exit(kDeviceLost);
}

/// Asks after each test.
class DeviceLossListener : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo&) override {
    if (gradus::cuda::is_available()) stop_if_device_is_lost();
  }
};
inline bool watch_for_device_loss() {
  ::testing::UnitTest::GetInstance()->listeners().Append(new DeviceLossListener);
  return true;
}

}  // namespace gradus_test
