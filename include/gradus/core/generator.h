// Where random numbers come from.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <gradus/core/device.h>

namespace gradus {
inline namespace v0 {

class Tensor;

/// A stream of random numbers on one device. One CPU kind exists (CPUGeneratorImpl); a backend may bring its own.
/// No member function locks: who shares a generator between threads holds `mutex_`, as every operator does.
class GRADUS_API GeneratorImpl {
 public:
  explicit GeneratorImpl(Device device) : device_(device) {}
  virtual ~GeneratorImpl();
  GeneratorImpl(const GeneratorImpl&) = delete;
  GeneratorImpl& operator=(const GeneratorImpl&) = delete;

  virtual void set_current_seed(uint64_t seed) = 0;
  virtual uint64_t current_seed() const = 0;
  virtual std::vector<uint8_t> state() const = 0;
  virtual void set_state(const uint8_t* bytes, size_t count) = 0;
  virtual std::shared_ptr<GeneratorImpl> clone() const = 0;
  /// Seeds from the system's entropy and returns the seed taken.
  uint64_t seed();
  Device device() const { return device_; }

  std::mutex mutex_;

 private:
  Device device_;
};

/// A handle on a generator: copies share it, clone() does not. Values follow PyTorch's:
/// `auto g = make_generator(0); randn({2, 3}, g)` prints what PyTorch prints for the same seed.
class GRADUS_API Generator {
 public:
  Generator() = default;
  explicit Generator(std::shared_ptr<GeneratorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return impl_ != nullptr; }
  GeneratorImpl* unsafeGetGeneratorImpl() const { return impl_.get(); }
  /// The implementation, as the type the caller knows it to be: `g.get<CPUGeneratorImpl>()->random()`.
  template <class T>
  T* get() const {
    return static_cast<T*>(impl_.get());
  }

  /// Starts the stream of `seed`.
  void set_current_seed(uint64_t seed) { impl().set_current_seed(seed); }
  uint64_t current_seed() const { return impl().current_seed(); }
  /// Seeds from the system's entropy and returns the seed taken.
  uint64_t seed() { return impl().seed(); }
  /// To be held around draws and reseeding where several threads use one generator.
  std::mutex& mutex() const { return impl().mutex_; }
  /// The stream's position, in the bytes that `torch.Generator.get_state()` gives.
  std::vector<uint8_t> state() const { return impl().state(); }
  /// Takes bytes of state() or of PyTorch's get_state(). Throws Error if they are not such.
  void set_state(const std::vector<uint8_t>& bytes) { impl().set_state(bytes.data(), bytes.size()); }
  /// The same as a tensor of bytes.
  Tensor get_state() const;
  void set_state(const Tensor& bytes);
  /// A generator of its own at the same position.
  Generator clone() const { return Generator(impl().clone()); }
  Device device() const { return impl().device(); }

  bool operator==(const Generator& o) const { return impl_ == o.impl_; }
  bool operator!=(const Generator& o) const { return impl_ != o.impl_; }

 private:
  GeneratorImpl& impl() const;
  std::shared_ptr<GeneratorImpl> impl_;
};

/// The seed of a generator that was given none.
constexpr uint64_t default_rng_seed_val = 67280421310721;

/// A new CPU generator.
GRADUS_API Generator make_generator(uint64_t seed = default_rng_seed_val);
/// make_generator<Impl>(args...): libtorch's way to make one of a known kind.
template <class Impl, class... Args>
Generator make_generator(Args&&... args) {
  return Generator(std::make_shared<Impl>(std::forward<Args>(args)...));
}

/// What operators on `device` draw from when they are given no generator: the process's one, or, inside a
/// GeneratorGuard, the guard's.
GRADUS_API const Generator& default_generator(DeviceType device = DeviceType::CPU);
/// The same of one device among several (without an index: of the thread's current one).
GRADUS_API const Generator& default_generator(Device device);
/// Seeds the default generators of the CPU and of all CUDA devices; inside a GeneratorGuard, what operators on the CPU
/// draw from, alone.
GRADUS_API void manual_seed(uint64_t seed);

/// Makes `generator` the default one of its kind of device on this thread for as long as the guard lives.
class GRADUS_API GeneratorGuard {
 public:
  explicit GeneratorGuard(Generator generator);
  ~GeneratorGuard();
  GeneratorGuard(const GeneratorGuard&) = delete;
  GeneratorGuard& operator=(const GeneratorGuard&) = delete;

 private:
  friend const Generator& default_generator(Device device);
  Generator generator_;
  GeneratorGuard* outer_;
};

namespace detail {
inline Generator createCPUGenerator(uint64_t seed = default_rng_seed_val) {
  return make_generator(seed);
}
/// The process's CPU generator, whatever guard is on.
GRADUS_API const Generator& getDefaultCPUGenerator();
/// 53 bits of the system's entropy.
GRADUS_API uint64_t getNonDeterministicRandom();
}  // namespace detail

}  // namespace v0
}  // namespace gradus
