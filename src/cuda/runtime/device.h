// Devices, the calling thread's place among them, and its current streams.
#pragma once

#include <atomic>
#include <string>

#include <cuda_runtime_api.h>
#include <gradus/cuda/cuda.h>

#include "core/accelerator.h"
#include "kernels/cuda/launch.h"

namespace gradus::inline v0::cuda::runtime {

using kernels::cuda::check;
using kernels::cuda::Context;
using kernels::cuda::fail;

// Further ones are not seen. What a thread keeps of each is small, for it lies in thread-local memory of a library that
// is loaded late.
constexpr int kMaxDevices = 16;

/// Set once, before any other function here is called.
extern int device_count;

/// What a thread keeps. Trivial, so that it can be used while the thread ends.
struct ThreadState {
  int runtime_device = 0;              // the device that cudaSetDevice was last told on this thread
  Context contexts[kMaxDevices] = {};  // multiprocessors == 0: not used on this thread yet
  uint32_t streams[kMaxDevices] = {};  // ids of the current streams
};
extern constinit thread_local ThreadState tls;

const DeviceProperties& properties(int device);
/// Whether anything of this process has made the device's context yet.
bool has_context(int device);
/// Tells CUDA the device of this thread, if it does not know.
void switch_runtime(int device);
void check_device(const char* op, int device);
/// Fills `c`, the thread's context of `device`, and makes CUDA's device that one.
void prepare(Context& c, int device);

/// The thread's CUDA device for a few calls. It changes neither kernels::launch_device nor, in the end, anything.
class RuntimeDevice {
 public:
  explicit RuntimeDevice(int device) : before_(tls.runtime_device) { switch_runtime(device); }
  ~RuntimeDevice() {
    if (tls.runtime_device != before_) restore();
  }
  RuntimeDevice(const RuntimeDevice&) = delete;
  RuntimeDevice& operator=(const RuntimeDevice&) = delete;

 private:
  void restore() noexcept;
  int before_;
};

/// The thread's context on a device that need not be the current one.
const Context& context_of(int device);

/// Allows calls that a capture of another stream of this thread would forbid.
class RelaxedCapture {
 public:
  RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Whether the context is lost: every later call fails with the same error.
bool is_sticky(cudaError_t error);
/// Throws the data errors of a device, after a synchronisation of the calling thread with one of its streams. Costs a
/// load where there are none.
void throw_data_errors(int device);

}  // namespace gradus::inline v0::cuda::runtime
