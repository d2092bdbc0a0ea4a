// Optimizers and schedules beyond their numbers (reference_test.cpp): groups, files, refusals. Names are cases'
// numbers.
#include <gtest/gtest.h>

#include <gradus/gradus.h>

#include "support/temporary_folder.h"

namespace {

using namespace gradus;
using namespace gradus::optim;

Tensor parameter(std::vector<double> values) {
  Tensor t = empty({static_cast<int64_t>(values.size())}, kDouble);
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return t.requires_grad_();
}
double value(const Tensor& t, int64_t i = 0) {
  return t.data_ptr<double>()[i];
}

// Row 15 of the complaints.
TEST(Optimizer, A1GroupInheritsWhatItLeavesUnset) {
  Tensor p = parameter({1});
  std::vector<OptimizerParamGroup> groups;
  auto options = std::make_unique<AdamOptions>();
  options->weight_decay(0.1);
  groups.emplace_back(std::vector<Tensor>{p}, std::move(options));
  Adam opt(groups, AdamOptions(0.0));
  p.sum().backward();
  opt.step();
  EXPECT_EQ(value(p), 1.0);
  const auto& o = static_cast<AdamOptions&>(opt.param_groups()[0].options());
  EXPECT_EQ(o.lr(), 0.0);
  EXPECT_EQ(o.weight_decay(), 0.1);
}

TEST(Optimizer, AValueSetToItsDefaultIsSet) {
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{parameter({1})}, std::make_unique<AdamOptions>(1e-3));
  Adam opt(groups, AdamOptions(0.5));
  EXPECT_EQ(opt.param_groups()[0].options().get_lr(), 1e-3);
}

TEST(Optimizer, A3AbsentGradientIsNotAZeroGradient) {
  for (bool adamw : {false, true}) {
    Tensor p = parameter({1}), q = parameter({1});
    q.mutable_grad() = zeros({1}, kDouble);
    if (adamw) {
      AdamW({p, q}, AdamWOptions(.1).weight_decay(.5)).step();
    } else {
      SGD({p, q}, SGDOptions(.1).weight_decay(.5)).step();
    }
    EXPECT_EQ(value(p), 1.0);
    EXPECT_DOUBLE_EQ(value(q), 0.95);
  }
}

TEST(Optimizer, A5ResumeEqualsNeverStopping) {
  support::TemporaryFolder folder;
  const std::string path = folder.file("adam.pt");
  Tensor p = parameter({1, -2});
  Adam opt({p}, AdamOptions(.1));
  auto step = [](Optimizer& o, const Tensor& t) {
    o.zero_grad();
    (t * t).sum().backward();
    o.step();
  };
  for (int i = 0; i < 3; ++i) step(opt, p);
  save(opt, path);
  Tensor q = p.detach().clone().requires_grad_();
  for (int i = 0; i < 2; ++i) step(opt, p);
  Adam second({q}, AdamOptions(.5));
  load(second, path);
  EXPECT_EQ(second.param_groups()[0].options().get_lr(), 0.1);
  for (int i = 0; i < 2; ++i) step(second, q);
  EXPECT_TRUE(equal(p, q));
  EXPECT_NEAR(value(q, 0), 0.507963659, 1e-6);
  EXPECT_NEAR(value(q, 1), -1.502955781, 1e-6);
}

TEST(Optimizer, A7WrongFileIsRefusedAtLoad) {
  support::TemporaryFolder folder;
  const std::string path = folder.file("adam.pt");
  Tensor p = parameter({1, -2}), q = parameter({3});
  Adam opt({p, q}, AdamOptions(.1));
  (p.sum() + q.sum()).backward();
  opt.step();
  save(opt, path);
  Adam fewer({parameter({1, 2})});
  EXPECT_THROW(load(fewer, path), Error);
  Adam other({parameter({1, 2, 3}), parameter({1})}, AdamOptions(.7));
  try {
    load(other, path);
    FAIL();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("(2)"), std::string::npos) << text;
    EXPECT_NE(text.find("(3)"), std::string::npos) << text;
  }
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.7);
  EXPECT_TRUE(other.state().empty());
}

TEST(Optimizer, A11StepLR) {
  Tensor p = parameter({1});
  SGD opt({p}, SGDOptions(1));
  StepLR schedule(opt, 2, .1);
  const double expected[] = {1, 1, .1, .1, .01, .01};
  for (double e : expected) {
    EXPECT_NEAR(schedule.get_last_lr()[0], e, 1e-12);
    EXPECT_NEAR(schedule.get_last_lr()[0], e, 1e-12);
    schedule.step();
  }
}

// Row 19 of the complaints.
TEST(Optimizer, A15TheSameTensorTwice) {
  Tensor p = parameter({1});
  EXPECT_THROW(SGD({p, p}, SGDOptions(.1)), ValueError);
  std::vector<OptimizerParamGroup> groups{OptimizerParamGroup({p}), OptimizerParamGroup({p})};
  EXPECT_THROW(SGD(groups, SGDOptions(.1)), ValueError);
}

TEST(Optimizer, RefusesWhatCannotBe) {
  Tensor p = parameter({1});
  EXPECT_THROW(SGD({p}, SGDOptions(-1)), ValueError);
  EXPECT_THROW(SGD({p}, SGDOptions(1).nesterov(true)), ValueError);
  EXPECT_THROW(Adam({p}, AdamOptions(1).betas({1.0, 0.9})), ValueError);
  EXPECT_THROW(Adam({p * 2}), ValueError);
  EXPECT_THROW(Adam({Tensor()}), ValueError);
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{p}, std::make_unique<SGDOptions>(1.0));
  EXPECT_THROW(Adam(groups, AdamOptions(1)), TypeError);
}

// Pain 16: changing the rate during training.
TEST(Optimizer, ChangingTheRate) {
  Tensor p = parameter({1});
  SGD opt({p}, SGDOptions(1));
  opt.set_lr(0.5);
  EXPECT_EQ(opt.param_groups()[0].options().get_lr(), 0.5);
  static_cast<SGDOptions&>(opt.param_groups()[0].options()).lr(0.25);
  p.sum().backward();
  opt.step();
  EXPECT_EQ(value(p), 0.75);
}

TEST(Optimizer, ClosureRunsWithGradients) {
  Tensor p = parameter({2});
  SGD opt({p}, SGDOptions(.1));
  Tensor loss = opt.step([&] {
    opt.zero_grad();
    Tensor l = (p * p).sum();
    l.backward();
    return l;
  });
  EXPECT_EQ(loss.item<double>(), 4);
  EXPECT_NEAR(value(p), 1.6, 1e-12);
}

TEST(Optimizer, ParameterInAnotherMemoryOrder) {
  Tensor p = ones({2, 3, 4, 5}).contiguous(MemoryFormat::ChannelsLast).requires_grad_();
  Tensor q = ones({2, 3, 4, 5}).requires_grad_();
  Tensor g = arange(120, kFloat).reshape({2, 3, 4, 5});
  Adam a({p}, AdamOptions(.1)), b({q}, AdamOptions(.1));
  for (int i = 0; i < 3; ++i) {
    p.mutable_grad() = g.clone();
    q.mutable_grad() = g.clone();
    a.step();
    b.step();
  }
  EXPECT_TRUE(equal(p, q));
  EXPECT_TRUE(p.is_contiguous(MemoryFormat::ChannelsLast));
}

// One step after `change`, which may alter the parameter or its state; true if it was refused.
template <class Options, class Change>
bool refused(const Options& options, const Change& change) {
  Tensor p = ones({4}, kFloat).requires_grad_();
  std::conditional_t<std::is_same_v<Options, SGDOptions>, SGD, Adam> opt({p}, options);
  p.mutable_grad() = ones({4}, kFloat);
  opt.step();
  change(p, *opt.state().at(p.impl()));
  p.mutable_grad() = ones(p.sizes(), p.options().requires_grad(false));
  try {
    opt.step();
  } catch (const Error&) {
    return true;
  }
  return false;
}

TEST(Optimizer, StateThatNoLongerFitsIsRefused) {
  const auto longer = [](Tensor& p, OptimizerParamState&) { p.set_data(ones({400}, kFloat)); };
  const auto wider = [](Tensor& p, OptimizerParamState&) { p.set_data(ones({4}, kDouble)); };
  const auto unchanged = [](Tensor&, OptimizerParamState&) {};
  EXPECT_FALSE(refused(SGDOptions(.1).momentum(.9), unchanged));
  EXPECT_TRUE(refused(SGDOptions(.1).momentum(.9), longer));
  EXPECT_TRUE(refused(SGDOptions(.1).momentum(.9), wider));
  EXPECT_TRUE(refused(AdamOptions(.1), longer));
  EXPECT_TRUE(refused(AdamOptions(.1).amsgrad(true), wider));
  const auto put = [](const Tensor& t) {
    return [t](Tensor&, OptimizerParamState& s) { static_cast<SGDParamState&>(s).momentum_buffer(t); };
  };
  EXPECT_TRUE(refused(SGDOptions(.1).momentum(.9), put(ones({3}, kFloat))));
  EXPECT_TRUE(refused(SGDOptions(.1).momentum(.9), put(ones({4}, kDouble))));
  EXPECT_FALSE(refused(SGDOptions(.1).momentum(.9), put(ones({4}, kFloat))));
  // One of Adam's two buffers alone: the other begins at zero.
  EXPECT_FALSE(refused(AdamOptions(.1),
                       [](Tensor&, OptimizerParamState& s) { static_cast<AdamParamState&>(s).exp_avg_sq(Tensor()); }));
}

// The second step's p is 1 - .1 * (.9 * buffer + 1), element by element, in whatever order each lies in memory.
TEST(Optimizer, MomentumInAnotherMemoryOrderThanTheParameter) {
  const Tensor buffer = arange(6, kDouble).reshape({2, 3});
  for (const bool transposed : {false, true}) {
    Tensor p = (transposed ? ones({3, 2}, kDouble).t() : ones({2, 3}, kDouble)).detach().requires_grad_();
    for (const Tensor& put : {buffer.clone(), buffer.t().contiguous().t()}) {
      NoGradGuard guard;
      p.fill_(1);
      SGD opt({p}, SGDOptions(.1).momentum(.9));
      p.mutable_grad() = zeros({2, 3}, kDouble);
      opt.step();
      static_cast<SGDParamState&>(*opt.state().at(p.impl())).momentum_buffer(put);
      p.mutable_grad() = ones({2, 3}, kDouble);
      opt.step();
      EXPECT_TRUE(allclose(p, 1 - .1 * (.9 * buffer + 1))) << transposed;
    }
  }
}

TEST(Optimizer, MomentumResumesForATransposedParameter) {
  const support::TemporaryFolder folder;
  const auto make = [] { return ones({3, 2}, kDouble).t().detach().requires_grad_(); };
  const Tensor g = arange(6, kDouble).reshape({2, 3});
  Tensor p = make(), q = make();
  SGD a({p}, SGDOptions(.1).momentum(.9)), b({q}, SGDOptions(.1).momentum(.9));
  p.mutable_grad() = g.clone();
  a.step();
  save(a, folder.file("a"));
  load(b, folder.file("a"));
  q.mutable_grad() = g.clone();
  b.step();
  // v = .9 * g + g = 1.9 g.
  EXPECT_TRUE(allclose(q, 1 - .19 * g));
}

}  // namespace
