// The engine: order, accumulation, hooks, captures, errors, depth, threads.
#include "support/vectors.h"

#include <pthread.h>

#include <atomic>
#include <functional>
#include <thread>

using namespace gradus;
using namespace support;

namespace {

TEST(Engine, TheExampleOfItsHeader) {
  Tensor w = ones({2}).requires_grad_();
  Tensor x = full({2}, 3.0);
  Tensor loss = (w * x).sum();
  loss.backward();
  EXPECT_EQ(values(w.grad()), (V{3, 3}));
}

TEST(Engine, GradientsOfSeveralUsesAndOfBroadcastingAddUp) {
  Tensor a = leaf({1, 2}), b = leaf({5});
  (a * b + a * a + a).sum().backward();
  EXPECT_EQ(values(a.grad()), (V{8, 10}));
  EXPECT_EQ(values(b.grad()), (V{3}));
  (a * 2).sum().backward();  // and over calls
  EXPECT_EQ(values(a.grad()), (V{10, 12}));
}

// Case B1 of the reports.
TEST(Engine, TheCallersGradientIsNeverChanged) {
  for (const bool hook_on_a : {false, true}) {
    Tensor a = leaf({1, 1}), b = leaf({1, 1}), go = vec({1, 1});
    (hook_on_a ? a : b).register_hook([](const Tensor& g) { g.mul_(10); });
    (a + b).backward(go);
    EXPECT_EQ(values(go), (V{1, 1}));
    EXPECT_EQ(values(a.grad()), hook_on_a ? (V{10, 10}) : (V{1, 1}));
    EXPECT_EQ(values(b.grad()), hook_on_a ? (V{1, 1}) : (V{10, 10}));
  }
}

TEST(Engine, ALeafsGradientIsNotTheCallersTensor) {
  Tensor a = leaf({1, 1}), go = vec({1, 1});
  a.backward(go);
  a.mutable_grad().mul_(5);
  EXPECT_EQ(values(go), (V{1, 1}));
}

// Case B3 of the reports.
TEST(Engine, HooksAroundAnInPlaceOperator) {
  Tensor x = leaf({1, 1});
  Tensor a = x.clone();
  V first, second;
  a.register_hook([&](const Tensor& g) { first = values(g); });
  a.mul_(2);
  a.register_hook([&](const Tensor& g) { second = values(g); });
  (a + 1).sum().backward();
  EXPECT_EQ(first, (V{2, 2}));
  EXPECT_EQ(second, (V{1, 1}));
}

TEST(Engine, AHookReplacesAGradientAndCanBeRemoved) {
  Tensor a = leaf({1, 2});
  const unsigned number = a.register_hook([](const Tensor& g) { return g * 3; });
  a.sum().backward();
  EXPECT_EQ(values(a.grad()), (V{3, 3}));
  a.remove_hook(number);
  a.mutable_grad().reset();
  a.sum().backward();
  EXPECT_EQ(values(a.grad()), (V{1, 1}));
  EXPECT_ERROR(a.remove_hook(number), "remove_hook");
  EXPECT_ERROR(vec({1}).register_hook([](const Tensor&) {}), "does not require a gradient");
}

TEST(Engine, AHookMustKeepTheShapeAndTheType) {
  Tensor a = leaf({1, 2});
  unsigned number = a.register_hook([](const Tensor& g) { return g.to(kFloat); });
  EXPECT_ERROR(a.sum().backward(), "it returned a gradient of type Float; expected Double");
  a.remove_hook(number);
  a.register_hook([](const Tensor& g) { return g.sum(); });
  EXPECT_ERROR(a.sum().backward(), "it returned a gradient of shape");
  EXPECT_FALSE(a.grad().defined());
}

TEST(Engine, AHookMayRunAnotherBackward) {
  Tensor a = leaf({1, 2}), other = leaf({4});
  Tensor b = a * 2;
  b.register_hook([&](const Tensor& g) {
    AutoGradMode on(true);  // hooks of a pass that makes no graph run without recording
    (other * other).sum().backward();
    return g;
  });
  b.sum().backward();
  EXPECT_EQ(values(a.grad()), (V{2, 2}));
  EXPECT_EQ(values(other.grad()), (V{8}));
}

TEST(Engine, RetainedGradients) {
  Tensor a = leaf({1, 2});
  Tensor b = a * 2, c = b * b;
  EXPECT_FALSE(b.grad().defined());
  b.retain_grad();
  EXPECT_TRUE(b.retains_grad());
  c.sum().backward();
  EXPECT_EQ(values(b.grad()), (V{4, 8}));
  EXPECT_EQ(values(a.grad()), (V{8, 16}));
}

TEST(Engine, RetainedGradientAfterAnInPlaceOperatorIsThatOfTheNewValue) {
  Tensor a = leaf({1, 2});
  Tensor b = a * 1;
  b.retain_grad();
  b.mul_(3);
  (b * 2).sum().backward();
  EXPECT_EQ(values(b.grad()), (V{2, 2}));
  EXPECT_EQ(values(a.grad()), (V{6, 6}));
}

// Case B5 of the reports.
TEST(Engine, HigherDerivatives) {
  Tensor x = leaf({2});
  Tensor y = x * x * x;
  Tensor d1 = autograd::grad({y}, {x}, {}, std::nullopt, true)[0];
  Tensor d2 = autograd::grad({d1}, {x}, {}, std::nullopt, true)[0];
  Tensor d3 = autograd::grad({d2}, {x})[0];
  EXPECT_EQ(values(d1), (V{12}));
  EXPECT_EQ(values(d2), (V{12}));
  EXPECT_EQ(values(d3), (V{6}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Engine, GradReturnsWithoutAccumulatingAndTellsOfUnusedInputs) {
  Tensor a = leaf({1}), b = leaf({2}), unused = leaf({3});
  Tensor c = a * b, out = c * c;
  auto g = autograd::grad({out}, {c, a}, {}, true);
  EXPECT_EQ(values(g[0]), (V{4}));
  EXPECT_EQ(values(g[1]), (V{8}));
  EXPECT_FALSE(a.grad().defined());
  EXPECT_ERROR(autograd::grad({out}, {unused}, {}, true), "allow_unused");
  EXPECT_FALSE(autograd::grad({out}, {unused}, {}, true, false, true)[0].defined());
  out.backward({}, std::nullopt, false, std::vector<Tensor>{b});
  EXPECT_EQ(values(b.grad()), (V{4}));
  EXPECT_FALSE(a.grad().defined());
}

TEST(Engine, ASecondBackwardNeedsTheGraph) {
  Tensor a = leaf({3});
  Tensor b = a * a;
  b.backward({}, true);
  b.backward();
  EXPECT_EQ(values(a.grad()), (V{12}));
  EXPECT_ERROR(b.backward(), "retain_graph");
}

TEST(Engine, Refusals) {
  Tensor a = leaf({1, 2});
  EXPECT_ERROR((a * 2).backward(), "scalar outputs");
  EXPECT_ERROR((a * 2).backward(vec({1})), "shape");
  EXPECT_ERROR(vec({1}).backward(), "does not require grad");
  EXPECT_ERROR(arange(3).requires_grad_(), "floating");
  EXPECT_ERROR((a * 2).set_requires_grad(false), "leaf");
  EXPECT_ERROR(a.add_(1), "leaf Variable");
  EXPECT_ERROR(a.select(0, 0).add_(1), "view of a leaf");
  Tensor out = empty({2}, kDouble);
  EXPECT_ERROR(add_out(out, a, a), "out=");
}

// Case B9 of the reports.
TEST(Engine, ASavedTensorThatWasOverwrittenIsNamed) {
  Tensor x = leaf({1});
  Tensor y = x.exp();
  y.add_(1);
  const std::string text = error_of([&] { y.sum().backward(); });
  EXPECT_TRUE(has(text, "ExpBackward0") && has(text, "add_")) << text;
  Tensor z = x.exp();
  z.detach().zero_();
  EXPECT_ERROR(z.sum().backward(), "zero_");
  Tensor w = x.exp();
  w.data().zero_();
  EXPECT_ERROR(w.sum().backward(), "zero_");
}

TEST(Engine, AnExceptionMidwayLeavesTheEngineUsable) {
  Tensor a = leaf({1, 2});
  Tensor b = a * 2;
  const unsigned number = b.register_hook([](const Tensor&) { throw std::runtime_error("boom"); });
  EXPECT_THROW((b * b).sum().backward(), std::runtime_error);
  b.remove_hook(number);
  (b * 3).sum().backward();
  EXPECT_EQ(values(a.grad()), (V{6, 6}));
}

TEST(Engine, NothingIsRecordedWithoutGradMode) {
  Tensor a = leaf({1, 2});
  {
    NoGradGuard guard;
    EXPECT_FALSE((a * 2).requires_grad());
    a.mul_(2);
  }
  EXPECT_TRUE(a.is_leaf());
  EXPECT_EQ(values(a), (V{2, 4}));
  Tensor t;
  {
    InferenceMode guard;
    t = a * 2;
    EXPECT_TRUE(t.is_inference());
    EXPECT_FALSE(a.view({2, 1}).is_inference());
    t.add_(1);
  }
  EXPECT_ERROR(t.add_(1), "inference");
  EXPECT_ERROR(a * t, "inference");
  EXPECT_FALSE(t.clone().is_inference());
}

// A thread with a stack of 256 KB.
void on_a_small_stack(void (*f)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* p) -> void* {
                  reinterpret_cast<void (*)()>(p)();
                  return nullptr;
                },
                reinterpret_cast<void*>(f)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Engine, AGraphOfAMillionNodesRunsAndIsFreed) {
  on_a_small_stack([] {
    Tensor a = leaf({1});
    Tensor x = a;
    for (int i = 0; i < 1'000'000; ++i) x = x + 1;
    x.backward();
    EXPECT_EQ(values(a.grad()), (V{1}));
    Tensor y = a;
    for (int i = 0; i < 1'000'000; ++i) y = y * 1.0;
    y.reset();  // never run
  });
}

TEST(Engine, AMillionNodesThroughSavedTensors) {
  on_a_small_stack([] {
    Tensor a = leaf({1});
    Tensor x = a;
    for (int i = 0; i < 1'000'000; ++i) x = x.mul(x);
    x.reset();
    Tensor y = a;
    for (int i = 0; i < 100'000; ++i) y = y.mul(y);
    y.backward();
  });
}

TEST(EngineThreads, BackwardOnTwoThreadsIntoSharedLeaves) {
  Tensor w = leaf({1, 2, 3});
  constexpr int kSteps = 500;
  auto work = [&] {
    for (int i = 0; i < kSteps; ++i) (w * 2 + w * w).sum().backward();
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  const double n = 2.0 * kSteps;
  EXPECT_EQ(values(w.grad()), (V{n * 4, n * 6, n * 8}));
}

TEST(EngineThreads, OneModelPerThread) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Tensor w = leaf({double(t), 1});
      for (int i = 0; i < 200; ++i) {
        w.mutable_grad().reset();
        Tensor g = autograd::grad({(w * w * w).sum()}, {w}, {}, std::nullopt, true)[0];
        g.sum().backward();
      }
      good += values(w.grad()) == V{6.0 * t, 6};
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(good.load(), 4);
}

// Runs both at once; how many got the error of a second backward. Anything else is a failure.
template <class F>
int second_times(F&& f) {
  std::atomic<int> ready{0}, errors{0};
  const auto work = [&](int which) {
    ++ready;
    while (ready.load() < 2) std::this_thread::yield();
    try {
      f(which);
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("ran through this graph before"), std::string::npos) << e.what();
      ++errors;
    }
  };
  std::thread one(work, 0), two(work, 1);
  one.join();
  two.join();
  return errors.load();
}

Tensor trunk_of(const Tensor& w) {
  Tensor x = w * 1.0;
  for (int i = 0; i < 20; ++i) x = x * x / x;
  return x;
}

TEST(EngineThreads, TwoBackwardPassesThatFreeOneGraph) {
  for (int round = 0; round < 200; ++round) {
    const Tensor w = leaf({1, 2});
    const Tensor loss = trunk_of(w).sum();
    EXPECT_EQ(second_times([&](int) { loss.backward(); }), 1);
    EXPECT_EQ(values(w.grad()), (V{1, 1}));
  }
}

TEST(EngineThreads, TwoBackwardPassesThatFreeOneTrunk) {
  for (int round = 0; round < 200; ++round) {
    const Tensor w = leaf({1, 2});
    const Tensor x = trunk_of(w);
    const Tensor losses[] = {(x * 1).sum(), (x * 2).sum()};
    EXPECT_EQ(second_times([&](int which) { losses[which].backward(); }), 1);
    const V got = values(w.grad());
    EXPECT_TRUE(got == (V{1, 1}) || got == (V{2, 2}));
  }
}

TEST(EngineThreads, BackwardPassesThatKeepTheGraph) {
  for (int round = 0; round < 100; ++round) {
    const Tensor w = leaf({1, 2});
    const Tensor loss = trunk_of(w).sum();
    EXPECT_EQ(second_times([&](int) { loss.backward({}, /*retain_graph=*/true); }), 0);
    EXPECT_EQ(values(w.grad()), (V{2, 2}));
    EXPECT_LE(second_times([&](int which) { loss.backward({}, which == 0); }), 1);
    EXPECT_THROW(loss.backward(), Error);
  }
}

TEST(Engine, AGradientThatThrowsFreesNothing) {
  const Tensor w = leaf({1, 2});
  const Tensor x = w * w;
  const Tensor loss = (x * x).sum();
  int left = 1;
  x.register_hook([&](const Tensor& g) -> Tensor {
    if (left-- > 0) throw Error("not now");
    return g;
  });
  EXPECT_THROW(loss.backward({}, true), Error);
  loss.backward();
  EXPECT_EQ(values(w.grad()), (V{4, 32}));
}

// PyTorch frees saved tensors, not the graph: where nothing was saved backward may run again.
TEST(Engine, NodesThatSaveNothingMayBePassedAgain) {
  const Tensor x = leaf({1, 2, 3, 4});
  const std::vector<std::function<Tensor()>> cases = {
      [&] { return x.view({2, 2}).t(); }, [&] { return x + 1; },          [&] { return x.neg(); },
      [&] { return cat({x, x}); },        [&] { return x.select(0, 1); }, [&] { return x.slice(0, 1, 3); },
      [&] { return x.split(2)[1]; },      [&] { return x.sum(0); },
  };
  for (const auto& make : cases) {
    const Tensor y = make().sum();
    x.mutable_grad().reset();
    y.backward();
    const V once = values(x.grad());
    y.backward();
    V twice = values(x.grad());
    for (double& v : twice) v /= 2;
    EXPECT_EQ(twice, once);
  }
  // Through a common part that saves nothing, from two results.
  const Tensor t = x.view({2, 2}).t();
  t.sum().backward();
  t.sum().backward();
  // What reads a saved tensor is refused as ever, after nodes that do not, too.
  const Tensor z = ((x + 1) * x).sum().neg();
  z.backward();
  EXPECT_ERROR(z.backward(), "retain_graph");
  // A write through a view frees what the operator behind it saved.
  const Tensor b = x * 1;
  b.slice(0, 0, 2).mul_(x.slice(0, 2, 4));
  const Tensor sum = b.sum();
  sum.backward();
  EXPECT_ERROR(sum.backward(), "retain_graph");
}

TEST(Engine, ALeafFrozenAfterTheForwardGetsNoGradient) {
  Tensor w = leaf({1, 2}), x = leaf({3, 4});
  Tensor y = w * x;
  w.requires_grad_(false);
  y.sum().backward();
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(values(x.grad()), (V{1, 2}));
  w.requires_grad_(true);
  (w * 3).sum().backward();
  EXPECT_EQ(values(w.grad()), (V{3, 3}));
}

TEST(Engine, ComplexProductsSayThatTheyHaveNoGradient) {
  const Tensor a = ones({2, 2}, kComplexDouble).requires_grad_(), b = ones({2, 2}, kComplexDouble);
  const Tensor batch = b.unsqueeze(0), v = ones({2}, kComplexDouble);
  EXPECT_THROW(a.mm(b), NotImplementedError);
  EXPECT_THROW(batch.bmm(a.unsqueeze(0)), NotImplementedError);
  EXPECT_THROW(a.matmul(batch), NotImplementedError);
  EXPECT_THROW(a.mv(v), NotImplementedError);
  EXPECT_THROW(a.select(0, 0).dot(v), NotImplementedError);
  EXPECT_THROW(addmm(a, b, b), NotImplementedError);
  EXPECT_THROW(linear(b, a), NotImplementedError);
  EXPECT_FALSE(b.mm(b).requires_grad());
}

}  // namespace
