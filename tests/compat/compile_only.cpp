// libtorch's spellings that must compile, here, in compile_only_nn.cpp and in compile_only_cuda.cpp. Nothing is run:
// each function would be valid libtorch if it were.
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
#include <memory>
#include <string>
#include <vector>

#define UNUSED(x) (void)(x)

namespace {

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

void compile_only_nn(torch::Tensor x);
void compile_only_cuda();

int main(int argc, char**) {
  if (argc < 0) {
    torch::Tensor x = torch::ones({2, 2});
    factories(), options(), methods(x, x), indexing(x), gradients(x);
    x = Cube::apply(x, 2.0);
    x = torch::nn::functional::twice(torch::triple(at::quadruple(torch::nn::Scale(2.0)->forward(x))));
    compile_only_nn(x), compile_only_cuda(), utilities(x, x, {x, x}, {1, 2});
    std::cout << torch::data::transforms::Negate()(x) << torch::optim::half(3);
  }
  return 0;
}
