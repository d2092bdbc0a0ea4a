// Working memory of a kernel: from the library's allocator, so that large blocks are reused without page faults.
#pragma once

#include <cstddef>
#include <utility>

#include <src/core/heap.h>

namespace gradus::inline v0::kernels {

class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(size_t nbytes) : data_(core::cpu_allocate(nbytes)), nbytes_(nbytes) {}
  Scratch(Scratch&& o) noexcept : data_(std::exchange(o.data_, nullptr)), nbytes_(std::exchange(o.nbytes_, 0)) {}
  Scratch& operator=(Scratch&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(nbytes_, o.nbytes_);
    return *this;
  }
  ~Scratch() { core::cpu_free(data_, nbytes_); }
  /// Replaces the block by one of at least `nbytes`; the content is lost.
  void reserve(size_t nbytes) {
    if (nbytes <= nbytes_) return;
    core::cpu_free(data_, nbytes_);
    data_ = nullptr, nbytes_ = 0;
    data_ = core::cpu_allocate(nbytes);
    nbytes_ = nbytes;
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t nbytes() const { return nbytes_; }

 private:
  void* data_ = nullptr;
  size_t nbytes_ = 0;
};

/// `count` objects of type T, 64-byte aligned, uninitialised.
template <class T>
class ScratchArray : public Scratch {
 public:
  ScratchArray() = default;
  explicit ScratchArray(size_t count) : Scratch(count * sizeof(T)) {}
  T* data() const { return as<T>(); }
  T& operator[](size_t i) const { return data()[i]; }
};

}  // namespace gradus::inline v0::kernels
