// BatchNorm1d, BatchNorm2d, LayerNorm.
#pragma once

#include <gradus/nn/arg.h>
#include <gradus/nn/module.h>

namespace gradus {
inline namespace v0 {
namespace nn {

/// Options of BatchNorm. Defaults: eps 1e-5, momentum 0.1 (unset: a cumulative average), affine and running statistics
/// on.
struct GRADUS_API BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}  // NOLINT
  GRADUS_ARG(int64_t, num_features);
  GRADUS_ARG(double, eps) = 1e-5;
  GRADUS_ARG(std::optional<double>, momentum) = 0.1;
  GRADUS_ARG(bool, affine) = true;
  GRADUS_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;

/// What the batch norms share. Buffers: running_mean, running_var, num_batches_tracked.
class GRADUS_API BatchNormImplBase : public Module {
 public:
  explicit BatchNormImplBase(const BatchNormOptions& options);
  void reset_running_stats();
  void reset_parameters();
  BatchNormOptions options;
  Tensor weight, bias;
  Tensor running_mean, running_var, num_batches_tracked;

 protected:
  void register_all();
  Tensor normalize(const Tensor& input);
  void print(std::ostream& stream, const char* name) const;
};

/// Normalises each channel over the batch. See https://pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html
template <int64_t D, class Derived>
class BatchNormImpl : public BatchNormImplBase {
 public:
  explicit BatchNormImpl(const BatchNormOptions& o) : BatchNormImplBase(o) { register_all(); }
  virtual void reset() { register_all(); }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override {
    CloneScope scope;
    if (auto done = find_clone(this)) return done;
    auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
    remember_clone(this, copy);
    copy->forget_registrations();
    copy->register_all();
    copy->copy_state_from(*this, device);
    return copy;
  }
};
class GRADUS_API BatchNorm1dImpl : public BatchNormImpl<1, BatchNorm1dImpl> {
 public:
  BatchNorm1dImpl(int64_t num_features) : BatchNormImpl(BatchNormOptions(num_features)) {}  // NOLINT
  explicit BatchNorm1dImpl(const BatchNormOptions& o) : BatchNormImpl(o) {}
  void pretty_print(std::ostream& stream) const override;
  /// (N, C) or (N, C, L).
  Tensor forward(const Tensor& input);
  friend class BatchNormImpl<1, BatchNorm1dImpl>;
};
GRADUS_MODULE(BatchNorm1d);
class GRADUS_API BatchNorm2dImpl : public BatchNormImpl<2, BatchNorm2dImpl> {
 public:
  BatchNorm2dImpl(int64_t num_features) : BatchNormImpl(BatchNormOptions(num_features)) {}  // NOLINT
  explicit BatchNorm2dImpl(const BatchNormOptions& o) : BatchNormImpl(o) {}
  void pretty_print(std::ostream& stream) const override;
  /// (N, C, H, W).
  Tensor forward(const Tensor& input);
  friend class BatchNormImpl<2, BatchNorm2dImpl>;
};
GRADUS_MODULE(BatchNorm2d);

/// Options of LayerNorm. Defaults: eps 1e-5, elementwise_affine true.
struct GRADUS_API LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}  // NOLINT
  GRADUS_ARG(std::vector<int64_t>, normalized_shape);
  GRADUS_ARG(double, eps) = 1e-5;
  GRADUS_ARG(bool, elementwise_affine) = true;
};
/// Normalises over the last dimensions. See https://pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html
class GRADUS_API LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape)
      : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}  // NOLINT
  explicit LayerNormImpl(LayerNormOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  LayerNormOptions options;
  Tensor weight, bias;
};
extern template class Cloneable<LayerNormImpl>;
GRADUS_MODULE(LayerNorm);

}  // namespace nn
}  // namespace v0
}  // namespace gradus
