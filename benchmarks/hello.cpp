// The smallest program: what compiling and starting costs.
#include <torch/torch.h>

#include <iostream>

int main() {
  std::cout << torch::rand({2, 3}) << "\n";
  return 0;
}
