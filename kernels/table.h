// The dispatcher: one slot per backend, chosen by the tensors' device.
#pragma once

#include <atomic>

#include <gradus/core/device.h>

#include <kernels/view.h>

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
// An operator that takes several tensors and chose the backend by one of them: what has no memory cannot be read. (A
// meta tensor among others; an absent operand's view has no sizes.)
void check_memory(const char* kernel, const ConstView& v);
inline void expect_memory(const char* kernel, const ConstView& v) {
  if (v.data == nullptr) [[unlikely]]
    check_memory(kernel, v);
}
inline void expect_memory(const char* kernel, const View& v) {
  expect_memory(kernel, ConstView(v));
}
template <class T>
void expect_memory(const char*, const T&) {}

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

  R operator()(DeviceType device, Args... args) const {
    if (device != DeviceType::Meta) (detail::expect_memory(name_, args), ...);
    return get(backend_of(device))(static_cast<Args>(args)...);
  }
  R operator()(Device device, Args... args) const { return (*this)(device.type(), static_cast<Args>(args)...); }
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
