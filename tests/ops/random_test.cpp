// Random operators (draws_test.cpp has their values): out forms, meta tensors, gradients, errors.
#include <gradus/core/generator.h>
#include <gradus/ops/ops.h>

#include <cstring>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "support/errors.h"

namespace {

using namespace gradus;
using support::error_of;

/// Whether two tensors hold the same bits.
bool same(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), y.nbytes()) == 0;
}

TEST(RandomOps, ErrorsNameOpAndWhatWasExpected) {
  const Tensor x = zeros({3}), integers = zeros({3}, kLong), bits = zeros({3}, kBool), z = zeros({3}, kComplexFloat);
  EXPECT_EQ(error_of([] { rand({2}, kLong); }), "rand: the dtype is Long; expected a floating or complex one");
  EXPECT_EQ(error_of([] { randn({2}, kBool); }), "randn: the dtype is Bool; expected a floating or complex one");
  EXPECT_EQ(error_of([] { rand({2, -2}); }).substr(0, 5), "rand:");
  EXPECT_EQ(error_of([&] { x.uniform_(3, 1); }), "uniform_: from is 3, to is 1; expected from <= to");
  EXPECT_EQ(error_of([&] { x.normal_(0, -1); }), "normal_: std is -1; expected a number >= 0");
  EXPECT_EQ(error_of([&] { x.bernoulli_(1.5); }), "bernoulli_: p is 1.5; expected a probability in [0, 1]");
  EXPECT_EQ(error_of([&] { x.exponential_(0); }), "exponential_: lambd is 0; expected a number > 0");
  EXPECT_EQ(error_of([&] { x.geometric_(1); }), "geometric_: p is 1; expected a probability in (0, 1)");
  EXPECT_EQ(error_of([] { randint(5, 5, {2}); }), "randint: from is 5, to is 5; expected from < to");
  EXPECT_EQ(error_of([] { randint(0, 300, {2}, kByte); }),
            "randint: integers from 0 to 299 were asked for; expected some that Byte can hold");
  EXPECT_EQ(error_of([] { randperm(-1); }), "randperm: n is -1; expected a number >= 0");
  EXPECT_EQ(error_of([] { randperm(257, kByte); }), "randperm: n is 257; expected at most 255 + 1 for Byte");
  EXPECT_EQ(error_of([&] { dropout(x, -0.1, true); }), "dropout: p is -0.1; expected a probability in [0, 1]");
  for (const auto& throws : std::vector<std::function<void()>>{
           [&] { integers.uniform_(); }, [&] { integers.normal_(); }, [&] { integers.exponential_(); },
           [&] { bits.geometric_(0.5); }, [&] { z.random_(); }, [&] { z.bernoulli_(); }, [&] { integers.bernoulli(); },
           [&] { zeros({1}).expand({3}).uniform_(); }, [&] { full({2}, 1.5).bernoulli(); },
           [&] { normal(zeros({2}), full({2}, -1.0)); }, [&] { normal(zeros({2}), ones({3})); },
           [&] { dropout(integers, 0.5, true); }, [&] { feature_dropout(x, 0.5, true); }, [&] { rand({-1}); },
           [&] { zeros({3}, kHalf).random_(0, 100000); }}) {
    EXPECT_THROW(throws(), Error);
  }
}

TEST(RandomOps, Multinomial) {
  const Tensor weights = zeros({2, 4}, kDouble);
  weights.select(0, 0).select(0, 2).fill_(3);
  weights.select(0, 1).select(0, 1).fill_(0.5);
  const Tensor drawn = multinomial(weights, 5, true);
  EXPECT_TRUE(drawn.select(0, 0).eq(2).all().item<bool>());
  EXPECT_TRUE(drawn.select(0, 1).eq(1).all().item<bool>());
  const Tensor order = multinomial(ones({6}), 6);
  std::vector<bool> seen(6);
  for (int i = 0; i < 6; ++i) seen[static_cast<size_t>(order.data_ptr<int64_t>()[i])] = true;
  EXPECT_EQ(seen, std::vector<bool>(6, true));
  EXPECT_EQ(error_of([&] { multinomial(weights, 5); }),
            "multinomial: num_samples is 5; expected 1 to the number of weights, 4");
  EXPECT_THROW(multinomial(zeros({3}), 1), Error);
  EXPECT_THROW(multinomial(full({3}, -1.0), 2, true), Error);
  EXPECT_THROW(multinomial(ones({3}, kLong), 1), Error);
}

TEST(RandomOps, OutFormsDrawTheSameIntoTheirTensor) {
  manual_seed(1);
  const Tensor want = rand({20});
  Tensor out = empty({20});
  const void* memory = out.data_ptr();
  manual_seed(1);
  rand_out(out, {20});
  EXPECT_TRUE(same(out, want));
  EXPECT_EQ(out.data_ptr(), memory);
  Tensor other = empty({0}, kDouble);
  randn_out(other, {3, 2});
  EXPECT_EQ(other.sizes(), IntArrayRef({3, 2}));
  // The mean's own memory may be the out tensor.
  manual_seed(1);
  const Tensor around = normal(ones({20}), 2.0);
  Tensor mean = ones({20});
  manual_seed(1);
  normal_out(mean, mean, 2.0);
  EXPECT_TRUE(same(mean, around));
}

TEST(RandomOps, AGeneratorGivenIsUsedAndTheDefaultLeftAlone) {
  manual_seed(5);
  const Tensor want = rand({7});
  const std::vector<uint8_t> before = default_generator().state();
  const Generator g = make_generator(5);
  EXPECT_TRUE(same(rand({7}, g), want));
  EXPECT_EQ(default_generator().state(), before);
  const GeneratorGuard guard(make_generator(5));
  EXPECT_TRUE(same(rand({7}), want));
}

TEST(RandomOps, ThreadsShareTheDefaultGenerator) {
  manual_seed(5);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 50; ++k) rand({1000});
    });
  }
  for (std::thread& t : threads) t.join();
  const Generator serial = make_generator(5);
  rand({4 * 50 * 1000}, serial);
  EXPECT_EQ(default_generator().state(), serial.state());
}

TEST(RandomOps, LikeFormsKeepShapeOrderAndType) {
  const Tensor t = zeros({4, 5}, kDouble).t();
  const Tensor like = rand_like(t);
  EXPECT_EQ(like.strides(), t.strides());
  EXPECT_EQ(like.scalar_type(), kDouble);
  EXPECT_EQ(randn_like(t, kHalf).scalar_type(), kHalf);
  EXPECT_EQ(randint_like(t, 3, 4, kLong).sum().item<int64_t>(), 60);
}

TEST(RandomOps, MetaTensorsDrawNothing) {
  manual_seed(5);
  const std::vector<uint8_t> before = default_generator().state();
  const Tensor huge = rand({1000000, 1000000}, kMeta);
  EXPECT_EQ(huge.numel(), 1000000000000);
  huge.normal_();
  EXPECT_EQ(dropout(huge, 0.5, true).sizes(), huge.sizes());
  EXPECT_EQ(default_generator().state(), before);
}

TEST(RandomOps, InPlaceDrawsLeaveNoGradient) {
  const Tensor x = ones({20}, requires_grad());
  const Tensor y = x.mul(2);
  y.normal_();
  y.mul(y).sum().backward();
  EXPECT_EQ(x.grad().abs().sum().item<float>(), 0);
  EXPECT_THROW(x.uniform_(), Error);
}

TEST(Dropout, ForwardAndGradientUseOneMask) {
  for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    const Tensor x = ones({50, 20}, TensorOptions(dtype).requires_grad(true));
    const Tensor y = dropout(x, 0.25, true);
    y.backward(ones_like(y));
    EXPECT_TRUE(same(x.grad(), y)) << to_string(dtype);
    const double kept = y.ne(0).to(kDouble).mean().item<double>();
    EXPECT_NEAR(kept, 0.75, 0.06) << to_string(dtype);
  }
}

TEST(Dropout, IsTheIdentityWhereNothingIsDropped) {
  const Tensor x = ones({5});
  EXPECT_TRUE(dropout(x, 0.5, false).is_same(x));
  EXPECT_TRUE(dropout(x, 0, true).is_same(x));
  EXPECT_EQ(dropout(x, 1, true).abs().sum().item<float>(), 0);
}

TEST(Dropout, AChannelIsDroppedWhole) {
  manual_seed(3);
  const Tensor x = ones({40, 30, 4, 4});
  const Tensor sums = feature_dropout(x, 0.5, true).sum(IntArrayRef({2, 3}));
  EXPECT_EQ(sums.eq(0).logical_or(sums.eq(32)).all().item<bool>(), true);
}

TEST(Dropout, InPlaceWritesIntoItsTensor) {
  manual_seed(3);
  const Tensor want = dropout(ones({100}), 0.5, true);
  manual_seed(3);
  Tensor x = ones({100});
  const void* memory = x.data_ptr();
  dropout_(x, 0.5, true);
  EXPECT_EQ(x.data_ptr(), memory);
  EXPECT_TRUE(same(x, want));
}

TEST(Dropout, NativeFormReturnsTheMask) {
  const Tensor x = ones({100}, TensorOptions(kDouble).requires_grad(true));
  const auto [y, mask] = native_dropout(x, 0.5, true);
  EXPECT_EQ(mask.scalar_type(), kBool);
  EXPECT_TRUE(same(y, mask.to(kDouble).mul(2)));
  EXPECT_TRUE(same(native_dropout_backward(ones_like(y), mask, 3), mask.to(kDouble).mul(3)));
}

}  // namespace
