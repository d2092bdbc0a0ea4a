// Whether the suite's checks would notice: every differentiable operator is called with a wrong gradient of each kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <gradus/autograd/autograd.h>
#include <gradus/ops/library.h>

#include "ops/record_walk.h"

namespace gradus::testing {
namespace {

Tensor flipped(const Tensor& t) {
  return t.detach().mul(2).sub(t);
}

// A result whose value is right and whose gradient is made wrong by `f`.
template <class F>
std::vector<IValue> with_results(std::vector<IValue> results, F f) {
  const auto wrong = [&](const Tensor& t) { return t.defined() && t.requires_grad() ? f(t) : t; };
  for (IValue& v : results) {
    if (v.isTensor()) {
      v = wrong(v.toTensor());
    } else if (v.isTensorList()) {
      std::vector<Tensor> list;
      for (const Tensor& t : v.toTensorVector()) list.push_back(wrong(t));
      v = std::move(list);
    }
  }
  return results;
}

std::vector<IValue> with_sign_flipped(const OperatorHandle& op, Args args) {
  return with_results(plain_call(op, std::move(args)), flipped);
}
std::vector<IValue> with_a_hundredth_more(const OperatorHandle& op, Args args) {
  return with_results(plain_call(op, std::move(args)),
                      [](const Tensor& t) { return t.mul(1.01).sub(t.detach().mul(0.01)); });
}
// The last tensor that takes a gradient is treated as a constant.
std::vector<IValue> with_a_term_dropped(const OperatorHandle& op, Args args) {
  int last = -1, at = 0;
  map_tensors(args, [&](const Tensor& t) {
    if (t.requires_grad()) last = at;
    ++at;
    return t;
  });
  at = 0;
  return plain_call(op, map_tensors(args, [&](const Tensor& t) { return at++ == last ? t.detach() : t; }));
}

// Right once; the gradient of the gradient is lost.
std::vector<IValue> with_a_constant_gradient(const OperatorHandle& op, Args args) {
  return with_results(plain_call(op, std::move(args)), [](const Tensor& t) {
    const Tensor through = t.mul(1);
    through.register_hook([](const Tensor& g) { return g.detach(); });
    return through;
  });
}

// Which inputs have a gradient other than zero; a step has none, and nothing to get wrong.
std::vector<bool> has_gradient(const DifferentiableSample& sample) {
  autograd::variable_list roots;
  for (const Tensor& t : sample.function()(sample.inputs())) roots.push_back(t.mul(t.detach().add(1.5)).sum());
  std::vector<bool> has(sample.inputs().size(), false);
  if (roots.empty()) return has;
  const autograd::variable_list grads = autograd::grad(roots, sample.inputs(), {}, false, false, true);
  for (size_t i = 0; i < grads.size(); ++i)
    has[i] = grads[i].defined() && grads[i].numel() && grads[i].ne(0).any().item<bool>();
  return has;
}

TEST(Sabotage, IsNoticedForEveryOperator) {
  const std::pair<const char*, Caller> kinds[] = {{"its sign flipped", &with_sign_flipped},
                                                  {"a hundredth more", &with_a_hundredth_more},
                                                  {"no second gradient", &with_a_constant_gradient},
                                                  {"its last term dropped", &with_a_term_dropped}};
  std::set<std::string> zero;
  size_t noticed = 0;
  for (const auto& [name, record] : records()) {
    const OperatorHandle op = get_operator(name);
    if (!record.gradient || op.is_nondifferentiable() || op.is_inplace() || !has_dtype(record, kDouble)) continue;
    Make make(kDouble);
    bool any_input = false, any_gradient = false;
    for (const Args& args : record.samples(make)) {
      const DifferentiableSample honest(op, args, make);
      if (honest.inputs().empty()) continue;
      any_input = true;
      const std::vector<bool> has = has_gradient(honest);
      if (std::find(has.begin(), has.end(), true) == has.end()) continue;
      any_gradient = true;
      for (const auto& [what, caller] : kinds) {
        const bool last_term = &kinds[3].second == &caller;
        if (last_term && !has.back()) continue;
        EXPECT_NE(DifferentiableSample(op, args, make, caller).fault(), "")
            << name << " with " << what << " goes unnoticed";
        ++noticed;
      }
      break;  // one sample of each operator is enough
    }
    if (any_input && !any_gradient) zero.insert(name);
  }
  EXPECT_GT(noticed, 400u);
  // Steps: their gradient is zero everywhere.
  const std::set<std::string> steps = {
      "ceil",  "div.Scalar_mode", "fill.Scalar", "floor", "floor_divide", "floor_divide.Scalar",
      "round", "round.decimals",  "sign",        "trunc"};
  EXPECT_EQ(zero, steps);
}

// The same for operators of a program's own, whose registered gradient is wrong.
Tensor cube(const Tensor& x) {
  return x.mul(x).mul(x);
}
GRADUS_LIBRARY(sabotage_test, m) {
  m.def("cube(Tensor x) -> Tensor");
  m.impl("cube", kCPU, &cube);
  m.gradient("cube",
             [](const GradientCall& c) -> std::vector<Tensor> { return {c.grad().mul(c.tensor(0).square()).mul(3)}; });
  m.def("wrong_cube(Tensor x) -> Tensor");
  m.impl("wrong_cube", kCPU, &cube);
  m.gradient("wrong_cube",
             [](const GradientCall& c) -> std::vector<Tensor> { return {c.grad().mul(c.tensor(0).square()).mul(2)}; });
  m.def("once_cube(Tensor x) -> Tensor");
  m.impl("once_cube", kCPU, &cube);
  m.gradient("once_cube", [](const GradientCall& c) -> std::vector<Tensor> {
    return {c.grad().mul(c.tensor(0).detach().square()).mul(3)};
  });
}

TEST(Sabotage, IsNoticedInAUsersOperator) {
  Make make(kDouble);
  const auto fault = [&](const char* name) {
    return DifferentiableSample(get_operator(name), {make.in({3})}, make).fault();
  };
  EXPECT_EQ(fault("sabotage_test::cube"), "");
  EXPECT_NE(fault("sabotage_test::wrong_cube"), "");
  EXPECT_NE(fault("sabotage_test::once_cube"), "");
}

// A wrong value in one element of a result is seen, too.
TEST(Sabotage, IsNoticedInValues) {
  const Tensor want = ones({5}), got = want.clone();
  got.data_ptr<float>()[3] += 1e-3f;
  EXPECT_NE(difference(got, want, 16 * eps_of(kFloat)), "");
  got.data_ptr<float>()[3] = std::nanf("");
  EXPECT_NE(difference(got, want, 16 * eps_of(kFloat)), "");
  EXPECT_NE(difference(ones({4}), want, 16 * eps_of(kFloat)), "");
}

}  // namespace
}  // namespace gradus::testing
