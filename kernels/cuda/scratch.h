// Working memory of a kernel on the device: from the caching allocator, on the current stream. Freed when the object
// goes; what this stream still runs is not disturbed, since its next user comes after it in the stream's order.
#pragma once

#include <cstddef>
#include <utility>

#include <gradus/core/macros.h>

namespace gradus::inline v0::kernels::cuda {

void* allocate_scratch(size_t nbytes);
void free_scratch(void* data) noexcept;

class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(size_t nbytes) : data_(nbytes ? allocate_scratch(nbytes) : nullptr) {}
  Scratch(Scratch&& o) noexcept : data_(std::exchange(o.data_, nullptr)) {}
  Scratch& operator=(Scratch&& o) noexcept {
    std::swap(data_, o.data_);
    return *this;
  }
  ~Scratch() {
    if (data_) free_scratch(data_);
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

}  // namespace gradus::inline v0::kernels::cuda
