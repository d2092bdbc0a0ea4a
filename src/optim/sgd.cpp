#include <gradus/optim/sgd.h>

#include <gradus/autograd/grad_mode.h>

#include <kernels/optimizer.h>

#include "step_support.h"

namespace gradus::inline v0::optim {

SGD::SGD(const std::vector<OptimizerParamGroup>& groups, SGDOptions defaults)
    : Optimizer(std::make_unique<SGDOptions>(defaults)) {
  SGD::check_options(*defaults_);
  for (const auto& g : groups) add_param_group(g);
}
SGD::SGD(std::vector<Tensor> params, SGDOptions defaults)
    : SGD(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, defaults) {}
SGD::~SGD() = default;

std::unique_ptr<OptimizerParamState> SGD::make_state() const {
  return std::make_unique<SGDParamState>();
}

void SGD::check_options(const OptimizerOptions& options) const {
  const auto& o = dynamic_cast<const SGDOptions&>(options);
  GRADUS_CHECK_AS(ValueError, o.lr() >= 0, "SGD: lr is ", o.lr(), "; expected at least 0");
  GRADUS_CHECK_AS(ValueError, o.momentum() >= 0, "SGD: momentum is ", o.momentum(), "; expected at least 0");
  GRADUS_CHECK_AS(ValueError, o.weight_decay() >= 0, "SGD: weight_decay is ", o.weight_decay(),
                  "; expected at least 0");
  GRADUS_CHECK_AS(ValueError, !o.nesterov() || (o.momentum() > 0 && o.dampening() == 0),
                  "SGD: nesterov needs a momentum above 0 and dampening 0; got ", o.momentum(), " and ", o.dampening());
}

Tensor SGD::step(LossClosure closure) {
  NoGradGuard guard;
  Tensor loss = evaluate(closure);
  std::vector<kernels::SgdTensor> work;
  std::vector<Tensor> kept;
  for (OptimizerParamGroup& group : param_groups_) {
    const auto& o = static_cast<const SGDOptions&>(group.options());
    work.clear();
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      kept.push_back(matching_grad("SGD", p));
      kernels::SgdTensor t{p.data_ptr(), kept.back().data_ptr(), nullptr,   p.numel(),
                           false,        p.scalar_type(),        p.device()};
      if (o.momentum() != 0) {
        auto& state = state_[p.impl()];
        if (!state) state = make_state();
        auto& s = static_cast<SGDParamState&>(*state);
        t.first = fit_state("SGD", p, s.momentum_buffer_);
        t.momentum = s.momentum_buffer_.data_ptr();
      }
      begin_step("SGD", p);
      work.push_back(t);
    }
    if (work.empty()) continue;
    const kernels::SgdStep s{o.lr(), o.momentum(), o.dampening(), o.weight_decay(), o.nesterov(), o.maximize()};
    by_device(work, [&s](Device device, const kernels::SgdTensor* tensors, int64_t count) {
      kernels::sgd_step(device, tensors, count, s);
    });
  }
  return loss;
}

}  // namespace gradus::inline v0::optim
