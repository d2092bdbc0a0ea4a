// Jacobians and Hessians against their formulas.
#include <gradus/gradus.h>
#include <gtest/gtest.h>

namespace F = gradus::autograd::functional;
using namespace gradus;
using autograd::variable_list;

namespace {

Tensor values(std::vector<double> v, IntArrayRef shape) {
  return from_vector(std::move(v)).reshape(shape);
}
void expect_close(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.sizes(), want.sizes());
  EXPECT_TRUE(allclose(got, want, 1e-12, 1e-12)) << got << "\n" << want;
}
template <class Fn>
std::string error_of(Fn&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "threw nothing";
  return {};
}

Tensor diagonal_matrix(const Tensor& v) {
  Tensor m = zeros({v.numel(), v.numel()}, kDouble);
  for (int64_t i = 0; i < v.numel(); ++i) m[i][i].fill_(v[i]);
  return m;
}

const Tensor kX = values({0.5, -1, 2}, {3});
const Tensor kA = values({1, 2, 3, 4, 5, 6}, {2, 3});

// A x, whose Jacobian is A.
variable_list product(const variable_list& in) {
  return {kA.matmul(in[0])};
}
// The sum of x_i^2 y_i: its Hessian has the blocks diag(2 y), diag(2 x) and 0.
variable_list cubic(const variable_list& in) {
  return {(in[0] * in[0] * in[1]).sum()};
}
const variable_list kPair = {values({1, 2}, {2}), values({3, -4}, {2})};

TEST(Functional, JacobianOfAProduct) {
  const auto j = F::jacobian(product, {kX});
  ASSERT_EQ(j.size(), 1u);
  expect_close(j[0][0], kA);
  EXPECT_FALSE(j[0][0].requires_grad());
  EXPECT_FALSE(kX.requires_grad());
}

TEST(Functional, JacobianOfSeveralOutputsAndInputs) {
  const auto f = [](const variable_list& in) { return variable_list{in[0] * in[1], in[1].sum()}; };
  const auto j = F::jacobian(f, kPair);
  ASSERT_EQ(j.size(), 2u);
  expect_close(j[0][0], diagonal_matrix(kPair[1]));
  expect_close(j[0][1], diagonal_matrix(kPair[0]));
  expect_close(j[1][0], zeros({2}, kDouble));  // does not depend
  expect_close(j[1][1], ones({2}, kDouble));
}

TEST(Functional, JacobianHasTheOutputsShapeThenTheInputs) {
  const Tensor x = values({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor j = F::jacobian([](const Tensor& t) { return t.t().exp(); }, x);
  ASSERT_EQ(j.sizes(), IntArrayRef({2, 3, 3, 2}));
  for (int64_t a = 0; a < 2; ++a) {
    for (int64_t b = 0; b < 3; ++b) {
      Tensor want = zeros({3, 2}, kDouble);
      want[b][a].fill_(x[b][a].exp());
      expect_close(j[a][b], want);
    }
  }
  EXPECT_EQ(F::jacobian([](const Tensor& t) { return t * 2; }, zeros({0}, kDouble)).sizes(), IntArrayRef({0, 0}));
}

TEST(Functional, VectorProducts) {
  const Tensor v = values({10, -1}, {2}), u = values({1, 0, -2}, {3});
  const auto [y, vj] = F::vjp(product, {kX}, {v});
  expect_close(y[0], kA.matmul(kX));
  expect_close(vj[0], kA.t().matmul(v));
  const auto [z, ju] = F::jvp(product, {kX}, {u});
  expect_close(z[0], kA.matmul(kX));
  expect_close(ju[0], kA.matmul(u));
  // A number needs no v.
  expect_close(F::vjp(cubic, kPair).second[0], kPair[0] * kPair[1] * 2);
}

TEST(Functional, HessianInBlocks) {
  const auto h = F::hessian(cubic, kPair);
  expect_close(h[0][0], diagonal_matrix(kPair[1] * 2));
  expect_close(h[0][1], diagonal_matrix(kPair[0] * 2));
  expect_close(h[1][0], diagonal_matrix(kPair[0] * 2));
  expect_close(h[1][1], zeros({2, 2}, kDouble));
  const Tensor one = F::hessian([](const Tensor& x) { return x.pow(3).sum(); }, kX);
  expect_close(one, diagonal_matrix(kX * 6));
  // Where the gradient is constant.
  expect_close(F::hessian([](const Tensor& x) { return x.sum(); }, kX), zeros({3, 3}, kDouble));
}

TEST(Functional, HessianProducts) {
  const variable_list v = {values({1, -1}, {2}), values({2, 5}, {2})};
  const Tensor first = kPair[1] * 2 * v[0] + kPair[0] * 2 * v[1], second = kPair[0] * 2 * v[0];
  for (const auto& product_of : {&F::hvp, &F::vhp}) {
    const auto [y, p] = product_of(cubic, kPair, v, {});
    expect_close(y, cubic(kPair)[0]);
    expect_close(p[0], first);
    expect_close(p[1], second);
    const auto constant = product_of([](const variable_list& in) { return variable_list{in[0].sum()}; }, kPair, v, {});
    expect_close(constant.second[1], zeros({2}, kDouble));
  }
}

TEST(Functional, ResultsCanBeDifferentiated) {
  const Tensor x = kX.clone().requires_grad_();
  F::Options options;
  options.create_graph = true;
  const Tensor j = F::jacobian([](const Tensor& t) { return t.pow(3); }, x, options);
  j.sum().backward();
  expect_close(x.grad(), kX * 6);
  const Tensor h = F::hessian([](const Tensor& t) { return t.pow(4).sum(); }, x, options);
  expect_close(autograd::grad({h.sum()}, {x})[0], kX * 24);
  const auto [y, jv] =
      F::jvp([](const variable_list& in) { return variable_list{in[0].sin()}; }, {x}, {ones({3}, kDouble)}, options);
  expect_close(autograd::grad({jv[0].sum()}, {x})[0], -kX.sin());
}

TEST(Functional, RecordsUnderNoGrad) {
  const NoGradGuard guard;
  expect_close(F::jacobian(product, {kX})[0][0], kA);
  EXPECT_FALSE(GradMode::is_enabled());
}

TEST(Functional, Errors) {
  const auto constant = [](const variable_list&) { return variable_list{ones({2}, kDouble)}; };
  expect_close(F::jacobian(constant, {kX})[0][0], zeros({2, 3}, kDouble));
  F::Options strict;
  strict.strict = true;
  EXPECT_EQ(error_of([&] { F::jacobian(constant, {kX}, strict); }),
            "jacobian: output 0 of the function does not depend on the inputs, which strict forbids");
  EXPECT_EQ(error_of([&] { F::vjp(product, {kX}); }),
            "vjp: v was left out and there are 1 outputs, the first of shape (2); expected v, or one of one element");
  EXPECT_EQ(error_of([&] { F::jvp(product, {kX}, {ones({2}, kDouble)}); }),
            "jvp: v has shape (2) at position 0; expected shape (3), that of the inputs there");
  EXPECT_EQ(error_of([&] { F::hessian(product, {kX}); }),
            "hessian: the function returned 1 tensors, the first of shape (2); expected one tensor of one element");
  EXPECT_EQ(error_of([&] { F::jacobian(product, {}); }),
            "jacobian: the list of inputs is empty; expected at least one");
  EXPECT_EQ(error_of([&] { F::jacobian(product, {ones({3}, kLong)}); }),
            "jacobian: input 0 is of type Long; expected a floating or complex type");
}

}  // namespace
