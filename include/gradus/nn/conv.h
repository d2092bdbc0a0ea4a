// Convolution layers.
#pragma once

#include <variant>

#include <gradus/nn/arg.h>
#include <gradus/nn/enum.h>
#include <gradus/nn/module.h>

namespace gradus {
inline namespace v0 {
namespace nn {

using PaddingMode = std::variant<enumtype::kZeros, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;

/// Options of Conv2d. Defaults: stride 1, padding 0, dilation 1, groups 1, bias true, padding_mode kZeros.
struct GRADUS_API Conv2dOptions {
  using padding_t = std::variant<ExpandingArray<2>, enumtype::kValid, enumtype::kSame>;
  Conv2dOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  /// Numbers, kValid or kSame.
  Conv2dOptions& padding(std::initializer_list<int64_t> v) {
    padding_ = ExpandingArray<2>(v);
    return *this;
  }
  Conv2dOptions& padding(int64_t v) {
    padding_ = ExpandingArray<2>(v);
    return *this;
  }
  GRADUS_ARG(int64_t, in_channels);
  GRADUS_ARG(int64_t, out_channels);
  GRADUS_ARG(ExpandingArray<2>, kernel_size);
  GRADUS_ARG(ExpandingArray<2>, stride) = 1;
  GRADUS_ARG(padding_t, padding) = ExpandingArray<2>(0);
  GRADUS_ARG(ExpandingArray<2>, dilation) = 1;
  GRADUS_ARG(int64_t, groups) = 1;
  GRADUS_ARG(bool, bias) = true;
  GRADUS_ARG(PaddingMode, padding_mode) = kZeros;
};

/// Cross-correlation over (N, C, H, W) or (C, H, W); weight (out, in / groups, kh, kw).
/// See https://pytorch.org/docs/stable/generated/torch.nn.Conv2d.html. Throws ValueError on sizes that cannot be.
class GRADUS_API Conv2dImpl : public Cloneable<Conv2dImpl> {
 public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(Conv2dOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  Conv2dOptions options;
  Tensor weight;
  Tensor bias;
};
extern template class Cloneable<Conv2dImpl>;
GRADUS_MODULE(Conv2d);

}  // namespace nn
}  // namespace v0
}  // namespace gradus
