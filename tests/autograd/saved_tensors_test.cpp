// Hooks on saved tensors.
#include <memory>

#include "support/vectors.h"

using namespace gradus;
using namespace support;
using autograd::DisableSavedTensorsHooks;
using autograd::SavedTensorsHooks;
using autograd::SaveOnCpu;

namespace {

Tensor unpack_tensor(const std::any& packed) {
  return std::any_cast<Tensor>(packed);
}

// The numbers are those of the same program in PyTorch 2.15.
TEST(SavedTensors, EachGoesThroughTheHooks) {
  Tensor a = leaf({1, 2});
  int packs = 0, unpacks = 0;
  Tensor c;
  {
    const SavedTensorsHooks hooks(
        [&](const Tensor& t) -> std::any {
          ++packs;
          EXPECT_FALSE(GradMode::is_enabled());
          return t * 10;
        },
        [&](const std::any& packed) {
          ++unpacks;
          return unpack_tensor(packed);
        });
    c = a.exp() * a;
    (void)(c * 2);  // saves no tensor: the number is none
  }
  EXPECT_EQ(packs, 3);
  c.sum().backward();
  EXPECT_EQ(unpacks, 3);
  const double e = std::exp(1.0);
  expect_values(a.grad(), {110 * e, 10 * e * e + 200 * e * e}, 1e-9);
  (void)(a.exp() * a);
  EXPECT_EQ(packs, 3);
}

TEST(SavedTensors, AnythingThatCanBeCopiedStandsForATensor) {
  Tensor a = leaf({1, 2, 3});
  std::vector<V> stored;
  Tensor loss;
  {
    const SavedTensorsHooks hooks(
        [&](const Tensor& t) -> std::any {
          stored.push_back(values(t));
          return stored.size() - 1;
        },
        [&](const std::any& packed) { return vec(stored[std::any_cast<size_t>(packed)]); });
    loss = (a * a * a).sum();
  }
  loss.backward();
  EXPECT_EQ(values(a.grad()), (V{3, 12, 27}));
}

TEST(SavedTensors, HigherDerivativesReachTheLeaves) {
  Tensor x = leaf({2});
  const SavedTensorsHooks hooks([](const Tensor& t) -> std::any { return t.clone(); }, unpack_tensor);
  Tensor d1 = autograd::grad({x * x * x}, {x}, {}, std::nullopt, true)[0];
  Tensor d2 = autograd::grad({d1}, {x}, {}, std::nullopt, true)[0];
  EXPECT_EQ(values(d1), (V{12}));
  EXPECT_EQ(values(d2), (V{12}));
  EXPECT_EQ(values(autograd::grad({d2}, {x})[0]), (V{6}));
  // Through an output that was saved.
  Tensor e1 = autograd::grad({x.exp()}, {x}, {}, std::nullopt, true)[0];
  EXPECT_NEAR(values(autograd::grad({e1}, {x})[0])[0], std::exp(2.0), 1e-12);
}

TEST(SavedTensors, InPlaceOperatorsAndViews) {
  Tensor x = leaf({1, 2, 3, 4});
  const auto run = [&] {
    Tensor y = x * 0.5;
    y.view({2, 2}).select(0, 0).mul_(x.narrow(0, 2, 2));
    y = y.sigmoid_() * x;
    return autograd::grad({y.sum()}, {x})[0];
  };
  const V plain = values(run());
  int packs = 0;
  const SavedTensorsHooks hooks(
      [&](const Tensor& t) -> std::any {
        ++packs;
        return t.detach();
      },
      unpack_tensor);
  EXPECT_EQ(values(run()), plain);
  EXPECT_GT(packs, 3);
}

TEST(SavedTensors, TheInnermostHooksAlone) {
  Tensor a = leaf({1});
  std::string log;
  const auto logs = [&](const char* name) {
    return [&log, name](const Tensor& t) -> std::any {
      log += name;
      return t;
    };
  };
  {
    const SavedTensorsHooks outer(logs("o"), unpack_tensor);
    {
      const SavedTensorsHooks inner(logs("i"), unpack_tensor);
      a.exp();
    }
    a.exp();
  }
  a.exp();
  EXPECT_EQ(log, "io");
}

TEST(SavedTensors, Refusals) {
  Tensor a = leaf({1, 2});
  const auto keep = [](const Tensor& t) -> std::any { return t; };
  {
    const SavedTensorsHooks hooks([](const Tensor& t) -> std::any { return t.mul_(2); }, unpack_tensor);
    EXPECT_ERROR(a * a.clone(), "pack hook: it modified the tensor that it was given, of shape (2)");
  }
  Tensor y;
  {
    const SavedTensorsHooks hooks(keep, [](const std::any&) { return Tensor(); });
    y = a.exp();
  }
  EXPECT_ERROR(y.sum().backward(), "unpack hook: it returned an undefined tensor");
  {
    const DisableSavedTensorsHooks off("none of them here");
    EXPECT_EQ(error_of([&] { SavedTensorsHooks(keep, unpack_tensor); }), "none of them here");
    EXPECT_EQ(error_of([&] { autograd::checkpoint([](const Tensor& t) { return t.exp(); }, a); }), "none of them here");
    a.exp();
  }
  const SavedTensorsHooks hooks(keep, unpack_tensor);
  EXPECT_EQ(error_of([&] { DisableSavedTensorsHooks off("nor there"); }), "nor there");
}

TEST(SavedTensors, GuardsEndInAnyOrder) {
  int first = 0, second = 0;
  const auto counting = [](int& count) {
    return [&count](const Tensor& t) -> std::any {
      ++count;
      return t;
    };
  };
  const auto unpack = [](const std::any& a) { return std::any_cast<Tensor>(a); };
  const Tensor a = ones({2}).requires_grad_();
  auto outer = std::make_unique<SavedTensorsHooks>(counting(first), unpack);
  auto inner = std::make_unique<SavedTensorsHooks>(counting(second), unpack);
  outer.reset();
  a.exp().sum().backward();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);  // still on
  inner.reset();
  a.exp().sum().backward();
  EXPECT_EQ(first + second, 1);
  {
    const DisableSavedTensorsHooks off("none");  // throws where some are on
  }
  // One that ends inside its own hook.
  std::unique_ptr<SavedTensorsHooks> own;
  own = std::make_unique<SavedTensorsHooks>(
      [&](const Tensor& t) -> std::any {
        own.reset();
        return t;
      },
      unpack);
  const Tensor y = a.exp();
  EXPECT_EQ(own, nullptr);
  const DisableSavedTensorsHooks off("none");
  y.sum().backward();

  auto one = std::make_unique<DisableSavedTensorsHooks>("a first text that does not fit into the string itself");
  auto two = std::make_unique<DisableSavedTensorsHooks>("a second text that does not fit into the string itself");
  one.reset();
  EXPECT_EQ(error_of([&] { SavedTensorsHooks(counting(first), unpack); }),
            "a second text that does not fit into the string itself");
  two.reset();
  EXPECT_EQ(error_of([&] { SavedTensorsHooks(counting(first), unpack); }), "none");
}

TEST(SavedTensors, EmptyFunctionsAreRefused) {
  EXPECT_EQ(error_of([] { SavedTensorsHooks(nullptr, nullptr); }),
            "SavedTensorsHooks: pack is an empty function; expected one to call");
  const Tensor a = ones({2}).requires_grad_();
  EXPECT_EQ(error_of([&] { autograd::register_multi_grad_hook({a}, nullptr); }),
            "register_multi_grad_hook: the hook is an empty function; expected one to call");
  EXPECT_EQ(error_of([&] { a.register_post_accumulate_grad_hook(nullptr); }),
            "register_post_accumulate_grad_hook: the hook is an empty function; expected one to call");
  EXPECT_EQ(error_of([&] { a.exp().grad_fn()->register_prehook(autograd::NodePreHook()); }),
            "register_prehook: the hook is an empty function; expected one to call");
}

TEST(SavedTensors, AnExceptionFromAHook) {
  Tensor a = leaf({1, 2});
  bool fail = true;
  Tensor y;
  {
    const SavedTensorsHooks hooks(
        [&](const Tensor& t) -> std::any {
          if (fail) throw std::runtime_error("full");
          return t.detach();
        },
        [&](const std::any& packed) {
          if (fail) throw std::runtime_error("gone");
          return unpack_tensor(packed);
        });
    EXPECT_THROW(a.exp(), std::runtime_error);
    fail = false;
    y = a.exp();
  }
  fail = true;
  EXPECT_THROW(y.sum().backward(), std::runtime_error);
  fail = false;
  y.sum().backward();
  EXPECT_EQ(values(a.grad()), values(y));
}

TEST(SavedTensors, AGraphFreesWhatHooksMade) {
  auto token = std::make_shared<int>(0);
  Tensor a = leaf({1, 2});
  for (const bool run : {true, false}) {
    Tensor y;
    {
      const SavedTensorsHooks hooks(
          [&](const Tensor& t) -> std::any { return std::pair(token, t.detach()); },
          [](const std::any& packed) {
            return std::any_cast<const std::pair<std::shared_ptr<int>, Tensor>&>(packed).second;
          });
      y = a.exp();
    }
    EXPECT_EQ(token.use_count(), 2);
    if (run) {
      y.sum().backward();
    } else {
      y.reset();
    }
    EXPECT_EQ(token.use_count(), 1);
  }
}

TEST(SavedTensors, OfACustomFunction) {
  struct Square : autograd::Function<Square> {
    static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
      ctx->save_for_backward({x});
      return x * x;
    }
    static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list g) {
      return {g[0] * ctx->get_saved_variables()[0] * 2};
    }
  };
  Tensor a = leaf({1, 3});
  int packs = 0;
  const SavedTensorsHooks hooks(
      [&](const Tensor& t) -> std::any {
        ++packs;
        return t * 10;
      },
      unpack_tensor);
  Square::apply(a).sum().backward();
  EXPECT_EQ(packs, 1);
  EXPECT_EQ(values(a.grad()), (V{20, 60}));
}

TEST(SavedTensors, OnTheHost) {
  for (const bool pinned : {false, true}) {
    Tensor a = leaf({1, 2});
    Tensor y;
    {
      const SaveOnCpu on_cpu(pinned);
      y = (a.exp() * a).sum();
    }
    y.backward();
    const double e = std::exp(1.0);
    expect_values(a.grad(), {2 * e, 3 * e * e}, 1e-12);
  }
}

}  // namespace
