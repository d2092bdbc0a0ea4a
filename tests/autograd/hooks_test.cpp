// Hooks of tensors, leaves and nodes: order, replacement, removal, errors. The orders are what PyTorch 2.15 prints for
// the same program (tests/references/autograd_hooks.py).
#include "support/vectors.h"

#include <sstream>

using namespace gradus;
using namespace support;

namespace {

std::string text(const Tensor& t) {
  if (!t.defined()) return "none";
  std::ostringstream out;
  out << "[";
  for (const double v : values(t)) out << (out.tellp() > 1 ? " " : "") << v;
  return out.str() + "]";
}
std::string text(const autograd::variable_list& list) {
  std::string s = "(";
  for (const Tensor& t : list) s += (s.size() > 1 ? " " : "") + text(t);
  return s + ")";
}

using Log = std::vector<std::string>;

// a -> exp -> b -> sum, with every kind of hook on the way.
struct Chain {
  Log log;
  Tensor a = leaf({0, 0});
  Tensor b = a.exp();
  Chain() {
    b.retain_grad();
    b.register_hook([this](const Tensor& g) { log.push_back("b " + text(g)); });
    b.register_hook([](const Tensor& g) { return g * 10; });
    b.grad_fn()->register_prehook([this](const autograd::variable_list& g) { log.push_back("pre " + text(g)); });
    b.grad_fn()->register_hook([this](const autograd::variable_list& in, const autograd::variable_list& out) {
      log.push_back("post " + text(in) + " " + text(out));
    });
    a.register_hook([this](const Tensor& g) { log.push_back("a " + text(g)); });
    const auto accumulate = b.grad_fn()->next_function(0);
    accumulate->register_prehook([this](const autograd::variable_list& g) { log.push_back("acc pre " + text(g)); });
    accumulate->register_hook([this](const autograd::variable_list& in, const autograd::variable_list& out) {
      log.push_back("acc post " + text(in) + " " + text(out));
    });
    a.register_post_accumulate_grad_hook([this](const Tensor& t) { log.push_back("leaf " + text(t.grad())); });
  }
};

const Log kWhole = {"b [1 1]",           "pre ([10 10])", "post ([10 10]) ([10 10])", "a [10 10]",
                    "acc pre ([10 10])", "leaf [10 10]",  "acc post () ([10 10])"};

TEST(Hooks, TheOrderInABackward) {
  Chain c;
  c.b.sum().backward({}, true);
  EXPECT_EQ(c.log, kWhole);
  EXPECT_EQ(values(c.b.grad()), (V{10, 10}));  // retain_grad comes last, wherever it was registered
  EXPECT_EQ(values(c.a.grad()), (V{10, 10}));
  c.b.sum().backward();
  EXPECT_EQ(values(c.b.grad()), (V{20, 20}));  // and accumulates
}

TEST(Hooks, TheOrderWithInputs) {
  Chain c;
  c.b.sum().backward({}, true, false, std::vector<Tensor>{c.a});
  EXPECT_EQ(c.log, kWhole);
  c.log.clear();
  // The tensor's hooks run, those of the node behind it do not; nor do a leaf's, which gets nothing.
  EXPECT_EQ(values(autograd::grad({c.b.sum()}, {c.b}, {}, true)[0]), (V{10, 10}));
  EXPECT_EQ(c.log, (Log{"b [1 1]"}));
  c.log.clear();
  EXPECT_EQ(values(autograd::grad({c.b.sum()}, {c.a}, {}, true)[0]), (V{10, 10}));
  EXPECT_EQ(c.log, (Log{"b [1 1]", "pre ([10 10])", "post ([10 10]) ([10 10])", "a [10 10]"}));
}

TEST(Hooks, TensorsThatLeadToNoInputHaveNone) {
  Tensor a = leaf({1}), other = leaf({1});
  int calls = 0;
  Tensor side = other * 2;
  side.register_hook([&](const Tensor&) { ++calls; });
  other.register_hook([&](const Tensor&) { ++calls; });
  const Tensor loss = (a * side).sum();
  autograd::grad({loss}, {a}, {}, true);
  EXPECT_EQ(calls, 0);
  loss.backward({}, true, false, std::vector<Tensor>{a});
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(other.grad().defined());
  // A root that leads to none of the inputs, beneath one that does.
  EXPECT_EQ(values(autograd::grad({loss, side}, {a}, {}, true)[0]), (V{2}));
  loss.backward();
  EXPECT_EQ(values(other.grad()), (V{2}));
  EXPECT_EQ(calls, 2);
}

TEST(Hooks, InputsThatAreNoLeavesAccumulate) {
  Tensor a = leaf({1, 2});
  Tensor b = a * 2;
  b.retain_grad();
  for (const double want : {1.0, 2.0}) {
    b.sum().backward({}, true, false, std::vector<Tensor>{b});
    EXPECT_EQ(values(b.grad()), (V{want, want}));
  }
  Tensor c = a * 2;
  c.sum().backward({}, true, false, std::vector<Tensor>{c});
  EXPECT_EQ(values(c.grad()), (V{1, 1}));
  EXPECT_FALSE(a.grad().defined());
}

TEST(Hooks, NodesHooksReplaceGradients) {
  Tensor a = leaf({0, 0});
  Tensor b = a.exp();
  b.grad_fn()->register_prehook([](const autograd::variable_list& g) { return autograd::variable_list{g[0] * 3}; });
  RemovableHandle five =
      b.grad_fn()->register_hook([](const autograd::variable_list& in, const autograd::variable_list&) {
        return autograd::variable_list{in[0] * 5};
      });
  b.sum().backward({}, true);
  EXPECT_EQ(values(a.grad()), (V{15, 15}));
  five.remove();
  five.remove();  // has no effect
  a.mutable_grad().reset();
  b.sum().backward({}, true);
  EXPECT_EQ(values(a.grad()), (V{3, 3}));
  // Undefined: no gradient.
  a.mutable_grad().reset();
  RemovableHandle none = b.grad_fn()->register_hook(
      [](const autograd::variable_list&, const autograd::variable_list&) { return autograd::variable_list{Tensor()}; });
  b.sum().backward({}, true);
  EXPECT_FALSE(a.grad().defined());
}

TEST(Hooks, ReplacementsMustFit) {
  using List = autograd::variable_list;
  const std::pair<List (*)(const List&), const char*> cases[] = {
      {[](const List& g) {
         return List{g[0], g[0]};
       },
       "it returned 2 gradients; expected 1"},
      {[](const List& g) { return List{g[0].sum()}; }, "it returned a gradient of shape ()"},
      {[](const List& g) { return List{g[0].to(kFloat)}; }, "it returned a gradient of type Float; expected Double"},
  };
  for (const auto& [hook, want] : cases) {
    Tensor a = leaf({0, 0});
    Tensor b = a.exp();
    RemovableHandle pre = b.grad_fn()->register_prehook(hook);
    EXPECT_ERROR(b.sum().backward({}, true), want);
    pre.remove();
    RemovableHandle post = b.grad_fn()->register_hook([hook = hook](const List& in, const List&) { return hook(in); });
    EXPECT_ERROR(b.sum().backward({}, true), want);
    post.remove();
    EXPECT_FALSE(a.grad().defined());
    b.sum().backward();  // the graph is as it was
    EXPECT_EQ(values(a.grad()), (V{1, 1}));
  }
}

TEST(Hooks, ANodesHooksSeeOutputsThatNobodyUsed) {
  Tensor x = leaf({1, 2, 3, 4});
  const auto parts = x.view({2, 2}).unbind(0);
  Log log;
  parts[1].grad_fn()->register_prehook([&](const autograd::variable_list& g) { log.push_back(text(g)); });
  parts[0].sum().backward();
  EXPECT_EQ(log, (Log{"([1 1] none)"}));
  EXPECT_EQ(values(x.grad()), (V{1, 1, 0, 0}));
}

TEST(Hooks, RemovalInsideAHook) {
  Tensor a = leaf({1});
  int first = 0, second = 0, late = 0;
  RemovableHandle one, two;
  one = a.register_post_accumulate_grad_hook([&](const Tensor& t) {
    ++first;
    one.remove();
    two.remove();
    t.register_post_accumulate_grad_hook([&](const Tensor&) { ++late; });
  });
  two = a.register_post_accumulate_grad_hook([&](const Tensor&) { ++second; });
  const Tensor loss = (a * 2).sum();
  loss.backward({}, true);
  EXPECT_EQ((std::vector<int>{first, second, late}), (std::vector<int>{1, 0, 0}));
  loss.backward();
  EXPECT_EQ((std::vector<int>{first, second, late}), (std::vector<int>{1, 0, 1}));
}

TEST(Hooks, AHandleOutlivesEverythingAndRemovalFreesWhatTheHookHolds) {
  RemovableHandle handle;
  auto token = std::make_shared<int>(1);
  {
    Tensor a = leaf({1});
    handle = a.register_post_accumulate_grad_hook([token](const Tensor&) {});
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
  handle.remove();
  Tensor a = leaf({1});
  handle = a.register_post_accumulate_grad_hook([token](const Tensor&) {});
  handle.remove();
  EXPECT_EQ(token.use_count(), 1);
  RemovableHandle().remove();
}

TEST(Hooks, AGraphKeepsTheHooksOfItsNodesAndLeaves) {
  int calls = 0;
  Tensor loss;
  {
    Tensor a = leaf({3});
    Tensor b = a * a;
    b.register_hook([&](const Tensor&) { ++calls; });
    b.grad_fn()->register_prehook([&](const autograd::variable_list&) { ++calls; });
    a.register_post_accumulate_grad_hook([&](const Tensor& t) {
      EXPECT_EQ(values(t), (V{3}));
      EXPECT_EQ(values(t.grad()), (V{6}));
      EXPECT_TRUE(t.is_leaf() && t.requires_grad());
      ++calls;
    });
    loss = b.sum();
  }
  loss.backward();
  EXPECT_EQ(calls, 3);
}

TEST(Hooks, AnOptimizerStepInsideBackward) {
  Tensor a = leaf({1, 2});
  a.register_post_accumulate_grad_hook([](const Tensor& t) {
    t.sub_(t.grad(), 0.5);
    t.mutable_grad().reset();
  });
  (a * 2).sum().backward();
  EXPECT_EQ(values(a), (V{0, 1}));
  EXPECT_FALSE(a.grad().defined());
  autograd::grad({(a * 2).sum()}, {a});  // accumulates nothing
  EXPECT_EQ(values(a), (V{0, 1}));
}

TEST(Hooks, Refusals) {
  const auto nothing = [](const Tensor&) {};
  EXPECT_ERROR((leaf({1}) * 2).register_post_accumulate_grad_hook(nothing), "expected a leaf");
  EXPECT_ERROR(vec({1}).register_post_accumulate_grad_hook(nothing), "does not require a gradient");
  EXPECT_ERROR(Tensor().register_post_accumulate_grad_hook(nothing), "undefined");
  const auto list = [](const autograd::variable_list&) {};
  EXPECT_EQ(thrown<ValueError>([&] { autograd::register_multi_grad_hook({leaf({1})}, list, "some"); }),
            "register_multi_grad_hook: mode is \"some\"; expected \"all\" or \"any\"");
  EXPECT_ERROR(autograd::register_multi_grad_hook({vec({1})}, list), "does not require a gradient");
}

TEST(Hooks, AnExceptionLeavesTheGraphAsItWas) {
  Tensor a = leaf({1, 2});
  Tensor b = a.exp();
  RemovableHandle handle =
      a.register_post_accumulate_grad_hook([](const Tensor&) { throw std::runtime_error("stop"); });
  EXPECT_THROW(b.sum().backward({}, true), std::runtime_error);
  handle.remove();
  handle = b.grad_fn()->register_prehook([](const autograd::variable_list&) { throw std::runtime_error("stop"); });
  EXPECT_THROW(b.sum().backward(), std::runtime_error);  // before anything of this node is freed
  handle.remove();
  a.mutable_grad().reset();
  b.sum().backward();
  EXPECT_EQ(values(a.grad()), (values(b)));
}

TEST(Hooks, LibtorchsForm) {
  struct Pre : autograd::FunctionPreHook {
    autograd::variable_list operator()(const autograd::variable_list& g) override { return {g[0] * 2}; }
  };
  struct Post : autograd::FunctionPostHook {
    autograd::variable_list operator()(const autograd::variable_list& outputs,
                                       const autograd::variable_list& inputs) override {
      return {outputs[0] + inputs[0]};
    }
  };
  Tensor a = leaf({0});
  Tensor b = a.exp();
  b.grad_fn()->add_pre_hook(std::make_unique<Pre>());
  b.grad_fn()->add_post_hook(std::make_unique<Post>());
  b.sum().backward();
  EXPECT_EQ(values(a.grad()), (V{4}));
}

TEST(Hooks, SeveralTensorsAll) {
  std::vector<Tensor> t = {leaf({1}), leaf({2}), leaf({3}), leaf({4})};
  Log log;
  RemovableHandle handle =
      autograd::register_multi_grad_hook(t, [&](const autograd::variable_list& grads) { log.push_back(text(grads)); });
  (t[0] * t[1] * t[2]).sum().backward();
  EXPECT_EQ(log, (Log{"([6] [3] [2] none)"}));
  (t[0] * t[3]).sum().backward();
  EXPECT_EQ(log.back(), "([4] none none [1])");
  EXPECT_EQ(log.size(), 2u);
  // Only what this pass computes counts.
  autograd::grad({(t[0] * t[1]).sum()}, {t[1]});
  EXPECT_EQ(log.back(), "(none [1] none none)");
  handle.remove();
  (t[0] * t[3]).sum().backward();
  EXPECT_EQ(log.size(), 3u);
}

TEST(Hooks, SeveralTensorsAny) {
  std::vector<Tensor> t = {leaf({1}), leaf({2}), leaf({3})};
  int calls = 0;
  autograd::register_multi_grad_hook(
      t,
      [&](const autograd::variable_list& grads) {
        ++calls;
        EXPECT_EQ(grads.size(), 3u);
        EXPECT_EQ(std::count_if(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); }), 1);
      },
      "any");
  (t[0] * 1 + t[1] * 2 + t[2] * 3).sum().backward();
  EXPECT_EQ(calls, 1);
  (t[0] * t[2]).sum().backward();
  EXPECT_EQ(calls, 2);
}

TEST(Hooks, SeveralTensorsAfterAPassThatFailed) {
  Tensor a = leaf({1}), b = leaf({2});
  int calls = 0;
  autograd::register_multi_grad_hook({a, b}, [&](const autograd::variable_list&) { ++calls; });
  Tensor x = a * 1;
  RemovableHandle boom =
      x.grad_fn()->register_prehook([](const autograd::variable_list&) { throw std::runtime_error("boom"); });
  EXPECT_THROW((x + b).sum().backward(), std::runtime_error);
  EXPECT_EQ(calls, 0);
  boom.remove();
  (a * 1 + b).sum().backward();
  EXPECT_EQ(calls, 1);
}

TEST(Grad, MaterializedGradients) {
  Tensor a = leaf({1, 2}), unused = leaf({1, 2, 3});
  const Tensor loss = (a * 2).sum();
  const auto g = autograd::grad({loss}, {a, unused}, {}, true, false, std::nullopt, true);
  EXPECT_EQ(values(g[0]), (V{2, 2}));
  EXPECT_EQ(values(g[1]), (V{0, 0, 0}));
  EXPECT_EQ(g[1].scalar_type(), kDouble);
  EXPECT_FALSE(g[1].requires_grad());
  EXPECT_EQ(values(autograd::grad({loss}, {unused}, {}, true, false, true, true)[0]), (V{0, 0, 0}));
  const std::string conflict =
      thrown<ValueError>([&] { autograd::grad({loss}, {unused}, {}, true, false, false, true); });
  EXPECT_TRUE(has(conflict, "expected allow_unused to be true or left out")) << conflict;
  EXPECT_ERROR(autograd::grad({loss}, {unused}, {}, true), "was not used in the graph");
}

TEST(Grad, NonScalarRoots) {
  Tensor a = leaf({1, 2});
  const Tensor y = a * a;
  EXPECT_EQ(values(autograd::grad({y}, {a}, {vec({1, 10})}, true)[0]), (V{2, 40}));
  EXPECT_EQ(values(autograd::grad({y, a * 3}, {a}, {vec({1, 10}), vec({1, 1})}, true)[0]), (V{5, 43}));
}

}  // namespace
