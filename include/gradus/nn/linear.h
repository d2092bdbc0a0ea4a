// Linear, Identity, Flatten, Unflatten.
#pragma once

#include <gradus/nn/arg.h>
#include <gradus/nn/module.h>

namespace gradus {
inline namespace v0 {
namespace nn {

/// Options of Linear; `bias` defaults to true.
struct GRADUS_API LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  GRADUS_ARG(int64_t, in_features);
  GRADUS_ARG(int64_t, out_features);
  GRADUS_ARG(bool, bias) = true;
};

/// y = x A^T + b; weight (out_features, in_features), uniform in +-1/sqrt(in_features) at the start.
/// See https://pytorch.org/docs/stable/generated/torch.nn.Linear.html. Throws ValueError on negative sizes.
class GRADUS_API LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  LinearOptions options;
  Tensor weight;
  Tensor bias;
};
extern template class Cloneable<LinearImpl>;
GRADUS_MODULE(Linear);

/// Returns its input.
class GRADUS_API IdentityImpl : public Cloneable<IdentityImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input) { return input; }
};
extern template class Cloneable<IdentityImpl>;
GRADUS_MODULE(Identity);

/// Dimensions start_dim to end_dim become one; defaults 1 and -1.
struct GRADUS_API FlattenOptions {
  GRADUS_ARG(int64_t, start_dim) = 1;
  GRADUS_ARG(int64_t, end_dim) = -1;
};
class GRADUS_API FlattenImpl : public Cloneable<FlattenImpl> {
 public:
  explicit FlattenImpl(const FlattenOptions& options_ = {}) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  FlattenOptions options;
};
extern template class Cloneable<FlattenImpl>;
GRADUS_MODULE(Flatten);

}  // namespace nn
}  // namespace v0
}  // namespace gradus
