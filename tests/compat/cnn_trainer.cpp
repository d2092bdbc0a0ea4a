// A small CNN trained on images made from arithmetic. Losses are printed to three decimals.
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace torch {
namespace nn {
// Reopening torch::nn, as many programs do.
struct ConvBlockImpl : Module {
  ConvBlockImpl(int64_t in, int64_t out) {
    conv = register_module("conv", Conv2d(Conv2dOptions(in, out, 3).padding(1)));
    norm = register_module("norm", BatchNorm2d(out));
  }
  Tensor forward(const Tensor& x) { return max_pool2d(relu(norm(conv(x))), 2); }
  Conv2d conv{nullptr};
  BatchNorm2d norm{nullptr};
};
TORCH_MODULE(ConvBlock);
}  // namespace nn
}  // namespace torch

struct Net : torch::nn::Module {
  Net() : features(torch::nn::Sequential(torch::nn::ConvBlock(1, 8), torch::nn::ConvBlock(8, 16))) {
    register_module("features", features);
    hidden = register_module("hidden", torch::nn::Linear(16 * 3 * 3, 32));
    drop = register_module("drop", torch::nn::Dropout(torch::nn::DropoutOptions().p(0.0)));
    classes = register_module("classes", torch::nn::Linear(32, 4));
    activation = torch::nn::Functional(torch::leaky_relu, 0.2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = features->forward(x);
    x = x.view({x.size(0), -1});
    x = drop->forward(activation(hidden->forward(x)));
    return torch::log_softmax(classes->forward(x), /*dim=*/1);
  }
  torch::nn::Sequential features;
  torch::nn::Linear hidden{nullptr}, classes{nullptr};
  torch::nn::Dropout drop{nullptr};
  torch::nn::Functional activation{nullptr};
};

constexpr int64_t kSize = 14;

// Class k: stripes of a direction and width that depend on k, phase and brightness that depend on the sample.
static std::tuple<at::Tensor, at::Tensor> make_images(int64_t count, int64_t offset) {
  auto images = torch::zeros({count, 1, kSize, kSize});
  auto labels = torch::zeros({count}, torch::kLong);
  auto pixels = images.accessor<float, 4>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = i + offset, label = id % 4;
    labels[i] = label;
    for (int64_t y = 0; y < kSize; ++y)
      for (int64_t x = 0; x < kSize; ++x) {
        const int64_t along = label == 0 ? x : label == 1 ? y : label == 2 ? x + y : 2 * x;
        const double wave = std::sin(0.9 * static_cast<double>(along + id % 7));
        const double noise = static_cast<double>((id * 31 + x * 17 + y * 13 + x * y) % 23) / 23.0 - 0.5;
        pixels[i][0][y][x] = static_cast<float>((0.5 + 0.03 * static_cast<double>(id % 11)) * wave + 0.4 * noise);
      }
  }
  return std::make_tuple(images, labels);
}

class Images : public torch::data::datasets::Dataset<Images> {
 public:
  Images(int64_t count, int64_t offset) { std::tie(images_, labels_) = make_images(count, offset); }
  torch::data::Example<> get(size_t index) override {
    return {images_[static_cast<int64_t>(index)], labels_[static_cast<int64_t>(index)]};
  }
  c10::optional<size_t> size() const override { return images_.size(0); }

 private:
  torch::Tensor images_, labels_;
};

template <typename Loader>
static void train(Net& model, torch::Device device, Loader& loader, torch::optim::Optimizer& optimizer, int epoch) {
  model.train();
  size_t batch_index = 0;
  for (auto& batch : loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    optimizer.zero_grad();
    auto output = model.forward(data);
    auto loss = torch::nll_loss(output, targets);
    TORCH_CHECK(!std::isnan(loss.template item<float>()), "loss is not a number");
    loss.backward();
    optimizer.step();
    if (batch_index++ % 4 == 0)
      std::printf("epoch %d batch %zu loss %.3f\n", epoch, batch_index, loss.template item<float>());
  }
}

template <typename Loader>
static void test(Net& model, torch::Device device, Loader& loader, size_t size) {
  torch::NoGradGuard no_grad;
  model.eval();
  double loss = 0;
  int64_t correct = 0;
  for (const auto& batch : loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    auto output = model.forward(data);
    loss += torch::nll_loss(output, targets, /*weight=*/{}, torch::Reduction::Sum).template item<float>();
    correct += output.argmax(1).eq(targets).sum().template item<int64_t>();
  }
  std::printf("test loss %.3f accuracy %.3f\n", loss / static_cast<double>(size),
              static_cast<double>(correct) / static_cast<double>(size));
}

int main() {
  torch::manual_seed(1);
  torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  Net model;
  model.to(device);
  int64_t parameters = 0;
  for (const auto& pair : model.named_parameters()) {
    std::cout << pair.key() << " " << pair.value().sizes() << "\n";
    parameters += pair.value().numel();
  }
  std::cout << parameters << " parameters, " << model.named_buffers().size() << " buffers\n" << model << std::endl;

  auto train_set =
      Images(256, 0).map(torch::data::transforms::Normalize<>(0.05, 0.4)).map(torch::data::transforms::Stack<>());
  auto train_loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(train_set), torch::data::DataLoaderOptions().batch_size(32).workers(1));
  auto test_set =
      Images(96, 1000).map(torch::data::transforms::Normalize<>(0.05, 0.4)).map(torch::data::transforms::Stack<>());
  const size_t test_size = test_set.size().value();
  auto test_loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(std::move(test_set), 48);

  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));
  for (int epoch = 1; epoch <= 3; ++epoch) {
    train(model, device, *train_loader, optimizer, epoch);
    test(model, device, *test_loader, test_size);
  }

  // A few steps of Adam from there, with cross_entropy on logits made by hand.
  torch::optim::Adam adam(model.parameters(), torch::optim::AdamOptions(1e-3));
  auto [images, labels] = make_images(64, 500);
  model.train();
  for (int step = 0; step < 4; ++step) {
    adam.zero_grad();
    auto loss = torch::nn::functional::cross_entropy(model.forward(images), labels);
    loss.backward();
    adam.step();
    std::printf("adam %d loss %.3f\n", step, loss.item<double>());
  }
  return 0;
}
