// The dispatcher: one slot per backend, chosen by the tensors' device.
#pragma once

#include <atomic>

#include <gradus/core/device.h>

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
[[noreturn]] void no_kernel(const char* kernel, Backend backend);

namespace detail {
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
  /// The Meta slot computes nothing and returns R().
  constexpr KernelTable(const char* name, Function* cpu)
      : name_(name), slots_{cpu, nullptr, &detail::MetaKernel<R(Args...)>::call} {}

  R operator()(DeviceType device, Args... args) const { return get(backend_of(device))(static_cast<Args>(args)...); }
  R operator()(Device device, Args... args) const { return get(backend_of(device.type()))(static_cast<Args>(args)...); }
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
  const char* name_;
  std::atomic<Function*> slots_[static_cast<int>(Backend::Count)];
};

}  // namespace gradus::inline v0::kernels
