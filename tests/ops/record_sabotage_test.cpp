// Whether the suite's checks would notice: every differentiable operator is called with a wrong gradient of each kind.
#include <gtest/gtest.h>

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

// The right gradient, as if its formula could not be differentiated again.
struct Once : autograd::Function<Once> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, const Tensor& result) {
    ctx->save_for_backward({x});
    ctx->saved_data["result"] = result;
    return result.detach().clone();
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    const Tensor result = ctx->saved_data["result"].toTensor();
    return {autograd::grad({result}, {x}, {grads[0].detach()}, true, false, true)[0], Tensor()};
  }
};

struct Sabotage {
  const char* what;
  Caller call;
};

// Whether all of the gradient is zero, as that of a step is: then there is nothing to get wrong.
bool has_gradient(const DifferentiableSample& sample) {
  autograd::variable_list roots;
  for (const Tensor& t : sample.function()(sample.inputs())) roots.push_back(t.mul(t.detach().add(1.5)).sum());
  if (roots.empty()) return false;
  for (const Tensor& g : autograd::grad(roots, sample.inputs(), {}, false, false, true)) {
    if (g.defined() && g.numel() && g.ne(0).any().item<bool>()) return true;
  }
  return false;
}
bool last_input_has_gradient(const DifferentiableSample& sample) {
  autograd::variable_list roots;
  for (const Tensor& t : sample.function()(sample.inputs())) roots.push_back(t.mul(t.detach().add(1.5)).sum());
  if (roots.empty()) return false;
  const Tensor g = autograd::grad(roots, {sample.inputs().back()}, {}, false, false, true)[0];
  return g.defined() && g.numel() && g.ne(0).any().item<bool>();
}

TEST(Sabotage, IsNoticedForEveryOperator) {
  const Sabotage kinds[] = {{"its sign flipped", &with_sign_flipped},
                            {"a hundredth more", &with_a_hundredth_more},
                            {"a term dropped", &with_a_term_dropped}};
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
      if (!has_gradient(honest)) continue;
      any_gradient = true;
      for (const Sabotage& s : kinds) {
        if (s.call.target<decltype(&with_a_term_dropped)>() &&
            *s.call.target<decltype(&with_a_term_dropped)>() == &with_a_term_dropped &&
            !last_input_has_gradient(honest))
          continue;
        EXPECT_NE(DifferentiableSample(op, args, make, s.call).fault(), "")
            << name << " with " << s.what << " goes unnoticed";
        ++noticed;
      }
      break;  // one sample of each operator is enough
    }
    if (any_input && !any_gradient) zero.insert(name);
  }
  EXPECT_GT(noticed, 400u);
  // Steps and copies of nothing: their gradient is zero everywhere.
  const std::set<std::string> expected = {};
  EXPECT_EQ(zero, expected);
}

}  // namespace
}  // namespace gradus::testing
