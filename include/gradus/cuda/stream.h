// CUDA streams: queues of work on a device. Work of one stream is done in order, that of several at the same time.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include <gradus/core/error.h>
#include <gradus/core/stream.h>

// What CUDA's headers call cudaStream_t is a pointer to this.
struct CUstream_st;

namespace gradus {
inline namespace v0 {
namespace cuda {

/// A stream of a CUDA device; a value, not an owner. Streams come from getStreamFromPool and live as long as the
/// process.
class GRADUS_API CUDAStream {
 public:
  enum Unchecked { UNCHECKED };
  /// Throws TypeError if the stream is not a CUDA device's.
  explicit CUDAStream(Stream stream);
  explicit CUDAStream(Unchecked, Stream stream) : stream_(stream) {}
  bool operator==(const CUDAStream& o) const { return stream_ == o.stream_; }
  bool operator!=(const CUDAStream& o) const { return stream_ != o.stream_; }

  DeviceType device_type() const { return DeviceType::CUDA; }
  DeviceIndex device_index() const { return stream_.device_index(); }
  Device device() const { return stream_.device(); }
  StreamId id() const { return stream_.id(); }
  /// Whether all of the stream's work is done.
  bool query() const;
  /// Waits for the stream's work. Throws what kernels of the device found wrong with their data.
  void synchronize() const;
  /// Lower numbers go first.
  int priority() const;
  /// Whether the stream's work is being recorded into a CUDA graph.
  bool is_capturing() const;
  /// CUDA's handle, to launch kernels of one's own on the stream.
  CUstream_st* stream() const;
  operator CUstream_st*() const { return stream(); }  // NOLINT
  Stream unwrap() const { return stream_; }
  operator Stream() const { return stream_; }  // NOLINT
  /// The lowest and the highest priority.
  static std::tuple<int, int> priority_range();

 private:
  Stream stream_;
};

/// The next of a pool's 32 streams; a pool is a device's and a priority's.
GRADUS_API CUDAStream getStreamFromPool(bool isHighPriority = false, DeviceIndex device = -1);
/// The same for any priority: 0 is the lowest, -1 goes before it, and so on.
GRADUS_API CUDAStream getStreamFromPool(int priority, DeviceIndex device = -1);
/// A stream that the program made with CUDA itself, and which it does not destroy while Gradus uses it.
GRADUS_API CUDAStream getStreamFromExternal(CUstream_st* stream, DeviceIndex device);
/// The device's default stream: in order with all other streams that were not made with cudaStreamNonBlocking.
GRADUS_API CUDAStream getDefaultCUDAStream(DeviceIndex device = -1);
/// The stream that this thread's work on the device goes to; the default one at first.
GRADUS_API CUDAStream getCurrentCUDAStream(DeviceIndex device = -1);
/// Makes it the current one of its device. The current device stays; CUDAStreamGuard sets both.
GRADUS_API void setCurrentCUDAStream(CUDAStream stream);

inline void append_text(std::string& s, const CUDAStream& v) {
  append_text(s, v.unwrap());
}

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
