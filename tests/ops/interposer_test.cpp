// The stack of interposers: who sees which call, in which order.
#include <gtest/gtest.h>

#include <thread>

#include <gradus/ops/interposer.h>
#include <gradus/ops/library.h>
#include <gradus/ops/ops.h>

#include "tests/ops/tensors.h"

namespace gradus::testing {
namespace {

using Floats = std::vector<float>;
using Names = std::vector<std::string>;

GRADUS_LIBRARY(interposer_test, m) {
  m.def("sum_twice(Tensor x, Tensor y) -> Tensor", [](const Tensor& x, const Tensor& y) { return x.add(y).mul(2); });
}
Tensor sum_twice(const Tensor& x, const Tensor& y) {
  return call("interposer_test::sum_twice", {x, y})[0].toTensor();
}

// Notes every call under its own letter.
struct Spy : Interposer {
  Spy(std::string name, Names& log, bool whole = true) : name_(std::move(name)), log_(log), whole_(whole) {}
  void call(const OperatorHandle& op, Stack& stack) override {
    log_.push_back(name_ + ":" + op.full_name());
    op.call(stack);
  }
  bool takes_whole(const OperatorHandle&) const override { return whole_; }
  std::string name_;
  Names& log_;
  bool whole_;
};

TEST(Interposer, SeesEveryForm) {
  const Tensor a = floats({1, 2}), b = floats({3, 4});
  Tensor out = floats({0, 0});
  Names log;
  Spy spy("s", log);
  {
    InterposerGuard on(spy);
    EXPECT_EQ(values(add(a, b)), (Floats{4, 6}));
    EXPECT_EQ(values(a.mul(b)), (Floats{3, 8}));
    EXPECT_TRUE(a.add_(b).is_same(a));
    EXPECT_TRUE(mul_out(out, a, b).is_same(out));
    call("sub.Tensor", {a, b});
    (void)get_operator("div.Tensor").typed<Tensor(const Tensor&, const Tensor&)>()(a, b);
  }
  (void)add(a, b);
  EXPECT_EQ(log, (Names{"s:aten::add.Tensor", "s:aten::mul.Tensor", "s:aten::add_.Tensor", "s:aten::mul.out",
                        "s:aten::sub.Tensor", "s:aten::div.Tensor"}));
  EXPECT_EQ(values(a), (Floats{4, 6}));
  EXPECT_EQ(values(out), (Floats{12, 24}));
}

TEST(Interposer, TheInnermostGuardIsOnTopAndCallsTheNext) {
  const Tensor a = floats({1});
  Names log;
  Spy outer("outer", log), inner("inner", log);
  InterposerGuard on_outer(outer);
  {
    InterposerGuard on_inner(inner);
    (void)add(a, a);
    EXPECT_EQ(log, (Names{"inner:aten::add.Tensor", "outer:aten::add.Tensor"}));
    log.clear();
  }
  (void)add(a, a);
  EXPECT_EQ(log, (Names{"outer:aten::add.Tensor"}));
  log.clear();
  {
    NoInterposers off;
    (void)add(a, a);
  }
  EXPECT_TRUE(log.empty());
  (void)add(a, a);
  EXPECT_EQ(log.size(), 1u);
}

TEST(Interposer, TakesCompositesWholeOrInParts) {
  const Tensor a = floats({1}), b = floats({2});
  Names log;
  Spy whole("w", log), parts("p", log, false);
  {
    InterposerGuard on(whole);
    EXPECT_EQ(values(sum_twice(a, b)), (Floats{6}));
  }
  EXPECT_EQ(log, (Names{"w:interposer_test::sum_twice"}));
  log.clear();
  {
    InterposerGuard on(parts);
    EXPECT_EQ(values(sum_twice(a, b)), (Floats{6}));
  }
  EXPECT_EQ(log, (Names{"p:aten::add.Tensor", "p:aten::mul.Scalar"}));
  log.clear();
  {  // The one above takes it whole, the one below still sees the parts.
    InterposerGuard below(parts);
    InterposerGuard above(whole);
    (void)sum_twice(a, b);
  }
  EXPECT_EQ(log, (Names{"w:interposer_test::sum_twice", "p:aten::add.Tensor", "p:aten::mul.Scalar"}));
  log.clear();
  {  // The one above asks for the parts, so there is no whole for the one below.
    InterposerGuard below(whole);
    InterposerGuard above(parts);
    (void)sum_twice(a, b);
  }
  EXPECT_EQ(log, (Names{"p:aten::add.Tensor", "w:aten::add.Tensor", "p:aten::mul.Scalar", "w:aten::mul.Scalar"}));
}

TEST(Interposer, MayChangeArgumentsAndResults) {
  struct Doubler : Interposer {
    void call(const OperatorHandle& op, Stack& stack) override {
      if (op.name() == "aten::add") stack[2] = 10;
      op.call(stack);
    }
  } doubler;
  InterposerGuard on(doubler);
  EXPECT_EQ(values(add(floats({1}), floats({2}))), (Floats{21}));
}

TEST(Interposer, GuardsInsideACallEndWithIt) {
  struct Nester : Interposer {
    Names log;
    void call(const OperatorHandle& op, Stack& stack) override {
      Spy spy("nested", log);
      InterposerGuard on(spy);
      op.call(stack);
    }
  } nester;
  {
    InterposerGuard on(nester);
    (void)add(floats({1}), floats({2}));
    (void)add(floats({1}), floats({2}));
  }
  EXPECT_EQ(nester.log, (Names{"nested:aten::add.Tensor", "nested:aten::add.Tensor"}));
  (void)add(floats({1}), floats({2}));
  EXPECT_EQ(nester.log.size(), 2u);
}

TEST(Interposer, AnExceptionPutsTheStackBack) {
  struct Thrower : Interposer {
    int calls = 0;
    void call(const OperatorHandle&, Stack&) override {
      ++calls;
      throw ValueError("no");
    }
  } thrower;
  InterposerGuard on(thrower);
  EXPECT_THROW((void)add(floats({1}), floats({2})), ValueError);
  EXPECT_THROW((void)add(floats({1}), floats({2})), ValueError);
  EXPECT_EQ(thrower.calls, 2);
}

TEST(Interposer, AWrongNumberOfResultsIsAnError) {
  struct Eater : Interposer {
    void call(const OperatorHandle&, Stack& stack) override { stack.clear(); }
  } eater;
  InterposerGuard on(eater);
  EXPECT_THROW((void)add(floats({1}), floats({2})), Error);
}

TEST(Interposer, IsTheThreadsOwn) {
  Names log;
  Spy spy("s", log);
  InterposerGuard on(spy);
  std::thread([] { (void)add(floats({1}), floats({2})); }).join();
  EXPECT_TRUE(log.empty());
}

TEST(Interposer, LoggerWritesALinePerCall) {
  Names lines;
  OperatorLogger logger([&](const std::string& line) { lines.push_back(line); });
  {
    InterposerGuard on(logger);
    (void)floats({1, 2}).add(floats({3, 4}), 2);
  }
  EXPECT_EQ(lines, (Names{"aten::add.Tensor(Tensor(2) Float, Tensor(2) Float, 2) -> Tensor(2) Float"}));
}

TEST(Interposer, IdentityBoxerChangesNothing) {
  IdentityBoxer boxer;
  InterposerGuard on(boxer);
  const Tensor a = floats({1, 2});
  EXPECT_EQ(values(a.add(floats({3, 4}), 2)), (Floats{7, 10}));
  EXPECT_TRUE(a.add_(a).is_same(a));
  EXPECT_EQ(values(a), (Floats{2, 4}));
  EXPECT_EQ(values(sum_twice(a, a)), (Floats{8, 16}));
}

}  // namespace
}  // namespace gradus::testing
