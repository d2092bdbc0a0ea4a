#include "copy.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "host_allocator.h"
#include "streams.h"

namespace gradus::inline v0::cuda::runtime {

namespace {

// Up to here a host's memory is copied into pinned memory first, so that the caller need not wait for the stream;
// beyond, that copy costs more than the wait. Likewise back, where the driver's own way takes longer for a few numbers.
constexpr size_t kStagedMax = size_t(1) << 20;
constexpr size_t kStagedBackMax = size_t(64) << 10;

// Pinned memory for one copy. What the stream still does with it is waited for before it is used again.
class Staged {
 public:
  explicit Staged(size_t nbytes) : data_(allocate_pinned(nbytes)) {}
  ~Staged() { free_pinned(data_); }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  void* get() const { return data_; }

 private:
  void* data_;
};

void refuse_in_capture(cudaStream_t stream, const char* what) {
  GRADUS_CHECK(!is_capturing(stream), "copy: ", what,
               " while a CUDA graph is captured; a replay needs pinned memory that lives as long as the graph, and "
               "non_blocking");
}

void to_device(const Context& c, void* to, const void* from, size_t nbytes, bool non_blocking) {
  if (nbytes <= kStagedMax && !is_own_pinned(from)) {
    refuse_in_capture(c.stream, "pageable memory was to be copied to the device");
    const Staged staged(nbytes);
    std::memcpy(staged.get(), from, nbytes);
    check(cudaMemcpyAsync(to, staged.get(), nbytes, cudaMemcpyHostToDevice, c.stream), "copy to the device");
    use_pinned(staged.get(), c.device, c.stream);
    return;
  }
  const bool wait = !non_blocking || !is_pinned(from);
  if (wait) refuse_in_capture(c.stream, "a blocking copy to the device was asked for");
  check(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyHostToDevice, c.stream), "copy to the device");
  if (wait) {
    synchronize_stream(c.device, c.stream);
  } else if (!is_capturing(c.stream)) {
    use_pinned(from, c.device, c.stream);
  }
}

void to_host(const Context& c, void* to, const void* from, size_t nbytes, bool non_blocking) {
  if (non_blocking && is_pinned(to)) {
    check(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyDeviceToHost, c.stream), "copy to the host");
    if (!is_capturing(c.stream)) use_pinned(to, c.device, c.stream);
    return;
  }
  refuse_in_capture(c.stream, "a blocking copy to the host was asked for");
  if (nbytes > kStagedBackMax) {
    check(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyDeviceToHost, c.stream), "copy to the host");
    synchronize_stream(c.device, c.stream);
    return;
  }
  const Staged staged(nbytes);
  check(cudaMemcpyAsync(staged.get(), from, nbytes, cudaMemcpyDeviceToHost, c.stream), "copy to the host");
  synchronize_stream(c.device, c.stream);
  std::memcpy(to, staged.get(), nbytes);
}

// Copies between devices go through the host's memory where they cannot go directly; the driver sees to that.
void enable_peer(int device, int peer) {
  static std::atomic<uint64_t> done[kMaxDevices];  // a bit for each peer
  if (done[device].load(std::memory_order_relaxed) >> peer & 1) return;
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  if (done[device].load(std::memory_order_relaxed) >> peer & 1) return;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, device, peer), "cudaDeviceCanAccessPeer");
  if (can) {
    switch_runtime(peer);  // its context must be there
    switch_runtime(device);
    const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
    } else {
      check(error, "cudaDeviceEnablePeerAccess");
    }
  }
  done[device].fetch_or(uint64_t(1) << peer, std::memory_order_relaxed);
}

void between_devices(void* to, int target, const void* from, int source, size_t nbytes) {
  const RuntimeDevice scope(source);
  const Context& c = context_of(source);
  const cudaStream_t target_stream = context_of(target).stream;
  enable_peer(source, target);
  enable_peer(target, source);
  switch_runtime(source);
  order(target, target_stream, source, c.stream);  // what the target still does with this memory comes first
  check(cudaMemcpyPeerAsync(to, target, from, source, nbytes, c.stream), "copy between devices");
  order(source, c.stream, target, target_stream);
}

}  // namespace

void copy(void* to, Device to_device_, const void* from, Device from_device, size_t nbytes, bool non_blocking) {
  if (nbytes == 0) return;
  if (to_device_.is_cuda() && from_device.is_cuda()) {
    if (to_device_.index() != from_device.index()) {
      between_devices(to, to_device_.index(), from, from_device.index(), nbytes);
      return;
    }
    const RuntimeDevice scope(from_device.index());
    const Context& c = context_of(from_device.index());
    check(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyDeviceToDevice, c.stream), "copy on the device");
    return;
  }
  const int device = to_device_.is_cuda() ? to_device_.index() : from_device.index();
  const RuntimeDevice scope(device);
  const Context& c = context_of(device);
  if (to_device_.is_cuda()) {
    to_device(c, to, from, nbytes, non_blocking);
  } else {
    to_host(c, to, from, nbytes, non_blocking);
  }
}

void synchronize_stream(int device, cudaStream_t stream) {
  {
    const RuntimeDevice scope(device);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  throw_data_errors(device);
}

void synchronize_device(int device) {
  {
    const RuntimeDevice scope(device);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  throw_data_errors(device);
}

}  // namespace gradus::inline v0::cuda::runtime
