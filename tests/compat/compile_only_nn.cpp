// libtorch's spellings of nn, optim, data and serialize that must compile; see compile_only.cpp.
#include <torch/torch.h>

#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#define UNUSED(x) (void)(x)

namespace {

namespace F = torch::nn::functional;
using torch::Tensor;

struct LayerImpl : torch::nn::Cloneable<LayerImpl> {
  struct Options {
    Options(int64_t size) : size_(size) {}
    TORCH_ARG(int64_t, size);
    TORCH_ARG(double, scale) = 1.0;
    TORCH_ARG(c10::optional<std::string>, label) = c10::nullopt;
  };
  explicit LayerImpl(int64_t size) : LayerImpl(Options(size)) {}
  explicit LayerImpl(const Options& options_) : options(options_) { reset(); }
  void reset() override { weight = register_parameter("weight", torch::ones(options.size())); }
  void pretty_print(std::ostream& stream) const override { stream << "Layer(" << options.size() << ")"; }
  Tensor forward(const Tensor& x) { return x * weight * options.scale(); }
  Options options;
  Tensor weight;
};
TORCH_MODULE(Layer);

struct ResidualImpl : torch::nn::Module {
  ResidualImpl(int64_t size, torch::nn::Sequential shortcut = torch::nn::Sequential()) : shortcut(shortcut) {
    register_module("shortcut", this->shortcut);
    fc = register_module("fc", torch::nn::Linear(torch::nn::LinearOptions(size, size).bias(false)));
  }
  Tensor forward(Tensor x) {
    auto y = fc->forward(x);
    if (!shortcut->is_empty()) x = shortcut->forward(x);
    return F::relu(x + y);
  }
  torch::nn::Sequential shortcut{nullptr};
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE_IMPL(Residual, ResidualImpl);

void modules() {
  namespace nn = torch::nn;
  nn::Linear fc(3, 4);
  nn::Linear other{nullptr};
  other = nn::Linear(nn::LinearOptions(3, 4).bias(true));
  auto shared = std::make_shared<nn::LinearImpl>(3, 4);
  nn::Conv2d conv(nn::Conv2dOptions(1, 10, /*kernel_size=*/5).stride(2).padding(1).dilation(1).groups(1).bias(false));
  nn::Conv2d same(nn::Conv2dOptions(1, 10, {3, 3}).padding(torch::kSame).padding_mode(torch::kZeros));
  nn::BatchNorm2d norm(nn::BatchNorm2dOptions(10).eps(1e-5).momentum(0.1).affine(true).track_running_stats(true));
  nn::BatchNorm2d plain(10);
  nn::LayerNorm layer(nn::LayerNormOptions({4}).elementwise_affine(false).eps(1e-6));
  nn::MaxPool2d pool(nn::MaxPool2dOptions({2, 2}).stride({2, 2}).padding(0));
  nn::MaxPool2d pool2(2);
  nn::AvgPool2d average(nn::AvgPool2dOptions(2).stride(1).count_include_pad(false));
  nn::Dropout drop(nn::DropoutOptions().p(0.3).inplace(false));
  nn::Dropout drop2(0.5), drop3(nn::DropoutOptions(0.2));
  nn::Embedding embedding(nn::EmbeddingOptions(10, 3).padding_idx(0));
  nn::Embedding embedding2(10, 3);
  nn::ReLU relu(nn::ReLUOptions(true)), relu2(true), relu3;
  nn::LeakyReLU leaky(nn::LeakyReLUOptions().negative_slope(0.2).inplace(true));
  nn::Flatten flat(nn::FlattenOptions().start_dim(1).end_dim(-1));
  nn::Softmax softmax(nn::SoftmaxOptions(1)), softmax2(1);
  nn::LogSoftmax log_softmax(nn::LogSoftmaxOptions(1));
  nn::Functional function(torch::relu), bound(torch::leaky_relu, 0.2), lambda([](Tensor x) { return x * 2; });
  nn::CrossEntropyLoss cross(
      nn::CrossEntropyLossOptions().ignore_index(-100).reduction(torch::kMean).label_smoothing(0.1));
  nn::MSELoss mse{nn::MSELossOptions(torch::kSum)};
  nn::MSELoss mse2{};
  nn::BCEWithLogitsLoss bce(nn::BCEWithLogitsLossOptions().reduction(torch::kNone));
  nn::NLLLoss nll(nn::NLLLossOptions().weight(torch::ones({3})));
  nn::Sequential net(nn::Linear(3, 4), nn::ReLU(), nn::Functional(torch::leaky_relu, 0.2), Layer(4), nn::Linear(4, 1));
  nn::Sequential named({{"fc", nn::Linear(3, 4)}, {"act", nn::Tanh()}});
  net->push_back(nn::Sigmoid());
  net->push_back("last", nn::Identity());
  nn::ModuleList list(nn::Linear(1, 2), nn::Linear(2, 3));
  list->push_back(fc);
  for (const auto& module : *list) std::cout << module->name();
  list[0]->as<nn::Linear>()->forward(torch::ones({1, 1}));
  auto x = torch::ones({2, 3});
  x = fc(x);
  x = fc->forward(x);
  x = net->forward(x);
  x = named->forward<Tensor>(x);
  x = conv->forward(x);
  x = Residual(4, nn::Sequential(nn::Linear(4, 4)))->forward(x);
  x = cross(x, torch::tensor({0, 1}));
  x = mse->forward(x, x);
  x = function(x);
  nn::init::xavier_uniform_(fc->weight);
  nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanOut, torch::kReLU);
  nn::init::constant_(fc->bias, 0);
  nn::init::normal_(fc->weight, 0.0, 0.02);
  nn::init::uniform_(fc->weight, -1, 1);
  nn::init::zeros_(fc->bias);
  nn::utils::clip_grad_norm_(net->parameters(), 1.0);
  nn::utils::clip_grad_norm_(net->parameters(), 0.5, 2.0);
  net->to(torch::kCPU);
  net->to(torch::kDouble);
  net->to(torch::Device("cpu"), torch::kFloat);
  net->train();
  net->train(false);
  net->eval();
  net->zero_grad();
  net->apply([](nn::Module& m) {
    if (auto* linear = m.as<nn::Linear>()) linear->weight.data().zero_();
    if (auto* linear = dynamic_cast<nn::LinearImpl*>(&m)) linear->bias.data().fill_(0.1);
  });
  for (auto& p : net->parameters()) p.set_requires_grad(false);
  for (auto& pair : net->named_parameters(/*recurse=*/true)) std::cout << pair.key() << pair.value().sizes();
  for (const auto& pair : net->named_buffers()) std::cout << pair.key();
  for (const auto& pair : net->named_children()) std::cout << pair.key() << *pair.value();
  for (const auto& pair : net->named_modules()) std::cout << pair.key();
  for (const auto& module : net->modules(/*include_self=*/false)) std::cout << module->name();
  for (const auto& child : net->children()) std::cout << child->is_training();
  auto parameters = net->named_parameters();
  if (parameters.contains("0.weight")) std::cout << parameters["0.weight"];
  if (auto* found = parameters.find("0.bias")) std::cout << *found;
  auto copy = std::dynamic_pointer_cast<LayerImpl>(Layer(3)->clone());
  nn::AnyModule any(nn::Linear(1, 1));
  x = any.forward(x);
  std::cout << net << *net << net->size() << (other ? 1 : 0) << other.is_empty() << shared->options.in_features()
            << norm->num_batches_tracked << layer->weight << conv->options.stride();
}

void functionals(Tensor x, Tensor w, Tensor t) {
  Tensor y = F::relu(x);
  y = F::relu(x, F::ReLUFuncOptions(true));
  y = F::leaky_relu(x, F::LeakyReLUFuncOptions().negative_slope(0.1));
  y = F::gelu(x);
  y = F::silu(x);
  y = F::softmax(x, 1);
  y = F::softmax(x, F::SoftmaxFuncOptions(1));
  y = F::log_softmax(x, /*dim=*/1);
  y = F::linear(x, w);
  y = F::conv2d(x, w, F::Conv2dFuncOptions().stride(1).padding(1).bias(t));
  y = F::conv2d(x, w);
  y = torch::conv2d(x, w, t, 1, 1);
  y = torch::conv2d(x, w, {}, /*stride=*/{1, 1}, /*padding=*/{1, 1});
  y = F::max_pool2d(x, F::MaxPool2dFuncOptions(2).stride(2));
  y = torch::max_pool2d(x, 2);
  y = torch::max_pool2d(x, {2, 2}, {2, 2}, 0);
  y = F::avg_pool2d(x, F::AvgPool2dFuncOptions(2));
  y = F::dropout(x, F::DropoutFuncOptions().p(0.5).training(true));
  y = F::batch_norm(x, w, w, F::BatchNormFuncOptions().weight(t).bias(t).training(true).momentum(0.1).eps(1e-5));
  y = F::layer_norm(x, F::LayerNormFuncOptions({4}));
  y = F::embedding(t, w);
  y = F::cross_entropy(x, t);
  y = F::cross_entropy(x, t, F::CrossEntropyFuncOptions().ignore_index(-1).reduction(torch::kSum));
  y = F::nll_loss(x, t);
  y = F::mse_loss(x, t, F::MSELossFuncOptions(torch::kNone));
  y = F::binary_cross_entropy_with_logits(x, t);
  y = F::one_hot(t, 3);
  y = F::pad(x, F::PadFuncOptions({1, 1}).mode(torch::kConstant).value(0));
  y = torch::nll_loss(x, t, {}, torch::Reduction::Mean);
  y = torch::mse_loss(x, t, at::Reduction::Sum);
  y = torch::cross_entropy_loss(x, t);
  y = torch::binary_cross_entropy_with_logits(x, t);
}

void optimizers(torch::nn::Sequential net) {
  torch::optim::SGD sgd(net->parameters(), 0.1);
  torch::optim::SGD sgd2(net->parameters(),
                         torch::optim::SGDOptions(0.1).momentum(0.9).weight_decay(1e-4).nesterov(true));
  torch::optim::Adam adam(net->parameters(),
                          torch::optim::AdamOptions(1e-3).betas(std::make_tuple(0.9, 0.999)).eps(1e-8));
  torch::optim::Adam adam2(net->parameters(), 1e-3);
  torch::optim::Adam adam3(net->parameters());
  torch::optim::AdamW adamw(net->parameters(), torch::optim::AdamWOptions(1e-3).weight_decay(0.01).amsgrad(true));
  torch::optim::SGD grouped({torch::optim::OptimizerParamGroup(net->parameters())}, torch::optim::SGDOptions(0.1));
  auto base = std::unique_ptr<torch::optim::Optimizer>(new torch::optim::Adam(net->parameters(), /*lr=*/1e-4));
  auto pointer = std::make_shared<torch::optim::SGD>(net->parameters(), torch::optim::SGDOptions(1e-2));
  adam.zero_grad();
  adam.step();
  adam.step([&]() -> Tensor {
    adam.zero_grad();
    auto loss = net->forward(torch::ones({1, 3})).sum();
    loss.backward();
    return loss;
  });
  for (auto& group : adam.param_groups()) {
    static_cast<torch::optim::AdamOptions&>(group.options()).lr(1e-4);
    group.options().set_lr(group.options().get_lr() * 0.1);
    if (group.has_options()) static_cast<torch::optim::AdamOptions&>(group.options()).lr() *= 0.5;
    for (auto& p : group.params()) std::cout << p.grad().defined();
  }
  torch::optim::StepLR schedule(sgd, /*step_size=*/10, /*gamma=*/0.5);
  schedule.step();
  sgd.add_param_group({std::vector<Tensor>{torch::ones({1})}});
  std::cout << sgd.defaults().get_lr() << sgd.state().size() << sgd2.size() << base->param_groups().size();
  UNUSED(adam2), UNUSED(adam3), UNUSED(adamw), UNUSED(grouped), UNUSED(pointer);
}

class Numbers : public torch::data::Dataset<Numbers> {
 public:
  torch::data::Example<> get(size_t index) override {
    return {torch::ones({2}) * static_cast<int64_t>(index), torch::tensor(1)};
  }
  c10::optional<size_t> size() const override { return 10; }
};

void data() {
  auto set = Numbers().map(torch::data::transforms::Normalize<>(0.5, 0.5)).map(torch::data::transforms::Stack<>());
  const size_t count = set.size().value();
  auto loader = torch::data::make_data_loader(
      std::move(set), torch::data::DataLoaderOptions().batch_size(4).workers(2).enforce_ordering(true));
  for (torch::data::Example<>& batch : *loader) std::cout << batch.data << batch.target;
  auto loader2 = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(Numbers(), 4);
  for (auto& batch : *loader2)
    for (auto& example : batch) std::cout << example.data;
  auto loader3 = torch::data::make_data_loader(Numbers().map(torch::data::transforms::Stack<>()),
                                               torch::data::samplers::SequentialSampler(10),
                                               torch::data::DataLoaderOptions(2).drop_last(true).max_jobs(4));
  for (auto it = loader3->begin(); it != loader3->end(); ++it) std::cout << it->data;
  auto mnist = torch::data::datasets::MNIST("./data", torch::data::datasets::MNIST::Mode::kTrain)
                   .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                   .map(torch::data::transforms::Stack<>());
  auto tensors = torch::data::datasets::TensorDataset(torch::ones({3, 2}));
  std::cout << count << mnist.size().value() << *tensors.size();
}

void saving(torch::nn::Linear model, torch::optim::Adam& optimizer, Tensor tensor) {
  torch::save(model, "model.pt");
  torch::load(model, "model.pt");
  torch::save(optimizer, "optimizer.pt");
  torch::load(optimizer, std::string("optimizer.pt"));
  torch::save(tensor, "tensor.pt");
  torch::load(tensor, "tensor.pt");
  std::vector<Tensor> list{tensor};
  torch::save(list, "list.pt");
  torch::load(list, "list.pt");
  torch::serialize::OutputArchive out;
  model->save(out);
  out.write("extra", tensor);
  out.save_to("archive.pt");
  torch::serialize::InputArchive in;
  in.load_from("archive.pt");
  in.load_from("archive.pt", torch::kCPU);
  in.read("extra", tensor);
  model->load(in);
  std::stringstream stream;
  torch::save(model, stream);
  torch::load(model, stream);
}

}  // namespace

void compile_only_nn(Tensor x) {
  torch::nn::Sequential net(torch::nn::Linear(3, 1));
  torch::nn::Linear linear(1, 1);
  torch::optim::Adam adam(linear->parameters());
  modules(), functionals(x, x, x), data(), optimizers(net), saving(linear, adam, x);
}
