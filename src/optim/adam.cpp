#include <gradus/optim/adam.h>

#include <gradus/autograd/grad_mode.h>

#include <kernels/optimizer.h>

#include "step_support.h"

namespace gradus::inline v0::optim {

namespace {

const char* name_of(bool decoupled) {
  return decoupled ? "AdamW" : "Adam";
}

template <class Options>
kernels::AdamStep step_of(const OptimizerOptions& options, bool decoupled, bool* amsgrad) {
  const auto& o = static_cast<const Options&>(options);
  *amsgrad = o.amsgrad();
  return {o.lr(), std::get<0>(o.betas()), std::get<1>(o.betas()), o.eps(), o.weight_decay(), decoupled, o.maximize()};
}

}  // namespace

struct AdamBase::Work {
  std::vector<kernels::AdamTensor> tensors;
  std::vector<Tensor> kept;  // gradients that were brought into order
};

AdamBase::AdamBase(const std::vector<OptimizerParamGroup>& groups, std::unique_ptr<OptimizerOptions> defaults,
                   bool decoupled)
    : Optimizer(std::move(defaults)), decoupled_(decoupled) {
  AdamBase::check_options(*defaults_);
  for (const auto& g : groups) add_param_group(g);
}
AdamBase::~AdamBase() = default;

std::unique_ptr<OptimizerParamState> AdamBase::make_state() const {
  return std::make_unique<AdamParamState>();
}

void AdamBase::check_options(const OptimizerOptions& options) const {
  bool amsgrad;
  const char* name = name_of(decoupled_);
  const kernels::AdamStep s =
      decoupled_ ? step_of<AdamWOptions>(options, true, &amsgrad) : step_of<AdamOptions>(options, false, &amsgrad);
  GRADUS_CHECK_AS(ValueError, s.lr >= 0, name, ": lr is ", s.lr, "; expected at least 0");
  GRADUS_CHECK_AS(ValueError, s.eps >= 0, name, ": eps is ", s.eps, "; expected at least 0");
  GRADUS_CHECK_AS(ValueError, s.beta1 >= 0 && s.beta1 < 1 && s.beta2 >= 0 && s.beta2 < 1, name, ": betas are (",
                  s.beta1, ", ", s.beta2, "); expected both in [0, 1)");
  GRADUS_CHECK_AS(ValueError, s.weight_decay >= 0, name, ": weight_decay is ", s.weight_decay, "; expected at least 0");
}

void AdamBase::add_work(Work& work, const Tensor& p, AdamParamState& s, bool amsgrad) const {
  const char* name = name_of(decoupled_);
  Tensor grad = matching_grad(name, p);
  fit_state(name, p, s.exp_avg_);
  fit_state(name, p, s.exp_avg_sq_);
  if (amsgrad) fit_state(name, p, s.max_exp_avg_sq_);
  begin_step(name, p);
  ++s.step_;
  work.tensors.push_back({p.data_ptr(), grad.data_ptr(), s.exp_avg_.data_ptr(), s.exp_avg_sq_.data_ptr(),
                          amsgrad ? s.max_exp_avg_sq_.data_ptr() : nullptr, p.numel(), s.step_, p.scalar_type(),
                          p.device()});
  if (!grad.is_same(p.grad())) work.kept.push_back(std::move(grad));
}

Tensor AdamBase::step(LossClosure closure) {
  NoGradGuard guard;
  Tensor loss = evaluate(closure);
  Work work;
  for (OptimizerParamGroup& group : param_groups_) {
    bool amsgrad;
    const OptimizerOptions& options = group.options();
    const kernels::AdamStep s =
        decoupled_ ? step_of<AdamWOptions>(options, true, &amsgrad) : step_of<AdamOptions>(options, false, &amsgrad);
    work.tensors.clear();
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      auto& state = state_[p.impl()];
      if (!state) state = std::make_unique<AdamParamState>();
      add_work(work, p, static_cast<AdamParamState&>(*state), amsgrad);
    }
    by_device(work.tensors, [&s](Device device, const kernels::AdamTensor* tensors, int64_t count) {
      kernels::adam_step(device, tensors, count, s);
    });
  }
  return loss;
}

Adam::Adam(const std::vector<OptimizerParamGroup>& groups, AdamOptions defaults)
    : AdamBase(groups, std::make_unique<AdamOptions>(defaults), false) {}
Adam::Adam(std::vector<Tensor> params, AdamOptions defaults)
    : Adam(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, defaults) {}
AdamW::AdamW(const std::vector<OptimizerParamGroup>& groups, AdamWOptions defaults)
    : AdamBase(groups, std::make_unique<AdamWOptions>(defaults), true) {}
AdamW::AdamW(std::vector<Tensor> params, AdamWOptions defaults)
    : AdamW(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, defaults) {}

}  // namespace gradus::inline v0::optim
