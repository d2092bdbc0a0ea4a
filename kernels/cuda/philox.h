// Random bits on the device: Philox 4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
// 2, 3" (2011), counted as curand counts: a thread's subsequence is the upper half of the counter.
#pragma once

#include <cstdint>

#include <src/cuda/generator.h>

#include "kernels/cuda/device.h"

namespace gradus::inline v0::kernels::cuda {

using gradus::cuda::PhiloxState;

struct PhiloxBlock {
  uint32_t x[4];
};

/// Ten rounds on a counter.
__device__ inline PhiloxBlock philox_block(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  PhiloxBlock c = counter;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = __umulhi(0xd2511f53u, c.x[0]), low0 = 0xd2511f53u * c.x[0];
    const uint32_t high1 = __umulhi(0xcd9e8d57u, c.x[2]), low1 = 0xcd9e8d57u * c.x[2];
    c = {{high1 ^ c.x[1] ^ key0, low1, high0 ^ c.x[3] ^ key1, low0}};
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return c;
}

/// One thread's draws, four words at a time.
class PhiloxDraws {
 public:
  __device__ PhiloxDraws(const PhiloxState& state, uint64_t subsequence) : subsequence_(subsequence) {
    uint64_t seed = state.seed, offset = state.offset;
    if (state.captured_seed != nullptr) {
      seed = static_cast<uint64_t>(*state.captured_seed);
      offset += static_cast<uint64_t>(*state.captured_offset);
    }
    key0_ = static_cast<uint32_t>(seed);
    key1_ = static_cast<uint32_t>(seed >> 32);
    next_ = offset / 4;
  }
  __device__ PhiloxBlock next() {
    const PhiloxBlock counter = {{static_cast<uint32_t>(next_), static_cast<uint32_t>(next_ >> 32),
                                  static_cast<uint32_t>(subsequence_), static_cast<uint32_t>(subsequence_ >> 32)}};
    ++next_;
    return philox_block(counter, key0_, key1_);
  }

 private:
  uint64_t subsequence_, next_;
  uint32_t key0_, key1_;
};

// What a block of four words becomes: `count` values at once, with curand's formulas.

/// Uniform in (0, 1].
__device__ inline float uniform_float(uint32_t bits) {
  return fmaf(static_cast<float>(bits), 0x1p-32f, 0x1p-33f);
}
__device__ inline double uniform_double(uint32_t low, uint32_t high) {
  // 53 bits of the two words, the upper one's shifted over the lower one's.
  const uint64_t bits = static_cast<uint64_t>(low) ^ (static_cast<uint64_t>(high) << 21);
  return fma(static_cast<double>(bits), 0x1p-53, 0x1p-54);
}

struct DrawWords {
  static constexpr int count = 4;
  using Value = uint32_t;
  __device__ void operator()(const PhiloxBlock& b, Value (&v)[count]) const {
    for (int i = 0; i < count; ++i) v[i] = b.x[i];
  }
};
struct DrawDoubleWords {
  static constexpr int count = 2;
  using Value = uint64_t;
  __device__ void operator()(const PhiloxBlock& b, Value (&v)[count]) const {
    for (int i = 0; i < count; ++i) v[i] = static_cast<uint64_t>(b.x[2 * i]) << 32 | b.x[2 * i + 1];
  }
};
struct DrawUniform {
  static constexpr int count = 4;
  using Value = float;
  __device__ void operator()(const PhiloxBlock& b, Value (&v)[count]) const {
    for (int i = 0; i < count; ++i) v[i] = uniform_float(b.x[i]);
  }
};
struct DrawUniformDouble {
  static constexpr int count = 2;
  using Value = double;
  __device__ void operator()(const PhiloxBlock& b, Value (&v)[count]) const {
    for (int i = 0; i < count; ++i) v[i] = uniform_double(b.x[2 * i], b.x[2 * i + 1]);
  }
};
/// Box and Muller's pairs. As PyTorch's, those of floats have the special function units' sine and cosine.
struct DrawNormal {
  static constexpr int count = 4;
  using Value = float;
  __device__ void operator()(const PhiloxBlock& b, Value (&v)[count]) const {
    constexpr float kTurn = 0x1p-32f * 6.2831855f;  // 2 pi / 2^32
    for (int i = 0; i < count; i += 2) {
      const float u = uniform_float(b.x[i]), angle = fmaf(static_cast<float>(b.x[i + 1]), kTurn, kTurn / 2);
      const float radius = sqrtf(-2.0f * logf(u));
      float sine, cosine;
      rough_sincos(angle, &sine, &cosine);
      v[i] = sine * radius, v[i + 1] = cosine * radius;
    }
  }
};
struct DrawNormalDouble {
  static constexpr int count = 2;
  using Value = double;
  __device__ void operator()(const PhiloxBlock& b, Value (&v)[count]) const {
    const double u = uniform_double(b.x[0], b.x[1]), half_turns = 2 * uniform_double(b.x[2], b.x[3]);
    const double radius = sqrt(-2.0 * log(u));
    double sine, cosine;
    sincospi(half_turns, &sine, &cosine);
    v[0] = sine * radius, v[1] = cosine * radius;
  }
};

}  // namespace gradus::inline v0::kernels::cuda
