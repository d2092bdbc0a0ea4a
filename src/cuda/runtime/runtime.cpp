// libgradus_cuda.so's side of src/cuda/interface.h, and its entry.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <gradus/core/allocator.h>

#include "allocator.h"
#include "copy.h"
#include "cuda/interface.h"
#include "cuda/library_versions.h"
#include "generators.h"
#include "graph.h"
#include "host_allocator.h"
#include "streams.h"

namespace gradus::inline v0::cuda::runtime {

namespace {

cudaEvent_t event_of(void* event) {
  return static_cast<cudaEvent_t>(event);
}

class CudaRuntime final : public Runtime {
 public:
  // --- core::Accelerator ---
  DeviceIndex device_count() override { return static_cast<DeviceIndex>(runtime::device_count); }
  void check_device(const char* op, DeviceIndex device) override { runtime::check_device(op, device); }
  void set_device(DeviceIndex device) override {
    runtime::check_device("set_device", device);
    kernels::launch_device = device;
    // A device without a context gets one when it is used: switching back to one that is not should not cost its
    // memory.
    if (tls.runtime_device != device && has_context(device)) switch_runtime(device);
  }
  void copy(void* to, Device to_device, const void* from, Device from_device, size_t nbytes,
            bool non_blocking) override {
    runtime::copy(to, to_device, from, from_device, nbytes, non_blocking);
  }
  void synchronize(DeviceIndex device) override { synchronize_device(device); }
  core::StreamId current_stream(DeviceIndex device) override { return runtime::current_stream(device); }
  void set_stream(core::StreamId stream) override { set_current_stream(stream); }
  void order(core::StreamId first, core::StreamId waiting) override {
    runtime::order(first.device, handle_of(first), waiting.device, handle_of(waiting));
  }
  void record_stream(void* data, core::StreamId stream) override {
    const StreamOf user{stream.device, handle_of(stream)};
    for (int d = 0; d < runtime::device_count; ++d) {
      if (allocator_of(d).record_stream(data, user)) return;
    }
  }
  void* allocate_pinned(size_t nbytes) override { return runtime::allocate_pinned(nbytes); }
  void free_pinned(void* data, size_t /*nbytes*/) noexcept override { runtime::free_pinned(data); }
  bool is_pinned(const void* data) override { return runtime::is_pinned(data); }
  const Generator& default_generator(DeviceIndex device) override {
    return generator_of(device < 0 ? kernels::launch_device : device);
  }

  // --- cuda::Runtime ---
  DeviceIndex current_device() override { return kernels::launch_device; }
  void set_device_now(DeviceIndex device) override {
    set_device(device);
    switch_runtime(device);
  }
  const DeviceProperties& properties(DeviceIndex device) override { return runtime::properties(device); }
  std::pair<size_t, size_t> mem_get_info(DeviceIndex device) override {
    const RuntimeDevice scope(device);
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return {free, total};
  }
  bool can_access_peer(DeviceIndex device, DeviceIndex peer) override {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, device, peer), "cudaDeviceCanAccessPeer");
    return can != 0;
  }
  int runtime_version() override {
    int version = 0;
    check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
    return version;
  }
  int driver_version() override {
    int version = 0;
    check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
    return version;
  }
  int64_t cudnn_version() override { return library_version_of_cudnn ? library_version_of_cudnn() : 0; }

  core::StreamId pool_stream(DeviceIndex device, int priority) override { return next_of_pool(device, priority); }
  core::StreamId external_stream(DeviceIndex device, void* handle) override {
    return id_of_external(device, static_cast<cudaStream_t>(handle));
  }
  void* stream_handle(core::StreamId stream) override { return handle_of(stream); }
  int stream_priority(core::StreamId stream) override {
    const RuntimeDevice scope(stream.device);
    int priority = 0;
    check(cudaStreamGetPriority(handle_of(stream), &priority), "cudaStreamGetPriority");
    return priority;
  }
  bool stream_query(core::StreamId stream) override {
    const RuntimeDevice scope(stream.device);
    const cudaError_t error = cudaStreamQuery(handle_of(stream));
    if (error == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check(error, "cudaStreamQuery");
    return true;
  }
  void stream_synchronize(core::StreamId stream) override { synchronize_stream(stream.device, handle_of(stream)); }
  bool stream_is_capturing(core::StreamId stream) override { return is_capturing(handle_of(stream)); }
  std::pair<int, int> stream_priority_range() override { return priority_range(); }

  void* event_create(DeviceIndex device, bool timing, bool blocking) override {
    const RuntimeDevice scope(device);
    const unsigned flags =
        (timing ? 0u : unsigned{cudaEventDisableTiming}) | (blocking ? unsigned{cudaEventBlockingSync} : 0u);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
    return event;
  }
  void event_destroy(DeviceIndex device, void* event) noexcept override {
    // Destroyed by a static object's destructor the driver may be gone: nothing is to be said about it.
    if (cudaEventDestroy(event_of(event)) != cudaSuccess) cudaGetLastError();
  }
  void event_record(void* event, core::StreamId stream) override {
    const RuntimeDevice scope(stream.device);
    check(cudaEventRecord(event_of(event), handle_of(stream)), "cudaEventRecord");
  }
  void event_wait(void* event, core::StreamId stream) override {
    const RuntimeDevice scope(stream.device);
    check(cudaStreamWaitEvent(handle_of(stream), event_of(event), 0), "cudaStreamWaitEvent");
  }
  bool event_query(void* event) override {
    const cudaError_t error = cudaEventQuery(event_of(event));
    if (error == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check(error, "cudaEventQuery");
    return true;
  }
  void event_synchronize(DeviceIndex device, void* event) override {
    check(cudaEventSynchronize(event_of(event)), "cudaEventSynchronize");
    throw_data_errors(device);
  }
  float event_elapsed(DeviceIndex device, void* start, void* end) override {
    const RuntimeDevice scope(device);
    float ms = 0;
    check(cudaEventElapsedTime(&ms, event_of(start), event_of(end)), "cudaEventElapsedTime");
    return ms;
  }

  DeviceStats memory_stats(DeviceIndex device) override { return allocator_of(device).stats(); }
  void reset_peak_memory_stats(DeviceIndex device) override { allocator_of(device).reset_peaks(); }
  void reset_accumulated_memory_stats(DeviceIndex device) override { allocator_of(device).reset_accumulated(); }
  std::vector<SegmentInfo> memory_snapshot() override {
    std::vector<SegmentInfo> all;
    for (int d = 0; d < runtime::device_count; ++d) allocator_of(d).snapshot(&all);
    return all;
  }
  void empty_cache() override {
    for (int d = 0; d < runtime::device_count; ++d) allocator_of(d).empty_cache();
    empty_pinned_cache();
  }
  void set_memory_fraction(double fraction, DeviceIndex device) override {
    allocator_of(device).set_fraction(fraction);
  }

  bool is_capturing_here() override {
    return captures_under_way.load(std::memory_order_relaxed) != 0 && is_capturing(kernels::cuda::context().stream);
  }
  std::unique_ptr<GraphImpl> make_graph() override { return runtime::make_graph(); }
  std::pair<uint64_t, uint64_t> new_graph_pool() override { return runtime::new_graph_pool(); }
};

class CudaAllocator final : public Allocator {
 public:
  void* allocate(size_t nbytes) override {
    if (nbytes == 0) return nullptr;
    const Context& c = kernels::cuda::context();
    return allocator_of(c.device).allocate(nbytes, c.stream);
  }
  void deallocate(void* data, size_t /*nbytes*/) noexcept override {
    if (data) deallocate_anywhere(data);
  }
};

// Why the devices cannot be used; empty where they can.
std::string find_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) {
    device_count = std::min(count, kMaxDevices);
    return std::string();
  }
  cudaGetLastError();
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) cudaGetLastError();
  if (driver == 0) return "there is no NVIDIA driver on this machine; Gradus goes on with the cpu";
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return str("the driver sees no CUDA device",
               visible ? str(" (CUDA_VISIBLE_DEVICES is \"", visible, "\")") : std::string(),
               "; Gradus goes on with the cpu");
  }
  return str(cudaGetErrorName(error), ": ", cudaGetErrorString(error), " (the driver knows CUDA ", driver / 1000, ".",
             driver % 1000 / 10, ", Gradus was built with ", CUDART_VERSION / 1000, ".", CUDART_VERSION % 1000 / 10,
             "); Gradus goes on with the cpu");
}

std::string initialize(const core::Handshake& caller) {
  const core::Handshake ours;
  if (caller.version != core::kAcceleratorVersion || caller.size != sizeof(core::Handshake)) {
    return str("libgradus_cuda.so (interface ", core::kAcceleratorVersion, ") is of another build than libgradus.so (",
               caller.version, "); install both from one build");
  }
  if (caller.library != ours.library) {
    return "libgradus_cuda.so is bound to another libgradus than the one that loads it; a program that uses CUDA must "
           "link libgradus.so, not libgradus.a";
  }
  const std::string why = find_devices();
  if (!why.empty()) return why;
  make_allocators();
  // Neither is ever destroyed: a program's own last destructors may still free tensors.
  set_allocator(DeviceType::CUDA, new CudaAllocator);
  core::set_accelerator(DeviceType::CUDA, new CudaRuntime);
  return std::string();
}

}  // namespace

}  // namespace gradus::inline v0::cuda::runtime

extern "C" GRADUS_API int gradus_cuda_initialize(const gradus::core::Handshake* caller, char* message, size_t size) {
  std::string why;
  try {
    why = gradus::cuda::runtime::initialize(*caller);
  } catch (const std::exception& e) {
    why = e.what();
  }
  std::snprintf(message, size, "%s", why.c_str());
  return why.empty() ? 0 : 1;
}
