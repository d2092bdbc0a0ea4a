// Training speed of the Fashion-MNIST example's network in libtorch's API: batches of 64 random images, two threads.
// Prints JSON: microseconds per image.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

constexpr int64_t kBatch = 64;

struct Net : torch::nn::Module {
  Net() {
    conv1 = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 32, 3).padding(1)));
    norm1 = register_module("norm1", torch::nn::BatchNorm2d(32));
    conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 3).padding(1)));
    norm2 = register_module("norm2", torch::nn::BatchNorm2d(64));
    hidden = register_module("hidden", torch::nn::Linear(3136, 128));
    drop = register_module("drop", torch::nn::Dropout(0.25));
    classes = register_module("classes", torch::nn::Linear(128, 10));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(norm1(conv1(x))), 2);
    x = torch::max_pool2d(torch::relu(norm2(conv2(x))), 2);
    x = torch::relu(hidden(x.view({x.size(0), -1})));
    return classes(drop(x));
  }
  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::BatchNorm2d norm1{nullptr}, norm2{nullptr};
  torch::nn::Linear hidden{nullptr}, classes{nullptr};
  torch::nn::Dropout drop{nullptr};
};

}  // namespace

int main() {
  torch::set_num_threads(2);
  torch::manual_seed(0);
  Net net;
  torch::optim::Adam optimizer(net.parameters(), torch::optim::AdamOptions(1e-3));
  std::vector<torch::Tensor> images, labels;
  for (int i = 0; i < 8; ++i) {
    images.push_back(torch::randn({kBatch, 1, 28, 28}));
    labels.push_back(torch::randint(10, {kBatch}, torch::kLong));
  }
  size_t step = 0;
  double loss_sum = 0;
  const auto train = [&] {
    optimizer.zero_grad();
    auto loss = torch::nn::functional::cross_entropy(net.forward(images[step % 8]), labels[step % 8]);
    loss.backward();
    optimizer.step();
    loss_sum += loss.item<double>();
    ++step;
  };
  for (int i = 0; i < 5; ++i) train();
  std::vector<double> batches;
  for (int i = 0; i < 40; ++i) {
    const auto start = std::chrono::steady_clock::now();
    train();
    batches.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(batches.begin(), batches.end());
  std::printf("{\n  \"fashion_cnn_image\": %.4f\n}\n", batches[batches.size() / 2] / kBatch);
  return loss_sum > 0 ? 0 : 1;
}
