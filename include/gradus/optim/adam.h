// Adam and AdamW.
#pragma once

#include <tuple>

#include <gradus/optim/optimizer.h>

namespace gradus {
inline namespace v0 {
namespace optim {

namespace detail {
/// What the two have in common; `Derived` differs in the default weight decay.
template <class Derived>
class AdamOptionsBase : public OptimizerCloneableOptions<Derived> {
 public:
  using Betas = std::tuple<double, double>;
  GRADUS_OPTION(Derived, double, lr, 0, 1e-3);
  GRADUS_OPTION(Derived, Betas, betas, 1, Betas(0.9, 0.999));
  GRADUS_OPTION(Derived, double, eps, 2, 1e-8);
  GRADUS_OPTION(Derived, double, weight_decay, 3, Derived::kDefaultWeightDecay);
  GRADUS_OPTION(Derived, bool, amsgrad, 4, false);
  GRADUS_OPTION(Derived, bool, maximize, 5, false);

 public:
  template <class F>
  static void fields(F&& f) {
    f("lr", &AdamOptionsBase::lr_, 0);
    f("betas", &AdamOptionsBase::betas_, 1);
    f("eps", &AdamOptionsBase::eps_, 2);
    f("weight_decay", &AdamOptionsBase::weight_decay_, 3);
    f("amsgrad", &AdamOptionsBase::amsgrad_, 4);
    f("maximize", &AdamOptionsBase::maximize_, 5);
  }
};
}  // namespace detail

/// Defaults: lr 1e-3, betas (0.9, 0.999), eps 1e-8, weight_decay 0, amsgrad false, maximize false.
class GRADUS_API AdamOptions : public detail::AdamOptionsBase<AdamOptions> {
 public:
  static constexpr double kDefaultWeightDecay = 0;
  AdamOptions() = default;
  AdamOptions(double lr) { this->lr(lr); }  // NOLINT
};
/// As AdamOptions, with weight_decay 1e-2.
class GRADUS_API AdamWOptions : public detail::AdamOptionsBase<AdamWOptions> {
 public:
  static constexpr double kDefaultWeightDecay = 1e-2;
  AdamWOptions() = default;
  AdamWOptions(double lr) { this->lr(lr); }  // NOLINT
};

class GRADUS_API AdamParamState : public OptimizerCloneableParamState<AdamParamState> {
 public:
  int64_t step() const { return step_; }
  const Tensor& exp_avg() const { return exp_avg_; }
  const Tensor& exp_avg_sq() const { return exp_avg_sq_; }
  const Tensor& max_exp_avg_sq() const { return max_exp_avg_sq_; }
  void step(int64_t v) { step_ = v; }
  void exp_avg(const Tensor& t) { exp_avg_ = t; }
  void exp_avg_sq(const Tensor& t) { exp_avg_sq_ = t; }
  void max_exp_avg_sq(const Tensor& t) { max_exp_avg_sq_ = t; }
  template <class F>
  static void fields(F&& f) {
    f("step", &AdamParamState::step_);
    f("exp_avg", &AdamParamState::exp_avg_);
    f("exp_avg_sq", &AdamParamState::exp_avg_sq_);
    f("max_exp_avg_sq", &AdamParamState::max_exp_avg_sq_);
  }

 private:
  friend class AdamBase;
  int64_t step_ = 0;
  Tensor exp_avg_, exp_avg_sq_, max_exp_avg_sq_;
};
using AdamWParamState = AdamParamState;

/// The step that Adam and AdamW share: they differ in how the weight decays.
class GRADUS_API AdamBase : public Optimizer {
 public:
  Tensor step(LossClosure closure = nullptr) override;
  ~AdamBase() override;

 protected:
  AdamBase(const std::vector<OptimizerParamGroup>& groups, std::unique_ptr<OptimizerOptions> defaults, bool decoupled);
  std::unique_ptr<OptimizerParamState> make_state() const override;
  void check_options(const OptimizerOptions& options) const override;

 private:
  struct Work;
  void add_work(Work& work, const Tensor& p, AdamParamState& s, bool amsgrad) const;
  bool decoupled_;
};

/// Adaptive moments (Kingma and Ba, 2015); weight decay is added to the gradient.
/// See https://pytorch.org/docs/stable/generated/torch.optim.Adam.html
class GRADUS_API Adam : public AdamBase {
 public:
  explicit Adam(const std::vector<OptimizerParamGroup>& groups, AdamOptions defaults = {});
  explicit Adam(std::vector<Tensor> params, AdamOptions defaults = {});
};

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
/// See https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html
class GRADUS_API AdamW : public AdamBase {
 public:
  explicit AdamW(const std::vector<OptimizerParamGroup>& groups, AdamWOptions defaults = {});
  explicit AdamW(std::vector<Tensor> params, AdamWOptions defaults = {});
};

}  // namespace optim
}  // namespace v0
}  // namespace gradus
