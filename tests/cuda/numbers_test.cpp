// Tensors without dimensions on the CPU go with tensors of a device, as in PyTorch: as values, masks and bounds, and
// with gradients that arrive on the CPU.
#include "support.h"

namespace gradus_test {
namespace {

using namespace gradus;
using indexing::Slice;

class Numbers : public CudaTest {};

using V = std::vector<double>;
V values(const Tensor& t) {
  const Tensor c = t.detach().cpu().to(kDouble).contiguous();
  return V(c.data_ptr<double>(), c.data_ptr<double>() + c.numel());
}
Tensor on_device(const V& v) {
  return tensor(v, kFloat).to(kCUDA);
}
Tensor places(const std::vector<int64_t>& v) {
  return tensor(v, kLong).to(kCUDA);
}
Tensor mask(const std::vector<int64_t>& v) {
  return places(v).to(kBool);
}
Tensor number(double v) {
  return scalar_tensor(v, kFloat);
}

TEST_F(Numbers, AreWrittenWhereIndicesSay) {
  Tensor x = on_device({1, 2, 3, 4});
  x.index_put_({places({0, 2})}, number(9));
  EXPECT_EQ(values(x), (V{9, 2, 9, 4}));
  x.index_put_({mask({0, 1, 1, 0})}, number(5));
  EXPECT_EQ(values(x), (V{9, 5, 5, 4}));
}

TEST_F(Numbers, AreWrittenIntoViews) {
  Tensor x = on_device({1, 2, 3, 4});
  x.index({Slice(0, 2)}) = number(9);
  EXPECT_EQ(values(x), (V{9, 9, 3, 4}));
  x[3] = number(5);
  EXPECT_EQ(values(x), (V{9, 9, 3, 5}));
  x.fill_(number(2));
  EXPECT_EQ(values(x), (V{2, 2, 2, 2}));
}

TEST_F(Numbers, AreAddedWhereIndicesSay) {
  const std::vector<std::optional<Tensor>> list = {places({0, 2, 0})};
  Tensor x = on_device({1, 2, 3, 4});
  x.index_put_(list, number(10), /*accumulate=*/true);
  EXPECT_EQ(values(x), (V{21, 2, 13, 4}));
  EXPECT_EQ(values(x.index_put(list, number(0))), (V{0, 2, 0, 4}));
  EXPECT_EQ(values(x), (V{21, 2, 13, 4}));
  // One number, but with a dimension: not the CPU's to give.
  const std::string text = error_of<Error>([&] { x.index_put_(list, number(1).reshape({1})); });
  EXPECT_TRUE(has(text, "index_put_: tensors on cuda:0 and cpu were given")) << text;
}

TEST_F(Numbers, AreFilledIn) {
  Tensor x = on_device({1, 2, 3, 4});
  x.index_fill_(0, places({1, 3}), number(8));
  EXPECT_EQ(values(x), (V{1, 8, 3, 8}));
  x.masked_fill_(mask({1, 0, 0, 1}), number(6));
  EXPECT_EQ(values(x), (V{6, 8, 3, 6}));
  EXPECT_EQ(values(x.masked_fill(scalar_tensor(true, kBool), number(1))), (V{1, 1, 1, 1}));
  EXPECT_EQ(values(x.masked_fill(scalar_tensor(true, kBool), 2)), (V{2, 2, 2, 2}));
}

TEST_F(Numbers, AreChosen) {
  const Tensor x = on_device({1, 2, 3}), m = mask({1, 0, 1});
  EXPECT_EQ(values(where(m, x, number(7))), (V{1, 7, 3}));
  EXPECT_EQ(values(where(m, number(7), x)), (V{7, 2, 7}));
  EXPECT_EQ(values(where(m, number(7), number(8))), (V{7, 8, 7}));
  EXPECT_TRUE(where(m, number(7), number(8)).is_cuda());
  EXPECT_EQ(values(where(m, scalar_tensor(7, kLong), x)), (V{7, 2, 7})) << "promoted";
  EXPECT_EQ(values(where(scalar_tensor(false, kBool), x, x.mul(2))), (V{2, 4, 6}));
}

TEST_F(Numbers, Bound) {
  const Tensor x = on_device({1, 2, 3});
  EXPECT_EQ(values(clamp(x, number(1.5), number(2.5))), (V{1.5, 2, 2.5}));
  EXPECT_EQ(values(clamp(x, number(1.5), on_device({3, 3, 2}))), (V{1.5, 2, 2}));
  EXPECT_EQ(values(clamp_min(x, number(2))), (V{2, 2, 3}));
  EXPECT_EQ(values(clamp_max(x, number(2))), (V{1, 2, 2}));
  EXPECT_EQ(values(maximum(number(2), x)), (V{2, 2, 3}));
}

TEST_F(Numbers, AreOperandsOfElementwiseOperators) {
  const Tensor x = on_device({1, 2, 3});
  EXPECT_EQ(values(x + number(1)), (V{2, 3, 4}));
  EXPECT_EQ(values(number(6) / x), (V{6, 3, 2}));
  EXPECT_EQ(values(x.lerp(number(5), number(0.5))), (V{3, 3.5, 4}));
  EXPECT_EQ(values(x.addcmul(number(2), number(3))), (V{7, 8, 9}));
  EXPECT_EQ(values(x.pow(number(2))), (V{1, 4, 9}));
  EXPECT_EQ(values(x.eq(scalar_tensor(2, kLong))), (V{0, 1, 0}));
  Tensor y = x.clone();
  y.mul_(number(2)).sub_(scalar_tensor(1, kLong));
  EXPECT_EQ(values(y), (V{1, 3, 5}));
  EXPECT_EQ(values(y.bernoulli_(number(1))), (V{1, 1, 1}));
  EXPECT_EQ(values(y.bernoulli_(tensor({0.0, 1.0, 0.0}))), (V{0, 1, 0})) << "p may be a whole tensor of the CPU";
}

/// The gradients of sum(f(x, n) * (1, 2, 3)), of x on the device and n on the CPU.
template <class Function>
void expect_gradients(Function f, const V& of_x, const V& of_number) {
  const Tensor x = on_device({1, 2, 3}).requires_grad_(), n = number(2).requires_grad_();
  (f(x, n) * on_device({1, 2, 3})).sum().backward();
  EXPECT_TRUE(x.grad().is_cuda());
  EXPECT_EQ(values(x.grad()), of_x);
  ASSERT_TRUE(n.grad().defined());
  EXPECT_TRUE(n.grad().is_cpu());
  EXPECT_EQ(n.grad().dim(), 0);
  EXPECT_EQ(values(n.grad()), of_number);
}

TEST_F(Numbers, HaveGradientsOnTheCpu) {
  const std::vector<std::optional<Tensor>> ends = {places({0, 2})};
  const Tensor m = mask({1, 0, 1});
  expect_gradients([](const Tensor& x, const Tensor& n) { return x * n; }, {2, 4, 6}, {1 + 4 + 9});
  expect_gradients([&](const Tensor& x, const Tensor& n) { return x.index_put(ends, n); }, {0, 2, 0}, {1 + 3});
  expect_gradients([&](const Tensor& x, const Tensor& n) { return x.index_put(ends, n, true); }, {1, 2, 3}, {1 + 3});
  expect_gradients(
      [&](const Tensor& x, const Tensor& n) {
        return x.index_fill(0, places({0, 2}), n);
      },
      {0, 2, 0}, {1 + 3});
  expect_gradients([&](const Tensor& x, const Tensor& n) { return x.masked_fill(m, n); }, {0, 2, 0}, {1 + 3});
  expect_gradients([&](const Tensor& x, const Tensor& n) { return where(m, x, n); }, {1, 0, 3}, {2});
  // x is 1 below, 2 (a tie, shared) and 3 above the bound.
  expect_gradients([](const Tensor& x, const Tensor& n) { return maximum(x, n); }, {0, 1, 3}, {1 + 1});
}

TEST_F(Numbers, AGradientOnAnotherDeviceIsRefused) {
  const Tensor x = ones({3}).requires_grad_();
  const Tensor y = x * 2;
  const std::string text = error_of<Error>([&] { y.backward(ones({3}, kCUDA)); });
  EXPECT_TRUE(has(text, "a gradient on cuda:0 was given for a result on cpu")) << text;
}

}  // namespace
}  // namespace gradus_test
