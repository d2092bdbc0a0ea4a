// Stochastic gradient descent.
#pragma once

#include <gradus/optim/optimizer.h>

namespace gradus {
inline namespace v0 {
namespace optim {

/// Defaults: momentum 0, dampening 0, weight_decay 0, nesterov false, maximize false. lr has none in libtorch; here
/// 1e-3.
class GRADUS_API SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
 public:
  SGDOptions() = default;
  SGDOptions(double lr) { this->lr(lr); }  // NOLINT
  GRADUS_OPTION(SGDOptions, double, lr, 0, 1e-3);
  GRADUS_OPTION(SGDOptions, double, momentum, 1, 0);
  GRADUS_OPTION(SGDOptions, double, dampening, 2, 0);
  GRADUS_OPTION(SGDOptions, double, weight_decay, 3, 0);
  GRADUS_OPTION(SGDOptions, bool, nesterov, 4, false);
  GRADUS_OPTION(SGDOptions, bool, maximize, 5, false);

 public:
  template <class F>
  static void fields(F&& f) {
    f("lr", &SGDOptions::lr_, 0);
    f("momentum", &SGDOptions::momentum_, 1);
    f("dampening", &SGDOptions::dampening_, 2);
    f("weight_decay", &SGDOptions::weight_decay_, 3);
    f("nesterov", &SGDOptions::nesterov_, 4);
    f("maximize", &SGDOptions::maximize_, 5);
  }
};

class GRADUS_API SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
 public:
  const Tensor& momentum_buffer() const { return momentum_buffer_; }
  void momentum_buffer(const Tensor& t) { momentum_buffer_ = t; }
  template <class F>
  static void fields(F&& f) {
    f("momentum_buffer", &SGDParamState::momentum_buffer_);
  }

 private:
  friend class SGD;
  Tensor momentum_buffer_;
};

/// p -= lr * b with b = momentum * b + (1 - dampening) * g, the first b being g.
/// See https://pytorch.org/docs/stable/generated/torch.optim.SGD.html
class GRADUS_API SGD : public Optimizer {
 public:
  explicit SGD(const std::vector<OptimizerParamGroup>& groups, SGDOptions defaults = {});
  explicit SGD(std::vector<Tensor> params, SGDOptions defaults = {});
  ~SGD() override;
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace optim
}  // namespace v0
}  // namespace gradus
