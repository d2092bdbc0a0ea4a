// CUDA events: marks in a stream's work.
#pragma once

#include <optional>
#include <utility>

#include <gradus/cuda/stream.h>

// What CUDA's headers call cudaEvent_t is a pointer to this.
struct CUevent_st;

namespace gradus {
inline namespace v0 {
namespace cuda {

/// With CUDA's values, so that flags of either kind can be given.
enum EventFlags : unsigned { kEventDefault = 0, kEventBlockingSync = 1, kEventDisableTiming = 2 };

/// A mark that a stream passes when all that it held at record() is done. Made on the device of the first record().
///     CUDAEvent begin(kEventDefault), end(kEventDefault);
///     begin.record(); work(); end.record(); end.synchronize();
///     float ms = begin.elapsed_time(end);
class GRADUS_API CUDAEvent {
 public:
  CUDAEvent() = default;
  explicit CUDAEvent(unsigned flags) : flags_(flags) {}
  ~CUDAEvent();
  CUDAEvent(CUDAEvent&& o) noexcept { swap(o); }
  CUDAEvent& operator=(CUDAEvent&& o) noexcept {
    swap(o);
    return *this;
  }
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;

  bool isCreated() const { return event_ != nullptr; }
  DeviceIndex device_index() const { return device_; }
  std::optional<Device> device() const {
    return isCreated() ? std::optional<Device>(Device(DeviceType::CUDA, device_)) : std::nullopt;
  }
  CUevent_st* event() const { return static_cast<CUevent_st*>(event_); }
  operator CUevent_st*() const { return event(); }  // NOLINT
  /// Whether the stream has passed the mark; true before the first record().
  bool query() const;
  /// Puts the mark behind the current stream's work.
  void record();
  void record(const CUDAStream& stream);
  /// The same, if it has not been recorded yet.
  void recordOnce(const CUDAStream& stream);
  /// What is enqueued on `stream` from now on begins after the mark. Streams of other devices may wait, too.
  void block(const CUDAStream& stream) const;
  /// Milliseconds from this mark to `end`; both must have been passed and be made with timing.
  float elapsed_time(const CUDAEvent& end) const;
  /// Waits until the stream has passed the mark. Throws what kernels of the device found wrong with their data.
  void synchronize() const;

 private:
  void swap(CUDAEvent& o) noexcept {
    std::swap(flags_, o.flags_);
    std::swap(recorded_, o.recorded_);
    std::swap(device_, o.device_);
    std::swap(event_, o.event_);
  }
  unsigned flags_ = kEventDisableTiming;
  bool recorded_ = false;
  DeviceIndex device_ = -1;
  void* event_ = nullptr;
};

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
