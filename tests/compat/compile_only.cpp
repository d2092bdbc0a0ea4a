// libtorch's spellings that must compile. Nothing here is run: each function would be valid libtorch if it were.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>
#include <c10/util/Optional.h>
#include <c10/util/irange.h>
#include <torch/nn.h>
#include <torch/nn/functional.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim.h>
#include <torch/torch.h>
#include "torch/types.h"

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define UNUSED(x) (void)(x)

namespace {

namespace F = torch::nn::functional;
using namespace torch::indexing;
using at::IntArrayRef;
using torch::Tensor;
using Variable = torch::autograd::Variable;
using VariableList = torch::autograd::variable_list;

void factories() {
  Tensor a = torch::empty({2, 3});
  a = torch::zeros(5);
  a = torch::ones({2, 3}, torch::kDouble);
  a = torch::rand({2, 3}, torch::kCPU);
  a = torch::randn({2, 3}, torch::dtype(torch::kFloat).requires_grad(true));
  a = torch::randn({2, 3}, torch::TensorOptions().dtype(torch::kFloat64).device(torch::kCPU).layout(torch::kStrided));
  a = torch::randint(10, {3, 4});
  a = torch::randint(0, 10, {3, 4}, torch::kLong);
  a = torch::randint(/*low=*/3, /*high=*/10, {3}, at::TensorOptions(at::kInt));
  a = torch::randperm(5);
  a = torch::arange(5);
  a = torch::arange(0, 5);
  a = torch::arange(0, 1, 0.1);
  a = torch::arange(10, torch::kFloat);
  a = torch::full({2, 2}, 3.5);
  a = torch::full({2, 2}, 1, torch::kInt32);
  a = torch::full_like(a, 2);
  a = torch::zeros_like(a);
  a = torch::ones_like(a, torch::kFloat);
  a = torch::empty_like(a).normal_(0, 1);
  a = torch::rand_like(a);
  a = torch::randn_like(a);
  a = torch::eye(3);
  a = torch::linspace(0, 1, 5);
  a = torch::tensor(3);
  a = torch::tensor({1, 2, 3});
  a = torch::tensor({{1.0, 2.0}, {3.0, 4.0}}, torch::kDouble);
  a = torch::tensor({1.f, 2.f}, torch::requires_grad());
  a = torch::tensor(std::vector<float>{1, 2, 3});
  a = torch::tensor(std::vector<int64_t>(3, 1), torch::dtype(torch::kFloat32));
  a = torch::tensor({true, false});
  a = torch::empty({0});
  a = at::zeros({2, 2}, at::kFloat);
  a = at::ones(IntArrayRef({2, 2}), a.options());
  a = torch::zeros(a.sizes(), a.options().dtype(at::kByte));
  a = torch::zeros({a.size(0), a.size(1)}, a.device());
  std::vector<int64_t> shape{2, 3};
  a = torch::zeros(shape);
  a = torch::zeros(torch::IntArrayRef(shape));
  float data[4] = {1, 2, 3, 4};
  a = torch::from_blob(data, {2, 2});
  a = torch::from_blob(static_cast<void*>(data), {4}, torch::kFloat32).clone();
  a = torch::from_blob(data, {2, 2}, {1, 2}, at::kFloat);
  a = torch::from_blob(
      data, {4}, [](void*) {}, torch::kFloat);
  torch::manual_seed(1);
  a = torch::scalar_tensor(2.5);
  UNUSED(a);
}

void options() {
  torch::TensorOptions o = torch::kFloat;
  o = torch::Device("cpu");
  o = torch::kCPU;
  o = torch::dtype(torch::kInt).device(torch::kCPU);
  o = torch::device(torch::kCPU).dtype(torch::kInt).requires_grad(false);
  o = torch::device({torch::kCUDA, 1});
  o = torch::requires_grad();
  o = torch::layout(torch::kStrided).pinned_memory(false);
  o = o.device(torch::kCUDA, 0);
  o = o.dtype<double>();
  o = torch::dtype(c10::ScalarType::Half);
  const auto t = torch::ones({1}, o);
  const torch::Dtype type = t.scalar_type();
  const caffe2::TypeMeta meta = t.dtype();
  const bool same =
      t.dtype() == torch::kFloat && torch::kFloat == t.dtype() && type == at::kFloat && meta == torch::kFloat;
  const bool device =
      t.device() == torch::kCPU || t.device().type() == torch::DeviceType::CPU || t.device() == torch::Device("cpu");
  UNUSED(same);
  UNUSED(device);
}

void methods(Tensor x, Tensor y) {
  auto a = x + y - x * y / 2 + 1 - 0.5 * x;
  a = 1 - x;
  a = 2.0 / x;
  a = -x;
  a = (x > 0) & (y < 1) | (x == y);
  a = ~(x >= y);
  a = x.gt(0).logical_and(y.le(1));
  a += 1;
  a -= y;
  a *= 2.5;
  a /= y;
  a = x.add(y).sub(y, 2).mul(3).div(y).pow(2).exp().log().sqrt().abs().neg().tanh().sigmoid().relu();
  a = x.std(1);
  a = x.std();
  a = x.std(false);
  a = x.std(/*dim=*/1, /*unbiased=*/true, /*keepdim=*/true);
  a = x.var(at::IntArrayRef({0, 1}), false);
  a = x.sum();
  a = x.sum(0);
  a = x.sum(at::IntArrayRef{0, 1}, true);
  a = x.sum(torch::kDouble);
  a = x.sum(1, true, torch::kFloat64);
  a = x.mean();
  a = x.mean(1);
  a = x.mean(at::IntArrayRef({0, 1}));
  a = x.norm();
  a = x.norm(2, 1);
  a = std::get<0>(x.max(1));
  a = std::get<1>(torch::max(x, 1, true));
  auto [values, indices] = x.min(0);
  a = x.argmax();
  a = x.argmax(1);
  a = x.argmin(-1, true);
  a = x.max();
  a = torch::max(x, y);
  a = x.any().logical_or(x.all());
  a = x.mm(y).matmul(y).t();
  a = torch::matmul(x, y);
  a = torch::addmm(x, x, y);
  a = torch::bmm(x, y);
  a = x.view({-1});
  a = x.view(-1);
  a = x.view({x.size(0), -1});
  a = x.reshape({2, 3}).permute({1, 0}).transpose(0, 1).contiguous();
  a = x.unsqueeze(0).squeeze().squeeze(0).flatten().flatten(0, 1).expand({2, 3}).expand_as(y);
  a = x.select(0, 1).narrow(0, 0, 1).slice(0, 0, 1);
  a = x.slice(/*dim=*/0, /*start=*/1);
  a = x.slice(0, c10::nullopt, 5, 2);
  a = x.as_strided({1}, {1});
  std::vector<Tensor> parts = x.split(2);
  parts = torch::split(x, 2, 1);
  parts = x.chunk(2, 1);
  parts = x.unbind();
  a = torch::cat({x, y}, 1);
  a = torch::cat(parts);
  a = torch::stack({x, y});
  a = torch::stack(parts, /*dim=*/0);
  a = torch::where(x > 0, x, y);
  a = x.gather(1, y);
  a = x.index_select(0, y);
  a = x.masked_fill(y, 0);
  a = x.masked_select(y);
  a = x.nonzero();
  a = x.clamp(0, 1);
  a = x.clamp_min(0).clamp_max(1);
  a = torch::clamp(x, -1);
  a = x.softmax(1);
  a = torch::softmax(x, -1, torch::kFloat);
  a = torch::log_softmax(x, 1);
  a = torch::relu(x);
  a = torch::leaky_relu(x, 0.1);
  a = torch::sigmoid(x);
  a = torch::dropout(x, 0.5, /*train=*/true);
  a = torch::one_hot(y, 10);
  a = x.to(torch::kFloat);
  a = x.to(torch::kCPU);
  a = x.to(torch::Device("cpu"), torch::kFloat);
  a = x.to(y.options());
  a = x.to(y);
  a = x.to(torch::kCPU, /*non_blocking=*/true);
  a = x.toType(torch::kLong);
  a = x.type_as(y);
  a = x.cpu().detach().clone();
  a = x.contiguous(torch::MemoryFormat::ChannelsLast);
  a = x.data();
  a = x.fill_(1).zero_().uniform_(0, 1).normal_().random_(5).bernoulli_(0.5).exponential_();
  const bool b = x.equal(y) || torch::equal(x, y) || torch::allclose(x, y) || x.allclose(y, 1e-3, 1e-5) || x.is_same(y);
  const double d = x.item<double>() + x.item().toDouble() + x.sum().item().to<float>() + x.item().toInt();
  const int64_t n = x.numel() + x.dim() + x.size(0) + x.sizes()[0] + x.stride(0) + x.element_size() + x.ndimension();
  const at::IntArrayRef sizes = x.sizes();
  const std::vector<int64_t> owned = x.sizes().vec();
  for (const auto i : c10::irange(x.size(0))) a = x[i];
  for (auto size : sizes) a = x[size];
  std::cout << b << d << n << owned.size() << x.defined() << x.requires_grad() << x.is_cuda() << x.is_contiguous()
            << x.sizes() << values << indices;
}

void indexing(Tensor x) {
  Tensor a = x.index({0});
  a = x.index({0, 1});
  a = x.index({"...", 0});
  a = x.index({Ellipsis, 0});
  a = x.index({Slice(), None});
  a = x.index({Slice(1), Slice(None, 5), Slice(1, None), Slice(None, None, 2), Slice(0, 10, 2)});
  a = x.index({torch::indexing::Slice(torch::indexing::None, -1)});
  a = x.index({x > 0});
  a = x.index({torch::tensor({0, 1}), true, torch::nullopt});
  x.index_put_({0}, 1);
  x.index_put_({0, Slice()}, x[1]);
  x.index_put_({x > 0}, torch::zeros({1}));
  x.index_put_({torch::tensor({0, 1})}, torch::ones({2}), true);
  std::vector<TensorIndex> list{0, Slice(1, 2)};
  a = x.index(list);
  x[0] = 1;
  x[0] = x[1];
  x[0][1] = 2.5;
  x.index({0}) = 3;
  x.index({Slice(), 0}) = x[0];
  auto acc = x.accessor<float, 2>();
  acc[0][0] = 1;
  at::TensorAccessor<float, 1> row = acc[0];
  row[1] = 2;
  auto packed = x.packed_accessor32<float, 2>();
  packed[0][0] = 2;
  float* p = x.data_ptr<float>();
  void* v = x.data_ptr();
  std::cout << p << v << acc.size(0);
}

void gradients(Tensor x) {
  x.set_requires_grad(true);
  x.requires_grad_();
  auto y = x.pow(2).sum();
  y.backward();
  y.backward({}, /*retain_graph=*/true);
  y.backward(torch::ones_like(y), true, true);
  const Tensor& g = x.grad();
  x.mutable_grad() = torch::zeros_like(x);
  x.mutable_grad().reset();
  auto grads = torch::autograd::grad({y}, {x});
  grads = torch::autograd::grad({y}, {x}, /*grad_outputs=*/{torch::ones_like(y)}, /*retain_graph=*/true,
                                /*create_graph=*/true, /*allow_unused=*/true);
  torch::autograd::backward({y}, {});
  auto hook = x.register_hook([](torch::Tensor grad) { return grad * 2; });
  x.register_hook([](torch::Tensor grad) { std::cout << grad; });
  x.remove_hook(hook);
  x.retain_grad();
  {
    torch::NoGradGuard no_grad;
    torch::AutoGradMode enable(true);
    torch::InferenceMode inference;
    c10::InferenceMode guard(true);
    at::AutoGradMode off(false);
  }
  torch::GradMode::set_enabled(true);
  Variable variable = x;
  VariableList list{x, variable};
  std::cout << g << grads.size() << x.is_leaf() << list.size() << (x.grad_fn() != nullptr);
}

struct Cube : torch::autograd::Function<Cube> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, double scale) {
    ctx->save_for_backward({x});
    ctx->saved_data["scale"] = scale;
    return x * x * x * scale;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list grads) {
    auto saved = ctx->get_saved_variables();
    const double scale = ctx->saved_data["scale"].toDouble();
    return {grads[0] * 3 * saved[0] * saved[0] * scale, torch::Tensor()};
  }
};

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

template <typename scalar_t>
scalar_t add_all(const Tensor& x) {
  scalar_t sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += x.data_ptr<scalar_t>()[i];
  return sum;
}

void utilities(const Tensor& x, c10::optional<Tensor> maybe, at::TensorList list, c10::ArrayRef<int64_t> sizes) {
  TORCH_CHECK(x.dim() == 2, "expected 2 dimensions, got ", x.dim(), " with sizes ", x.sizes());
  TORCH_CHECK(x.defined());
  TORCH_CHECK_VALUE(x.numel() > 0, "empty");
  TORCH_INTERNAL_ASSERT(x.defined(), "undefined");
  TORCH_INTERNAL_ASSERT_DEBUG_ONLY(x.defined());
  AT_ASSERT(x.defined());
  AT_ASSERTM(x.defined(), "undefined ", 1);
  TORCH_WARN("a warning about ", x.sizes());
  TORCH_WARN_ONCE("once");
  double total = 0;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_all", [&] { total = static_cast<double>(add_all<scalar_t>(x)); });
  AT_DISPATCH_ALL_TYPES(x.scalar_type(), "add_all", ([&] { total += static_cast<double>(add_all<scalar_t>(x)); }));
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "add_all", [&] { total += sizeof(scalar_t); });
  try {
    AT_ERROR("thrown ", 1);
  } catch (const c10::Error& e) {
    std::cout << e.what() << e.what_without_backtrace() << e.msg();
  } catch (const at::Error& e) {
    std::cout << e.what();
  } catch (const torch::Error& e) {
    std::cout << e.what();
  }
  torch::optional<int64_t> number = torch::nullopt;
  at::optional<double> other = c10::make_optional(2.5);
  torch::Scalar scalar = 1.5;
  at::Scalar integer(3);
  c10::Scalar flag = true;
  c10::Half half = 1.5f;
  at::BFloat16 brain(2.5f);
  c10::string_view view = "text";
  torch::Generator generator = torch::make_generator<torch::CPUGeneratorImpl>(42);
  at::Generator second = at::detail::createCPUGenerator(7);
  torch::set_num_threads(1);
  at::set_num_threads(at::get_num_threads());
  torch::OrderedDict<std::string, Tensor> dict;
  dict.insert("a", x);
  std::cout << c10::str("dim ", x.dim()) << total << maybe.has_value() << list.size() << sizes.size()
            << number.has_value() << other.value() << scalar.toDouble() << integer.toLong() << flag.isBoolean()
            << static_cast<float>(half) << static_cast<float>(brain) << view << generator.current_seed()
            << second.defined() << dict.size() << torch::cuda::is_available() << torch::cuda::device_count()
            << TORCH_VERSION_MAJOR << torch::toString(torch::kFloat) << torch::typeMetaToScalarType(x.dtype())
            << torch::get_default_dtype() << torch::isFloatingType(x.scalar_type())
            << at::isIntegralType(x.scalar_type(), false);
  UNUSED(generator), UNUSED(second);
}

}  // namespace

// Reopening and extending the library's namespaces.
namespace torch {
namespace nn {
struct TORCH_API ScaleImpl : public Module {
  explicit ScaleImpl(double factor) : factor(factor) {}
  Tensor forward(const Tensor& x) { return x * factor; }
  double factor;
};
TORCH_MODULE(Scale);
namespace functional {
inline Tensor twice(const Tensor& x) {
  return functional::relu(x) * 2;
}
}  // namespace functional
}  // namespace nn
namespace optim {
inline double half(double x) {
  return x / 2;
}
}  // namespace optim
inline Tensor triple(const Tensor& x) {
  return x * 3;
}
namespace data {
namespace transforms {
struct Negate : public TensorTransform<> {
  Tensor operator()(Tensor input) override { return -input; }
};
}  // namespace transforms
}  // namespace data
}  // namespace torch

namespace at {
inline Tensor quadruple(const Tensor& x) {
  return x * 4;
}
}  // namespace at

int main(int argc, char**) {
  if (argc < 0) {
    torch::Tensor x = torch::ones({2, 2});
    factories(), options(), methods(x, x), indexing(x), gradients(x), modules(), functionals(x, x, x), data();
    x = Cube::apply(x, 2.0);
    x = torch::nn::functional::twice(torch::triple(at::quadruple(torch::nn::Scale(2.0)->forward(x))));
    torch::nn::Sequential net(torch::nn::Linear(3, 1));
    torch::nn::Linear linear(1, 1);
    torch::optim::Adam adam(linear->parameters());
    optimizers(net), saving(linear, adam, x), utilities(x, x, {x, x}, {1, 2});
    std::cout << torch::data::transforms::Negate()(x) << torch::optim::half(3);
  }
  return 0;
}
