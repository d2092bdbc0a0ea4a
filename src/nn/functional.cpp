#include <gradus/nn/functional.h>

#include <gradus/ops/ops.h>

namespace gradus::inline v0::nn::functional {

namespace {
std::optional<Tensor> optional_tensor(const Tensor& t) {
  return t.defined() ? std::optional<Tensor>(t) : std::nullopt;
}
}  // namespace

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return gradus::linear(input, weight, optional_tensor(bias));
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& o) {
  const std::optional<Tensor> bias = optional_tensor(o.bias());
  if (std::holds_alternative<enumtype::kSame>(o.padding()))
    return gradus::conv2d(input, weight, bias, o.stride(), "same", o.dilation(), o.groups());
  if (std::holds_alternative<enumtype::kValid>(o.padding()))
    return gradus::conv2d(input, weight, bias, o.stride(), "valid", o.dilation(), o.groups());
  return gradus::conv2d(input, weight, bias, o.stride(), IntArrayRef(std::get<ExpandingArray<2>>(o.padding())),
                        o.dilation(), o.groups());
}

Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return gradus::max_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return gradus::max_pool2d_with_indices(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode());
}
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& o) {
  return gradus::avg_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad(),
                            o.divisor_override());
}

void detail::check_batch_statistics(const Tensor& input, bool training) {
  if (!training || input.dim() < 2) return;
  GRADUS_CHECK_AS(ValueError, input.size(1) == 0 || input.numel() == 0 || input.numel() / input.size(1) > 1,
                  "batch_norm: expected more than 1 value per channel when training; the input has shape ",
                  input.sizes());
}

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& o) {
  detail::check_batch_statistics(input, o.training());
  return gradus::batch_norm(input, optional_tensor(o.weight()), optional_tensor(o.bias()),
                            optional_tensor(running_mean), optional_tensor(running_var), o.training(),
                            o.momentum().value_or(0.0), o.eps(), true);
}
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& o) {
  return gradus::layer_norm(input, o.normalized_shape(), optional_tensor(o.weight()), optional_tensor(o.bias()),
                            o.eps(), true);
}

Tensor relu(Tensor input, const ReLUFuncOptions& o) {
  return o.inplace() ? input.relu_() : input.relu();
}
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& o) {
  return o.inplace() ? gradus::leaky_relu_(input, o.negative_slope()) : gradus::leaky_relu(input, o.negative_slope());
}
Tensor gelu(const Tensor& input, const GELUFuncOptions& o) {
  return gradus::gelu(input, o.approximate());
}
Tensor silu(const Tensor& input) {
  return gradus::silu(input);
}
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& o) {
  return gradus::softmax(input, o.dim(), o.dtype());
}
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& o) {
  return gradus::log_softmax(input, o.dim(), o.dtype());
}

Tensor dropout(Tensor input, const DropoutFuncOptions& o) {
  GRADUS_CHECK_AS(ValueError, o.p() >= 0 && o.p() <= 1, "dropout: p is ", o.p(), "; expected 0..1");
  return o.inplace() ? gradus::dropout_(input, o.p(), o.training()) : gradus::dropout(input, o.p(), o.training());
}

Tensor embedding(const Tensor& indices, const Tensor& weight, const EmbeddingFuncOptions& o) {
  int64_t padding = -1;
  if (o.padding_idx()) {
    padding = *o.padding_idx();
    const int64_t rows = weight.size(0);
    GRADUS_CHECK_AS(ValueError, padding >= -rows && padding < rows, "embedding: padding_idx ", padding,
                    " is out of range for ", rows, " rows");
    if (padding < 0) padding += rows;
  }
  GRADUS_CHECK_AS(NotImplementedError, !o.max_norm(),
                  "embedding: max_norm is not supported yet; renormalise the weight yourself");
  return gradus::embedding(weight, indices, padding, o.scale_grad_by_freq(), o.sparse());
}

Tensor one_hot(const Tensor& indices, int64_t num_classes) {
  return gradus::one_hot(indices, num_classes);
}

Tensor pad(const Tensor& input, const PadFuncOptions& o) {
  static constexpr const char* kModes[] = {"constant", "reflect", "replicate", "circular"};
  const bool constant = o.mode().index() == 0;
  return gradus::pad(input, o.pad(), kModes[o.mode().index()],
                     constant ? std::optional<double>(o.value()) : std::nullopt);
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& o) {
  if (input.sizes() != target.sizes()) {
    warn(str("mse_loss: the target has shape ", target.sizes(), " and the input ", input.sizes(),
             "; they are broadcast, which is rarely meant"));
  }
  return gradus::mse_loss(input, target, reduction_number(o.reduction()));
}
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& o) {
  return gradus::nll_loss_nd(input, target, optional_tensor(o.weight()), reduction_number(o.reduction()),
                             o.ignore_index());
}
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& o) {
  return gradus::cross_entropy_loss(input, target, optional_tensor(o.weight()), reduction_number(o.reduction()),
                                    o.ignore_index(), o.label_smoothing());
}
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& o) {
  return gradus::binary_cross_entropy_with_logits(input, target, optional_tensor(o.weight()),
                                                  optional_tensor(o.pos_weight()), reduction_number(o.reduction()));
}

}  // namespace gradus::inline v0::nn::functional
