// Losses as modules.
#pragma once

#include <gradus/nn/arg.h>
#include <gradus/nn/enum.h>
#include <gradus/nn/module.h>

namespace gradus {
inline namespace v0 {
namespace nn {

/// reduction defaults to kMean.
struct GRADUS_API MSELossOptions {
  MSELossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}  // NOLINT
  GRADUS_ARG(LossReduction, reduction);
};
/// The squared difference. See https://pytorch.org/docs/stable/generated/torch.nn.MSELoss.html
class GRADUS_API MSELossImpl : public Cloneable<MSELossImpl> {
 public:
  explicit MSELossImpl(const MSELossOptions& options_ = {}) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);
  MSELossOptions options;
};
extern template class Cloneable<MSELossImpl>;
GRADUS_MODULE(MSELoss);

/// Defaults: no weight, ignore_index -100, reduction kMean.
struct GRADUS_API NLLLossOptions {
  GRADUS_ARG(Tensor, weight) = Tensor();
  GRADUS_ARG(int64_t, ignore_index) = -100;
  GRADUS_ARG(LossReduction, reduction) = kMean;
};
/// Minus the log-probability of the target class. See https://pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
class GRADUS_API NLLLossImpl : public Cloneable<NLLLossImpl> {
 public:
  explicit NLLLossImpl(NLLLossOptions options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);
  NLLLossOptions options;
  Tensor weight;
};
extern template class Cloneable<NLLLossImpl>;
GRADUS_MODULE(NLLLoss);

/// Defaults: no weight, ignore_index -100, reduction kMean, label_smoothing 0.
struct GRADUS_API CrossEntropyLossOptions {
  GRADUS_ARG(Tensor, weight) = Tensor();
  GRADUS_ARG(int64_t, ignore_index) = -100;
  GRADUS_ARG(LossReduction, reduction) = kMean;
  GRADUS_ARG(double, label_smoothing) = 0.0;
};
/// log_softmax and nll_loss. See https://pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
class GRADUS_API CrossEntropyLossImpl : public Cloneable<CrossEntropyLossImpl> {
 public:
  explicit CrossEntropyLossImpl(CrossEntropyLossOptions options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);
  CrossEntropyLossOptions options;
  Tensor weight;
};
extern template class Cloneable<CrossEntropyLossImpl>;
GRADUS_MODULE(CrossEntropyLoss);

/// Defaults: no weight, no pos_weight, reduction kMean.
struct GRADUS_API BCEWithLogitsLossOptions {
  GRADUS_ARG(Tensor, weight) = Tensor();
  GRADUS_ARG(LossReduction, reduction) = kMean;
  GRADUS_ARG(Tensor, pos_weight) = Tensor();
};
/// Binary cross entropy of sigmoid(input), stable.
/// See https://pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
class GRADUS_API BCEWithLogitsLossImpl : public Cloneable<BCEWithLogitsLossImpl> {
 public:
  explicit BCEWithLogitsLossImpl(BCEWithLogitsLossOptions options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);
  BCEWithLogitsLossOptions options;
  Tensor weight, pos_weight;
};
extern template class Cloneable<BCEWithLogitsLossImpl>;
GRADUS_MODULE(BCEWithLogitsLoss);

}  // namespace nn
}  // namespace v0
}  // namespace gradus
