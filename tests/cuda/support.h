// What the tests of gradus::cuda share. They run on the emulation, and on a GPU where there is one.
#pragma once

#include <string>

#include <gradus/core/allocator.h>
#include <gradus/gradus.h>

#include <gtest/gtest.h>

namespace gradus_test {

/// Each test begins with an empty cache and the first device's default stream.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gradus::cuda::is_available()) GTEST_SKIP() << gradus::cuda::why_unavailable();
    gradus::cuda::set_device(0);
    gradus::cuda::synchronize();
    gradus::cuda::empty_cache();
    gradus::cuda::reset_peak_memory_stats();
    gradus::cuda::reset_accumulated_memory_stats();
  }
};
#define GRADUS_NEEDS_TWO_DEVICES() \
  if (gradus::cuda::device_count() < 2) GTEST_SKIP() << "needs two devices"

/// Device memory that goes back with the object.
class Memory {
 public:
  explicit Memory(size_t nbytes) : data_(gradus::cuda::caching_allocator_alloc(nbytes)) {}
  Memory(Memory&& o) noexcept : data_(std::exchange(o.data_, nullptr)) {}
  Memory& operator=(Memory&& o) noexcept {
    std::swap(data_, o.data_);
    return *this;
  }
  ~Memory() { release(); }
  void release() { gradus::cuda::caching_allocator_delete(std::exchange(data_, nullptr)); }
  void* get() const { return data_; }
  char* bytes() const { return static_cast<char*>(data_); }

 private:
  void* data_;
};

/// The text of what f throws, which must be an E.
template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "threw another kind: " << e.what();
    return e.what();
  }
  ADD_FAILURE() << "threw nothing";
  return std::string();
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace gradus_test
