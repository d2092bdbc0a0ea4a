// Activations as modules.
#pragma once

#include <string>

#include <gradus/nn/arg.h>
#include <gradus/nn/enum.h>
#include <gradus/nn/module.h>

namespace gradus {
inline namespace v0 {
namespace nn {

/// inplace defaults to false.
struct GRADUS_API ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}  // NOLINT
  GRADUS_ARG(bool, inplace);
};
/// max(0, x).
class GRADUS_API ReLUImpl : public Cloneable<ReLUImpl> {
 public:
  explicit ReLUImpl(const ReLUOptions& options_ = {}) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
  ReLUOptions options;
};
extern template class Cloneable<ReLUImpl>;
GRADUS_MODULE(ReLU);

/// negative_slope defaults to 0.01, inplace to false.
struct GRADUS_API LeakyReLUOptions {
  GRADUS_ARG(double, negative_slope) = 1e-2;
  GRADUS_ARG(bool, inplace) = false;
};
/// x, or negative_slope * x below 0.
class GRADUS_API LeakyReLUImpl : public Cloneable<LeakyReLUImpl> {
 public:
  explicit LeakyReLUImpl(const LeakyReLUOptions& options_ = {}) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
  LeakyReLUOptions options;
};
extern template class Cloneable<LeakyReLUImpl>;
GRADUS_MODULE(LeakyReLU);

/// approximate: "none" (erf) or "tanh".
struct GRADUS_API GELUOptions {
  GRADUS_ARG(std::string, approximate) = "none";
};
/// x times the normal distribution function.
class GRADUS_API GELUImpl : public Cloneable<GELUImpl> {
 public:
  explicit GELUImpl(GELUOptions options_ = {}) : options(std::move(options_)) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  GELUOptions options;
};
extern template class Cloneable<GELUImpl>;
GRADUS_MODULE(GELU);

/// x * sigmoid(x).
class GRADUS_API SiLUImpl : public Cloneable<SiLUImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
extern template class Cloneable<SiLUImpl>;
GRADUS_MODULE(SiLU);
class GRADUS_API TanhImpl : public Cloneable<TanhImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
extern template class Cloneable<TanhImpl>;
GRADUS_MODULE(Tanh);
class GRADUS_API SigmoidImpl : public Cloneable<SigmoidImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
extern template class Cloneable<SigmoidImpl>;
GRADUS_MODULE(Sigmoid);

struct GRADUS_API SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}  // NOLINT
  GRADUS_ARG(int64_t, dim);
};
using LogSoftmaxOptions = SoftmaxOptions;
/// exp(x) / sum(exp(x)) along `dim`.
class GRADUS_API SoftmaxImpl : public Cloneable<SoftmaxImpl> {
 public:
  explicit SoftmaxImpl(int64_t dim) : SoftmaxImpl(SoftmaxOptions(dim)) {}
  explicit SoftmaxImpl(const SoftmaxOptions& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  SoftmaxOptions options;
};
extern template class Cloneable<SoftmaxImpl>;
GRADUS_MODULE(Softmax);
/// The logarithm of softmax, stable.
class GRADUS_API LogSoftmaxImpl : public Cloneable<LogSoftmaxImpl> {
 public:
  explicit LogSoftmaxImpl(int64_t dim) : LogSoftmaxImpl(LogSoftmaxOptions(dim)) {}
  explicit LogSoftmaxImpl(const LogSoftmaxOptions& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  LogSoftmaxOptions options;
};
extern template class Cloneable<LogSoftmaxImpl>;
GRADUS_MODULE(LogSoftmax);

/// p defaults to 0.5, inplace to false.
struct GRADUS_API DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}  // NOLINT
  GRADUS_ARG(double, p);
  GRADUS_ARG(bool, inplace) = false;
};
/// Zeroes elements with probability p while training and scales the rest by 1 / (1 - p). Throws ValueError on p outside
/// 0..1.
class GRADUS_API DropoutImpl : public Cloneable<DropoutImpl> {
 public:
  explicit DropoutImpl(double p) : DropoutImpl(DropoutOptions(p)) {}
  explicit DropoutImpl(const DropoutOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
  DropoutOptions options;
};
extern template class Cloneable<DropoutImpl>;
GRADUS_MODULE(Dropout);

}  // namespace nn
}  // namespace v0
}  // namespace gradus
