// The random numbers of a CUDA device: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011), seeded, advanced and saved as PyTorch does.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <gradus/core/generator.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

/// What a kernel draws with: thread t takes the subsequence t of `seed` from `offset` on. While a graph is captured the
/// numbers come from memory that each replay fills anew.
struct PhiloxState {
  uint64_t seed = 0;
  uint64_t offset = 0;                       // in 32-bit draws of one thread; a multiple of 4
  const int64_t* captured_seed = nullptr;    // on the device; with them the seed is *captured_seed and the offset
  const int64_t* captured_offset = nullptr;  // *captured_offset + offset
};

/// What a Generator on a CUDA device holds: a seed, and how many numbers each thread of a kernel has drawn.
class GRADUS_API CUDAGeneratorImpl final : public GeneratorImpl {
 public:
  explicit CUDAGeneratorImpl(DeviceIndex device = -1, uint64_t seed = default_rng_seed_val);
  ~CUDAGeneratorImpl() override;
  static DeviceType device_type() { return DeviceType::CUDA; }

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override { return seed_; }
  /// PyTorch's 16 bytes: the seed and the offset, the lowest byte first.
  std::vector<uint8_t> state() const override;
  using GeneratorImpl::seed;
  /// 16 bytes of state() or of PyTorch's get_state(), or 8 of a seed alone.
  void set_state(const uint8_t* bytes, size_t count) override;
  std::shared_ptr<GeneratorImpl> clone() const override;

  /// How many 32-bit numbers each thread has drawn; a multiple of 4.
  void set_offset(uint64_t offset);
  uint64_t get_offset() const { return offset_; }
  void set_philox_offset_per_thread(uint64_t offset) { set_offset(offset); }
  uint64_t philox_offset_per_thread() const { return offset_; }

  /// State for one kernel whose threads draw up to `increment` numbers each; later kernels draw behind them. PyTorch
  /// rounds the increment up to a multiple of 4. The caller holds `mutex_`.
  PhiloxState reserve(uint64_t increment);

  /// A graph's capture begins: draws now come from these addresses, on the device. For CUDAGraph.
  void begin_capture(const int64_t* seed, const int64_t* offset);
  /// And ends; the numbers each thread draws in one replay.
  uint64_t end_capture();

 private:
  uint64_t seed_;
  uint64_t offset_ = 0;
  const int64_t* captured_seed_ = nullptr;
  const int64_t* captured_offset_ = nullptr;
  uint64_t captured_draws_ = 0;
};

namespace detail {
/// A new generator on a device (-1: the current one).
GRADUS_API Generator createCUDAGenerator(DeviceIndex device = -1);
/// The device's generator, whatever guard is on. Throws NotImplementedError where there is no CUDA.
GRADUS_API const Generator& getDefaultCUDAGenerator(DeviceIndex device = -1);
}  // namespace detail

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
