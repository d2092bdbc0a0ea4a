// Pooling layers.
#pragma once

#include <gradus/nn/arg.h>
#include <gradus/nn/module.h>

namespace gradus {
inline namespace v0 {
namespace nn {

/// Options of MaxPool2d. Defaults: stride kernel_size, padding 0, dilation 1, ceil_mode false.
struct GRADUS_API MaxPool2dOptions {
  MaxPool2dOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}  // NOLINT
  GRADUS_ARG(ExpandingArray<2>, kernel_size);
  GRADUS_ARG(ExpandingArray<2>, stride);
  GRADUS_ARG(ExpandingArray<2>, padding) = 0;
  GRADUS_ARG(ExpandingArray<2>, dilation) = 1;
  GRADUS_ARG(bool, ceil_mode) = false;
};
/// The maximum of each window. See https://pytorch.org/docs/stable/generated/torch.nn.MaxPool2d.html
class GRADUS_API MaxPool2dImpl : public Cloneable<MaxPool2dImpl> {
 public:
  MaxPool2dImpl(ExpandingArray<2> kernel_size) : MaxPool2dImpl(MaxPool2dOptions(kernel_size)) {}  // NOLINT
  explicit MaxPool2dImpl(const MaxPool2dOptions& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
  MaxPool2dOptions options;
};
extern template class Cloneable<MaxPool2dImpl>;
GRADUS_MODULE(MaxPool2d);

/// Options of AvgPool2d. Defaults: stride kernel_size, padding 0, ceil_mode false, count_include_pad true.
struct GRADUS_API AvgPool2dOptions {
  AvgPool2dOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}  // NOLINT
  GRADUS_ARG(ExpandingArray<2>, kernel_size);
  GRADUS_ARG(ExpandingArray<2>, stride);
  GRADUS_ARG(ExpandingArray<2>, padding) = 0;
  GRADUS_ARG(bool, ceil_mode) = false;
  GRADUS_ARG(bool, count_include_pad) = true;
  GRADUS_ARG(std::optional<int64_t>, divisor_override) = std::nullopt;
};
/// The mean of each window. See https://pytorch.org/docs/stable/generated/torch.nn.AvgPool2d.html
class GRADUS_API AvgPool2dImpl : public Cloneable<AvgPool2dImpl> {
 public:
  AvgPool2dImpl(ExpandingArray<2> kernel_size) : AvgPool2dImpl(AvgPool2dOptions(kernel_size)) {}  // NOLINT
  explicit AvgPool2dImpl(const AvgPool2dOptions& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  AvgPool2dOptions options;
};
extern template class Cloneable<AvgPool2dImpl>;
GRADUS_MODULE(AvgPool2d);

}  // namespace nn
}  // namespace v0
}  // namespace gradus
