// Embedding on the device: rows by index, the deterministic gradient with padding and frequencies, bad indices.
#include <gradus/core/scalar_type.h>

#include <kernels/embedding.h>

#include "device_tensor.h"

namespace gradus::inline v0::kernels {
namespace {

struct Case {
  int64_t rows, width;
  std::vector<int64_t> indices;  // their shape
  int64_t pitch = 0;             // of the table's rows, where it is not the width
  int64_t shift = 0;             // of the table from an aligned address
};
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {1, 1, {1}},       {10, 4, {7}},   {33, 31, {5, 6}, 32}, {100, 64, {33}},
      {1000, 3, {1025}}, {7, 33, {200}}, {50000, 8, {4, 25}},  {5, 16, {2, 3}, 20, 1},
      {4, 0, {3}},       {3, 2, {0}},    {2, 1, {2000}},       {300, 100, {31}, 104, 2},
  };
  return list;
}

template <class T>
class Embedding : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16, uint8_t, int64_t, complex<double>>;
TYPED_TEST_SUITE(Embedding, Types);

template <class T>
T number(int64_t i) {
  return static_cast<T>(static_cast<float>(below(101, i)));
}

TYPED_TEST(Embedding, Forward) {
  using T = TypeParam;
  const auto run = [&]<class I>(const Case& c) {
    const int64_t pitch = c.pitch ? c.pitch : c.width;
    DeviceTensor<T> weight({c.rows, c.width}, {pitch, 1}, c.shift);
    weight.fill([](int64_t i) { return number<T>(i); });
    DeviceTensor<I> indices(c.indices);
    indices.fill([&](int64_t i) { return below(c.rows, i, 2); });
    std::vector<int64_t> sizes = c.indices;
    sizes.push_back(c.width);
    DeviceTensor<T> out(sizes);
    embedding_forward(the_cuda_device(), out.give(), weight.give(), indices.give());
    out.take();
    for (int64_t i = 0; i < out.numel(); ++i)
      ASSERT_TRUE(out[i] == weight[static_cast<int64_t>(indices[i / c.width]) * c.width + i % c.width]) << i;
    EXPECT_FALSE(take_report().any);
  };
  for (const Case& c : cases()) {
    run.template operator()<int64_t>(c);
    run.template operator()<int32_t>(c);
  }
}

TEST(Embedding, BadIndices) {
  for (int64_t bad : {int64_t{10}, int64_t{-1}, int64_t{1} << 33}) {
    DeviceTensor<float> weight({10, 8}), out({5, 8});
    DeviceTensor<int64_t> indices({5});
    weight.fill([](int64_t i) { return i; });
    indices.fill([](int64_t i) { return i; });
    indices[4] = bad;
    embedding_forward(the_cuda_device(), out.give(), weight.give(), indices.give());
    out.take();
    for (int64_t i = 0; i < 32; ++i) ASSERT_EQ(out[i], static_cast<float>(i));
    const Reported r = take_report();
    EXPECT_EQ(r.operation, "embedding");
    EXPECT_EQ(r.position, 4);
    EXPECT_EQ(r.value, bad);
    EXPECT_EQ(r.limit, 10);
  }
}

template <class T>
class EmbeddingGradient : public ::testing::Test {};
using Floats = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(EmbeddingGradient, Floats);

TYPED_TEST(EmbeddingGradient, Backward) {
  using T = TypeParam;
  const double unit = std::is_same_v<T, double>  ? 1e-15
                      : std::is_same_v<T, float> ? 1e-6
                      : std::is_same_v<T, Half>  ? 5e-4
                                                 : 4e-3;
  const auto run = [&]<class I>(const Case& c, int64_t padding, bool by_frequency) {
    DeviceTensor<I> indices(c.indices);
    indices.fill([&](int64_t i) { return i % 3 == 0 ? 0 : below(c.rows, i, 2); });
    std::vector<int64_t> sizes = c.indices;
    sizes.push_back(c.width);
    DeviceTensor<T> grad(sizes), weight({c.rows, c.width});
    grad.fill([](int64_t i) { return std::sin(static_cast<double>(i)); });
    embedding_backward(the_cuda_device(), weight.give(), grad.give(), indices.give(), padding, by_frequency);
    weight.take();
    std::vector<double> want(static_cast<size_t>(weight.numel())), sizes_of(want.size());
    std::vector<int64_t> times(static_cast<size_t>(c.rows));
    for (int64_t i = 0; i < indices.numel(); ++i) {
      const auto row = static_cast<int64_t>(indices[i]);
      if (row == padding) continue;
      ++times[static_cast<size_t>(row)];
      for (int64_t k = 0; k < c.width; ++k) {
        want[static_cast<size_t>(row * c.width + k)] += grad.real(i * c.width + k);
        sizes_of[static_cast<size_t>(row * c.width + k)] += std::abs(grad.real(i * c.width + k));
      }
    }
    for (int64_t i = 0; i < weight.numel(); ++i) {
      const double count = by_frequency ? static_cast<double>(times[static_cast<size_t>(i / c.width)]) : 1;
      const double w = count > 1 ? want[static_cast<size_t>(i)] / count : want[static_cast<size_t>(i)];
      const double bound =
          unit * std::abs(w) + (std::is_same_v<T, double> ? 1e-15 : 3e-7) * sizes_of[static_cast<size_t>(i)];
      ASSERT_TRUE(std::abs(weight.real(i) - w) <= bound)
          << i << " of " << c.rows << " x " << c.width << ": " << weight.real(i) << ", expected " << w;
    }
  };
  for (const Case& c : cases()) {
    for (int64_t padding : {int64_t{-1}, int64_t{0}, c.rows - 1}) {
      run.template operator()<int64_t>(c, padding, false);
      run.template operator()<int32_t>(c, padding, true);
    }
  }
}

TEST(EmbeddingGradient, SumsAreTheSameAlways) {
  std::vector<float> first(64);
  for (int round = 0; round < 3; ++round) {
    DeviceTensor<int64_t> indices({5000});
    indices.fill([](int64_t i) { return i % 7 == 0 ? 1 : 0; });
    DeviceTensor<float> grad({5000, 32}), weight({2, 32});
    grad.fill([](int64_t i) { return std::sin(static_cast<double>(i) * 1.3); });
    embedding_backward(the_cuda_device(), weight.give(), grad.give(), indices.give(), -1, false);
    weight.take();
    for (int64_t i = 0; i < 64; ++i) {
      if (round == 0) first[static_cast<size_t>(i)] = weight[i];
      ASSERT_EQ(weight[i], first[static_cast<size_t>(i)]);
    }
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
