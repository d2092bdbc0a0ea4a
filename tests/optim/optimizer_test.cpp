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

}  // namespace
