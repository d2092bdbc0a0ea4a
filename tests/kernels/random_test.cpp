// Random fills against PyTorch's values, and the order in which strided tensors are filled.
#include "kernels/random.h"

#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/references/random_values.h"

namespace {

using namespace gradus;
using namespace gradus::kernels;

constexpr uint64_t kSeed = 7;

// A tensor that owns its memory.
struct Strided {
  Strided(ScalarType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t elements)
      : sizes(std::move(sizes)), strides(std::move(strides)), dtype(dtype), bytes(elements * element_size(dtype)) {}
  Strided(ScalarType dtype, int64_t n) : Strided(dtype, {n}, {1}, n) {}
  View view() { return {bytes.data(), sizes.data(), strides.data(), static_cast<int>(sizes.size()), dtype}; }
  std::vector<int64_t> sizes, strides;
  ScalarType dtype;
  std::vector<unsigned char> bytes;
};

template <class Fill>
Strided filled(ScalarType dtype, int64_t n, Fill fill) {
  Strided t(dtype, n);
  fill(t.view(), *make_generator(kSeed).unsafeGetGeneratorImpl());
  return t;
}

// Sign-magnitude to a line on which neighbouring floats are neighbouring integers.
template <class Bits>
int64_t place(Bits b) {
  constexpr int kSign = 8 * sizeof(Bits) - 1;
  const auto magnitude = static_cast<int64_t>(b & ~(Bits{1} << kSign));
  return b >> kSign ? -magnitude : magnitude;
}

/// The elements in the order of memory are `want` up to `ulp`; 0 compares bits.
template <class Bits, size_t N>
void expect_values(const Strided& t, const Bits (&want)[N], int64_t ulp, const char* what) {
  ASSERT_EQ(t.bytes.size(), sizeof want) << what;
  const Bits* got = reinterpret_cast<const Bits*>(t.bytes.data());
  for (size_t i = 0; i < N; ++i) {
    EXPECT_LE(std::abs(place(got[i]) - place(want[i])), ulp) << what << ", element " << i;
  }
}

constexpr int64_t kUlp = 2;  // what the C library's logarithm and sine may differ by

template <class Bits, size_t U, size_t F, size_t B, size_t E>
void expect_float_type(ScalarType dtype, const Bits (&uniform)[U], const Bits (&few)[F], const Bits (&blocks)[B],
                       const Bits (&exponential)[E]) {
  const auto u = [](const View& v, GeneratorImpl& g) { uniform_fill(kCPU, v, -1.5, 4, g); };
  const auto n = [](const View& v, GeneratorImpl& g) { normal_fill(kCPU, v, 1, 2, g); };
  const auto e = [](const View& v, GeneratorImpl& g) { exponential_fill(kCPU, v, 0.5, g); };
  expect_values(filled(dtype, U, u), uniform, 0, "uniform");
  expect_values(filled(dtype, F, n), few, kUlp, "normal, one by one");
  expect_values(filled(dtype, B, n), blocks, kUlp, "normal, in blocks");
  expect_values(filled(dtype, E, e), exponential, kUlp, "exponential");
}

TEST(RandomFill, FloatTypes) {
  expect_float_type(kFloat, kUniformFloat, kNormalFewFloat, kNormalBlocksFloat, kExponentialFloat);
  expect_float_type(kDouble, kUniformDouble, kNormalFewDouble, kNormalBlocksDouble, kExponentialDouble);
  expect_float_type(kHalf, kUniformHalf, kNormalFewHalf, kNormalBlocksHalf, kExponentialHalf);
  expect_float_type(kBFloat16, kUniformBFloat16, kNormalFewBFloat16, kNormalBlocksBFloat16, kExponentialBFloat16);
}

TEST(RandomFill, OtherDistributions) {
  const auto log_normal = [](const View& v, GeneratorImpl& g) { log_normal_fill(kCPU, v, 1, 2, g); };
  const auto cauchy = [](const View& v, GeneratorImpl& g) { cauchy_fill(kCPU, v, 0.5, 2, g); };
  const auto geometric = [](const View& v, GeneratorImpl& g) { geometric_fill(kCPU, v, 0.2, g); };
  const auto bernoulli = [](const View& v, GeneratorImpl& g) { bernoulli_fill(kCPU, v, 0.3, g); };
  expect_values(filled(kFloat, 6, log_normal), kLogNormal, kUlp, "log_normal");
  expect_values(filled(kFloat, 6, cauchy), kCauchy, kUlp, "cauchy");
  expect_values(filled(kLong, 6, geometric), kGeometric, 0, "geometric");
  expect_values(filled(kByte, 24, bernoulli), kBernoulli, 0, "bernoulli");
}

TEST(RandomFill, Integers) {
  constexpr uint64_t bound = uint64_t{1} << 28;
  const auto narrow = [](const View& v, GeneratorImpl& g) { integer_range_fill(kCPU, v, bound - 1, -3, g); };
  const auto wide = [](const View& v, GeneratorImpl& g) { integer_range_fill(kCPU, v, bound, -3, g); };
  const auto all = [](const View& v, GeneratorImpl& g) { integer_all_fill(kCPU, v, g); };
  const auto type = [](const View& v, GeneratorImpl& g) { integer_type_fill(kCPU, v, g); };
  const auto permutation = [](const View& v, GeneratorImpl& g) { permutation_fill(kCPU, v, g); };
  expect_values(filled(kLong, 8, narrow), kRangeNarrow, 0, "below 2^28");
  expect_values(filled(kLong, 8, wide), kRangeWide, 0, "from 2^28 on");
  expect_values(filled(kLong, 8, all), kDraws64, 0, "all of int64");
  expect_values(filled(kInt, 8, type), kDraws32, 0, "int32");
  expect_values(filled(kHalf, 8, type), kTypeHalf, 0, "half");
  expect_values(filled(kDouble, 8, type), kTypeDouble, 0, "double");
  expect_values(filled(kLong, 12, permutation), kPermutation, 0, "permutation");
}

TEST(RandomFill, BernoulliOfEachElement) {
  std::vector<float> p(24);
  for (int i = 0; i < 24; ++i) p[i] = static_cast<float>(i) / 24;
  const int64_t size = 24, stride = 1;
  Strided t(kByte, 24);
  const auto fill = [&] {
    return bernoulli_each_fill(kCPU, t.view(), ConstView(p.data(), &size, &stride, 1, kFloat),
                               *make_generator(kSeed).unsafeGetGeneratorImpl());
  };
  EXPECT_TRUE(fill());
  expect_values(t, kBernoulliEach, 0, "bernoulli of each");
  for (const float bad : {-0.1f, 1.1f, std::nanf("")}) {
    p[13] = bad;
    EXPECT_FALSE(fill()) << bad;
  }
}

TEST(RandomFill, StateAfterDrawsIsPyTorchs) {
  const Generator g = make_generator(kSeed);
  Strided normal(kFloat, 3), uniform(kFloat, 1000);
  const auto hash = [&] {
    uint64_t h = 0xcbf29ce484222325;
    for (const uint8_t b : g.state()) h = (h ^ b) * 0x100000001b3;
    return h;
  };
  normal_fill(kCPU, normal.view(), 0, 1, *g.unsafeGetGeneratorImpl());
  EXPECT_EQ(hash(), kStateHashes[1]);
  uniform_fill(kCPU, uniform.view(), 0, 1, *g.unsafeGetGeneratorImpl());
  EXPECT_EQ(hash(), kStateHashes[2]);
}

// Not in blocks, since not contiguous, and in the order of memory.
TEST(RandomFill, ATransposedTensorIsFilledInMemorysOrder) {
  Strided t(kFloat, {5, 4}, {1, 5}, 20);
  normal_fill(kCPU, t.view(), 0, 1, *make_generator(kSeed).unsafeGetGeneratorImpl());
  expect_values(t, kNormalTransposed, kUlp, "transposed");
}

// The elements that any strided tensor covers get what a dense one of as many elements gets, in memory's order; the
// gaps stay as they are.
TEST(RandomFill, GapsAreLeftAlone) {
  const std::vector<std::vector<int64_t>> sizes = {{7}, {3, 4}, {2, 3, 4}, {4, 1, 3}, {1500, 2}, {0, 3}, {}},
                                          strides = {{3}, {8, 2}, {1, 30, 6}, {3, 7, 20}, {1, 1600}, {3, 1}, {}};
  for (size_t c = 0; c < sizes.size(); ++c) {
    Strided t(kInt, sizes[c], strides[c], 4000);
    int64_t n = 1;
    for (const int64_t s : sizes[c]) n *= s;
    Strided dense(kInt, n);
    for (Strided* s : {&t, &dense}) {
      integer_range_fill(kCPU, s->view(), 1000, 1, *make_generator(kSeed).unsafeGetGeneratorImpl());
    }
    const auto* got = reinterpret_cast<const int32_t*>(t.bytes.data());
    const auto* want = reinterpret_cast<const int32_t*>(dense.bytes.data());
    std::vector<int32_t> covered;
    for (int i = 0; i < 4000; ++i)
      if (got[i] != 0) covered.push_back(got[i]);
    EXPECT_EQ(covered, std::vector<int32_t>(want, want + n)) << "case " << c;
  }
}

TEST(RandomFill, UniformNeverReachesItsEnd) {
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    const Strided t = filled(dtype, 100000, [](const View& v, GeneratorImpl& g) { uniform_fill(kCPU, v, 0, 1, g); });
    const auto* bits = reinterpret_cast<const uint16_t*>(t.bytes.data());
    for (int i = 0; i < 100000; ++i) {
      const float v =
          dtype == kHalf ? gradus::detail::half_to_float(bits[i]) : std::bit_cast<float>(uint32_t{bits[i]} << 16);
      ASSERT_LT(v, 1.0f);
    }
  }
}

}  // namespace
