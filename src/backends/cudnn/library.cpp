#include <src/backends/cudnn/library.h>

#include <dlfcn.h>

#include <array>
#include <mutex>
#include <vector>

// Note [Loading cuDNN]
// libgradus_cuda.so is linked with cuBLASLt, which every CUDA toolkit has and nearly every program needs, and not with
// cuDNN, a package of its own of a gigabyte: programs without convolutions run where it is missing, and load faster
// where it is not. It is opened by name at the first convolution; its functions are called through a table. Where they
// are in the process already, because a program or the emulation's build links them, the weak references below find
// them and nothing is opened.
#pragma weak cudnnGetVersion
#pragma weak cudnnGetErrorString
#pragma weak cudnnGetLastErrorString
#pragma weak cudnnCreate
#pragma weak cudnnSetStream
#pragma weak cudnnBackendCreateDescriptor
#pragma weak cudnnBackendDestroyDescriptor
#pragma weak cudnnBackendSetAttribute
#pragma weak cudnnBackendGetAttribute
#pragma weak cudnnBackendFinalize
#pragma weak cudnnBackendExecute

namespace gradus::inline v0::backends::cudnn {

namespace {

constexpr const char* kFile = "libcudnn.so.9";
constexpr size_t kOldest = 90000;  // the first version with this interface's error texts

[[noreturn]] void unusable(const std::string& why) {
  throw NotImplementedError(
      str("convolution: cuDNN 9 cannot be used: ", why,
          "; install it (Debian, Ubuntu: libcudnn9-cuda-13 or -12 from NVIDIA's repository; pip: nvidia-cudnn-cu13 or "
          "-cu12) and add its folder to LD_LIBRARY_PATH, or compute without it, slowly, after "
          "gradus::cuda::set_cudnn_enabled(false)"));
}

template <class F>
void find(void* file, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(file, name));
  if (!function) unusable(str(kFile, " has no function ", name));
}

Library load(const char* file) {
  Library l{&cudnnGetVersion,
            &cudnnGetErrorString,
            &cudnnGetLastErrorString,
            &cudnnCreate,
            &cudnnSetStream,
            &cudnnBackendCreateDescriptor,
            &cudnnBackendDestroyDescriptor,
            &cudnnBackendSetAttribute,
            &cudnnBackendGetAttribute,
            &cudnnBackendFinalize,
            &cudnnBackendExecute};
  if (file || !l.get_version) {
    void* const opened = dlopen(file ? file : kFile, RTLD_NOW | RTLD_LOCAL);
    if (!opened) unusable(dlerror());
    find(opened, "cudnnGetVersion", l.get_version);
    find(opened, "cudnnGetErrorString", l.get_error_string);
    find(opened, "cudnnGetLastErrorString", l.get_last_error_string);
    find(opened, "cudnnCreate", l.create);
    find(opened, "cudnnSetStream", l.set_stream);
    find(opened, "cudnnBackendCreateDescriptor", l.create_descriptor);
    find(opened, "cudnnBackendDestroyDescriptor", l.destroy_descriptor);
    find(opened, "cudnnBackendSetAttribute", l.set_attribute);
    find(opened, "cudnnBackendGetAttribute", l.get_attribute);
    find(opened, "cudnnBackendFinalize", l.finalize);
    find(opened, "cudnnBackendExecute", l.execute);
  }
  const size_t version = l.get_version();
  if (version < kOldest || version >= kOldest + 10000) unusable(str("its version is ", version, "; expected 9.x"));
  return l;
}

/// A device's handles that no thread uses now. They are kept: making one takes longer than many convolutions.
struct Pool {
  std::mutex mutex;
  std::vector<cudnnHandle_t> idle;
};
Pool& pool_of(int device) {
  static auto& pools = *new std::array<Pool, 128>;
  return pools.at(static_cast<size_t>(device));
}

struct Current {
  Doing::Describe describe;
  const void* problem;
};
constinit thread_local Current current{nullptr, nullptr};

}  // namespace

const Library& library() {
  static const Library loaded = load(nullptr);  // after an exception the next call tries again
  return loaded;
}
Library open_library(const char* file) {
  return load(file);
}

Doing::Doing(Describe describe, const void* problem) {
  current = {describe, problem};
}
Doing::~Doing() {
  current = {nullptr, nullptr};
}

void fail(cudnnStatus_t status, const char* call) {
  char words[1024] = "";
  library().get_last_error_string(words, sizeof words);
  const std::string text =
      str("convolution: ", call, " failed with ", library().get_error_string(status), words[0] ? " (" : "", words,
          words[0] ? ")" : "", " for ", current.describe ? current.describe(current.problem) : "nothing");
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    throw OutOfMemoryError(text);
  }
  if (is_refusal(status)) throw Refusal(text);
  throw Error(text);
}

Handle::Handle(int device, cudaStream_t stream) : device_(device), handle_(nullptr) {
  Pool& pool = pool_of(device);
  {
    const std::lock_guard lock(pool.mutex);
    if (!pool.idle.empty()) {
      handle_ = pool.idle.back();
      pool.idle.pop_back();
    }
  }
  if (!handle_) check(library().create(&handle_), "cudnnCreate");
  check(library().set_stream(handle_, stream), "cudnnSetStream");  // where it fails, the handle is of no use any more
}
Handle::~Handle() {
  Pool& pool = pool_of(device_);
  const std::lock_guard lock(pool.mutex);
  pool.idle.push_back(handle_);
}

}  // namespace gradus::inline v0::backends::cudnn
