// x[0] = 7 writes into x, x.index({...}) = y as well; assigning to a named tensor rebinds the name.
#include <torch/torch.h>

#include <iostream>

using namespace torch::indexing;

int main() {
  torch::Tensor x = torch::arange(24, torch::kInt).reshape({4, 6});
  x[0] = 7;
  x[1][2] = -1;
  std::cout << x << "\n";

  // Named view: rebinding does not write, an in-place fill does.
  torch::Tensor row = x[2];
  row = torch::zeros({6}, torch::kInt);
  std::cout << x[2] << "\n";
  row = x[2];
  row.fill_(100);
  std::cout << x[2] << "\n";

  // Reading with slices, None, Ellipsis, ints, bools and index tensors.
  std::cout << x.index({Slice(1, 3), Slice(None, None, 2)}) << "\n";
  std::cout << x.index({"...", 1}) << "\n";
  std::cout << x.index({Ellipsis, Slice(-2, None)}) << "\n";
  std::cout << x.index({None, 0}).sizes() << " " << x.index({0, None, Slice(), None}).sizes() << "\n";
  std::cout << x.index({Slice(), true}).sizes() << " " << x.index({false}).sizes() << "\n";
  std::cout << x.index({torch::tensor({3, 0, 3})}) << "\n";
  std::cout << x.index({torch::tensor({0, 1, 3}), torch::tensor({5, 2, 0})}) << "\n";
  std::cout << x.index({Slice(0, 2), torch::tensor({4, 4, 1})}) << "\n";
  std::cout << x.index({x > 50}) << "\n";
  std::cout << x.index({torch::tensor({true, false, false, true}), 3}) << "\n";

  // Writing.
  x.index({0, Slice(1, 4)}) = torch::tensor({1, 2, 3}, torch::kInt);
  x.index({Slice(), 5}) = 9;
  x.index_put_({1, Slice(None, 2)}, 55);
  x.index_put_({Slice(2, None), Slice(0, 2)}, torch::tensor({{1, 2}, {3, 4}}, torch::kInt));
  x.index_put_({x == 100}, 0);
  std::cout << x << "\n";
  x.index_put_({torch::tensor({0, 3}), torch::tensor({0, 4})}, torch::tensor({-7, -8}, torch::kInt));
  std::cout << x << "\n";
  auto counts = torch::zeros({4});
  counts.index_put_({torch::tensor({1, 1, 3})}, torch::tensor(2.0f), /*accumulate=*/true);
  std::cout << counts << "\n";

  // A three-dimensional case with an ellipsis in the middle and broadcasting of the value.
  auto cube = torch::zeros({2, 3, 4});
  cube.index({0, "...", Slice(None, None, 3)}) = torch::tensor({{1.0f}, {2.0f}, {3.0f}});
  cube.index({1}) = torch::arange(4, torch::kFloat);
  cube.index({Ellipsis, 2}).add_(0.5);
  std::cout << cube << "\n";

  // Indexing with a tensor scalar and through operator[] with a tensor.
  std::cout << x[torch::tensor(2)] << "\n" << x[1][0].item<int>() << "\n";

  // Gradients flow through indexing and through assignment.
  auto w = torch::arange(6, torch::kDouble).reshape({2, 3}).requires_grad_();
  auto y = torch::zeros({2, 3}, torch::kDouble);
  y.index_put_({0}, w[1] * 3);
  y.index({1, Slice(0, 2)}) = w.index({0, Slice(1, 3)}).pow(2);
  y.sum().backward();
  std::cout << y.detach() << "\n" << w.grad() << "\n";
  return 0;
}
