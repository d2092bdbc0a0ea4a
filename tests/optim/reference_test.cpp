// Optimizers and schedulers against PyTorch's, step by step, from given gradients.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include <gradus/optim/optim.h>

#include "ops/replay_compare.h"
#include "ops/replay_file.h"

namespace replay {
namespace {

namespace optim = gradus::optim;
using gradus::Tensor;

const ReferenceFile& file() {
  static const ReferenceFile reference(GRADUS_TEST_DATA "/../references/data/optim.safetensors");
  return reference;
}

// The values at one step of a tensor stacked by step.
Tensor at_step(const Tensor& stacked, int64_t step) {
  const std::vector<int64_t> sizes(stacked.sizes().begin() + 1, stacked.sizes().end());
  const Tensor t = make_tensor(sizes, stacked.scalar_type());
  std::memcpy(t.data_ptr(), static_cast<const char*>(stacked.data_ptr()) + static_cast<size_t>(step) * t.nbytes(),
              t.nbytes());
  return t;
}

template <class Options>
Options adam_options(const json& o) {
  Options options(o["lr"].get<double>());
  if (o.contains("betas")) options.betas({o["betas"][0].get<double>(), o["betas"][1].get<double>()});
  if (o.contains("eps")) options.eps(o["eps"].get<double>());
  if (o.contains("weight_decay")) options.weight_decay(o["weight_decay"].get<double>());
  if (o.contains("amsgrad")) options.amsgrad(o["amsgrad"].get<bool>());
  if (o.contains("maximize")) options.maximize(o["maximize"].get<bool>());
  return options;
}

optim::SGDOptions sgd_options(const json& o) {
  optim::SGDOptions options(o["lr"].get<double>());
  if (o.contains("momentum")) options.momentum(o["momentum"].get<double>());
  if (o.contains("dampening")) options.dampening(o["dampening"].get<double>());
  if (o.contains("weight_decay")) options.weight_decay(o["weight_decay"].get<double>());
  if (o.contains("nesterov")) options.nesterov(o["nesterov"].get<bool>());
  if (o.contains("maximize")) options.maximize(o["maximize"].get<bool>());
  return options;
}

std::unique_ptr<optim::Optimizer> make_optimizer(const json& run, const std::vector<Tensor>& parameters) {
  const std::string name = run["optimizer"];
  const json& options = run["options"];
  if (name == "SGD") return std::make_unique<optim::SGD>(parameters, sgd_options(options));
  if (name == "Adam") return std::make_unique<optim::Adam>(parameters, adam_options<optim::AdamOptions>(options));
  return std::make_unique<optim::AdamW>(parameters, adam_options<optim::AdamWOptions>(options));
}

struct Parameter {
  Tensor value, grads, after;
  std::vector<int64_t> absent;

  void set_grad(int64_t step) const {
    const bool none = std::find(absent.begin(), absent.end(), step) != absent.end();
    value.mutable_grad() = none ? Tensor() : at_step(grads, step);
  }
};

// Each step rounds a handful of times and inherits the error of the ones before.
Tolerance tolerance_after(int64_t steps, gradus::ScalarType type) {
  const double unit = type == gradus::kDouble ? std::ldexp(1.0, -52) : std::ldexp(1.0, -23);
  return {4 * unit * static_cast<double>(steps), 4 * unit * static_cast<double>(steps)};
}

TEST(OptimizerReference, StepsAsPyTorch) {
  int runs = 0;
  for (const json& run : file().metadata("runs")) {
    SCOPED_TRACE(run["optimizer"].get<std::string>() + run["options"].dump() + " " + run["dtype"].get<std::string>());
    std::vector<Parameter> parameters;
    std::vector<Tensor> values;
    for (const json& p : run["parameters"]) {
      parameters.push_back({file().tensor(p["initial"]), file().tensor(p["grads"]), file().tensor(p["after"]),
                            p["absent"].get<std::vector<int64_t>>()});
      values.push_back(parameters.back().value.requires_grad_());
    }
    const auto optimizer = make_optimizer(run, values);
    for (int64_t step = 0; step < parameters[0].grads.size(0); ++step) {
      for (const Parameter& p : parameters) p.set_grad(step);
      optimizer->step();
      for (const Parameter& p : parameters) {
        ASSERT_EQ(difference(p.value, at_step(p.after, step), tolerance_after(step + 1, p.value.scalar_type())), "")
            << "after step " << step;
      }
    }
    ++runs;
  }
  EXPECT_EQ(runs, 42);
}

std::unique_ptr<optim::LRScheduler> make_scheduler(const json& schedule, optim::Optimizer& optimizer) {
  const json& o = schedule["options"];
  if (schedule["scheduler"] == "StepLR") {
    return std::make_unique<optim::StepLR>(optimizer, o["step_size"].get<int64_t>(), o.value("gamma", 0.1));
  }
  return std::make_unique<optim::CosineAnnealingLR>(optimizer, o["T_max"].get<int64_t>(), o.value("eta_min", 0.0));
}

TEST(SchedulerReference, RatesAreThoseOfPyTorch) {
  for (const json& schedule : file().metadata("schedules")) {
    SCOPED_TRACE(schedule["scheduler"].get<std::string>() + schedule["options"].dump());
    std::vector<optim::OptimizerParamGroup> groups;
    for (const json& rate : schedule["initial"]) {
      const std::vector<Tensor> parameter = {make_tensor({1}, gradus::kFloat).requires_grad_()};
      groups.emplace_back(parameter, std::make_unique<optim::SGDOptions>(rate.get<double>()));
    }
    optim::SGD optimizer(groups, optim::SGDOptions(0.1));
    const auto scheduler = make_scheduler(schedule, optimizer);
    for (size_t step = 0; step < schedule["rates"].size(); ++step) {
      if (step) {
        optimizer.step();
        scheduler->step();
      }
      for (size_t g = 0; g < groups.size(); ++g) {
        const double want = schedule["rates"][step][g];
        EXPECT_NEAR(optimizer.param_groups()[g].options().get_lr(), want, 1e-15) << "step " << step << ", group " << g;
      }
    }
  }
}

}  // namespace
}  // namespace replay
