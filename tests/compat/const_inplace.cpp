// In-place methods are const in libtorch: a function that takes `const torch::Tensor&` may write into it.
#include <torch/torch.h>

#include <iostream>

static void scale(const torch::Tensor& t, double factor) {
  t.mul_(factor);
}

static at::Tensor& fill_with_ramp(at::Tensor& t) {
  const at::Tensor flat = t.view(-1);
  for (int64_t i = 0; i < flat.size(0); ++i) flat[i].fill_(i);
  return t;
}

struct Accumulator {
  torch::Tensor total = torch::zeros({3});
  void add(const torch::Tensor& x) const { total.add_(x); }
};

int main() {
  const torch::Tensor ones = torch::ones({2, 3});
  scale(ones, 2.5);
  std::cout << ones << "\n";

  torch::Tensor ramp = torch::empty({2, 4});
  fill_with_ramp(ramp).sub_(3).clamp_(-2, 3);
  std::cout << ramp << "\n";

  // A chain of in-place calls returns the same tensor, and views write through.
  auto& same = ramp.add_(1).mul_(2);
  std::cout << std::boolalpha << (&same == &ramp) << " " << same.is_same(ramp) << "\n";
  const auto column = ramp.select(1, 0);
  column.zero_();
  ramp.narrow(1, 1, 2).neg_();
  std::cout << ramp << "\n";

  const Accumulator accumulator;
  accumulator.add(torch::arange(3, torch::kFloat));
  accumulator.add(torch::tensor({0.5, 0.25, 0.125}));
  std::cout << accumulator.total << "\n";

  // The same through operators: these rebind nothing, they write.
  torch::Tensor a = torch::tensor({1.0f, 2.0f, 3.0f});
  const torch::Tensor alias = a;
  a += 1;
  a -= torch::tensor({0.5f, 0.5f, 0.5f});
  a *= a;
  a /= 2;
  std::cout << alias << "\n";
  a = a + 1;  // rebinds: alias keeps the old values
  std::cout << alias.sum().item<float>() << " " << a.sum().item<float>() << "\n";

  // copy_, masked_fill_, index_put_, relu_ and logical forms on const tensors.
  const torch::Tensor target = torch::zeros({2, 2}, torch::kLong);
  target.copy_(torch::tensor({{1.9, -1.9}, {0.5, 7.0}}));
  std::cout << target << "\n";
  const auto mask = target.gt(0);
  target.masked_fill_(mask, -5);
  std::cout << target << "\n";
  const auto x = torch::tensor({-1.5, 0.0, 2.5});
  torch::relu_(const_cast<torch::Tensor&>(x)).add_(0.5);
  x.sqrt_();
  std::cout << x << "\n";

  // Under autograd: an in-place op on an intermediate result takes part in the gradient.
  auto w = torch::tensor({1.0, 2.0, 3.0}, torch::requires_grad());
  const auto y = w * 2;
  y.mul_(w.detach()).add_(1);
  y.sum().backward();
  std::cout << w.grad() << "\n";
  {
    torch::NoGradGuard guard;
    w.sub_(w.grad(), 0.5);
    w.mutable_grad().zero_();
  }
  std::cout << w.detach() << "\n" << w.grad() << "\n" << w.is_leaf() << "\n";

  // Out forms return the reference they were given.
  torch::Tensor out = torch::empty({3}, torch::kDouble);
  auto& result = torch::add_out(out, w.detach(), x, 2);
  std::cout << (&result == &out) << "\n" << out << "\n";
  return 0;
}
