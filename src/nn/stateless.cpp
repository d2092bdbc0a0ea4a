// Layers without parameters: activations, pooling, dropout, losses.
#include <ostream>

#include <gradus/nn/functional.h>
#include <gradus/ops/ops.h>

#include "printing.h"

namespace gradus::inline v0::nn {

namespace F = functional;

void ReLUImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::ReLU(" << (options.inplace() ? "inplace=true" : "") << ")";
}
Tensor ReLUImpl::forward(Tensor input) {
  return options.inplace() ? input.relu_() : input.relu();
}

void LeakyReLUImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::LeakyReLU(negative_slope=" << options.negative_slope() << (options.inplace() ? ", inplace=true" : "")
    << ")";
}
Tensor LeakyReLUImpl::forward(Tensor input) {
  return F::leaky_relu(std::move(input), options);
}

void GELUImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::GELU()";
}
Tensor GELUImpl::forward(const Tensor& input) {
  return F::gelu(input, options);
}
void SiLUImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::SiLU()";
}
Tensor SiLUImpl::forward(const Tensor& input) {
  return F::silu(input);
}
void TanhImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::Tanh()";
}
Tensor TanhImpl::forward(const Tensor& input) {
  return input.tanh();
}
void SigmoidImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::Sigmoid()";
}
Tensor SigmoidImpl::forward(const Tensor& input) {
  return input.sigmoid();
}
void SoftmaxImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::Softmax(dim=" << options.dim() << ")";
}
Tensor SoftmaxImpl::forward(const Tensor& input) {
  return gradus::softmax(input, options.dim());
}
void LogSoftmaxImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::LogSoftmax(dim=" << options.dim() << ")";
}
Tensor LogSoftmaxImpl::forward(const Tensor& input) {
  return gradus::log_softmax(input, options.dim());
}

DropoutImpl::DropoutImpl(const DropoutOptions& o) : options(o) {
  DropoutImpl::reset();
}
void DropoutImpl::reset() {
  GRADUS_CHECK_AS(ValueError, options.p() >= 0 && options.p() <= 1, "Dropout: p is ", options.p(), "; expected 0..1");
}
void DropoutImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::Dropout(p=" << options.p() << ", inplace=" << boolean(options.inplace()) << ")";
}
Tensor DropoutImpl::forward(Tensor input) {
  return options.inplace() ? gradus::dropout_(input, options.p(), is_training())
                           : gradus::dropout(input, options.p(), is_training());
}

void MaxPool2dImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::MaxPool2d(kernel_size=" << list(options.kernel_size()) << ", stride=" << list(options.stride())
    << ", padding=" << list(options.padding()) << ", dilation=" << list(options.dilation())
    << ", ceil_mode=" << boolean(options.ceil_mode()) << ")";
}
Tensor MaxPool2dImpl::forward(const Tensor& input) {
  return F::max_pool2d(input, options);
}
std::tuple<Tensor, Tensor> MaxPool2dImpl::forward_with_indices(const Tensor& input) {
  return F::max_pool2d_with_indices(input, options);
}

void AvgPool2dImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::AvgPool2d(kernel_size=" << list(options.kernel_size()) << ", stride=" << list(options.stride())
    << ", padding=" << list(options.padding()) << ")";
}
Tensor AvgPool2dImpl::forward(const Tensor& input) {
  return F::avg_pool2d(input, options);
}

void MSELossImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::MSELoss()";
}
Tensor MSELossImpl::forward(const Tensor& input, const Tensor& target) {
  return F::mse_loss(input, target, options);
}

NLLLossImpl::NLLLossImpl(NLLLossOptions o) : options(std::move(o)) {
  NLLLossImpl::reset();
}
void NLLLossImpl::reset() {
  bind_buffer("weight", weight, options.weight());
}
void NLLLossImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::NLLLoss()";
}
Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return F::nll_loss(input, target, NLLLossOptions(options).weight(weight));
}

CrossEntropyLossImpl::CrossEntropyLossImpl(CrossEntropyLossOptions o) : options(std::move(o)) {
  CrossEntropyLossImpl::reset();
}
void CrossEntropyLossImpl::reset() {
  bind_buffer("weight", weight, options.weight());
}
void CrossEntropyLossImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::CrossEntropyLoss()";
}
Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  return F::cross_entropy(input, target, CrossEntropyLossOptions(options).weight(weight));
}

BCEWithLogitsLossImpl::BCEWithLogitsLossImpl(BCEWithLogitsLossOptions o) : options(std::move(o)) {
  BCEWithLogitsLossImpl::reset();
}
void BCEWithLogitsLossImpl::reset() {
  bind_buffer("weight", weight, options.weight());
  bind_buffer("pos_weight", pos_weight, options.pos_weight());
}
void BCEWithLogitsLossImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::BCEWithLogitsLoss()";
}
Tensor BCEWithLogitsLossImpl::forward(const Tensor& input, const Tensor& target) {
  return F::binary_cross_entropy_with_logits(input, target,
                                             BCEWithLogitsLossOptions(options).weight(weight).pos_weight(pos_weight));
}

}  // namespace gradus::inline v0::nn
