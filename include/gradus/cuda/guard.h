// What is current on this thread, for a scope: a device, a stream, or a stream on each of several devices.
#pragma once

#include <optional>
#include <vector>

#include <gradus/core/array_ref.h>
#include <gradus/cuda/stream.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

/// The device is current until the guard goes.
class GRADUS_API CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex device);
  explicit CUDAGuard(Device device);
  ~CUDAGuard();
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;

  void set_device(Device device);
  void reset_device(Device device) { set_device(device); }
  void set_index(DeviceIndex device);
  Device original_device() const { return Device(DeviceType::CUDA, original_); }
  Device current_device() const { return Device(DeviceType::CUDA, current_); }

 private:
  DeviceIndex original_;
  DeviceIndex current_;
};

/// A CUDAGuard that may be set later, or never.
class GRADUS_API OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) {
    if (device) set_device(*device);
  }
  explicit OptionalCUDAGuard(std::optional<DeviceIndex> device) {
    if (device) set_index(*device);
  }
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;

  void set_device(Device device);
  void reset_device(Device device) { set_device(device); }
  void set_index(DeviceIndex device);
  std::optional<Device> original_device() const;
  std::optional<Device> current_device() const;
  void reset() { guard_.reset(); }

 private:
  std::optional<CUDAGuard> guard_;
};

/// The stream, and its device, are current until the guard goes.
class GRADUS_API CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(Stream stream);
  ~CUDAStreamGuard();
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;

  /// As if the guard had gone and another one come.
  void reset_stream(Stream stream);
  CUDAStream original_stream() const { return original_stream_; }
  CUDAStream current_stream() const { return current_stream_; }
  Device original_device() const { return device_.original_device(); }
  Device current_device() const { return device_.current_device(); }

 private:
  CUDAGuard device_;
  CUDAStream original_stream_;  // of the current stream's device
  CUDAStream current_stream_;
};

/// A CUDAStreamGuard that may be set later, or never.
class GRADUS_API OptionalCUDAStreamGuard {
 public:
  OptionalCUDAStreamGuard() = default;
  explicit OptionalCUDAStreamGuard(std::optional<Stream> stream) {
    if (stream) guard_.emplace(*stream);
  }
  OptionalCUDAStreamGuard(const OptionalCUDAStreamGuard&) = delete;
  OptionalCUDAStreamGuard& operator=(const OptionalCUDAStreamGuard&) = delete;

  void reset_stream(Stream stream);
  std::optional<CUDAStream> original_stream() const;
  std::optional<CUDAStream> current_stream() const;
  void reset() { guard_.reset(); }

 private:
  std::optional<CUDAStreamGuard> guard_;
};

/// Each stream is the current one of its device until the guard goes. The current device stays.
class GRADUS_API CUDAMultiStreamGuard {
 public:
  explicit CUDAMultiStreamGuard(ArrayRef<CUDAStream> streams);
  ~CUDAMultiStreamGuard();
  CUDAMultiStreamGuard(const CUDAMultiStreamGuard&) = delete;
  CUDAMultiStreamGuard& operator=(const CUDAMultiStreamGuard&) = delete;

 private:
  std::vector<CUDAStream> original_;
};

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
