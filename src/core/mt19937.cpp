#include <gradus/core/cpu_generator.h>

#include <algorithm>

namespace gradus::inline v0 {

namespace {
// The recurrence reads the word `kShift` ahead.
constexpr int kShift = 397;

uint32_t twist(uint32_t upper, uint32_t lower) {
  const uint32_t y = (upper & 0x80000000u) | (lower & 0x7fffffffu);
  return (y >> 1) ^ ((0u - (lower & 1u)) & 0x9908b0dfu);
}
}  // namespace

mt19937::mt19937(uint64_t seed) : seed_(seed) {
  words_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i) words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
}

// Two loops, so that neither wraps around and both become vector code.
void mt19937::refill() {
  uint32_t* w = words_.data();
  for (int i = 0; i < kWords - kShift; ++i) w[i] = w[i + kShift] ^ twist(w[i], w[i + 1]);
  for (int i = kWords - kShift; i < kWords - 1; ++i) w[i] = w[i + kShift - kWords] ^ twist(w[i], w[i + 1]);
  w[kWords - 1] = w[kShift - 1] ^ twist(w[kWords - 1], w[0]);
  next_ = 0;
  left_ = kWords + 1;
}

void mt19937::fill(uint32_t* out, int64_t count) {
  while (count > 0) {
    if (left_ == 1) refill();
    const int n = static_cast<int>(std::min<int64_t>(count, left_ - 1));
    const uint32_t* w = words_.data() + next_;
    for (int i = 0; i < n; ++i) out[i] = temper(w[i]);
    next_ += static_cast<uint32_t>(n);
    left_ -= n;
    out += n;
    count -= n;
  }
}

}  // namespace gradus::inline v0
