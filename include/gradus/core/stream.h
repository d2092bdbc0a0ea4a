// A queue of work on a device, named without knowing the kind of device.
#pragma once

#include <cstdint>
#include <string>

#include <gradus/core/device.h>

namespace gradus {
inline namespace v0 {

using StreamId = int64_t;

/// A stream of a device. What a backend makes of the number is its own matter; 0 is the device's default stream.
class Stream final {
 public:
  enum Unsafe { UNSAFE };
  enum Default { DEFAULT };
  constexpr Stream(Unsafe, Device device, StreamId id) : device_(device), id_(id) {}
  constexpr Stream(Default, Device device) : device_(device) {}
  constexpr Device device() const { return device_; }
  constexpr DeviceType device_type() const { return device_.type(); }
  constexpr DeviceIndex device_index() const { return device_.index(); }
  constexpr StreamId id() const { return id_; }
  constexpr bool operator==(const Stream& o) const { return device_ == o.device_ && id_ == o.id_; }
  constexpr bool operator!=(const Stream& o) const { return !(*this == o); }

 private:
  Device device_;
  StreamId id_ = 0;
};

inline void append_text(std::string& s, const Stream& v) {
  s.append("stream ").append(std::to_string(v.id())).append(" on ").append(v.device().str());
}

}  // namespace v0
}  // namespace gradus
