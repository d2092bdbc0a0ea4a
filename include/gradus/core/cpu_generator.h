// The CPU's random numbers: mt19937, drawn and saved as PyTorch does.
#pragma once

#include <array>
#include <optional>

#include <gradus/core/generator.h>

namespace gradus {
inline namespace v0 {

/// The Mersenne twister of Matsumoto and Nishimura, seeded from 32 bits.
class GRADUS_API mt19937 {
 public:
  static constexpr int kWords = 624;

  explicit mt19937(uint64_t seed = 5489);
  uint64_t seed() const { return seed_; }
  /// The next 32 bits.
  uint32_t operator()() {
    if (left_ == 1) refill();
    --left_;
    return temper(words_[next_++]);
  }
  /// The next `count` numbers: what that many calls would give.
  void fill(uint32_t* out, int64_t count);

 private:
  friend class CPUGeneratorImpl;
  static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  void refill();

  uint64_t seed_;
  // PyTorch's two counters: words_[next_] is the next word, left_ - 1 words are left before a refill. A fresh engine
  // has left_ 1 and next_ 0: its words are the seed's, not yet numbers.
  int left_ = 1;
  uint32_t next_ = 0;
  std::array<uint32_t, kWords> words_;
};

/// What a CPU Generator holds.
class GRADUS_API CPUGeneratorImpl final : public GeneratorImpl {
 public:
  explicit CPUGeneratorImpl(uint64_t seed = default_rng_seed_val);
  ~CPUGeneratorImpl() override;
  static DeviceType device_type() { return DeviceType::CPU; }

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override { return engine_.seed(); }
  std::vector<uint8_t> state() const override;
  using GeneratorImpl::seed;
  void set_state(const uint8_t* bytes, size_t count) override;
  std::shared_ptr<GeneratorImpl> clone() const override;

  /// 32 bits.
  uint32_t random() { return engine_(); }
  /// 64 bits: two draws, the upper half first.
  uint64_t random64() {
    const uint64_t upper = engine_();
    return upper << 32 | engine_();
  }
  /// `count` draws of random().
  void random(uint32_t* out, int64_t count) { engine_.fill(out, count); }

  // Box-Muller makes normal numbers in pairs: the second one waits here.
  std::optional<float> next_float_normal_sample() const { return next_float_normal_sample_; }
  std::optional<double> next_double_normal_sample() const { return next_double_normal_sample_; }
  void set_next_float_normal_sample(std::optional<float> v) { next_float_normal_sample_ = v; }
  void set_next_double_normal_sample(std::optional<double> v) { next_double_normal_sample_ = v; }

  mt19937 engine() const { return engine_; }
  void set_engine(const mt19937& engine) { engine_ = engine; }

 private:
  mt19937 engine_;
  std::optional<float> next_float_normal_sample_;
  std::optional<double> next_double_normal_sample_;
};

/// The implementation behind `generator`, which must be of kind T's.
template <class T>
T* check_generator(const std::optional<Generator>& generator) {
  GRADUS_CHECK(generator && generator->defined(), "check_generator: no generator was given; expected a defined one");
  GRADUS_CHECK(generator->device().type() == T::device_type(), "check_generator: the generator is on ",
               generator->device(), "; expected one on ", Device(T::device_type()));
  return generator->template get<T>();
}
/// The same, of `otherwise` where none is given.
template <class T>
T* get_generator_or_default(const std::optional<Generator>& generator, const Generator& otherwise) {
  return check_generator<T>(generator && generator->defined() ? generator : std::optional<Generator>(otherwise));
}

}  // namespace v0
}  // namespace gradus
