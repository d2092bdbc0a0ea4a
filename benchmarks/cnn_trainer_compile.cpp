// A trainer as users write them; compare.sh measures what compiling it costs. It also runs: `cnn_trainer_compile
// <folder>` with MNIST's files.
#include <torch/torch.h>

#include <iostream>
#include <string>

struct Net : torch::nn::Module {
  Net()
      : features(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 32, 3).padding(1)), torch::nn::BatchNorm2d(32),
                 torch::nn::ReLU(), torch::nn::MaxPool2d(2),
                 torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 3).padding(1)), torch::nn::BatchNorm2d(64),
                 torch::nn::ReLU(), torch::nn::MaxPool2d(2)),
        hidden(3136, 128),
        drop(0.25),
        classes(128, 10) {
    register_module("features", features);
    register_module("hidden", hidden);
    register_module("drop", drop);
    register_module("classes", classes);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = features->forward(x);
    x = torch::relu(hidden->forward(x.view({x.size(0), -1})));
    return torch::log_softmax(classes->forward(drop->forward(x)), 1);
  }
  torch::nn::Sequential features;
  torch::nn::Linear hidden;
  torch::nn::Dropout drop;
  torch::nn::Linear classes;
};

template <class Loader>
void train(Net& net, Loader& loader, torch::optim::Optimizer& optimizer, torch::Device device) {
  net.train();
  size_t count = 0;
  for (auto& batch : loader) {
    auto images = batch.data.to(device), labels = batch.target.to(device);
    optimizer.zero_grad();
    auto loss = torch::nll_loss(net.forward(images), labels);
    loss.backward();
    optimizer.step();
    if (++count % 100 == 0) std::cout << count << " loss " << loss.template item<float>() << std::endl;
  }
}

template <class Loader>
double accuracy(Net& net, Loader& loader, torch::Device device) {
  torch::NoGradGuard no_grad;
  net.eval();
  int64_t right = 0, all = 0;
  for (auto& batch : loader) {
    auto guess = net.forward(batch.data.to(device)).argmax(1);
    right += guess.eq(batch.target.to(device)).sum().template item<int64_t>();
    all += batch.target.size(0);
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  torch::manual_seed(1);
  const torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  Net net;
  net.to(device);
  using torch::data::datasets::MNIST;
  const auto load = [&](MNIST::Mode mode) {
    return MNIST(folder, mode)
        .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
        .map(torch::data::transforms::Stack<>());
  };
  auto train_loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      load(MNIST::Mode::kTrain), torch::data::DataLoaderOptions().batch_size(64).workers(1));
  auto test_loader =
      torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(load(MNIST::Mode::kTest), 256);
  torch::optim::Adam optimizer(net.parameters(), torch::optim::AdamOptions(1e-3));
  for (int epoch = 0; epoch < 3; ++epoch) {
    train(net, *train_loader, optimizer, device);
    std::cout << "epoch " << epoch << " accuracy " << accuracy(net, *test_loader, device) << "\n";
  }
  torch::save(optimizer, "optimizer.pt");
  return 0;
}
