// Checkpoints: the same gradients for less memory, and what happens where the function is not the same twice.
#include "support/vectors.h"

#include <map>
#include <thread>

#include <gradus/ops/interposer.h>

using namespace gradus;
using namespace support;
using autograd::checkpoint;
using autograd::checkpoint_sequential;
using autograd::CheckpointError;
using autograd::CheckpointOptions;

namespace {

CheckpointOptions without_early_stop() {
  CheckpointOptions o;
  o.early_stop = false;
  return o;
}

TEST(Checkpoint, SameGradientsAndTheFunctionRunsTwice) {
  for (const CheckpointOptions& options : {CheckpointOptions(), without_early_stop()}) {
    Tensor a = leaf({1, 2}), w = leaf({3, 4});
    int begun = 0, ended = 0;
    const auto f = [&](const Tensor& x) {
      ++begun;
      Tensor y = (x.exp() * w).sin() * 2;
      ++ended;
      return y;
    };
    Tensor plain = f(a);
    const auto want = autograd::grad({plain.sum()}, {a, w});
    begun = ended = 0;
    Tensor y = checkpoint(f, a, options);
    EXPECT_EQ(values(y), values(plain));
    y.sum().backward();
    EXPECT_EQ(values(a.grad()), values(want[0]));
    EXPECT_EQ(values(w.grad()), values(want[1]));  // captured, not an input
    EXPECT_EQ(begun, 2);
    EXPECT_EQ(ended, options.early_stop ? 1 : 2);
  }
}

TEST(Checkpoint, SeveralInputsAndOutputs) {
  Tensor a = leaf({1, 2}), b = leaf({3, 4}), plain = vec({5, 6});
  const autograd::variable_list inputs{a, plain, b, Tensor()};
  const auto out = checkpoint(
      [](const autograd::variable_list& in) {
        EXPECT_FALSE(in[3].defined());
        return autograd::variable_list{in[0] * in[2], in[1] * in[2]};
      },
      inputs);
  (out[0] + out[1] * out[1]).sum().backward();
  EXPECT_EQ(values(a.grad()), (V{3, 4}));
  EXPECT_EQ(values(b.grad()), (V{1 + 2 * 25 * 3, 2 + 2 * 36 * 4}));
}

TEST(Checkpoint, NothingOfTheInsideIsKept) {
  Tensor a = leaf(V(1000, 1.0));
  std::weak_ptr<int> inside;
  Tensor y = checkpoint(
      [&](const Tensor& x) {
        auto token = std::make_shared<int>(0);
        inside = token;
        Tensor z = x.exp();
        // Lives as long as the memory of z's contents is kept by the graph.
        Tensor borrowed = from_blob(
            z.data_ptr(), {1000}, [token, z](void*) {}, kDouble);
        return (borrowed * x).sum();
      },
      a);
  EXPECT_TRUE(inside.expired());
  y.backward();
  EXPECT_TRUE(inside.expired());
  EXPECT_EQ(a.grad().numel(), 1000);
}

TEST(Checkpoint, Nested) {
  Tensor a = leaf({0.5, 0.25}), w = leaf({3, 4});
  int outer = 0, inner = 0;
  const auto deep = [&](const Tensor& x) {
    ++inner;
    return (x * w).tanh().exp();
  };
  const auto f = [&](const Tensor& x, bool nest) {
    ++outer;
    Tensor y = x.exp();
    y = nest ? checkpoint(deep, y) : deep(y);
    y = nest ? checkpoint(deep, y.sin()) : deep(y.sin());
    return y * w;
  };
  const auto want = autograd::grad({f(a, false).sum()}, {a, w});
  outer = inner = 0;
  checkpoint([&](const Tensor& x) { return f(x, true); }, a).sum().backward();
  EXPECT_EQ(values(a.grad()), values(want[0]));
  EXPECT_EQ(values(w.grad()), values(want[1]));
  EXPECT_EQ(outer, 2);
  EXPECT_EQ(inner, 6);  // forward, again for the outer one, again for themselves
}

TEST(Checkpoint, ThreeDeepAndInARow) {
  Tensor a = leaf({0.1, 0.2});
  std::function<Tensor(const Tensor&, int, bool)> f = [&](const Tensor& x, int depth, bool nest) -> Tensor {
    if (depth == 0) return x.sin() * x;
    Tensor y = x;
    for (int i = 0; i < 2; ++i) {
      const auto part = [&f, depth, nest](const Tensor& t) { return f(t, depth - 1, nest); };
      y = nest ? checkpoint(part, y) : part(y);
    }
    return y.cos() + x;
  };
  const V want = values(autograd::grad({f(a, 3, false).sum()}, {a})[0]);
  f(a, 3, true).sum().backward();
  EXPECT_EQ(values(a.grad()), want);
}

TEST(Checkpoint, KeptGraphsAndHigherDerivatives) {
  Tensor x = leaf({2});
  const auto cube = [](const Tensor& t) { return t * t * t; };
  Tensor y = checkpoint(cube, x);
  y.backward({}, true);
  y.backward({}, true);
  EXPECT_EQ(values(x.grad()), (V{24}));
  Tensor d1 = autograd::grad({y}, {x}, {}, true, true)[0];
  EXPECT_EQ(values(autograd::grad({d1}, {x}, {}, true)[0]), (V{12}));
  // And a derivative inside the function.
  const auto penalty = [](const Tensor& t) {
    Tensor g = autograd::grad({(t * t * t).sum()}, {t}, {}, std::nullopt, true)[0];
    return (g * g).sum();  // 9 x^4
  };
  EXPECT_EQ(values(autograd::grad({checkpoint(penalty, x)}, {x})[0]), (V{288}));
}

TEST(Checkpoint, AnInputThatTheFunctionWrites) {
  Tensor a = leaf({1, 2});
  const auto f = [](const Tensor& x) {
    Tensor y = x * 1;
    y.mul_(3);
    return y.exp();
  };
  Tensor b = a * 1;
  const V want = values(autograd::grad({f(b).sum()}, {a})[0]);
  checkpoint(f, a * 1).sum().backward();
  EXPECT_EQ(values(a.grad()), want);
}

TEST(Checkpoint, AnInputThatWasOverwrittenIsFound) {
  Tensor a = leaf({1, 2});
  Tensor x = a * 2;
  Tensor y = checkpoint([](const Tensor& t) { return t.exp(); }, x);
  x.mul_(3);
  EXPECT_ERROR(y.sum().backward(), "checkpoint: input 0 of shape (2) has been modified by an inplace operation");
}

// The values are PyTorch 2.15's for the same seed.
TEST(Checkpoint, RandomNumbersComeAgain) {
  manual_seed(0);
  Tensor x = ones({6}, kFloat).requires_grad_();
  Tensor y = checkpoint([](const Tensor& t) { return dropout(t, 0.5, true) * t; }, x);
  EXPECT_NEAR(rand({1}).item<float>(), 0.0223, 5e-5);
  y.sum().backward();
  EXPECT_EQ(values(y), (V{0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(values(x.grad()), (V{0, 0, 4, 0, 0, 0}));
  EXPECT_NEAR(rand({1}).item<float>(), 0.1689, 5e-5);  // and the generator is where it was

  CheckpointOptions fresh;
  fresh.preserve_rng_state = false;
  Tensor big = ones({1000}).requires_grad_();
  Tensor z = checkpoint([](const Tensor& t) { return dropout(t, 0.5, true) * t; }, big, fresh);
  z.sum().backward();
  EXPECT_NE(values(big.grad()), values(z * 2));
}

TEST(Checkpoint, AFunctionThatIsNotTheSameTwice) {
  Tensor a = leaf({1, 2});
  int calls = 0;
  const auto twice = [&](auto first, auto second, CheckpointOptions options) {
    calls = 0;
    Tensor y =
        checkpoint([&, first, second](const Tensor& x) { return calls++ == 0 ? first(x) : second(x); }, a, options);
    const std::string text = thrown<CheckpointError>([&] { y.sum().backward(); });
    EXPECT_TRUE(begins(text, "checkpoint: the function")) << text;
    return text;
  };
  const auto one = [](const Tensor& x) { return x.exp(); };
  const auto three = [](const Tensor& x) { return x.exp().sin().exp(); };
  EXPECT_TRUE(has(twice(one, three, without_early_stop()), "saves more tensors when it is computed again; expected 1"));
  EXPECT_TRUE(has(twice(three, one, {}), "saved 1 tensors when it was computed again; expected 3"));
  const auto wide = [](const Tensor& x) { return cat({x, x}).exp().narrow(0, 0, 2); };
  EXPECT_TRUE(has(twice(one, wide, {}), "a tensor of shape (4)"));
  EXPECT_TRUE(has(twice(one, [](const Tensor& x) { return x.to(kFloat).exp().to(kDouble); }, {}), "type Float"));
}

// Two passes over one graph: what one takes the other computes for itself.
TEST(Checkpoint, TwoThreadsOverOneGraph) {
  Tensor w = leaf({0.5, 0.25});
  const auto f = [&](const Tensor& x) { return ((x * w).exp() * w).sin() * x; };
  const V want = values(autograd::grad({f(w * 2).sum()}, {w})[0]);
  for (int round = 0; round < 50; ++round) {
    const Tensor loss = checkpoint(f, w * 2).sum();
    V got[2];
    const auto work = [&](int which) { got[which] = values(autograd::grad({loss}, {w}, {}, true)[0]); };
    std::thread one(work, 0), two(work, 1);
    one.join();
    two.join();
    EXPECT_EQ(got[0], want);
    EXPECT_EQ(got[1], want);
  }
}

TEST(Checkpoint, GradModeAndExceptions) {
  Tensor a = leaf({1, 2});
  int calls = 0;
  const auto f = [&](const Tensor& x) {
    if (++calls == 2) throw std::runtime_error("once");
    return x.exp();
  };
  Tensor y = checkpoint(f, a);
  Tensor loss = y.sum();
  EXPECT_THROW(loss.backward(), std::runtime_error);
  EXPECT_TRUE(GradMode::is_enabled());
  y.sum().backward();  // the third call works
  EXPECT_EQ(values(a.grad()), values(y));
  NoGradGuard off;
  EXPECT_FALSE(checkpoint([](const Tensor& x) { return x.exp(); }, a).requires_grad());
}

TEST(Checkpoint, TheContextIsThereBothTimes) {
  Tensor a = leaf({1, 2});
  std::string log;
  CheckpointOptions options;
  options.context = [&](bool again) {
    log += again ? "r(" : "f(";
    return std::shared_ptr<void>(nullptr, [&](void*) { log += ")"; });
  };
  checkpoint([&](const Tensor& x) { return log += "x", x.exp().sin(); }, a, options).sum().backward();
  EXPECT_EQ(log, "f(x)r(x)");
}

TEST(Checkpoint, UnderOtherHooks) {
  Tensor a = leaf({1, 2});
  int packs = 0;
  const autograd::SavedTensorsHooks hooks(
      [&](const Tensor& t) -> std::any {
        ++packs;
        return t.clone();
      },
      [](const std::any& packed) { return std::any_cast<Tensor>(packed); });
  Tensor x = a * 1;
  checkpoint([](const Tensor& t) { return t.exp().sin(); }, x).sum().backward();
  EXPECT_EQ(packs, 1);  // the input, which may so be offloaded
  EXPECT_EQ(values(a.grad()), values(autograd::grad({(a * 1).exp().sin().sum()}, {a})[0]));
}

TEST(Checkpoint, Sequential) {
  Tensor x = leaf({0.1, 0.2, 0.3});
  std::vector<std::function<Tensor(const Tensor&)>> functions;
  int calls = 0;
  for (int i = 0; i < 5; ++i) functions.push_back([&calls](const Tensor& t) { return ++calls, t.exp().sin(); });
  Tensor plain = x;
  for (const auto& f : functions) plain = f(plain);
  const V want = values(autograd::grad({plain.sum()}, {x})[0]);
  calls = 0;
  Tensor y = checkpoint_sequential(functions, 2, x);
  EXPECT_EQ(values(y), values(plain));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), want);
  EXPECT_EQ(calls, 5 + 2);  // the first two of five were in the checkpoint
  EXPECT_EQ(thrown<ValueError>([&] { checkpoint_sequential(functions, 6, x); }),
            "checkpoint_sequential: 6 segments were asked for of 5 functions; expected 1 to as many");
}

TEST(Checkpoint, SequentialModule) {
  manual_seed(3);
  nn::Sequential net(nn::Linear(3, 4), nn::ReLU(), nn::Dropout(0.5), nn::Linear(4, 2), nn::Tanh());
  Tensor x = rand({5, 3});
  manual_seed(7);
  net->forward(x).sum().backward();
  std::vector<V> want;
  for (Tensor& p : net->parameters()) {
    want.push_back(values(p.grad()));
    p.mutable_grad().reset();
  }
  manual_seed(7);
  nn::checkpoint_sequential(net, 2, x).sum().backward();
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(values(net->parameters()[i].grad()), want[i]) << i;
}

// Counts calls by name, those of backward too.
struct Counter : Interposer {
  std::map<std::string, int> calls;
  void call(const OperatorHandle& op, Stack& stack) override {
    ++calls[op.full_name()];
    op.call(stack);
  }
  bool takes_whole(const OperatorHandle&) const override { return false; }
};

Tensor two_products(const Tensor& x, const Tensor& v, const Tensor& w) {
  return x.mm(v).tanh().mm(w).exp().sin();
}

TEST(Selective, KeptResultsAreNotComputedAgain) {
  manual_seed(0);
  Tensor x = rand({3, 4}, kDouble).requires_grad_(), v = rand({4, 5}, kDouble).requires_grad_(),
         w = rand({5, 2}, kDouble).requires_grad_();
  const auto f = [&](const Tensor& t) { return two_products(t, v, w); };
  const auto count = [&](const std::function<Tensor()>& forward, std::vector<V>& grads) {
    Counter counter;
    const InterposerGuard on(counter);
    for (const Tensor& g : autograd::grad({forward().sum()}, {x, v, w})) grads.push_back(values(g));
    return counter.calls;
  };
  std::vector<V> want, got, got_selective;
  auto plain = count([&] { return f(x); }, want);
  auto whole = count([&] { return checkpoint(f, x); }, got);
  auto selective =
      count([&] { return checkpoint(f, x, autograd::selective_checkpoint(std::vector<std::string>{"aten::mm"})); },
            got_selective);
  EXPECT_EQ(got, want);
  EXPECT_EQ(got_selective, want);
  EXPECT_EQ(whole["aten::mm"], plain["aten::mm"] + 2);
  EXPECT_EQ(selective["aten::mm"], plain["aten::mm"]);
  EXPECT_EQ(whole["aten::tanh"], 2);
  EXPECT_EQ(selective["aten::tanh"], 2);
}

TEST(Selective, OneSetOfOptionsForManyCheckpoints) {
  Tensor x = leaf({0.5, 0.25});
  const auto options = autograd::selective_checkpoint(std::vector<std::string>{"aten::exp", "aten::sin"});
  const auto f = [](const Tensor& t) { return t.exp().cos().sin(); };
  const V want = values(autograd::grad({f(f(f(x))).sum()}, {x})[0]);
  Tensor y = checkpoint(f, checkpoint(f, checkpoint(f, x, options), options), options);
  y.sum().backward({}, true);
  EXPECT_EQ(values(x.grad()), want);
  x.mutable_grad().reset();
  y.sum().backward();  // kept results serve again
  EXPECT_EQ(values(x.grad()), want);
}

// In-place operators, views, random operators, lists, composites and results that are saved themselves.
TEST(Selective, EverythingKeptThatMayBe) {
  manual_seed(0);
  Tensor x = rand({4, 6}, kDouble).requires_grad_(), w = rand({6, 6}, kDouble).requires_grad_(),
         b = rand({6}, kDouble).requires_grad_();
  const auto f = [&](const Tensor& t) {
    Tensor y = linear(t, w, b) + 1;
    y.mul_(2);
    y = softmax(y, 1) * y.sigmoid();
    y = cat({y, t.exp()}, 0).t().contiguous().view({6, 8});
    y = dropout(y, 0.5, true) + std::get<0>(y.max(1, true));
    y.narrow(0, 0, 2).tanh_();
    return y.matmul(y.transpose(0, 1)).pow(3).sum();
  };
  manual_seed(5);
  const auto want = autograd::grad({f(x)}, {x, w, b});
  for (const bool nest : {false, true}) {
    const auto part = [&](const Tensor& t) { return nest ? checkpoint(f, t * 1) : f(t * 1); };
    manual_seed(5);
    // Sums are written in place here: what is kept may not be.
    const auto policy = [](const std::string& name) {
      return begins(name, "aten::add") ? autograd::CheckpointPolicy::kRecompute : autograd::CheckpointPolicy::kSave;
    };
    const Tensor loss = checkpoint(part, x, autograd::selective_checkpoint(policy));
    const auto got = autograd::grad({loss}, {x, w, b});
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(values(got[i]), values(want[i])) << i;
  }
}

TEST(Selective, Refusals) {
  Tensor x = leaf({0.5, 0.25});
  const auto keep_cos = [] { return autograd::selective_checkpoint(std::vector<std::string>{"aten::cos"}); };
  Tensor y = checkpoint([](const Tensor& t) { return t.cos().mul_(2).exp().sin(); }, x, keep_cos());
  EXPECT_ERROR(y.sum().backward(), "checkpoint: a result of aten::cos that is kept was written in place");
  int calls = 0;
  Tensor z = checkpoint([&](const Tensor& t) { return (calls++ == 0 ? t : t.cos()).exp().sin(); }, x, keep_cos());
  EXPECT_EQ(thrown<CheckpointError>([&] { z.sum().backward(); }),
            "checkpoint: the function, computed again, calls aten::cos; expected no more among the operators that are "
            "kept");
  EXPECT_ERROR(autograd::selective_checkpoint(autograd::SelectivePolicy()), "the policy is empty");
}

}  // namespace
