// A user's program: it links Gradus::gradus and nothing else.
#include <gradus/gradus.h>

#include <cstdio>

int main() {
  gradus::nn::Linear layer(3, 2);
  gradus::optim::SGD optimizer(layer->parameters(), 0.1);
  const gradus::Tensor loss = layer(gradus::ones({4, 3})).pow(2).mean();
  loss.backward();
  optimizer.step();
  std::printf("%d parameters, loss %.3f\n", static_cast<int>(layer->parameters().size()), loss.item<double>());
  return layer->parameters().size() == 2 ? 0 : 1;
}
