#include "streams.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace gradus::inline v0::cuda::runtime {

namespace {

constexpr uint32_t kPoolSize = 32;
constexpr int kPriorities = 8;  // a device has fewer, if anything
constexpr uint32_t kFirstExternal = 1 + kPoolSize * kPriorities;

struct DeviceStreams {
  std::mutex mutex;
  cudaStream_t pool[kPriorities][kPoolSize] = {};
  uint32_t next[kPriorities] = {};
  std::vector<cudaStream_t> external;
  std::mutex event_mutex;
  std::vector<cudaEvent_t> events;
};
DeviceStreams& streams_of(int device) {
  static DeviceStreams* const all = new DeviceStreams[kMaxDevices];  // outlives every tensor
  return all[device];
}

}  // namespace

std::pair<int, int> priority_range() {
  static const std::pair<int, int> range = [] {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    return std::pair(least, std::max(greatest, 1 - kPriorities));
  }();
  return range;
}

cudaStream_t handle_of(core::StreamId stream) {
  if (stream.id == 0) return nullptr;
  check_device("stream", stream.device);
  DeviceStreams& s = streams_of(stream.device);
  const std::lock_guard lock(s.mutex);
  if (stream.id >= kFirstExternal) {
    const size_t i = stream.id - kFirstExternal;
    GRADUS_CHECK_AS(ValueError, i < s.external.size(), "stream: ", static_cast<long>(stream.id),
                    " is no stream of cuda:", int{stream.device});
    return s.external[i];
  }
  const cudaStream_t handle = s.pool[(stream.id - 1) / kPoolSize][(stream.id - 1) % kPoolSize];
  GRADUS_CHECK_AS(ValueError, handle != nullptr, "stream: ", static_cast<long>(stream.id),
                  " is no stream of cuda:", int{stream.device});
  return handle;
}

core::StreamId next_of_pool(int device, int priority) {
  const auto [least, greatest] = priority_range();
  const int level = least - std::clamp(priority, greatest, least);
  DeviceStreams& s = streams_of(device);
  const std::lock_guard lock(s.mutex);
  const uint32_t i = s.next[level]++ % kPoolSize;
  if (s.pool[level][i] == nullptr) {
    const RuntimeDevice scope(device);
    const RelaxedCapture relaxed;
    check(cudaStreamCreateWithPriority(&s.pool[level][i], cudaStreamNonBlocking, least - level),
          "cudaStreamCreateWithPriority");
  }
  return {static_cast<DeviceIndex>(device), 1 + static_cast<uint32_t>(level) * kPoolSize + i};
}

core::StreamId id_of_external(int device, cudaStream_t handle) {
  if (handle == nullptr) return {static_cast<DeviceIndex>(device), 0};
  DeviceStreams& s = streams_of(device);
  const std::lock_guard lock(s.mutex);
  for (uint32_t level = 0; level < kPriorities; ++level) {
    for (uint32_t i = 0; i < kPoolSize; ++i) {
      if (s.pool[level][i] == handle) return {static_cast<DeviceIndex>(device), 1 + level * kPoolSize + i};
    }
  }
  auto it = std::find(s.external.begin(), s.external.end(), handle);
  if (it == s.external.end()) it = s.external.insert(it, handle);
  return {static_cast<DeviceIndex>(device), kFirstExternal + static_cast<uint32_t>(it - s.external.begin())};
}

bool is_capturing(cudaStream_t stream) {
  if (stream == nullptr) return false;  // the default stream cannot be captured
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

core::StreamId current_stream(int device) {
  return {static_cast<DeviceIndex>(device), tls.streams[device]};
}

void set_current_stream(core::StreamId stream) {
  const cudaStream_t handle = handle_of(stream);
  tls.contexts[stream.device].stream = handle;
  tls.streams[stream.device] = stream.id;
}

cudaEvent_t take_event(int device) {
  DeviceStreams& s = streams_of(device);
  {
    const std::lock_guard lock(s.event_mutex);
    if (!s.events.empty()) {
      const cudaEvent_t e = s.events.back();
      s.events.pop_back();
      return e;
    }
  }
  const RuntimeDevice scope(device);
  cudaEvent_t e = nullptr;
  check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return e;
}

void give_event(int device, cudaEvent_t event) noexcept {
  DeviceStreams& s = streams_of(device);
  const std::lock_guard lock(s.event_mutex);
  s.events.push_back(event);
}

void order(int first_device, cudaStream_t first, int waiting_device, cudaStream_t waiting) {
  if (first_device == waiting_device && first == waiting) return;
  const cudaEvent_t event = take_event(first_device);
  cudaError_t error;
  const char* what = "cudaEventRecord";
  {
    const RuntimeDevice scope(first_device);
    error = cudaEventRecord(event, first);
  }
  if (error == cudaSuccess) {
    const RuntimeDevice scope(waiting_device);
    error = cudaStreamWaitEvent(waiting, event, 0);
    what = "cudaStreamWaitEvent";
  }
  give_event(first_device, event);  // the wait has taken note of the record; another one does not move it
  check(error, what);
}

}  // namespace gradus::inline v0::cuda::runtime
