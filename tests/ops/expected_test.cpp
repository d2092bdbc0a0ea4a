// Operators against PyTorch's answers to the same calls: results, gradients, gradients of gradients. expected.py makes
// the numbers.
#include <gtest/gtest.h>

#include <cmath>

#include <gradus/autograd/autograd.h>
#include <gradus/core/from_data.h>
#include <gradus/ops/ops.h>

#include "ops/expected.h"

namespace gradus::testing {
namespace {

using V = std::vector<double>;

Tensor ramp(IntArrayRef sizes) {
  Tensor t = empty(sizes, kDouble);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<double>()[i] = static_cast<double>(7 * i % 11 - 5);
  return t;
}

void expect_values(const Tensor& got, const V& want, const char* what, double tolerance = 1e-12) {
  const Tensor dense = got.detach().to(kDouble).contiguous();
  ASSERT_EQ(static_cast<size_t>(dense.numel()), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = dense.data_ptr<double>()[i];
    const bool close = std::abs(g - want[i]) <= tolerance * std::max(1.0, std::abs(want[i]));
    EXPECT_TRUE(close) << what << ": element " << i << " is " << g << " instead of " << want[i];
  }
}

// `second` is empty where the gradient does not depend on the input.
template <class F>
void expect_gradients(F f, const Tensor& input, const V& result, const V& first, const V& second = {}) {
  const Tensor x = input.clone().requires_grad_();
  const Tensor y = f(x);
  expect_values(y, result, "result");
  const Tensor weights = y.dim() ? ramp(y.sizes()).add(6) : full({}, 1.5, kDouble);
  const Tensor g = autograd::grad({y.mul(weights).sum()}, {x}, {}, true, /*create_graph=*/true)[0];
  expect_values(g, first, "gradient");
  if (second.empty()) return;
  ASSERT_TRUE(g.requires_grad());
  expect_values(autograd::grad({g.mul(ramp(g.sizes()).add(6)).sum()}, {x})[0], second, "second gradient");
}

Tensor with_zeros(Tensor t, std::initializer_list<int64_t> at) {
  for (int64_t i : at) t.data_ptr<double>()[i] = 0;
  return t;
}
Tensor matrix() {
  const Tensor t = ramp({3, 4});
  return where(t.eq(0), 6, t);
}

#define PROD(tag, ...)                                                                                                \
  {                                                                                                                   \
    SCOPED_TRACE(#tag);                                                                                               \
    const Tensor x = with_zeros(matrix(), __VA_ARGS__);                                                               \
    expect_gradients([](const Tensor& t) { return t.prod(); }, x, expected::prod_##tag, expected::prod_##tag##_first, \
                     expected::prod_##tag##_second);                                                                  \
    expect_gradients([](const Tensor& t) { return t.prod(1); }, x, expected::prod_rows_##tag,                         \
                     expected::prod_rows_##tag##_first, expected::prod_rows_##tag##_second);                          \
    expect_gradients([](const Tensor& t) { return t.prod(0, true); }, x, expected::prod_columns_##tag,                \
                     expected::prod_columns_##tag##_first, expected::prod_columns_##tag##_second);                    \
  }

TEST(Expected, ProdWithZeros){PROD(none, {}) PROD(5, {5}) PROD(1_6, {1, 6}) PROD(1_5, {1, 5}) PROD(0_4_8, {0, 4, 8})}

TEST(Expected, Pad) {
  const auto padded = [](std::vector<int64_t> padding, const char* mode) {
    return [padding, mode](const Tensor& t) { return pad(t, padding, mode); };
  };
  const Tensor x = ramp({2, 3, 4});
  using namespace expected;
  expect_gradients(padded({1, 2}, "constant"), x, pad_constant_1_2, pad_constant_1_2_first);
  expect_gradients(padded({-1, 1, 0, 2}, "constant"), x, pad_constant_minus1_1_0_2, pad_constant_minus1_1_0_2_first);
  expect_gradients(padded({1, 2}, "reflect"), x, pad_reflect_1_2, pad_reflect_1_2_first);
  expect_gradients(padded({2, 0}, "replicate"), x, pad_replicate_2_0, pad_replicate_2_0_first);
  expect_gradients(padded({1, 2}, "circular"), x, pad_circular_1_2, pad_circular_1_2_first);
  expect_values(pad(ramp({2, 3}), {1, 0, 0, 1}, "constant", 2.5), pad_value, "pad");
  EXPECT_THROW(pad(x, {1, 2, 3}), Error);
  EXPECT_THROW(pad(x, {9, 0}, "reflect"), Error);
  EXPECT_THROW(pad(x, {1, 0}, "sideways"), Error);
}

TEST(Expected, OneHot) {
  const Tensor classes = tensor({{2, 0}, {1, 1}}, kLong);
  expect_values(one_hot(classes), expected::one_hot, "one_hot");
  EXPECT_EQ(one_hot(classes).sizes(), IntArrayRef({2, 2, 3}));
  expect_values(one_hot(tensor({3, 0}, kLong), 5), expected::one_hot_5, "one_hot");
  EXPECT_THROW(one_hot(classes, 2), Error);
  EXPECT_THROW(one_hot(classes.to(kFloat)), Error);
  EXPECT_THROW(one_hot(tensor({-1}, kLong)), Error);
}

#define TRIANGLE(tag, diagonal)                                                                 \
  {                                                                                             \
    SCOPED_TRACE(diagonal);                                                                     \
    expect_gradients([](const Tensor& t) { return t.tril(diagonal); }, x, expected::tril_##tag, \
                     expected::tril_##tag##_first);                                             \
    expect_gradients([](const Tensor& t) { return t.triu(diagonal); }, x, expected::triu_##tag, \
                     expected::triu_##tag##_first);                                             \
  }

TEST(Expected, Triangles) {
  const Tensor x = ramp({2, 3, 4});
  TRIANGLE(minus5, -5)
  TRIANGLE(minus1, -1)
  TRIANGLE(0, 0)
  TRIANGLE(2, 2)
  TRIANGLE(4, 4)
  expect_values(x.clone().tril_(2), expected::tril_2, "tril_");
  Tensor out = x.clone();
  expect_values(triu_out(out, out), expected::triu_0, "triu_out of itself");
  Tensor turned = x.clone().transpose(1, 2);
  expect_values(turned.transpose(1, 2).tril_(0), expected::tril_0, "tril_ of a view");
  EXPECT_EQ(x.tril(INT64_MAX).ne(x).sum().item<int64_t>(), 0);
  EXPECT_EQ(x.triu(INT64_MIN).ne(x).sum().item<int64_t>(), 0);
  EXPECT_THROW(ramp({3}).tril(), Error);
}

TEST(Expected, Take) {
  const Tensor places = tensor({{0, -1}, {5, 5}}, kLong), turned = tensor({1, 4, -12}, kLong);
  using namespace expected;
  expect_gradients([&](const Tensor& t) { return t.take(places); }, ramp({3, 4}), take, take_first);
  expect_gradients([&](const Tensor& t) { return t.t().take(turned); }, ramp({3, 4}), take_of_transposed,
                   take_of_transposed_first);
  EXPECT_THROW(ramp({3, 4}).take(tensor({12}, kLong)), IndexError);
  EXPECT_THROW(ramp({3, 4}).take(tensor({-13}, kLong)), IndexError);
  EXPECT_THROW(ramp({3, 4}).take(tensor({1.0}, kFloat)), Error);
}

TEST(Expected, ScatterThatReduces) {
  const Tensor index = tensor({{0, 1, 1}, {2, 0, 2}}, kLong), source = ramp({2, 3}).add(7);
  expect_values(ramp({3, 3}).scatter(0, index, source, "add"), expected::scatter_add, "scatter add");
  expect_values(ramp({3, 3}).scatter(0, index, source, "multiply"), expected::scatter_multiply, "scatter multiply");
  const Tensor x = ramp({3, 3}).requires_grad_();
  EXPECT_THROW(x.scatter(0, index, source, "multiply").sum().backward(), NotImplementedError);
}

// A second gradient that recovers eps from the saved statistics by subtracting would lose it beside the variance, or
// the variance beside it.
TEST(Expected, LayerNormTwice) {
  const auto second = [](double scale, double eps) {
    const Tensor x = ramp({1, 5}).mul(scale).requires_grad_();
    const Tensor g = tensor({{1.0, -2.0, 3.0, 1.0, 4.0}}, kDouble), v = tensor({{2.0, 1.0, -1.0, 3.0, 1.0}}, kDouble);
    const Tensor first = autograd::grad({layer_norm(x, {5}, {}, {}, eps).mul(g).sum()}, {x}, {}, true, true)[0];
    return autograd::grad({first.mul(v).sum()}, {x})[0];
  };
  const double tiny = 0x1p-30;
  expect_values(second(tiny, 1e-5), expected::layer_norm_tiny, "tiny variance", 1e-10);
  expect_values(second(tiny, 1e-18), expected::layer_norm_tiny_eps, "tiny variance and eps", 1e-10);
  expect_values(second(tiny, 0), expected::layer_norm_no_eps, "no eps", 1e-10);
  expect_values(second(1, 1e-5), expected::layer_norm_ordinary, "ordinary", 1e-10);
}

TEST(Expected, TensorSplitAndStacks) {
  const Tensor x = ramp({5, 2});
  const std::vector<Tensor> parts = x.tensor_split(3);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].size(0), 2);
  EXPECT_EQ(parts[2].size(0), 1);
  EXPECT_TRUE(parts[0].is_alias_of(x));
  EXPECT_EQ(vstack({x.select(0, 0), x}).sizes(), IntArrayRef({6, 2}));
  EXPECT_EQ(hstack({x, x}).sizes(), IntArrayRef({5, 4}));
  EXPECT_EQ(concat({x, x}, 1).sizes(), IntArrayRef({5, 4}));
  EXPECT_THROW(x.tensor_split(0), Error);
  EXPECT_THROW(hstack({}), Error);
}

}  // namespace
}  // namespace gradus::testing
