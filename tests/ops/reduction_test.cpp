// Reductions: values, accuracy, shapes of every kind of walk, NaN, empty tensors, dtypes, gradients at corners.
#include "support/vectors.h"

using namespace gradus;
using namespace support;

namespace {

// Small whole numbers, so that every order of adding gives the same sum.
Tensor pattern(IntArrayRef sizes) {
  Tensor t = gradus::empty(sizes, kFloat);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<float>()[i] = static_cast<float>(i * 7 % 11 - 5);
  return t;
}

double element(const Tensor& t, int64_t i, int64_t j, int64_t k) {
  return t.data_ptr<float>()[i * t.stride(0) + j * t.stride(1) + k * t.stride(2)];
}

// Sum, largest and first place of the largest over one dimension, by plain loops.
void check_dim(const Tensor& t, int64_t dim) {
  const Tensor sum = t.sum(IntArrayRef(dim)), mean = t.mean(IntArrayRef(dim)), largest = t.amax(IntArrayRef(dim));
  const auto [values, places] = t.max(dim);
  const int64_t a = dim == 0 ? 1 : 0, b = dim == 2 ? 1 : 2;
  for (int64_t i = 0; i < t.size(a); ++i) {
    for (int64_t j = 0; j < t.size(b); ++j) {
      double total = 0, best = -kInf;
      int64_t at = -1;
      for (int64_t k = 0; k < t.size(dim); ++k) {
        const double v = dim == 0 ? element(t, k, i, j) : dim == 1 ? element(t, i, k, j) : element(t, i, j, k);
        total += v;
        if (v > best) best = v, at = k;
      }
      const int64_t place = i * t.size(b) + j;
      ASSERT_EQ(sum.contiguous().data_ptr<float>()[place], total) << "dim " << dim << " of " << str(t.sizes());
      ASSERT_EQ(largest.contiguous().data_ptr<float>()[place], best);
      ASSERT_EQ(values.contiguous().data_ptr<float>()[place], best);
      ASSERT_EQ(places.contiguous().data_ptr<int64_t>()[place], at);
      ASSERT_NEAR(mean.contiguous().data_ptr<float>()[place], total / static_cast<double>(t.size(dim)), 1e-5);
    }
  }
}

TEST(Reduction, EveryWalkSumsTheSame) {
  for (int64_t n : {1, 2, 7, 31, 32, 33, 127, 128, 129, 1025}) {
    check_dim(pattern({3, 2, n}), 2);
    check_dim(pattern({3, n, 2}), 1);
    check_dim(pattern({n, 2, 3}), 0);
    check_dim(pattern({2, 3, n}), 0);
    check_dim(pattern({2, 3, n}).transpose(0, 2), 1);
    check_dim(pattern({2, n, 3}).transpose(1, 2), 2);
  }
  check_dim(pattern({40, 50, 60}), 1);
  check_dim(pattern({200000, 1, 1}), 0);
  check_dim(pattern({1, 1000, 300}), 1);
}

TEST(Reduction, AllElementsAndSetsOfDims) {
  const Tensor t = pattern({6, 50, 7});
  double total = 0;
  for (int64_t i = 0; i < t.numel(); ++i) total += t.data_ptr<float>()[i];
  EXPECT_EQ(t.sum().item<float>(), total);
  EXPECT_EQ(t.transpose(0, 1).sum().item<float>(), total);
  EXPECT_EQ(t.sum({0, 2}).sum().item<float>(), total);
  EXPECT_EQ(t.sum({0, 2}, true).sizes(), IntArrayRef({1, 50, 1}));
  EXPECT_EQ(t.sum({-1}).sizes(), IntArrayRef({6, 50}));
  EXPECT_EQ(t.slice(2, 0, 7, 2).sum().item<float>(), t.slice(2, 0, 7, 2).contiguous().sum().item<float>());
  EXPECT_TRUE(begins(error_of([&] { t.sum({3}); }), "sum"));
  EXPECT_TRUE(begins(error_of([&] { t.sum({0, 0}); }), "sum: "));
}

TEST(Reduction, LargeSumsStayAccurate) {
  // Ten million times 0.1: one after the other in float it is off by 9 %.
  const Tensor t = gradus::full({10000000}, 0.1, kFloat);
  const double exact = 1e7 * static_cast<double>(0.1F);
  EXPECT_NEAR(t.sum().item<double>(), exact, exact * 2e-7);
  EXPECT_NEAR(t.reshape({10000, 1000}).sum({0}).sum().item<double>(), exact, exact * 2e-7);
  EXPECT_NEAR(t.mean().item<double>(), 0.1, 1e-7);
  EXPECT_NEAR(gradus::ones({5000}, kHalf).sum().item<double>(), 5000, 4);
  EXPECT_EQ(gradus::ones({4096}, kBFloat16).sum().item<double>(), 4096);
}

// cases.md C7
TEST(Reduction, IntegersAndBools) {
  const Tensor bytes = gradus::ones({300}, kByte);
  EXPECT_EQ(bytes.sum().scalar_type(), kLong);
  EXPECT_EQ(bytes.sum().item<int64_t>(), 300);
  EXPECT_EQ(bytes.cumsum(0).slice(0, 299, 300).item<int64_t>(), 300);
  const Tensor bools = gradus::ones({3}, kBool);
  EXPECT_EQ(bools.sum().item<int64_t>(), 3);
  expect_values(bools.cumsum(0), {1, 2, 3});
  EXPECT_EQ(bytes.sum(kByte).item<int64_t>(), 44);
  EXPECT_TRUE(begins(error_of([] { gradus::ones({3}, kLong).mean(); }), "mean: "));
  EXPECT_EQ(gradus::ones({3}, kLong).mean(kDouble).item<double>(), 1);
  EXPECT_EQ(gradus::full({4}, 3, kInt).prod().item<int64_t>(), 81);
}

// cases.md C5
TEST(Reduction, NanIsLargestAndSmallest) {
  const Tensor t = vec({3, kNan, 5, kNan});
  EXPECT_EQ(t.argmax().item<int64_t>(), 1);
  EXPECT_EQ(t.argmin().item<int64_t>(), 1);
  expect_values(t.max(), {kNan});
  const auto [value, place] = t.max(0);
  expect_values(value, {kNan});
  EXPECT_EQ(place.item<int64_t>(), 1);
  expect_values(t.reshape({2, 2}).amin({0}), {3, kNan});
  Tensor many = gradus::zeros({1000}, kFloat);
  many.data_ptr<float>()[777] = std::nanf("");
  EXPECT_TRUE(std::isnan(many.max().item<double>()));
  EXPECT_EQ(many.argmin().item<int64_t>(), 777);
}

TEST(Reduction, EmptyTensors) {
  const Tensor none = gradus::empty({0}, kDouble), rows = gradus::empty({2, 0}, kDouble);
  EXPECT_EQ(none.sum().item<double>(), 0);
  EXPECT_EQ(none.prod().item<double>(), 1);
  EXPECT_TRUE(std::isnan(none.mean().item<double>()));
  expect_values(rows.sum({1}), {0, 0});
  EXPECT_EQ(rows.amax({0}).sizes(), IntArrayRef({0}));
  EXPECT_TRUE(none.all().item<bool>());
  EXPECT_FALSE(none.any().item<bool>());
  EXPECT_TRUE(begins(error_of([&] { none.max(); }), "max: "));
  EXPECT_TRUE(begins(error_of([&] { rows.max(1); }), "max: "));
  EXPECT_TRUE(begins(error_of([&] { none.argmin(); }), "argmin: "));
}

TEST(Reduction, VarianceAndDeviation) {
  const Tensor t = vec({1, 2, 3, 4});
  expect_values(t.var(), {5.0 / 3});
  expect_values(t.var(false), {1.25});
  expect_values(t.std(), {std::sqrt(5.0 / 3)});
  expect_values(t.var(IntArrayRef(0), std::optional<Scalar>(2), false), {2.5});
  expect_values(t.reshape({2, 2}).var({0}, true, false), {2, 2});
  // Far from zero the two passes keep all digits.
  expect_values((t + 1e9).var(), {5.0 / 3});
  const auto [variance, mean] = gradus::var_mean(t, true);
  expect_values(variance, {5.0 / 3});
  expect_values(mean, {2.5});
  EXPECT_TRUE(begins(error_of([] { gradus::ones({3}, kLong).var(); }), "var: "));
}

// cases.md B7
TEST(Reduction, GradientsAtCorners) {
  Tensor zeros = gradus::zeros({3}, kDouble).requires_grad_();
  zeros.norm().backward();
  expect_values(zeros.grad(), {0, 0, 0});
  Tensor one = vec({5});
  one.requires_grad_();
  Tensor deviation = one.std();
  EXPECT_TRUE(std::isnan(deviation.item<double>()));
  EXPECT_NO_THROW(deviation.backward());
  Tensor ties = vec({2, 1, 2});
  ties.requires_grad_();
  ties.max().backward();
  expect_values(ties.grad(), {0.5, 0, 0.5});
  Tensor first = vec({2, 1, 2});
  first.requires_grad_();
  std::get<0>(first.max(0)).backward();
  expect_values(first.grad(), {1, 0, 0});
  Tensor factors = vec({2, 0, 3});
  factors.requires_grad_();
  factors.prod().backward();
  expect_values(factors.grad(), {0, 6, 0});
  Tensor steps = vec({1, 1, 1});
  steps.requires_grad_();
  steps.cumsum(0).mul(vec({1, 10, 100})).sum().backward();
  expect_values(steps.grad(), {111, 110, 100});
}

TEST(Reduction, Norms) {
  const Tensor t = vec({3, -4, 0});
  expect_values(t.norm(), {5});
  expect_values(t.norm(1), {7});
  expect_values(t.norm(0), {2});
  expect_values(t.norm(kInf), {4});
  expect_values(t.norm(-kInf), {0});
  expect_values(t.norm(3), {std::cbrt(91)});
  expect_values(vec({3, 4, 6, 8}).reshape({2, 2}).norm(2, {1}, true), {5, 10});
  expect_values(gradus::linalg_vector_norm(t), {5});
  EXPECT_EQ(gradus::ones({2}, kFloat).norm(2, kDouble).scalar_type(), kDouble);
}

TEST(Reduction, TruthCountsAndLogSumExp) {
  const Tensor t = vec({0, 2, 0, 3}).reshape({2, 2});
  expect_values(t.any({0}, false), {0, 1});
  expect_values(t.all({1}, false), {0, 0});
  EXPECT_TRUE(t.any().item<bool>());
  EXPECT_EQ(t.to(kByte).any().scalar_type(), kByte);
  EXPECT_EQ(t.count_nonzero().item<int64_t>(), 2);
  expect_values(vec({1000, 1000}).logsumexp({0}), {1000 + std::log(2)});
  expect_values(vec({-kInf, -kInf}).logsumexp({0}), {-kInf});
  expect_values(vec({1, 2, 3}).cumsum(0), {1, 3, 6});
  expect_values(vec({1, 2, 3, 4}).reshape({2, 2}).cumsum(0).reshape({-1}), {1, 2, 4, 6});
}

TEST(Reduction, OutForms) {
  Tensor out = gradus::empty({2}, kDouble);
  const void* memory = out.data_ptr();
  const Tensor t = vec({1, 2, 3, 4}).reshape({2, 2});
  gradus::sum_out(out, t, IntArrayRef(1));
  expect_values(out, {3, 7});
  EXPECT_EQ(out.data_ptr(), memory);
  gradus::amax_out(out, t, IntArrayRef(0));
  expect_values(out, {3, 4});
  const Tensor huge = gradus::empty({1000000, 1000000}, TensorOptions(kMeta));
  EXPECT_EQ(huge.sum({1}).sizes(), IntArrayRef({1000000}));
}

TEST(Spread, OfNothingWithANegativeCorrection) {
  const Tensor none = gradus::empty({0, 2}, kDouble);
  expect_values(none.var(IntArrayRef(0), Scalar(-1)), {kNan, kNan});
  expect_values(none.std(IntArrayRef(0), Scalar(-1)), {kNan, kNan});
}

// PyTorch takes an inverse deviation of 0 where both the variance and eps are 0.
TEST(BatchNorm, OneValuePerChannelWithoutEps) {
  const Tensor x = leaf({3, -4}).view({1, 2}), w = leaf({2, 5}), b = leaf({7, 8});
  const Tensor y = gradus::batch_norm(x, w, b, Tensor(), Tensor(), true, 0.1, 0, false);
  expect_values(y, {7, 8});
  const auto grads = autograd::grad({y.sum()}, {x, w, b}, {}, true, true);
  expect_values(grads[0], {0, 0});
  expect_values(grads[1], {0, 0});
  expect_values(grads[2], {1, 1});
}

}  // namespace
