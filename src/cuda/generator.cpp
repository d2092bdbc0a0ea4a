#include <gradus/cuda/generator.h>

#include <cstring>

#include "interface.h"

namespace gradus::inline v0::cuda {

CUDAGeneratorImpl::CUDAGeneratorImpl(DeviceIndex device, uint64_t seed)
    : GeneratorImpl(Device(DeviceType::CUDA, device < 0 ? current_device() : device)), seed_(seed) {}
CUDAGeneratorImpl::~CUDAGeneratorImpl() = default;

void CUDAGeneratorImpl::set_current_seed(uint64_t seed) {
  GRADUS_CHECK(captured_seed_ == nullptr,
               "Generator::set_current_seed: a CUDA graph that draws from this generator is "
               "being captured; seed it before or after");
  seed_ = seed;
  offset_ = 0;
}

void CUDAGeneratorImpl::set_offset(uint64_t offset) {
  GRADUS_CHECK_AS(ValueError, offset % 4 == 0, "CUDAGeneratorImpl::set_offset: ", offset,
                  " was given; expected a multiple of 4");
  GRADUS_CHECK(captured_seed_ == nullptr,
               "CUDAGeneratorImpl::set_offset: a CUDA graph that draws from this generator is "
               "being captured; set it before or after");
  offset_ = offset;
}

std::vector<uint8_t> CUDAGeneratorImpl::state() const {
  std::vector<uint8_t> bytes(16);
  std::memcpy(bytes.data(), &seed_, 8);
  std::memcpy(bytes.data() + 8, &offset_, 8);
  return bytes;
}

void CUDAGeneratorImpl::set_state(const uint8_t* bytes, size_t count) {
  GRADUS_CHECK(count == 16 || count == 8, "Generator::set_state: ", count,
               " bytes were given; a CUDA generator's state has 16, or 8 without its offset");
  uint64_t seed = 0, offset = 0;
  std::memcpy(&seed, bytes, 8);
  if (count == 16) std::memcpy(&offset, bytes + 8, 8);
  GRADUS_CHECK(offset % 4 == 0, "Generator::set_state: the offset is ", offset,
               "; expected a multiple of 4, as in bytes of state() or of PyTorch's get_state()");
  set_current_seed(seed);
  offset_ = offset;
}

std::shared_ptr<GeneratorImpl> CUDAGeneratorImpl::clone() const {
  auto copy = std::make_shared<CUDAGeneratorImpl>(device().index(), seed_);
  copy->offset_ = offset_;
  return copy;
}

PhiloxState CUDAGeneratorImpl::reserve(uint64_t increment) {
  increment = (increment + 3) / 4 * 4;
  PhiloxState state;
  Runtime* r = runtime_in_use();
  if (r != nullptr && r->is_capturing_here()) [[unlikely]] {
    GRADUS_CHECK(
        captured_seed_ != nullptr,
        "Generator: a CUDA graph is being captured, and this generator does not know it; call "
        "CUDAGraph::register_generator_state before capture_begin, or draw from the device's default generator");
    state.captured_seed = captured_seed_;
    state.captured_offset = captured_offset_;
    state.offset = captured_draws_;
    captured_draws_ += increment;
    return state;
  }
  state.seed = seed_;
  state.offset = offset_;
  offset_ += increment;
  return state;
}

void CUDAGeneratorImpl::begin_capture(const int64_t* seed, const int64_t* offset) {
  GRADUS_CHECK(captured_seed_ == nullptr,
               "CUDAGraph::capture_begin: another graph that draws from the same generator is "
               "being captured");
  captured_seed_ = seed;
  captured_offset_ = offset;
  captured_draws_ = 0;
}

uint64_t CUDAGeneratorImpl::end_capture() {
  captured_seed_ = captured_offset_ = nullptr;
  return captured_draws_;
}

namespace detail {

Generator createCUDAGenerator(DeviceIndex device) {
  Runtime& r = require_runtime("createCUDAGenerator");
  return make_generator<CUDAGeneratorImpl>(checked_device(r, "createCUDAGenerator", device));
}

const Generator& getDefaultCUDAGenerator(DeviceIndex device) {
  Runtime& r = require_runtime("getDefaultCUDAGenerator");
  return r.default_generator(checked_device(r, "getDefaultCUDAGenerator", device));
}

}  // namespace detail

}  // namespace gradus::inline v0::cuda
