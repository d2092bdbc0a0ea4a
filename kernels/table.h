// The dispatcher: one slot per backend, chosen by the tensors' device.
#pragma once

#include <atomic>

#include <gradus/core/device.h>

#include <kernels/view.h>

// Tables are seen by the backends that are loaded later and fill their slots. Inside of the library that defines them
// they are reached directly.
#ifdef GRADUS_BUILDING
#define GRADUS_TABLES_BEGIN _Pragma("GCC visibility push(protected)")
#else
#define GRADUS_TABLES_BEGIN _Pragma("GCC visibility push(default)")
#endif
#define GRADUS_TABLES_END _Pragma("GCC visibility pop")

namespace gradus::inline v0::kernels {

enum class Backend : uint8_t {
  CPU,
  CUDA,
  Meta,
  QuantizedCPU,
  QuantizedCUDA,
  SparseCPU,
  SparseCUDA,
  PrivateUse1,
  PrivateUse2,
  PrivateUse3,
  Count
};

constexpr Backend backend_of(DeviceType type) {
  return type == DeviceType::CPU    ? Backend::CPU
         : type == DeviceType::CUDA ? Backend::CUDA
         : type == DeviceType::Meta ? Backend::Meta
                                    : Backend::PrivateUse1;
}

/// Throws NotImplementedError that names kernel, backend and what to do.
[[noreturn]] GRADUS_API void no_kernel(const char* kernel, Backend backend);

/// The current device of this thread, among those of a kind of which there are several: where kernels run.
extern GRADUS_API constinit thread_local DeviceIndex launch_device;

/// The operator that a kernel runs for, where that is not the table's name; a literal. What a device finds wrong in the
/// data is reported later, under this name.
extern GRADUS_API constinit thread_local const char* launch_operation;
class OperationName {
 public:
  explicit OperationName(const char* op) : before_(launch_operation) { launch_operation = op; }
  ~OperationName() { launch_operation = before_; }
  OperationName(const OperationName&) = delete;

 private:
  const char* before_;
};

namespace detail {
// Switches to `device` for a call, and back.
GRADUS_API void switch_device(DeviceType type, DeviceIndex device);
class DeviceScope {
 public:
  explicit DeviceScope(Device d) : type_(d.type()), before_(launch_device) {
    if (d.is_cuda() && d.index() != before_) [[unlikely]]
      switch_device(type_, d.index());
  }
  ~DeviceScope() {
    if (launch_device != before_) [[unlikely]]
      switch_device(type_, before_);
  }
  DeviceScope(const DeviceScope&) = delete;

 private:
  DeviceType type_;
  DeviceIndex before_;
};
}  // namespace detail

namespace detail {
// An operator that takes several tensors and chose the backend by one of them: the others must be there, too.
void check_place(const char* kernel, const ConstView& v, Device device);
inline void expect_place(const char* kernel, const ConstView& v, Device device) {
  if (v.device != device || v.data == nullptr) [[unlikely]]
    check_place(kernel, v, device);
}
inline void expect_place(const char* kernel, const View& v, Device device) {
  expect_place(kernel, ConstView(v), device);
}
template <class T>
void expect_place(const char*, const T&, Device) {}

template <class Fn>
struct MetaKernel;
template <class R, class... Args>
struct MetaKernel<R(Args...)> {
  static R call(Args...) { return R(); }
};
}  // namespace detail

template <class Fn>
class KernelTable;

template <class R, class... Args>
class KernelTable<R(Args...)> {
 public:
  using Function = R(Args...);
  /// `cpu` is never null. The Meta slot computes nothing and returns R().
  constexpr KernelTable(const char* name, Function* cpu)
      : name_(name), slots_{cpu, nullptr, &detail::MetaKernel<R(Args...)>::call} {}

  R operator()(Device device, Args... args) const {
    if (device.is_cpu()) [[likely]] {
      (detail::expect_place(name_, args, device), ...);
      return slots_[static_cast<int>(Backend::CPU)].load(std::memory_order_relaxed)(static_cast<Args>(args)...);
    }
    return elsewhere(device, static_cast<Args>(args)...);
  }
  Function* get(Backend backend) const {
    Function* f = slots_[static_cast<int>(backend)].load(std::memory_order_relaxed);
    if (f == nullptr) no_kernel(name_, backend);
    return f;
  }
  bool has(Backend backend) const {
    return slots_[static_cast<int>(backend)].load(std::memory_order_relaxed) != nullptr;
  }
  void set(Backend backend, Function* f) { slots_[static_cast<int>(backend)].store(f, std::memory_order_release); }
  const char* name() const { return name_; }

 private:
  [[gnu::noinline]] R elsewhere(Device device, Args... args) const {
    if (!device.is_meta()) (detail::expect_place(name_, args, device), ...);
    Function* f = get(backend_of(device.type()));
    const detail::DeviceScope scope(device);
    return f(static_cast<Args>(args)...);
  }
  const char* name_;
  std::atomic<Function*> slots_[static_cast<int>(Backend::Count)];
};

}  // namespace gradus::inline v0::kernels
