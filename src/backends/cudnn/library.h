// cuDNN itself: loaded on first use, its handles and errors. Only src/backends/cudnn includes this.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <cudnn.h>

#include <gradus/core/error.h>

namespace gradus::inline v0::backends::cudnn {

/// The functions that Gradus calls.
struct Library {
  decltype(&cudnnGetVersion) get_version;
  decltype(&cudnnGetErrorString) get_error_string;
  decltype(&cudnnGetLastErrorString) get_last_error_string;
  decltype(&cudnnCreate) create;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;
};

/// Loads cuDNN at the first call. Throws NotImplementedError, which says how to get it, where it cannot be loaded.
const Library& library();
/// The same from a file, always: what library() does with cuDNN's name.
Library open_library(const char* file);

/// What the thread computes, for errors: written out only where there is one.
class Doing {
 public:
  using Describe = std::string (*)(const void* problem);
  Doing(Describe describe, const void* problem);
  ~Doing();
  Doing(const Doing&) = delete;
};

/// cuDNN cannot compute it in this way; another one may do.
class Refusal : public Error {
 public:
  using Error::Error;
};
inline bool is_refusal(cudnnStatus_t status) {
  return status >= CUDNN_STATUS_NOT_SUPPORTED && status < CUDNN_STATUS_INTERNAL_ERROR;
}

/// Throws an Error that names the call, cuDNN's status and words, and what was computed: a Refusal, or
/// OutOfMemoryError, for those.
[[noreturn]] void fail(cudnnStatus_t status, const char* call);
inline void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) [[unlikely]]
    fail(status, call);
}

/// A handle of the current device for one call, with the stream set. cuDNN's are for one thread at a time.
class Handle {
 public:
  Handle(int device, cudaStream_t stream);
  ~Handle();
  Handle(const Handle&) = delete;
  cudnnHandle_t get() const { return handle_; }

 private:
  int device_;
  cudnnHandle_t handle_;
};

/// A descriptor of the graph interface. Its attributes are set, then it is finalized and read.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check(library().create_descriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
  }
  Descriptor(Descriptor&& o) noexcept : descriptor_(std::exchange(o.descriptor_, nullptr)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(descriptor_, o.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_) library().destroy_descriptor(descriptor_);
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values) {
    check(library().set_attribute(descriptor_, name, type, count, values), "cudnnBackendSetAttribute");
  }
  void set(cudnnBackendAttributeName_t name, int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
  }
  void set(cudnnBackendAttributeName_t name, cudnnHandle_t value) { set(name, CUDNN_TYPE_HANDLE, 1, &value); }
  /// Reads up to `count` values; returns how many there are.
  int64_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, void* values) const {
    int64_t there = 0;
    check(library().get_attribute(descriptor_, name, type, count, &there, values), "cudnnBackendGetAttribute");
    return there;
  }
  void finalize() { check(library().finalize(descriptor_), "cudnnBackendFinalize"); }
  /// The same without an exception.
  cudnnStatus_t try_finalize() { return library().finalize(descriptor_); }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace gradus::inline v0::backends::cudnn
