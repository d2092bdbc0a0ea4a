// torch::save and torch::load of tensors, modules and optimizers, through files, streams and archives.
#include <torch/torch.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

struct NetImpl : torch::nn::Module {
  NetImpl() {
    first = register_module("first", torch::nn::Linear(4, 8));
    norm = register_module("norm", torch::nn::BatchNorm2d(2));
    last = register_module("last", torch::nn::Linear(8, 1));
    offset = register_buffer("offset", torch::full({1}, 0.25));
    scale = register_parameter("scale", torch::ones({1}));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::tanh(first(x));
    x = norm(x.view({-1, 2, 2, 2})).flatten(1);
    return last(x) * scale + offset;
  }
  torch::nn::Linear first{nullptr}, last{nullptr};
  torch::nn::BatchNorm2d norm{nullptr};
  torch::Tensor offset, scale;
};
TORCH_MODULE(Net);

static torch::Tensor ramp(at::IntArrayRef sizes) {
  int64_t numel = 1;
  for (auto size : sizes) numel *= size;
  return (torch::arange(numel, torch::kFloat).reshape(sizes) * 0.37).sin();
}

static double train_step(Net& net, torch::optim::Optimizer& optimizer) {
  optimizer.zero_grad();
  auto loss = torch::mse_loss(net(ramp({6, 4})), ramp({6, 1}));
  loss.backward();
  optimizer.step();
  return loss.item<double>();
}

static bool same(const Net& a, const Net& b) {
  auto pa = a->named_parameters(), pb = b->named_parameters();
  for (const auto& item : pa)
    if (!torch::equal(item.value(), pb[item.key()])) return false;
  auto ba = a->named_buffers(), bb = b->named_buffers();
  for (const auto& item : ba)
    if (!torch::equal(item.value(), bb[item.key()])) return false;
  return true;
}

int main() {
  std::cout << std::boolalpha;
  const auto folder = std::filesystem::temp_directory_path() / "compat_save_load";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "file.pt").string();

  // Tensors of several types, through a file.
  for (auto type :
       {torch::kFloat, torch::kDouble, torch::kLong, torch::kInt, torch::kByte, torch::kBool, torch::kHalf}) {
    const auto tensor = (torch::arange(6).reshape({2, 3}) * 3 - 4).to(type);
    torch::save(tensor, path);
    torch::Tensor loaded;
    torch::load(loaded, path);
    std::cout << loaded.dtype() << " " << loaded.sizes() << " " << torch::equal(tensor, loaded) << "\n";
  }

  // Odd shapes, views, requires_grad.
  for (const auto& tensor : {torch::tensor(3.5), torch::empty({0, 2}), torch::arange(12).reshape({3, 4}).t(),
                             torch::arange(10).slice(0, 2, 9, 3), torch::tensor({1.5}).expand({3, 2})}) {
    torch::save(tensor, path);
    torch::Tensor loaded;
    torch::load(loaded, path);
    std::cout << loaded.sizes() << " " << torch::equal(tensor, loaded) << "\n";
  }
  {
    torch::save(torch::ones({2}, torch::requires_grad()), path);
    torch::Tensor loaded;
    torch::load(loaded, path);
    std::cout << "requires grad " << loaded.requires_grad() << "\n";
  }

  // A list of tensors, through a stream.
  {
    std::stringstream stream;
    std::vector<torch::Tensor> list{torch::tensor({1, 2}), torch::tensor(0.5), torch::ones({2, 2})}, loaded;
    torch::save(list, stream);
    torch::load(loaded, stream);
    std::cout << loaded.size() << " " << torch::equal(loaded[0], list[0]) << torch::equal(loaded[1], list[1])
              << torch::equal(loaded[2], list[2]) << "\n";
  }

  // A module: training, saving, loading into another one.
  torch::manual_seed(1);
  Net net, other;
  std::cout << "same before " << same(net, other) << "\n";
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.01));
  for (int step = 0; step < 3; ++step) train_step(net, adam);
  torch::save(net, path);
  torch::load(other, path);
  std::cout << "same after " << same(net, other) << "\n";
  std::cout << other->offset.item<float>() << " " << other->named_parameters().size() << " "
            << other->named_buffers().size() << " " << other->norm->num_batches_tracked.item<int64_t>() << "\n";

  // The optimizer: going on from the file gives the same as never having stopped.
  const std::string optimizer_path = (folder / "optimizer.pt").string();
  torch::save(adam, optimizer_path);
  torch::optim::Adam resumed(other->parameters(), torch::optim::AdamOptions(0.01));
  torch::load(resumed, optimizer_path);
  for (int step = 0; step < 3; ++step) {
    const double a = train_step(net, adam), b = train_step(other, resumed);
    std::cout << "loss equal " << (a == b) << "\n";
  }
  std::cout << "same after resuming " << same(net, other) << "\n";

  // SGD with momentum, through a stream.
  {
    torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    train_step(net, sgd);
    std::stringstream model_stream, optimizer_stream;
    torch::save(net, model_stream);
    torch::save(sgd, optimizer_stream);
    Net third;
    torch::load(third, model_stream);
    torch::optim::SGD sgd3(third->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    torch::load(sgd3, optimizer_stream);
    train_step(net, sgd);
    train_step(third, sgd3);
    std::cout << "sgd same " << same(net, third) << "\n";
  }

  // A Sequential; and a shared_ptr to a module.
  {
    torch::nn::Sequential a(torch::nn::Linear(3, 2), torch::nn::ReLU(), torch::nn::Linear(2, 1));
    torch::nn::Sequential b(torch::nn::Linear(3, 2), torch::nn::ReLU(), torch::nn::Linear(2, 1));
    torch::save(a, path);
    torch::load(b, path);
    std::cout << "sequential " << torch::equal(a->forward(ramp({5, 3})), b->forward(ramp({5, 3}))) << "\n";
    auto shared = std::make_shared<NetImpl>();
    torch::save(shared, path);
    auto shared2 = std::make_shared<NetImpl>();
    torch::load(shared2, path);
    std::cout << "shared_ptr " << torch::equal(shared->first->weight, shared2->first->weight) << "\n";
  }

  // Archives by hand.
  {
    torch::serialize::OutputArchive archive, child;
    archive.write("x", torch::tensor({1.5, 2.5}));
    child.write("y", torch::tensor({7}), /*is_buffer=*/true);
    archive.write("child", child);
    archive.save_to(path);
    torch::serialize::InputArchive in, in_child;
    in.load_from(path);
    torch::Tensor x, y, missing;
    in.read("x", x);
    in.read("child", in_child);
    in_child.read("y", y, /*is_buffer=*/true);
    std::cout << x << "\n" << y << "\n" << in.try_read("z", missing) << "\n";
    try {
      in.read("z", missing);
    } catch (const c10::Error&) {
      std::cout << "missing key refused\n";
    }
  }

  // Files that are not there or not ours.
  for (const char* text : {"", "PK", "this is no archive at all, only a line of text\n"}) {
    {
      std::FILE* file = std::fopen(path.c_str(), "wb");
      std::fputs(text, file);
      std::fclose(file);
    }
    try {
      torch::Tensor tensor;
      torch::load(tensor, path);
      std::cout << "loaded?\n";
    } catch (const std::exception&) {
      std::cout << "refused\n";
    }
  }
  std::filesystem::remove_all(folder);
  return 0;
}
