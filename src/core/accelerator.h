// What core, autograd and ops ask of a kind of device that is not the CPU. The CUDA library implements it for CUDA.
#pragma once

#include <string>

#include <gradus/core/device.h>
#include <gradus/core/generator.h>

namespace gradus::inline v0::core {

/// A queue of work on one device. `id` 0 is the device's default stream.
struct StreamId {
  DeviceIndex device = 0;
  uint32_t id = 0;
  bool operator==(const StreamId& o) const { return device == o.device && id == o.id; }
  bool operator!=(const StreamId& o) const { return !(*this == o); }
};

class Accelerator {
 public:
  virtual DeviceIndex device_count() = 0;
  /// Throws ValueError, naming `op`, where there is no such device.
  virtual void check_device(const char* op, DeviceIndex device) = 0;
  /// The calling thread's current device, that of an unnumbered `cuda`. Kernels run on kernels::launch_device, which
  /// this also sets.
  virtual void set_device(DeviceIndex device) = 0;

  /// Copies between devices of this kind, or between one and the CPU, in the order of the current stream of the device
  /// (of the source's, where both are of this kind; the target's then waits for it). Returns when the host's side may
  /// be used again, unless `non_blocking` and the host's memory is pinned. Reports data errors that kernels left.
  virtual void copy(void* to, Device to_device, const void* from, Device from_device, size_t nbytes,
                    bool non_blocking) = 0;
  /// Waits for all work of the device and throws what data errors its kernels left.
  virtual void synchronize(DeviceIndex device) = 0;

  virtual StreamId current_stream(DeviceIndex device) = 0;
  virtual void set_stream(StreamId stream) = 0;
  /// What is enqueued on `waiting` from now on begins after all that `first` holds now.
  virtual void order(StreamId first, StreamId waiting) = 0;
  /// Memory of the device's allocator is used by `stream`, too: it may be reused only after what that holds when the
  /// memory is freed.
  virtual void record_stream(void* data, StreamId stream) = 0;

  /// Page-locked host memory, for copies that do not block.
  virtual void* allocate_pinned(size_t nbytes) = 0;
  virtual void free_pinned(void* data, size_t nbytes) noexcept = 0;
  virtual bool is_pinned(const void* data) = 0;

  /// The generator of a device (-1: of the thread's current one).
  virtual const Generator& default_generator(DeviceIndex device) = 0;

 protected:
  ~Accelerator() = default;
};

/// The accelerator of a kind of device; for CUDA, loads its library on first use. Throws NotImplementedError, naming
/// `op`, that says what is missing (a build without CUDA, no driver, no device) and what to do.
GRADUS_API Accelerator& accelerator(DeviceType type, const char* op);
/// The same, nullptr instead of an error.
GRADUS_API Accelerator* find_accelerator(DeviceType type) noexcept;
/// The same, without loading anything.
GRADUS_API Accelerator* loaded_accelerator(DeviceType type) noexcept;
/// Why find_accelerator gives none; empty where it gives one.
GRADUS_API std::string why_no_accelerator(DeviceType type);
/// Called by a backend's library when it has been loaded and can be used.
GRADUS_API void set_accelerator(DeviceType type, Accelerator* accelerator);
/// Seeds the default generators of every device, also of those whose library is loaded later.
void seed_accelerators(uint64_t seed);

/// The current device of the calling thread (kernels::launch_device).
DeviceIndex current_device();
/// Makes `device` the current one for as long as this lives; nothing for devices of which there is one.
class DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;

 private:
  DeviceType type_;
  DeviceIndex before_;
};

/// To be raised with every change of Accelerator or cuda::Runtime: what one library calls in the other.
constexpr uint32_t kAcceleratorVersion = 1;
/// What is compared before libgradus.so and libgradus_cuda.so trust each other: both must be of one build, and the CUDA
/// library bound to the libgradus that loads it.
struct Handshake {
  GRADUS_API Handshake();
  uint32_t version;
  uint32_t size;
  void (*library)(DeviceType, Accelerator*);
};
/// libgradus_cuda.so's entry: calls set_accelerator and returns 0, or says in `message` why it cannot be used.
using InitializeFunction = int (*)(const Handshake* caller, char* message, size_t size);
constexpr const char* kInitializeSymbol = "gradus_cuda_initialize";

}  // namespace gradus::inline v0::core
