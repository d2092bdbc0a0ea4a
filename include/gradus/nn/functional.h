// nn::functional: the layers as functions, with libtorch's options.
#pragma once

#include <gradus/nn/activation.h>
#include <gradus/nn/conv.h>
#include <gradus/nn/embedding.h>
#include <gradus/nn/loss.h>
#include <gradus/nn/normalization.h>
#include <gradus/nn/pooling.h>

namespace gradus {
inline namespace v0 {
namespace nn {
namespace functional {

// --- options ---
using ReLUFuncOptions = ReLUOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using GELUFuncOptions = GELUOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using MSELossFuncOptions = MSELossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;

struct GRADUS_API SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}  // NOLINT
  GRADUS_ARG(int64_t, dim);
  GRADUS_ARG(std::optional<ScalarType>, dtype) = std::nullopt;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;

struct GRADUS_API DropoutFuncOptions {
  GRADUS_ARG(double, p) = 0.5;
  GRADUS_ARG(bool, training) = true;
  GRADUS_ARG(bool, inplace) = false;
};

struct GRADUS_API Conv2dFuncOptions {
  using padding_t = Conv2dOptions::padding_t;
  Conv2dFuncOptions& padding(std::initializer_list<int64_t> v) {
    padding_ = ExpandingArray<2>(v);
    return *this;
  }
  Conv2dFuncOptions& padding(int64_t v) {
    padding_ = ExpandingArray<2>(v);
    return *this;
  }
  GRADUS_ARG(Tensor, bias) = Tensor();
  GRADUS_ARG(ExpandingArray<2>, stride) = 1;
  GRADUS_ARG(padding_t, padding) = ExpandingArray<2>(0);
  GRADUS_ARG(ExpandingArray<2>, dilation) = 1;
  GRADUS_ARG(int64_t, groups) = 1;
};

struct GRADUS_API BatchNormFuncOptions {
  GRADUS_ARG(Tensor, weight) = Tensor();
  GRADUS_ARG(Tensor, bias) = Tensor();
  GRADUS_ARG(bool, training) = false;
  GRADUS_ARG(std::optional<double>, momentum) = 0.1;
  GRADUS_ARG(double, eps) = 1e-5;
};

struct GRADUS_API LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}  // NOLINT
  GRADUS_ARG(std::vector<int64_t>, normalized_shape);
  GRADUS_ARG(Tensor, weight) = Tensor();
  GRADUS_ARG(Tensor, bias) = Tensor();
  GRADUS_ARG(double, eps) = 1e-5;
};

struct GRADUS_API EmbeddingFuncOptions {
  GRADUS_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  GRADUS_ARG(std::optional<double>, max_norm) = std::nullopt;
  GRADUS_ARG(double, norm_type) = 2.0;
  GRADUS_ARG(bool, scale_grad_by_freq) = false;
  GRADUS_ARG(bool, sparse) = false;
};

using PadMode = std::variant<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
struct GRADUS_API PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}  // NOLINT
  GRADUS_ARG(std::vector<int64_t>, pad);
  GRADUS_ARG(PadMode, mode) = kConstant;
  GRADUS_ARG(double, value) = 0;
};

namespace detail {
/// Throws ValueError where training has one value per channel only: its variance means nothing.
GRADUS_API void check_batch_statistics(const Tensor& input, bool training);
}  // namespace detail

// --- functions; each as the operator or layer of the same name ---
GRADUS_API Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
GRADUS_API Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {});
GRADUS_API Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options);
GRADUS_API std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& options);
GRADUS_API Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options);
GRADUS_API Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                             const BatchNormFuncOptions& options = {});
GRADUS_API Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
GRADUS_API Tensor relu(Tensor input, const ReLUFuncOptions& options = {});
GRADUS_API Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options = {});
GRADUS_API Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
GRADUS_API Tensor silu(const Tensor& input);
GRADUS_API Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
GRADUS_API Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options);
GRADUS_API Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
GRADUS_API Tensor embedding(const Tensor& indices, const Tensor& weight, const EmbeddingFuncOptions& options = {});
GRADUS_API Tensor one_hot(const Tensor& indices, int64_t num_classes = -1);
GRADUS_API Tensor pad(const Tensor& input, const PadFuncOptions& options);
GRADUS_API Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options = {});
GRADUS_API Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options = {});
GRADUS_API Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options = {});
GRADUS_API Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                                   const BinaryCrossEntropyWithLogitsFuncOptions& options = {});

}  // namespace functional
}  // namespace nn
}  // namespace v0
}  // namespace gradus
