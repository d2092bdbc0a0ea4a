// Layers with parameters: registration, initial values (PyTorch's, draw for draw), printing.
#include <cmath>
#include <ostream>

#include <gradus/autograd/grad_mode.h>
#include <gradus/nn/conv.h>
#include <gradus/nn/embedding.h>
#include <gradus/nn/functional.h>
#include <gradus/nn/linear.h>
#include <gradus/nn/normalization.h>
#include <gradus/ops/ops.h>

#include "printing.h"

namespace gradus::inline v0::nn {

namespace {

// kaiming_uniform_ with a = sqrt(5), which is uniform in +-1/sqrt(fan_in), and a bias in the same range.
void reset_weight_and_bias(const Tensor& weight, const Tensor& bias) {
  NoGradGuard guard;
  int64_t fan_in = weight.dim() > 1 ? weight.size(1) : 0;
  for (int64_t d = 2; d < weight.dim(); ++d) fan_in *= weight.size(d);
  if (weight.numel() > 0 && fan_in > 0) {
    const double gain = std::sqrt(2.0 / (1 + 5.0));
    const double bound = std::sqrt(3.0) * (gain / std::sqrt(static_cast<double>(fan_in)));
    weight.uniform_(-bound, bound);
  }
  if (bias.defined() && fan_in > 0) {
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    bias.uniform_(-bound, bound);
  }
}

void check_size(const char* layer, const char* name, int64_t value, int64_t least) {
  GRADUS_CHECK_AS(ValueError, value >= least, layer, ": ", name, " is ", value, "; expected at least ", least);
}

}  // namespace

// --- Linear ---

LinearImpl::LinearImpl(const LinearOptions& o) : options(o) {
  LinearImpl::reset();
}

void LinearImpl::reset() {
  check_size("Linear", "in_features", options.in_features(), 0);
  check_size("Linear", "out_features", options.out_features(), 0);
  bind_parameter("weight", weight, empty({options.out_features(), options.in_features()}));
  bind_parameter("bias", bias, options.bias() ? empty({options.out_features()}) : Tensor(), options.bias());
  reset_parameters();
}
void LinearImpl::reset_parameters() {
  reset_weight_and_bias(weight, bias);
}
void LinearImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::Linear(in_features=" << options.in_features() << ", out_features=" << options.out_features()
    << ", bias=" << boolean(options.bias()) << ")";
}
Tensor LinearImpl::forward(const Tensor& input) {
  return bias.defined() ? gradus::linear(input, weight, bias) : gradus::linear(input, weight);
}

void IdentityImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::Identity()";
}
void FlattenImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::Flatten(start_dim=" << options.start_dim() << ", end_dim=" << options.end_dim() << ")";
}
Tensor FlattenImpl::forward(const Tensor& input) {
  return input.flatten(options.start_dim(), options.end_dim());
}

// --- Conv2d ---

Conv2dImpl::Conv2dImpl(Conv2dOptions o) : options(std::move(o)) {
  Conv2dImpl::reset();
}

void Conv2dImpl::reset() {
  const int64_t groups = options.groups(), in = options.in_channels(), out = options.out_channels();
  check_size("Conv2d", "groups", groups, 1);
  check_size("Conv2d", "in_channels", in, 0);
  check_size("Conv2d", "out_channels", out, 0);
  GRADUS_CHECK_AS(ValueError, in % groups == 0, "Conv2d: in_channels ", in, " is not a multiple of groups ", groups);
  GRADUS_CHECK_AS(ValueError, out % groups == 0, "Conv2d: out_channels ", out, " is not a multiple of groups ", groups);
  for (size_t i = 0; i < 2; ++i) {
    check_size("Conv2d", "kernel_size", options.kernel_size()[i], 1);
    check_size("Conv2d", "stride", options.stride()[i], 1);
    check_size("Conv2d", "dilation", options.dilation()[i], 1);
    if (auto* p = std::get_if<ExpandingArray<2>>(&options.padding())) check_size("Conv2d", "padding", (*p)[i], 0);
    GRADUS_CHECK_AS(ValueError, !std::holds_alternative<enumtype::kSame>(options.padding()) || options.stride()[i] == 1,
                    "Conv2d: padding kSame needs stride 1; got ", options.stride()[i]);
  }
  bind_parameter("weight", weight, empty({out, in / groups, options.kernel_size()[0], options.kernel_size()[1]}));
  bind_parameter("bias", bias, options.bias() ? empty({out}) : Tensor(), options.bias());
  reset_parameters();
}
void Conv2dImpl::reset_parameters() {
  reset_weight_and_bias(weight, bias);
}

void Conv2dImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::Conv2d(" << options.in_channels() << ", " << options.out_channels()
    << ", kernel_size=" << list(options.kernel_size()) << ", stride=" << list(options.stride());
  if (auto* p = std::get_if<ExpandingArray<2>>(&options.padding())) {
    if ((*p)[0] != 0 || (*p)[1] != 0) s << ", padding=" << list(*p);
  } else {
    s << (std::holds_alternative<enumtype::kSame>(options.padding()) ? ", padding='same'" : ", padding='valid'");
  }
  if (options.dilation()[0] != 1 || options.dilation()[1] != 1) s << ", dilation=" << list(options.dilation());
  if (options.groups() != 1) s << ", groups=" << options.groups();
  if (!options.bias()) s << ", bias=false";
  static constexpr const char* kModes[] = {"", "kReflect", "kReplicate", "kCircular"};
  if (options.padding_mode().index() != 0) s << ", padding_mode=" << kModes[options.padding_mode().index()];
  s << ")";
}

Tensor Conv2dImpl::forward(const Tensor& input) {
  const auto& kernel = options.kernel_size();
  const auto* numbers = std::get_if<ExpandingArray<2>>(&options.padding());
  if (options.padding_mode().index() != 0) {
    std::vector<int64_t> pad(4, 0);  // last dimension first
    for (size_t i = 0; i < 2; ++i) {
      const int64_t total = numbers ? 2 * (*numbers)[i]
                            : std::holds_alternative<enumtype::kSame>(options.padding())
                                ? options.dilation()[i] * (kernel[i] - 1)
                                : 0;
      pad[2 * (1 - i)] = total / 2;
      pad[2 * (1 - i) + 1] = total - total / 2;
    }
    static constexpr const char* kModes[] = {"constant", "reflect", "replicate", "circular"};
    static constexpr int64_t kNoPadding[] = {0, 0};
    Tensor padded = gradus::pad(input, pad, kModes[options.padding_mode().index()]);
    return gradus::conv2d(padded, weight, bias, options.stride(), IntArrayRef(kNoPadding), options.dilation(),
                          options.groups());
  }
  if (numbers)
    return gradus::conv2d(input, weight, bias, options.stride(), IntArrayRef(*numbers), options.dilation(),
                          options.groups());
  return functional::conv2d(input, weight,
                            functional::Conv2dFuncOptions()
                                .bias(bias)
                                .stride(options.stride())
                                .padding(options.padding())
                                .dilation(options.dilation())
                                .groups(options.groups()));
}

// --- batch and layer norm ---

BatchNormImplBase::BatchNormImplBase(const BatchNormOptions& o) : options(o) {}

void BatchNormImplBase::register_all() {
  check_size("BatchNorm", "num_features", options.num_features(), 0);
  const int64_t n = options.num_features();
  bind_parameter("weight", weight, options.affine() ? empty({n}) : Tensor(), options.affine());
  bind_parameter("bias", bias, options.affine() ? empty({n}) : Tensor(), options.affine());
  const bool track = options.track_running_stats();
  bind_buffer("running_mean", running_mean, track ? zeros({n}) : Tensor());
  bind_buffer("running_var", running_var, track ? ones({n}) : Tensor());
  bind_buffer("num_batches_tracked", num_batches_tracked, track ? zeros({}, kLong) : Tensor());
  reset_parameters();
}
void BatchNormImplBase::reset_running_stats() {
  if (!options.track_running_stats()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}
void BatchNormImplBase::reset_parameters() {
  NoGradGuard guard;
  reset_running_stats();
  if (!options.affine()) return;
  weight.fill_(1);
  bias.zero_();
}

Tensor BatchNormImplBase::normalize(const Tensor& input) {
  functional::detail::check_batch_statistics(input, is_training());
  double factor = options.momentum().value_or(0.0);
  const bool training = is_training();
  if (training && num_batches_tracked.defined()) {
    num_batches_tracked.add_(1);
    if (!options.momentum()) factor = 1.0 / num_batches_tracked.item<double>();
  }
  const bool use_batch = training || !running_mean.defined();
  const bool use_running = !training || options.track_running_stats();
  return gradus::batch_norm(input, weight, bias, use_running ? running_mean : Tensor(),
                            use_running ? running_var : Tensor(), use_batch, factor, options.eps(), true);
}
void BatchNormImplBase::print(std::ostream& s, const char* name) const {
  s << "torch::nn::" << name << "(" << options.num_features() << ", eps=" << options.eps() << ", momentum=";
  if (options.momentum()) {
    s << *options.momentum();
  } else {
    s << "None";
  }
  s << ", affine=" << boolean(options.affine()) << ", track_running_stats=" << boolean(options.track_running_stats())
    << ")";
}
void BatchNorm1dImpl::pretty_print(std::ostream& s) const {
  print(s, "BatchNorm1d");
}
void BatchNorm2dImpl::pretty_print(std::ostream& s) const {
  print(s, "BatchNorm2d");
}
Tensor BatchNorm1dImpl::forward(const Tensor& input) {
  GRADUS_CHECK_AS(ValueError, input.dim() == 2 || input.dim() == 3, "BatchNorm1d: the input has ", input.dim(),
                  " dimensions; expected 2 or 3");
  return normalize(input);
}
Tensor BatchNorm2dImpl::forward(const Tensor& input) {
  GRADUS_CHECK_AS(ValueError, input.dim() == 4, "BatchNorm2d: the input has ", input.dim(), " dimensions; expected 4");
  return normalize(input);
}

LayerNormImpl::LayerNormImpl(LayerNormOptions o) : options(std::move(o)) {
  LayerNormImpl::reset();
}
void LayerNormImpl::reset() {
  GRADUS_CHECK_AS(ValueError, !options.normalized_shape().empty(),
                  "LayerNorm: normalized_shape is empty; expected the last dimensions' sizes");
  for (int64_t n : options.normalized_shape()) check_size("LayerNorm", "normalized_shape", n, 0);
  const bool affine = options.elementwise_affine();
  bind_parameter("weight", weight, affine ? gradus::empty(options.normalized_shape()) : Tensor(), affine);
  bind_parameter("bias", bias, affine ? gradus::empty(options.normalized_shape()) : Tensor(), affine);
  reset_parameters();
}
void LayerNormImpl::reset_parameters() {
  if (!options.elementwise_affine()) return;
  NoGradGuard guard;
  weight.fill_(1);
  bias.zero_();
}
void LayerNormImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::LayerNorm([";
  for (size_t i = 0; i < options.normalized_shape().size(); ++i) s << (i ? ", " : "") << options.normalized_shape()[i];
  s << "], eps=" << options.eps() << ", elementwise_affine=" << boolean(options.elementwise_affine()) << ")";
}
Tensor LayerNormImpl::forward(const Tensor& input) {
  return gradus::layer_norm(input, options.normalized_shape(), weight, bias, options.eps(), true);
}

// --- Embedding ---

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions o) : options(std::move(o)) {
  EmbeddingImpl::reset();
}

void EmbeddingImpl::reset() {
  const int64_t rows = options.num_embeddings();
  check_size("Embedding", "num_embeddings", rows, 0);
  check_size("Embedding", "embedding_dim", options.embedding_dim(), 0);
  if (options.padding_idx()) {
    int64_t p = *options.padding_idx();
    GRADUS_CHECK_AS(ValueError, p >= -rows && p < rows, "Embedding: padding_idx ", p, " is out of range for ", rows,
                    " rows");
    options.padding_idx(p < 0 ? p + rows : p);
  }
  if (options._weight().defined()) {
    GRADUS_CHECK_AS(ValueError, options._weight().sizes() == IntArrayRef({rows, options.embedding_dim()}),
                    "Embedding: _weight has shape ", options._weight().sizes(), "; expected (", rows, ", ",
                    options.embedding_dim(), ")");
    bind_parameter("weight", weight, options._weight());
    return;
  }
  bind_parameter("weight", weight, empty({rows, options.embedding_dim()}));
  reset_parameters();
}
void EmbeddingImpl::reset_parameters() {
  NoGradGuard guard;
  weight.normal_(0, 1);
  if (options.padding_idx()) weight.select(0, *options.padding_idx()).zero_();
}
void EmbeddingImpl::pretty_print(std::ostream& s) const {
  s << "torch::nn::Embedding(num_embeddings=" << options.num_embeddings()
    << ", embedding_dim=" << options.embedding_dim();
  if (options.padding_idx()) s << ", padding_idx=" << *options.padding_idx();
  if (options.max_norm()) s << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) s << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq()) s << ", scale_grad_by_freq=" << boolean(true);
  if (options.sparse()) s << ", sparse=" << boolean(true);
  s << ")";
}
Tensor EmbeddingImpl::forward(const Tensor& indices) {
  return functional::embedding(indices, weight,
                               functional::EmbeddingFuncOptions()
                                   .padding_idx(options.padding_idx())
                                   .max_norm(options.max_norm())
                                   .norm_type(options.norm_type())
                                   .scale_grad_by_freq(options.scale_grad_by_freq())
                                   .sparse(options.sparse()));
}
Embedding Embedding::from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& o) {
  GRADUS_CHECK_AS(ValueError, embeddings.dim() == 2, "Embedding: the embeddings have ", embeddings.dim(),
                  " dimensions; expected 2");
  Embedding e(EmbeddingOptions(embeddings.size(0), embeddings.size(1))
                  ._weight(embeddings.detach())
                  .padding_idx(o.padding_idx())
                  .scale_grad_by_freq(o.scale_grad_by_freq())
                  .sparse(o.sparse()));
  e->weight.set_requires_grad(!o.freeze());
  return e;
}

}  // namespace gradus::inline v0::nn
