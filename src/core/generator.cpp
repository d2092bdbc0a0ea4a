#include <gradus/core/cpu_generator.h>

#include <cstring>
#include <random>

#include <gradus/core/tensor.h>

#include "accelerator.h"
#include "make_tensor.h"

namespace gradus::inline v0 {

namespace {
// Note [Generator state]: the byte layout is PyTorch's on 64-bit little-endian machines, so that states can be
// exchanged: the seed, the engine's counters, each word widened to 64 bits, three doubles for a pair of normal numbers
// of which only the middle one is used, whether it is valid, and a float of the same kind with its flag.
struct StateBytes {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[mt19937::kWords];
  double unused_x;
  double normal;
  double unused_rho;
  int32_t normal_valid;
  int32_t padding;
  float float_normal;
  uint8_t float_normal_valid;
  uint8_t more_padding[3];
};
static_assert(sizeof(StateBytes) == 5056);

constinit thread_local GeneratorGuard* innermost_guard = nullptr;
}  // namespace

GeneratorImpl::~GeneratorImpl() = default;

uint64_t GeneratorImpl::seed() {
  const uint64_t value = detail::getNonDeterministicRandom();
  set_current_seed(value);
  return value;
}

GeneratorImpl& Generator::impl() const {
  GRADUS_CHECK(impl_ != nullptr, "Generator: it is undefined; make one with make_generator(seed)");
  return *impl_;
}

Tensor Generator::get_state() const {
  const std::vector<uint8_t> bytes = state();
  Tensor result = core::empty({static_cast<int64_t>(bytes.size())}, kByte, kCPU);
  std::memcpy(result.data_ptr(), bytes.data(), bytes.size());
  return result;
}

void Generator::set_state(const Tensor& bytes) {
  GRADUS_CHECK_AS(TypeError, bytes.scalar_type() == kByte && bytes.is_cpu() && bytes.is_contiguous(),
                  "Generator::set_state: the state is a tensor of ", bytes.scalar_type(), " on ", bytes.device(),
                  "; expected contiguous bytes on the cpu");
  impl().set_state(bytes.data_ptr<uint8_t>(), static_cast<size_t>(bytes.numel()));
}

CPUGeneratorImpl::CPUGeneratorImpl(uint64_t seed) : GeneratorImpl(DeviceType::CPU), engine_(seed) {}
CPUGeneratorImpl::~CPUGeneratorImpl() = default;

void CPUGeneratorImpl::set_current_seed(uint64_t seed) {
  next_float_normal_sample_.reset();
  next_double_normal_sample_.reset();
  engine_ = mt19937(seed);
}

std::vector<uint8_t> CPUGeneratorImpl::state() const {
  StateBytes s{};
  s.seed = engine_.seed_;
  s.left = engine_.left_;
  s.seeded = 1;
  s.next = engine_.next_;
  for (int i = 0; i < mt19937::kWords; ++i) s.words[i] = engine_.words_[i];
  s.normal = next_double_normal_sample_.value_or(0);
  s.normal_valid = next_double_normal_sample_.has_value();
  s.float_normal = next_float_normal_sample_.value_or(0);
  s.float_normal_valid = next_float_normal_sample_.has_value();
  std::vector<uint8_t> bytes(sizeof s);
  std::memcpy(bytes.data(), &s, sizeof s);
  return bytes;
}

void CPUGeneratorImpl::set_state(const uint8_t* bytes, size_t count) {
  StateBytes s;
  GRADUS_CHECK(count == sizeof s, "Generator::set_state: ", count, " bytes were given; a CPU generator's state has ",
               sizeof s);
  std::memcpy(&s, bytes, sizeof s);
  const bool valid = s.seeded != 0 && s.left >= 1 && s.left <= mt19937::kWords && s.next <= mt19937::kWords &&
                     s.next + static_cast<uint64_t>(s.left) - 1 <= mt19937::kWords;
  GRADUS_CHECK(valid, "Generator::set_state: left ", s.left, ", next ", s.next, ", seeded ", s.seeded,
               " is no position of mt19937; expected bytes of state() or of PyTorch's get_state()");
  engine_.seed_ = s.seed;
  engine_.left_ = s.left;
  engine_.next_ = static_cast<uint32_t>(s.next);
  for (int i = 0; i < mt19937::kWords; ++i) engine_.words_[i] = static_cast<uint32_t>(s.words[i]);
  next_double_normal_sample_.reset();
  next_float_normal_sample_.reset();
  if (s.normal_valid != 0) next_double_normal_sample_ = s.normal;
  if (s.float_normal_valid != 0) next_float_normal_sample_ = s.float_normal;
}

std::shared_ptr<GeneratorImpl> CPUGeneratorImpl::clone() const {
  auto copy = std::make_shared<CPUGeneratorImpl>(current_seed());
  copy->engine_ = engine_;
  copy->next_float_normal_sample_ = next_float_normal_sample_;
  copy->next_double_normal_sample_ = next_double_normal_sample_;
  return copy;
}

Generator make_generator(uint64_t seed) {
  return make_generator<CPUGeneratorImpl>(seed);
}

namespace detail {
uint64_t getNonDeterministicRandom() {
  std::random_device device;
  const uint64_t upper = device();
  return (upper << 32 | device()) & 0x1fffffffffffffu;
}

// Never destroyed: a thread may still draw while the process ends.
const Generator& getDefaultCPUGenerator() {
  static const Generator& generator = *new Generator(make_generator(getNonDeterministicRandom()));
  return generator;
}
}  // namespace detail

const Generator& default_generator(Device device) {
  for (const GeneratorGuard* g = innermost_guard; g != nullptr; g = g->outer_) {
    const Device of = g->generator_.device();
    const bool any = of.is_cpu() || !of.has_index() || !device.has_index();
    if (of.type() == device.type() && (any || of.index() == device.index())) return g->generator_;
  }
  if (device.is_cpu()) return detail::getDefaultCPUGenerator();
  return core::accelerator(device.type(), "default_generator").default_generator(device.index());
}

const Generator& default_generator(DeviceType device) {
  return default_generator(Device(device));
}

void manual_seed(uint64_t seed) {
  Generator generator = default_generator();
  {
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(seed);
  }
  if (innermost_guard == nullptr) core::seed_accelerators(seed);
}

GeneratorGuard::GeneratorGuard(Generator generator) : generator_(std::move(generator)), outer_(innermost_guard) {
  GRADUS_CHECK(generator_.defined(), "GeneratorGuard: the generator is undefined; make one with make_generator(seed)");
  innermost_guard = this;
}

GeneratorGuard::~GeneratorGuard() {
  innermost_guard = outer_;
}

}  // namespace gradus::inline v0
