// Which operator a call with literals picks, where several overloads could take them. The expectations are what
// libtorch picks for the same line.
#include <gtest/gtest.h>

#include <gradus/ops/interposer.h>
#include <gradus/ops/ops.h>

#include "tests/ops/tensors.h"

namespace gradus::testing {
namespace {

// Ends the call at the door, so that only the choice is tested.
struct Door : Interposer {
  struct Closed {};
  std::string name;
  void call(const OperatorHandle& op, Stack&) override {
    name = op.full_name();
    throw Closed();
  }
};

#define EXPECT_PICKS(expression, expected) \
  try {                                    \
    door.name.clear();                     \
    (void)(expression);                    \
  } catch (const Door::Closed&) {          \
  }                                        \
  EXPECT_EQ(door.name, "aten::" expected) << #expression

TEST(Overloads, LiteralsPickWhatLibtorchPicks) {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  Door door;
  InterposerGuard on(door);
  EXPECT_PICKS((x.std(1)), "std.correction");
  EXPECT_PICKS((x.std({1})), "std.correction");
  EXPECT_PICKS((gradus::std(x, 1)), "std.correction");
  EXPECT_PICKS((var_mean(x, 0)), "var_mean.correction");
  EXPECT_PICKS((gradus::std(x, true)), "std");
  EXPECT_PICKS((x.std(1, true)), "std.dim");
  EXPECT_PICKS((x.std(true)), "std");
  EXPECT_PICKS((x.var(0)), "var.correction");
  EXPECT_PICKS((x.var({0, 1}, 1)), "var.dim");
  EXPECT_PICKS((x.var({0, 1}, false, true)), "var.dim");
  EXPECT_PICKS((x.sum()), "sum");
  EXPECT_PICKS((x.sum(1)), "sum.dim_IntList");
  EXPECT_PICKS((x.sum({0, 1})), "sum.dim_IntList");
  EXPECT_PICKS((x.sum(1, true)), "sum.dim_IntList");
  EXPECT_PICKS((x.sum(kDouble)), "sum");
  EXPECT_PICKS((x.mean(1)), "mean.dim");
  EXPECT_PICKS((x.mean({0, 1}, true)), "mean.dim");
  EXPECT_PICKS((x.max()), "max");
  EXPECT_PICKS((x.max(1)), "max.dim");
  EXPECT_PICKS((x.max(x)), "max.other");
  EXPECT_PICKS((x.min(0, true)), "min.dim");
  EXPECT_PICKS((x.any(1)), "any.dim");
  EXPECT_PICKS((x.all()), "all");
  EXPECT_PICKS((x.argmax(1)), "argmax");
  EXPECT_PICKS((x.amax(1)), "amax");
  EXPECT_PICKS((x.norm()), "norm.Scalar");
  EXPECT_PICKS((x.norm(2)), "norm.Scalar");
  EXPECT_PICKS((x.norm(2, 1)), "norm.ScalarOpt_dim");
  EXPECT_PICKS((x.norm(2, {0, 1}, true)), "norm.ScalarOpt_dim");
  EXPECT_PICKS((x.prod(1)), "prod.dim_int");
  EXPECT_PICKS((x.add(2)), "add.Scalar");
  EXPECT_PICKS((x.add(2, 3)), "add.Scalar");
  EXPECT_PICKS((x.add(x, 3)), "add.Tensor");
  EXPECT_PICKS((x.mul(0.5)), "mul.Scalar");
  EXPECT_PICKS((x.mul(x)), "mul.Tensor");
  EXPECT_PICKS((x.pow(2)), "pow.Tensor_Scalar");
  EXPECT_PICKS((x.pow(x)), "pow.Tensor_Tensor");
  EXPECT_PICKS((pow(2, x)), "pow.Scalar");
  EXPECT_PICKS((x.clamp(0, 1)), "clamp");
  EXPECT_PICKS((x.clamp(0)), "clamp");
  EXPECT_PICKS((x.clamp_min(0)), "clamp_min");
  EXPECT_PICKS((x.clamp(x, x)), "clamp.Tensor");
  EXPECT_PICKS((x.eq(1)), "eq.Scalar");
  EXPECT_PICKS((x.eq(x)), "eq.Tensor");
  EXPECT_PICKS((x.to(kDouble)), "to.dtype");
  EXPECT_PICKS((x.to(x)), "to.other");
  EXPECT_PICKS((x.to(kCPU, kDouble)), "to.device");
  EXPECT_PICKS((x.split(1)), "split.Tensor");
  EXPECT_PICKS((x.split({1, 1})), "split.sizes");
  EXPECT_PICKS((x.squeeze()), "squeeze");
  EXPECT_PICKS((x.squeeze(0)), "squeeze.dim");
  EXPECT_PICKS((x.squeeze({0, 1})), "squeeze.dims");
  EXPECT_PICKS((x.unsqueeze(0)), "unsqueeze");
  EXPECT_PICKS((x.flatten()), "flatten.using_ints");
  EXPECT_PICKS((x.flatten(1)), "flatten.using_ints");
  EXPECT_PICKS((x.transpose(0, 1)), "transpose.int");
  EXPECT_PICKS((x.view({4})), "view");
  EXPECT_PICKS((x.view(-1)), "view");
  EXPECT_PICKS((x.view({2, 2})), "view");
  EXPECT_PICKS((x.reshape({-1})), "reshape");
  EXPECT_PICKS((x.expand({2, 2})), "expand");
  EXPECT_PICKS((x.permute({1, 0})), "permute");
  EXPECT_PICKS((x.select(0, 1)), "select.int");
  EXPECT_PICKS((x.masked_fill(x, 0)), "masked_fill.Scalar");
  EXPECT_PICKS((x.masked_fill(x, x)), "masked_fill.Tensor");
  EXPECT_PICKS((x.fill_(1)), "fill_.Scalar");
  EXPECT_PICKS((x.fill_(x)), "fill_.Tensor");
  EXPECT_PICKS((x.softmax(1)), "softmax.int");
  EXPECT_PICKS((softmax(x, 1)), "softmax.int");
  EXPECT_PICKS((x.round()), "round");
  EXPECT_PICKS((where(x, x, x)), "where.self");
  EXPECT_PICKS((where(x, 1, x)), "where.ScalarSelf");
  EXPECT_PICKS((where(x, x, 1)), "where.ScalarOther");
  EXPECT_PICKS((x.div(2)), "div.Scalar");
  EXPECT_PICKS((x.div(2, "floor")), "div.Scalar_mode");
  EXPECT_PICKS((x.div(x, "trunc")), "div.Tensor_mode");
  EXPECT_PICKS((arange(5)), "arange");
  EXPECT_PICKS((arange(0, 5)), "arange.start");
  EXPECT_PICKS((arange(0, 5, 2)), "arange.start_step");
  EXPECT_PICKS((arange(0, 5, kLong)), "arange.start");
  EXPECT_PICKS((zeros({2, 3})), "zeros");
  EXPECT_PICKS((zeros(2)), "zeros");
  EXPECT_PICKS((full({2}, 1)), "full");
  EXPECT_PICKS((full({2}, 1.5, kDouble)), "full");
  EXPECT_PICKS((rand({2})), "rand");
  EXPECT_PICKS((randn({2, 3}, kDouble)), "randn");
  EXPECT_PICKS((randint(5, {2})), "randint");
  EXPECT_PICKS((randint(1, 5, {2})), "randint.low");
  EXPECT_PICKS((x.bernoulli()), "bernoulli");
  EXPECT_PICKS((x.bernoulli(0.5)), "bernoulli.p");
  EXPECT_PICKS((x.bernoulli_(0.5)), "bernoulli_.float");
  EXPECT_PICKS((x.bernoulli_(x)), "bernoulli_.Tensor");
  EXPECT_PICKS((x.normal_()), "normal_");
  EXPECT_PICKS((x.uniform_(0, 1)), "uniform_");
  EXPECT_PICKS((x.random_(5)), "random_.to");
  EXPECT_PICKS((x.random_(1, 5)), "random_.from");
  EXPECT_PICKS((stack({x, x})), "stack");
  EXPECT_PICKS((cat({x, x}, 1)), "cat");
  EXPECT_PICKS((conv2d(x, x)), "conv2d");
  EXPECT_PICKS((conv2d(x, x, x, 1, 1)), "conv2d");
  EXPECT_PICKS((conv2d(x, x, {}, 1, "same")), "conv2d.padding");
  EXPECT_PICKS((max_pool2d(x, 2)), "max_pool2d");
  EXPECT_PICKS((max_pool2d(x, {2, 2}, 2)), "max_pool2d");
  EXPECT_PICKS((avg_pool2d(x, 2)), "avg_pool2d");
  EXPECT_PICKS((leaky_relu(x, 0.1)), "leaky_relu");
  EXPECT_PICKS((gelu(x)), "gelu");
  EXPECT_PICKS((gelu(x, "tanh")), "gelu");
  EXPECT_PICKS((nll_loss(x, x)), "nll_loss");
  EXPECT_PICKS((mse_loss(x, x, Reduction::Sum)), "mse_loss");
  EXPECT_PICKS((index_select(x, 0, x)), "index_select");
  EXPECT_PICKS((x.gather(0, x)), "gather");
}

}  // namespace
}  // namespace gradus::testing
