#include <gradus/cuda/event.h>
#include <gradus/cuda/guard.h>
#include <gradus/cuda/stream.h>

#include "interface.h"

namespace gradus::inline v0::cuda {

namespace {

core::StreamId core_id(const Stream& s) {
  return {s.device_index(), static_cast<uint32_t>(s.id())};
}
CUDAStream wrap(core::StreamId s) {
  return CUDAStream(CUDAStream::UNCHECKED, Stream(Stream::UNSAFE, Device(DeviceType::CUDA, s.device), s.id));
}
// A guard's end must not throw: where the context is lost, the next call says so.
template <class F>
void quietly(F&& f) noexcept {
  try {
    f(*runtime_in_use());
  } catch (...) {
    return;
  }
}
DeviceIndex cuda_index(const char* op, Device device) {
  GRADUS_CHECK_AS(TypeError, device.is_cuda(), op, ": ", device, " was given; expected a CUDA device");
  return device.has_index() ? device.index() : current_device();
}

}  // namespace

CUDAStream::CUDAStream(Stream stream) : stream_(stream) {
  GRADUS_CHECK_AS(TypeError, stream.device_type() == DeviceType::CUDA, "CUDAStream: ", stream,
                  " was given; expected one of a CUDA device");
}
bool CUDAStream::query() const {
  return require_runtime("CUDAStream::query").stream_query(core_id(stream_));
}
void CUDAStream::synchronize() const {
  require_runtime("CUDAStream::synchronize").stream_synchronize(core_id(stream_));
}
int CUDAStream::priority() const {
  return require_runtime("CUDAStream::priority").stream_priority(core_id(stream_));
}
bool CUDAStream::is_capturing() const {
  return require_runtime("CUDAStream::is_capturing").stream_is_capturing(core_id(stream_));
}
CUstream_st* CUDAStream::stream() const {
  return static_cast<CUstream_st*>(require_runtime("CUDAStream::stream").stream_handle(core_id(stream_)));
}
std::tuple<int, int> CUDAStream::priority_range() {
  return require_runtime("CUDAStream::priority_range").stream_priority_range();
}

CUDAStream getStreamFromPool(int priority, DeviceIndex device) {
  Runtime& r = require_runtime("getStreamFromPool");
  return wrap(r.pool_stream(checked_device(r, "getStreamFromPool", device), priority));
}
CUDAStream getStreamFromPool(bool isHighPriority, DeviceIndex device) {
  Runtime& r = require_runtime("getStreamFromPool");
  const auto [lowest, highest] = r.stream_priority_range();
  return getStreamFromPool(isHighPriority ? highest : lowest, device);
}
CUDAStream getStreamFromExternal(CUstream_st* stream, DeviceIndex device) {
  Runtime& r = require_runtime("getStreamFromExternal");
  return wrap(r.external_stream(checked_device(r, "getStreamFromExternal", device), stream));
}
CUDAStream getDefaultCUDAStream(DeviceIndex device) {
  Runtime& r = require_runtime("getDefaultCUDAStream");
  return wrap({checked_device(r, "getDefaultCUDAStream", device), 0});
}
CUDAStream getCurrentCUDAStream(DeviceIndex device) {
  Runtime& r = require_runtime("getCurrentCUDAStream");
  return wrap(r.current_stream(checked_device(r, "getCurrentCUDAStream", device)));
}
void setCurrentCUDAStream(CUDAStream stream) {
  Runtime& r = require_runtime("setCurrentCUDAStream");
  r.check_device("setCurrentCUDAStream", stream.device_index());
  r.set_stream(core_id(stream));
}

// --- events ---

CUDAEvent::~CUDAEvent() {
  if (event_) quietly([this](Runtime& r) { r.event_destroy(device_, event_); });
}
bool CUDAEvent::query() const {
  return !event_ || require_runtime("CUDAEvent::query").event_query(event_);
}
void CUDAEvent::record() {
  record(getCurrentCUDAStream());
}
void CUDAEvent::record(const CUDAStream& stream) {
  Runtime& r = require_runtime("CUDAEvent::record");
  if (!event_) {
    r.check_device("CUDAEvent::record", stream.device_index());
    device_ = stream.device_index();
    event_ = r.event_create(device_, (flags_ & kEventDisableTiming) == 0, (flags_ & kEventBlockingSync) != 0);
  }
  GRADUS_CHECK(device_ == stream.device_index(), "CUDAEvent::record: the event was made on cuda:", int{device_},
               " and the stream is of cuda:", int{stream.device_index()}, "; expected both on one device");
  r.event_record(event_, core_id(stream));
  recorded_ = true;
}
void CUDAEvent::recordOnce(const CUDAStream& stream) {
  if (!recorded_) record(stream);
}
void CUDAEvent::block(const CUDAStream& stream) const {
  if (event_) require_runtime("CUDAEvent::block").event_wait(event_, core_id(stream));
}
float CUDAEvent::elapsed_time(const CUDAEvent& end) const {
  GRADUS_CHECK(event_ && end.event_, "CUDAEvent::elapsed_time: both events must have been recorded");
  GRADUS_CHECK(((flags_ | end.flags_) & kEventDisableTiming) == 0,
               "CUDAEvent::elapsed_time: both events must be made with timing: CUDAEvent event(kEventDefault)");
  GRADUS_CHECK(query() && end.query(),
               "CUDAEvent::elapsed_time: both events must have been passed; call synchronize() on "
               "the later one first");
  return require_runtime("CUDAEvent::elapsed_time").event_elapsed(device_, event_, end.event_);
}
void CUDAEvent::synchronize() const {
  if (event_) require_runtime("CUDAEvent::synchronize").event_synchronize(device_, event_);
}

// --- guards ---

CUDAGuard::CUDAGuard(DeviceIndex device) : original_(cuda::current_device()), current_(original_) {
  set_index(device);
}
CUDAGuard::CUDAGuard(Device device) : CUDAGuard(cuda_index("CUDAGuard", device)) {}
CUDAGuard::~CUDAGuard() {
  quietly([this](Runtime& r) { r.set_device(original_); });
}
void CUDAGuard::set_device(Device device) {
  set_index(cuda_index("CUDAGuard::set_device", device));
}
void CUDAGuard::set_index(DeviceIndex device) {
  if (device == -1) device = original_;
  cuda::set_device(device);
  current_ = device;
}

void OptionalCUDAGuard::set_device(Device device) {
  if (guard_) {
    guard_->set_device(device);
  } else {
    guard_.emplace(device);
  }
}
void OptionalCUDAGuard::set_index(DeviceIndex device) {
  set_device(Device(DeviceType::CUDA, device));
}
std::optional<Device> OptionalCUDAGuard::original_device() const {
  return guard_ ? std::optional<Device>(guard_->original_device()) : std::nullopt;
}
std::optional<Device> OptionalCUDAGuard::current_device() const {
  return guard_ ? std::optional<Device>(guard_->current_device()) : std::nullopt;
}

CUDAStreamGuard::CUDAStreamGuard(Stream stream)
    : device_(CUDAStream(stream).device()),
      original_stream_(getCurrentCUDAStream(stream.device_index())),
      current_stream_(stream) {
  setCurrentCUDAStream(current_stream_);
}
CUDAStreamGuard::~CUDAStreamGuard() {
  quietly([this](Runtime& r) { r.set_stream(core_id(original_stream_)); });
}
void CUDAStreamGuard::reset_stream(Stream stream) {
  const CUDAStream next(stream);
  setCurrentCUDAStream(original_stream_);
  device_.set_device(next.device());
  original_stream_ = getCurrentCUDAStream(next.device_index());
  setCurrentCUDAStream(next);
  current_stream_ = next;
}

void OptionalCUDAStreamGuard::reset_stream(Stream stream) {
  if (guard_) {
    guard_->reset_stream(stream);
  } else {
    guard_.emplace(stream);
  }
}
std::optional<CUDAStream> OptionalCUDAStreamGuard::original_stream() const {
  return guard_ ? std::optional<CUDAStream>(guard_->original_stream()) : std::nullopt;
}
std::optional<CUDAStream> OptionalCUDAStreamGuard::current_stream() const {
  return guard_ ? std::optional<CUDAStream>(guard_->current_stream()) : std::nullopt;
}

CUDAMultiStreamGuard::CUDAMultiStreamGuard(ArrayRef<CUDAStream> streams) {
  original_.reserve(streams.size());
  for (const CUDAStream& s : streams) {
    original_.push_back(getCurrentCUDAStream(s.device_index()));
    setCurrentCUDAStream(s);
  }
}
CUDAMultiStreamGuard::~CUDAMultiStreamGuard() {
  // Backwards: where two were of one device, the first one's predecessor is what was current.
  for (size_t i = original_.size(); i-- > 0;) {
    quietly([&](Runtime& r) { r.set_stream(core_id(original_[i])); });
  }
}

}  // namespace gradus::inline v0::cuda
