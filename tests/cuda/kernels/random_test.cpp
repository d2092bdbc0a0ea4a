// Random fills on the device: Philox against the paper's known answers and PyTorch's printed numbers, every fill
// against its formula in double on a second, plain implementation of the scheme.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <src/cuda/generator.h>

#include <kernels/random.h>

#include "device_tensor.h"
#include "kernels/cuda/launch.h"
#include "random_probe.h"

namespace gradus::inline v0::kernels {
namespace {

using gradus::cuda::CUDAGeneratorImpl;

// --- the scheme, plainly ---

struct Words {
  uint32_t x[4];
};
Words philox(uint64_t seed, uint64_t low, uint64_t high) {
  uint64_t c[4] = {low & 0xffffffffu, low >> 32, high & 0xffffffffu, high >> 32},
           key[2] = {seed & 0xffffffffu, seed >> 32};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = c[0] * 0xd2511f53u, b = c[2] * 0xcd9e8d57u;
    const uint64_t next[4] = {(b >> 32) ^ c[1] ^ key[0], b & 0xffffffffu, (a >> 32) ^ c[3] ^ key[1], a & 0xffffffffu};
    std::copy(next, next + 4, c);
    key[0] = (key[0] + 0x9e3779b9u) & 0xffffffffu, key[1] = (key[1] + 0xbb67ae85u) & 0xffffffffu;
  }
  return {{static_cast<uint32_t>(c[0]), static_cast<uint32_t>(c[1]), static_cast<uint32_t>(c[2]),
           static_cast<uint32_t>(c[3])}};
}

/// The draws of one fill of `numel` elements, `count` of which come from one block of words.
struct Draws {
  uint64_t seed, offset;
  int64_t threads;
  int count;
  Draws(uint64_t s, uint64_t o, int64_t numel, int n) : seed(s), offset(o), count(n) {
    const cuda::Context& c = cuda::context();
    threads = 256 * std::min<int64_t>(c.multiprocessors * (c.threads_per_multiprocessor / 256), (numel + 255) / 256);
  }
  uint64_t used(int64_t numel) const { return static_cast<uint64_t>((numel - 1) / (threads * count) + 1) * 4; }
  Words words(int64_t i) const {
    return philox(seed, offset / 4 + static_cast<uint64_t>(i / (threads * count)), static_cast<uint64_t>(i % threads));
  }
  int lane(int64_t i) const { return static_cast<int>(i / threads % count); }
  uint32_t word(int64_t i) const { return words(i).x[lane(i)]; }
  uint64_t word64(int64_t i) const {
    const Words w = words(i);
    const int k = 2 * lane(i);
    return static_cast<uint64_t>(w.x[k]) << 32 | w.x[k + 1];
  }
  double uniform(int64_t i) const {
    const Words w = words(i);
    if (count == 4)
      return static_cast<double>(static_cast<float>(static_cast<float>(w.x[lane(i)]) * 0x1p-32f + 0x1p-33f));
    const int k = 2 * lane(i);
    return static_cast<double>(w.x[k] ^ static_cast<uint64_t>(w.x[k + 1]) << 21) * 0x1p-53 + 0x1p-54;
  }
  double normal(int64_t i) const {
    const Words w = words(i);
    double u, turns;
    const int k = count == 4 ? lane(i) / 2 * 2 : 0;
    if (count == 4) {
      u = static_cast<double>(static_cast<float>(w.x[k]) * 0x1p-32f + 0x1p-33f);
      turns = static_cast<double>(w.x[k + 1]) * 0x1p-32 + 0x1p-33;
    } else {
      u = static_cast<double>(w.x[0] ^ static_cast<uint64_t>(w.x[1]) << 21) * 0x1p-53 + 0x1p-54;
      turns = static_cast<double>(w.x[2] ^ static_cast<uint64_t>(w.x[3]) << 21) * 0x1p-53 + 0x1p-54;
    }
    const double radius = std::sqrt(-2 * std::log(u)), angle = turns * 6.283185307179586;
    return radius * (lane(i) % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
};

const std::vector<int64_t> kSizes = {1, 31, 32, 33, 1023, 1024, 1025, 8192, 8193, 40001};
constexpr uint64_t kSeed = 0x123456789abcdef0u;

// --- known answers ---

TEST(Random, PhiloxGivesThePapersAnswers) {
  struct Case {
    uint32_t in[6], out[4];
  };
  for (const Case& c :
       std::vector<Case>{{{0, 0, 0, 0, 0, 0}, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
                         {{~0u, ~0u, ~0u, ~0u, ~0u, ~0u}, {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
                         {{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u, 0xa4093822u, 0x299f31d0u},
                          {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}}}) {
    DeviceTensor<uint32_t> words({6});
    words.fill([&](int64_t i) { return c.in[i]; });
    words.give();
    run_philox(words.data());
    words.take();
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(words[i], c.out[i]);
    const Words again =
        philox(static_cast<uint64_t>(c.in[5]) << 32 | c.in[4], static_cast<uint64_t>(c.in[1]) << 32 | c.in[0],
               static_cast<uint64_t>(c.in[3]) << 32 | c.in[2]);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(again.x[i], c.out[i]);
  }
}

TEST(Random, PyTorchsNumbersUnderSeedZero) {
  // torch.manual_seed(0), then torch.rand(8, device="cuda") or torch.randn(8, device="cuda"), to four digits.
  const double uniform[] = {0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203};
  const double normal[] = {-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797, -0.6229, -0.3284};
  DeviceTensor<float> x({8});
  CUDAGeneratorImpl g(0, 0);
  uniform_fill(the_cuda_device(), x.give(), 0, 1, g);
  x.take();
  for (int64_t i = 0; i < 8; ++i) EXPECT_NEAR(x.real(i), uniform[i], 5.1e-5);
  g.set_current_seed(0);
  normal_fill(the_cuda_device(), x.give(), 0, 1, g);
  x.take();
  for (int64_t i = 0; i < 8; ++i) EXPECT_NEAR(x.real(i), normal[i], 5.1e-5);
}

// --- floats ---

template <class T>
class RandomFloats : public ::testing::Test {
 protected:
  static constexpr int kCount = std::is_same_v<T, double> ? 2 : 4;
  static double as_element(double v) { return static_cast<double>(static_cast<T>(v)); }
  static double unit() {
    return std::is_same_v<T, double> ? 2e-16 : std::is_same_v<T, float> ? 6e-8 : std::is_same_v<T, Half> ? 5e-4 : 4e-3;
  }
  /// Fills twice from one generator and compares with want(draws, i) within `relative` and `absolute` errors of the
  /// computing type.
  template <class Fill, class Want>
  static void check(const Fill& fill, const Want& want, double relative, double absolute) {
    for (int64_t n : kSizes) {
      CUDAGeneratorImpl g(0, kSeed);
      uint64_t offset = 0;
      for (int round = 0; round < 2; ++round) {
        DeviceTensor<T> x({n});
        fill(x.give(), g);
        x.take();
        const Draws draws(kSeed, offset, n, kCount);
        for (int64_t i = 0; i < n; ++i) {
          const double w = want(draws, i), got = x.real(i);
          const double bound = std::abs(w) * (unit() + relative) + absolute;
          ASSERT_TRUE(std::abs(got - w) <= bound || got == as_element(w))
              << i << " of " << n << ": " << got << ", expected " << w;
        }
        offset += draws.used(n);
      }
    }
  }
};
using Floats = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(RandomFloats, Floats);

TYPED_TEST(RandomFloats, Uniform) {
  TestFixture::check([](View x, GeneratorImpl& g) { uniform_fill(the_cuda_device(), x, -2, 3, g); },
                     [](const Draws& d, int64_t i) {
                       const double v = d.uniform(i) * 5 - 2;
                       return TestFixture::as_element(v) == 3 ? -2 : v;
                     },
                     0, std::is_same_v<TypeParam, double> ? 1e-15 : 3e-7);
}

TYPED_TEST(RandomFloats, UniformStaysBelowItsEnd) {
  DeviceTensor<TypeParam> x({100000});
  CUDAGeneratorImpl g(0, 3);
  uniform_fill(the_cuda_device(), x.give(), 0, 1, g);
  x.take();
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    ASSERT_TRUE(x.real(i) >= 0 && x.real(i) < 1);
    sum += x.real(i);
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

TYPED_TEST(RandomFloats, Normal) {
  TestFixture::check([](View x, GeneratorImpl& g) { normal_fill(the_cuda_device(), x, 1.5, 0.25, g); },
                     [](const Draws& d, int64_t i) { return d.normal(i) * 0.25 + 1.5; },
                     std::is_same_v<TypeParam, double> ? 1e-15 : 4e-7,
                     std::is_same_v<TypeParam, double> ? 1e-15 : 2e-6);
}

TYPED_TEST(RandomFloats, LogNormal) {
  TestFixture::check([](View x, GeneratorImpl& g) { log_normal_fill(the_cuda_device(), x, 0.5, 0.25, g); },
                     [](const Draws& d, int64_t i) { return std::exp(d.normal(i) * 0.25 + 0.5); },
                     std::is_same_v<TypeParam, double> ? 1e-14 : 4e-6, 0);
}

TYPED_TEST(RandomFloats, Cauchy) {
  constexpr bool wide = std::is_same_v<TypeParam, double>;
  TestFixture::check([](View x, GeneratorImpl& g) { cauchy_fill(the_cuda_device(), x, 0.5, 2, g); },
                     [](const Draws& d, int64_t i) {
                       constexpr double eps = std::numeric_limits<float>::epsilon();
                       const double u = wide ? d.uniform(i) : std::clamp(d.uniform(i), eps, 1 - eps);
                       const double v = 0.5 + 2 * std::tan(3.14159265358979323846 * (u - 0.5));
                       return std::is_same_v<TypeParam, Half> && std::abs(v) > 65504 ? std::copysign(HUGE_VAL, v) : v;
                     },
                     // The tangent grows as its argument's error does.
                     wide ? 1e-10 : 0.02, wide ? 1e-12 : 1e-5);
}

TYPED_TEST(RandomFloats, Exponential) {
  constexpr bool wide = std::is_same_v<TypeParam, double>;
  TestFixture::check([](View x, GeneratorImpl& g) { exponential_fill(the_cuda_device(), x, 3, g); },
                     [](const Draws& d, int64_t i) {
                       constexpr double half =
                           (wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon()) / 2;
                       return (d.uniform(i) >= 1 - half ? half : -std::log(d.uniform(i))) / 3;
                     },
                     wide ? 1e-14 : 1e-6, wide ? 1e-16 : 3e-7);
  DeviceTensor<TypeParam> x({30000});
  CUDAGeneratorImpl g(0, 1);
  exponential_fill(the_cuda_device(), x.give(), 1, g);
  x.take();
  for (int64_t i = 0; i < x.numel(); ++i) ASSERT_GT(x.real(i), 0);
}

TEST(Random, ElementsAreCountedAsTheyLieInMemory) {
  DeviceTensor<float> dense({40, 30, 20}), permuted({20, 40, 30}, {1, 600, 20}), spread({40, 30, 20}, {1800, 60, 3});
  for (DeviceTensor<float>* x : {&dense, &permuted, &spread}) {
    CUDAGeneratorImpl g(0, 5);
    normal_fill(the_cuda_device(), x->give(), 0, 1, g);
    x->take();
  }
  for (int64_t i = 0; i < dense.numel(); ++i) {
    ASSERT_EQ(dense[i], spread[i]);
    ASSERT_EQ(dense[i], permuted[i % 20 * 1200 + i / 20]);
  }
  DeviceTensor<float> one({}), none({0, 3});
  CUDAGeneratorImpl g(0, 5);
  normal_fill(the_cuda_device(), one.give(), 0, 1, g);
  one.take();
  EXPECT_EQ(one[0], dense[0]);
}

TEST(Random, WhatThirtyTwoBitsDoNotAddressIsHalved) {
  const auto parts = [](std::vector<int64_t> sizes, std::vector<int64_t> strides, ScalarType t) {
    return random_parts({nullptr, sizes.data(), strides.data(), static_cast<int>(sizes.size()), t, the_cuda_device()});
  };
  constexpr int64_t kGiga = int64_t{1} << 30;
  using Parts = std::vector<RandomPart>;
  EXPECT_EQ(parts({kGiga / 2}, {1}, kFloat), (Parts{{0, kGiga / 2}}));
  EXPECT_EQ(parts({kGiga}, {1}, kFloat), (Parts{{0, kGiga / 2}, {2 * kGiga, kGiga / 2}}));
  EXPECT_EQ(parts({kGiga + 1}, {1}, kFloat),
            (Parts{{0, kGiga / 2}, {2 * kGiga, kGiga / 4}, {3 * kGiga, kGiga / 4 + 1}}));
  EXPECT_EQ(parts({3, kGiga}, {1, 3}, kByte), (Parts{{0, 3 * kGiga / 2}, {3 * kGiga / 2, 3 * kGiga / 2}}));
  EXPECT_EQ(parts({3, kGiga}, {kGiga, 1}, kByte), (Parts{{0, 3 * kGiga / 2}, {3 * kGiga / 2, 3 * kGiga / 2}}));
  // Two rows far apart.
  EXPECT_EQ(parts({2, 10}, {kGiga, 1}, kDouble), (Parts{{0, 10}, {8 * kGiga, 10}}));
}

// --- integers ---

template <class T>
class RandomIntegers : public ::testing::Test {};
using Numbers = ::testing::Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, bool,
                                 uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(RandomIntegers, Numbers);

TYPED_TEST(RandomIntegers, Range) {
  using T = TypeParam;
  struct Range {
    uint64_t width;
    int64_t base;
  };
  std::vector<Range> ranges = {{1, 1}, {2, 0}};
  if (sizeof(T) > 1) ranges.push_back({100, std::is_unsigned_v<T> ? 3 : -50});
  if (sizeof(T) > 2) ranges.push_back({(1u << 28) - 1, 5}), ranges.push_back({1u << 28, 5});
  if (sizeof(T) > 4)
    ranges.push_back({uint64_t{1} << 40, -7}), ranges.push_back({~uint64_t{0}, 11}), ranges.push_back({0, 0});
  for (const Range& r : ranges) {
    for (int64_t n : {1, 33, 8193, 20000}) {
      DeviceTensor<T> x({n});
      CUDAGeneratorImpl g(0, kSeed);
      integer_range_fill(the_cuda_device(), x.give(), r.width, r.base, g);
      x.take();
      const bool wide = r.width == 0 || r.width >= uint64_t{1} << 28;
      const Draws d(kSeed, 0, n, wide ? 2 : 4);
      for (int64_t i = 0; i < n; ++i) {
        const uint64_t bits = wide ? d.word64(i) : d.word(i);
        const auto v = static_cast<int64_t>((r.width ? bits % r.width : bits) + static_cast<uint64_t>(r.base));
        ASSERT_TRUE(x[i] == static_cast<T>(v)) << i << " of " << n << ", width " << r.width;
      }
    }
  }
}

TYPED_TEST(RandomIntegers, AllOfAType) {
  using T = TypeParam;
  constexpr bool wide = sizeof(T) == 8;
  uint64_t modulus = 0;
  if (std::is_same_v<T, bool>) {
    modulus = 2;
  } else if (std::is_integral_v<T>) {
    modulus = static_cast<uint64_t>(std::numeric_limits<T>::max()) + 1;
  } else {
    modulus = (uint64_t{1} << (std::is_same_v<T, double>  ? 53
                               : std::is_same_v<T, float> ? 24
                               : std::is_same_v<T, Half>  ? 11
                                                          : 8)) +
              1;
  }
  DeviceTensor<T> x({9000});
  CUDAGeneratorImpl g(0, kSeed);
  integer_type_fill(the_cuda_device(), x.give(), g);
  x.take();
  const Draws d(kSeed, 0, 9000, wide ? 2 : 4);
  for (int64_t i = 0; i < 9000; ++i) {
    const uint64_t bits = wide ? d.word64(i) : d.word(i);
    ASSERT_TRUE(x[i] == static_cast<T>(static_cast<int64_t>(modulus ? bits % modulus : bits))) << i;
  }
}

TEST(RandomIntegers, AllOfInt64) {
  DeviceTensor<int64_t> x({9000});
  DeviceTensor<double> y({9000});
  CUDAGeneratorImpl g(0, kSeed), h(0, kSeed);
  integer_all_fill(the_cuda_device(), x.give(), g);
  integer_all_fill(the_cuda_device(), y.give(), h);
  x.take(), y.take();
  const Draws d(kSeed, 0, 9000, 2);
  for (int64_t i = 0; i < 9000; ++i) {
    ASSERT_EQ(x[i], static_cast<int64_t>(d.word64(i)));
    ASSERT_EQ(y[i], static_cast<double>(x[i]));
  }
}

// --- trials ---

TYPED_TEST(RandomIntegers, Bernoulli) {
  using T = TypeParam;
  for (double p : {0.0, 0.3, 1.0}) {
    for (int64_t n : {1, 33, 8193, 20000}) {
      DeviceTensor<T> x({n});
      CUDAGeneratorImpl g(0, kSeed);
      bernoulli_fill(the_cuda_device(), x.give(), p, g);
      x.take();
      const Draws d(kSeed, 0, n, std::is_same_v<T, double> ? 2 : 4);
      const double bound = std::is_same_v<T, double> ? p : static_cast<double>(static_cast<float>(p));
      for (int64_t i = 0; i < n; ++i) ASSERT_TRUE(x[i] == static_cast<T>(d.uniform(i) < bound ? 1 : 0)) << i;
    }
  }
}

template <class T, class P>
void check_bernoulli_each() {
  for (int64_t n : {1, 3, 33, 1025, 9001}) {
    DeviceTensor<T> x({n, 2}, {1, n});
    DeviceTensor<P> p({n, 2}, {1, n});
    p.fill([](int64_t i) { return i % 7 == 0 ? 0.0 : i % 11 == 0 ? 1.0 : static_cast<double>(below(100, i)) / 100; });
    CUDAGeneratorImpl g(0, kSeed);
    EXPECT_TRUE(bernoulli_each_fill(the_cuda_device(), x.give(), p.give(), g));
    x.take();
    for (int64_t i = 0; i < 2 * n; ++i) {
      const int64_t at = i % 2 * n + i / 2;  // in memory
      const float u =
          static_cast<float>(philox(kSeed, 0, static_cast<uint64_t>(at / 4)).x[at % 4]) * 0x1p-32f + 0x1p-33f;
      const double probability =
          std::is_same_v<T, double> ? p.real(i) : static_cast<double>(static_cast<float>(p.real(i)));
      ASSERT_TRUE(x[i] == static_cast<T>(static_cast<double>(u) <= probability ? 1 : 0)) << i;
    }
    EXPECT_FALSE(take_report().any);
  }
}
TYPED_TEST(RandomIntegers, BernoulliEach) {
  check_bernoulli_each<TypeParam, float>();
  check_bernoulli_each<TypeParam, double>();
  check_bernoulli_each<TypeParam, Half>();
  check_bernoulli_each<TypeParam, BFloat16>();
}

TEST(RandomIntegers, BadProbabilities) {
  for (double bad : {-0.1, 1.5, static_cast<double>(NAN)}) {
    DeviceTensor<float> x({100}), p({1});
    p[0] = static_cast<float>(bad);
    ConstView wide = p.give();
    const int64_t size = 100, zero = 0;
    wide.sizes = &size, wide.strides = &zero;
    CUDAGeneratorImpl g(0, 1);
    bernoulli_each_fill(the_cuda_device(), x.give(), wide, g);
    const Reported r = take_report();
    EXPECT_TRUE(r.any);
    EXPECT_EQ(r.what, cuda::kProbability);
  }
}

TYPED_TEST(RandomIntegers, Geometric) {
  using T = TypeParam;
  if (std::is_same_v<T, bool>) return;
  constexpr bool wide = std::is_same_v<T, double>;
  const double p = 0.3;
  DeviceTensor<T> x({9000});
  CUDAGeneratorImpl g(0, kSeed);
  geometric_fill(the_cuda_device(), x.give(), p, g);
  x.take();
  const Draws d(kSeed, 0, 9000, wide ? 2 : 4);
  for (int64_t i = 0; i < 9000; ++i) {
    const double trials = std::log(d.uniform(i)) / std::log1p(-p), error = wide ? 1e-12 : 1e-4;
    ASSERT_GE(static_cast<double>(x[i]), std::ceil(trials - error));
    ASSERT_LE(static_cast<double>(x[i]), std::ceil(trials + error));
  }
}

// --- permutations ---

TEST(Permutations, HoldEachNumberOnce) {
  const auto run = [&]<class T>(int64_t n, int64_t stride) {
    DeviceTensor<T> x({n}, {stride});
    std::vector<int64_t> first;
    for (int round = 0; round < 3; ++round) {
      CUDAGeneratorImpl g(0, round < 2 ? 9 : 10);
      permutation_fill(the_cuda_device(), x.give(), g);
      x.take();
      std::vector<int64_t> sorted, drawn;
      for (int64_t i = 0; i < n; ++i) drawn.push_back(static_cast<int64_t>(static_cast<double>(x[i])));
      sorted = drawn;
      std::sort(sorted.begin(), sorted.end());
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(sorted[static_cast<size_t>(i)], i);
      if (round == 0) first = drawn;
      EXPECT_EQ(drawn == first, round < 2 || n < 5) << n;
    }
  };
  for (int64_t n : {1, 2, 33, 1025, 4096, 5000, 70000}) run.operator()<int64_t>(n, 1);
  run.operator()<int64_t>(100, 3);
  run.operator()<int32_t>(2000, 1), run.operator()<int16_t>(2000, 2), run.operator()<uint8_t>(256, 1);
  run.operator()<float>(2000, 1), run.operator()<double>(2000, 1), run.operator()<Half>(2000, 1),
      run.operator()<BFloat16>(200, 1);
}

TEST(Permutations, AreAllAsLikely) {
  std::map<int64_t, int> seen;
  CUDAGeneratorImpl g(0, 4);
  DeviceTensor<int64_t> x({4});
  constexpr int kRounds = 480;
  for (int round = 0; round < kRounds; ++round) {
    permutation_fill(the_cuda_device(), x.give(), g);
    x.take();
    ++seen[x[0] * 64 + x[1] * 16 + x[2] * 4 + x[3]];
  }
  ASSERT_EQ(seen.size(), 24u);
  double chi = 0;
  for (const auto& [key, count] : seen) chi += std::pow(count - kRounds / 24.0, 2) / (kRounds / 24.0);
  EXPECT_LT(chi, 60);  // 23 degrees of freedom: once in 30,000
}

// --- multinomial ---

TYPED_TEST(RandomFloats, MultinomialDraw) {
  using T = TypeParam;
  for (const auto& [rows, n, draws_each] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {1, 1, 5}, {3, 7, 200}, {2, 2100, 129}, {5, 33, 1}, {1, 5000, 2000}}) {
    DeviceTensor<T> weights({rows, n});
    weights.fill([](int64_t i) { return i % 3 == 1 ? 0.0 : 1 + static_cast<double>(below(8, i)); });
    DeviceTensor<int64_t> out({rows, draws_each});
    CUDAGeneratorImpl g(0, kSeed);
    EXPECT_EQ(multinomial_draw(the_cuda_device(), out.give(), weights.give(), g), WeightError::kNone);
    out.take();
    const int64_t width = (draws_each + 127) / 128 * 128;
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += weights.real(r * n + i);
      for (int64_t k = 0; k < draws_each; ++k) {
        const float u =
            static_cast<float>(philox(kSeed, 0, static_cast<uint64_t>(r * width + k)).x[0]) * 0x1p-32f + 0x1p-33f;
        const int64_t got = out[r * draws_each + k];
        ASSERT_TRUE(got >= 0 && got < n);
        ASSERT_GT(weights.real(r * n + got), 0);
        double before = 0;
        for (int64_t i = 0; i < got; ++i) before += weights.real(r * n + i) / sum;
        const double error = std::is_same_v<T, double> ? 1e-12 : 1e-5;
        ASSERT_GE(static_cast<double>(u), before - error);
        ASSERT_LE(static_cast<double>(u), before + weights.real(r * n + got) / sum + error);
      }
    }
    EXPECT_FALSE(take_report().any);
  }
}

TYPED_TEST(RandomFloats, MultinomialPick) {
  using T = TypeParam;
  for (const auto& [rows, n, picks] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {1, 1, 1}, {3, 7, 7}, {40, 600, 1}, {3, 600, 20}, {2, 9000, 5}}) {
    DeviceTensor<T> weights({rows, n}), exponential({rows, n});
    weights.fill([](int64_t i) { return i % 5 == 1 ? 0.0 : 1 + static_cast<double>(below(20, i)); });
    exponential.fill([](int64_t i) { return 0.25 + static_cast<double>(below(64, i, 1)) / 16; });
    const auto e = exponential.copy();
    DeviceTensor<int64_t> out({rows, picks});
    EXPECT_EQ(multinomial_pick(the_cuda_device(), out.give(), weights.give(), exponential.give()), WeightError::kNone);
    out.take();
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<int64_t> order(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
      const auto key = [&](int64_t i) {
        const auto at = static_cast<size_t>(r * n + i);
        using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
        return static_cast<double>(static_cast<T>(static_cast<W>(weights[r * n + i]) / static_cast<W>(e[at])));
      };
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return key(a) > key(b); });
      for (int64_t k = 0; k < picks; ++k) ASSERT_EQ(out[r * picks + k], order[static_cast<size_t>(k)]) << r << " " << k;
    }
    EXPECT_FALSE(take_report().any);
  }
}

TYPED_TEST(RandomFloats, MultinomialBadWeights) {
  using T = TypeParam;
  for (double bad : {-1.0, static_cast<double>(NAN), HUGE_VAL, 0.0}) {
    for (int64_t picks : {0, 1, 3}) {  // 0: with replacement
      DeviceTensor<T> weights({2, 600}), exponential({2, 600});
      weights.fill([&](int64_t i) { return i >= 600 ? (bad == 0 ? 0.0 : i == 1000 ? bad : 1.0) : 1.0; });
      exponential.fill([](int64_t) { return 1.0; });
      DeviceTensor<int64_t> out({2, picks ? picks : 50});
      CUDAGeneratorImpl g(0, 1);
      if (picks) {
        multinomial_pick(the_cuda_device(), out.give(), weights.give(), exponential.give());
      } else {
        multinomial_draw(the_cuda_device(), out.give(), weights.give(), g);
      }
      out.take();
      for (int64_t i = 0; i < out.numel(); ++i) ASSERT_TRUE(out[i] >= 0 && out[i] < 600);
      const Reported r = take_report();
      EXPECT_TRUE(r.any);
      EXPECT_EQ(r.what, cuda::kWeight);
      EXPECT_EQ(r.position, 1);
      const WeightError want = bad == 0          ? WeightError::kZeroSum
                               : bad == HUGE_VAL ? WeightError::kNotFinite
                                                 : WeightError::kNegative;
      EXPECT_EQ(r.value, static_cast<int64_t>(want));
    }
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
