// Optimizers with parameter groups, their options, changing the learning rate, schedulers and state.
#include <torch/torch.h>

#include <iomanip>
#include <iostream>
#include <memory>
#include <vector>

static torch::Tensor parameter(std::vector<double> values) {
  return torch::tensor(values, torch::dtype(torch::kFloat64).requires_grad(true));
}

static void show(const char* what, const torch::Tensor& t) {
  std::cout << what;
  auto flat = t.detach().reshape(-1).to(torch::kDouble);
  for (int64_t i = 0; i < flat.numel(); ++i)
    std::cout << " " << std::fixed << std::setprecision(6) << flat[i].item<double>();
  std::cout << "\n";
}

static void set_lr(torch::optim::Optimizer& optimizer, double lr) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(lr);
}

int main() {
  // Two groups, each with all of its options given.
  auto a = parameter({1, -2}), b = parameter({3});
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a},
                      std::make_unique<torch::optim::SGDOptions>(torch::optim::SGDOptions(0.1).momentum(0.9)));
  groups.emplace_back(std::vector<torch::Tensor>{b},
                      std::make_unique<torch::optim::SGDOptions>(torch::optim::SGDOptions(0.01).weight_decay(0.5)));
  torch::optim::SGD sgd(groups, torch::optim::SGDOptions(1.0));
  std::cout << sgd.param_groups().size() << " groups, " << sgd.param_groups()[0].params().size() << " parameter\n";
  for (int step = 0; step < 3; ++step) {
    sgd.zero_grad();
    ((a * a).sum() + (b * 2).sum()).backward();
    sgd.step();
  }
  show("sgd a", a);
  show("sgd b", b);
  for (auto& group : sgd.param_groups()) {
    auto& options = static_cast<torch::optim::SGDOptions&>(group.options());
    std::cout << options.lr() << " " << options.momentum() << " " << options.weight_decay() << " " << options.get_lr()
              << "\n";
    options.lr(options.lr() * 0.5);
  }
  sgd.zero_grad();
  (a.sum() + b.sum()).backward();
  sgd.step();
  show("sgd a", a);
  show("sgd b", b);

  // Nesterov and dampening.
  auto n = parameter({1, 2, 3});
  torch::optim::SGD nesterov({n}, torch::optim::SGDOptions(0.1).momentum(0.5).nesterov(true));
  for (int step = 0; step < 3; ++step) {
    nesterov.zero_grad();
    (n * n).sum().backward();
    nesterov.step();
  }
  show("nesterov", n);

  // Adam, AMSGrad and AdamW; a learning rate changed on the way; a closure.
  auto p = parameter({1, -1}), q = parameter({1, -1}), r = parameter({1, -1});
  torch::optim::Adam adam({p}, torch::optim::AdamOptions(1e-1).betas({0.8, 0.95}).eps(1e-6));
  torch::optim::Adam ams({q}, torch::optim::AdamOptions(1e-1).amsgrad(true).weight_decay(0.1));
  torch::optim::AdamW adamw({r}, torch::optim::AdamWOptions(1e-1).weight_decay(0.2));
  for (int step = 0; step < 4; ++step) {
    for (auto* optimizer : std::initializer_list<torch::optim::Optimizer*>{&adam, &ams, &adamw}) optimizer->zero_grad();
    (p.pow(2) + q.pow(2) + (r - 2).pow(2)).sum().backward();
    if (step == 2) set_lr(adam, 0.05);
    adam.step();
    ams.step();
    adamw.step();
  }
  show("adam", p);
  show("amsgrad", q);
  show("adamw", r);
  auto& adam_options = static_cast<torch::optim::AdamOptions&>(adam.param_groups()[0].options());
  std::cout << std::get<0>(adam_options.betas()) << " " << adam_options.lr() << " " << adam_options.amsgrad() << "\n";
  auto loss = adam.step([&] {
    adam.zero_grad();
    auto l = (p * p).sum();
    l.backward();
    return l;
  });
  std::cout << "closure loss " << loss.item<double>() << "\n";
  show("adam", p);

  // State of one parameter.
  auto& state = static_cast<torch::optim::AdamParamState&>(*adam.state().begin()->second);
  std::cout << "steps " << state.step() << "\n";
  show("exp_avg", state.exp_avg());

  // A group added later, a frozen parameter without gradient, zero_grad.
  auto late = parameter({5});
  adam.add_param_group(torch::optim::OptimizerParamGroup({late}));
  auto untouched = parameter({4});
  adam.param_groups()[1].params().push_back(untouched);
  adam.zero_grad();
  late.sum().backward();
  adam.step();
  show("untouched", untouched);
  std::cout << std::boolalpha << untouched.grad().defined() << " " << late.grad().defined() << "\n";

  // Options straight from a module, and a schedule by hand.
  torch::manual_seed(0);
  torch::nn::Linear linear(2, 1);
  torch::optim::SGD schedule(linear->parameters(), /*lr=*/0.5);
  for (int epoch = 0; epoch < 3; ++epoch) {
    set_lr(schedule, 0.5 / (1 + epoch));
    schedule.zero_grad();
    (linear->forward(torch::ones({1, 2})) - 1).pow(2).sum().backward();
    schedule.step();
    std::cout << std::setprecision(4) << schedule.param_groups()[0].options().get_lr() << "\n";
  }
  show("prediction", linear->forward(torch::ones({1, 2})));
  return 0;
}
