// Operators of users' own: declaring, implementing per device, gradients, interposing.
#include <gtest/gtest.h>

#include <gradus/autograd/autograd.h>
#include <gradus/ops/interposer.h>
#include <gradus/ops/library.h>
#include <gradus/ops/ops.h>

#include "tests/ops/tensors.h"

namespace gradus::testing {
namespace {

using Floats = std::vector<float>;

Tensor scale(const Tensor& x, double factor) {
  return x.mul(factor);
}

Tensor square_by_hand(const Tensor& x) {
  Tensor out = core::empty(x.sizes(), kFloat, kCPU);
  for (int64_t i = 0; i < x.numel(); ++i) out.data_ptr<float>()[i] = x.data_ptr<float>()[i] * x.data_ptr<float>()[i];
  return out;
}

GRADUS_LIBRARY(library_test, m) {
  m.def("scale(Tensor x, float factor=2.0) -> Tensor", &scale);
  m.def("square(Tensor x) -> Tensor");
  m.impl("square", kCPU, &square_by_hand);
  m.gradient("square", [](const GradientCall& c) -> std::vector<Tensor> { return {c.grad().mul(c.tensor(0)).mul(2)}; });
  m.def("negate_(Tensor(a!) x) -> Tensor(a!)");
  m.impl("negate_", kCPU, [](const Tensor& x) {
    for (int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] *= -1;
  });
  m.gradient("negate_", [](const GradientCall& c) -> std::vector<Tensor> { return {c.grad().mul(-1)}; });
  m.def("dot_all(Tensor[] xs, Tensor? w=None) -> Tensor", [](TensorList xs, const std::optional<Tensor>& w) {
    Tensor sum = xs[0];
    for (size_t i = 1; i < xs.size(); ++i) sum = sum.add(xs[i]);
    return w ? sum.mul(*w) : sum;
  });
  m.gradient("dot_all", [](const GradientCall& c) -> std::vector<Tensor> {
    std::vector<Tensor> grads(c.argument(0).toTensorVector().size(), c.grad());
    if (c.argument(1).isTensor()) grads.emplace_back();
    return grads;
  });
}
// A namespace may be continued.
GRADUS_LIBRARY(library_test, m) {
  m.def("nothing(Tensor x) -> Tensor");
}

Tensor user_call(const char* name, std::vector<IValue> args) {
  return call(name, std::move(args))[0].toTensor();
}

TEST(Library, IsCalledByNameAndByTypedHandle) {
  const Tensor x = floats({1, 2});
  EXPECT_EQ(values(user_call("library_test::scale", {x})), (Floats{2, 4}));
  EXPECT_EQ(values(user_call("library_test::scale", {x, 3})), (Floats{3, 6}));
  const auto typed = get_operator("library_test::scale").typed<Tensor(const Tensor&, double)>();
  EXPECT_EQ(values(typed(x, 4)), (Floats{4, 8}));
  EXPECT_TRUE(get_operator("library_test::scale").is_composite());
}

TEST(Library, ChoosesTheDevicesImplementation) {
  EXPECT_EQ(values(user_call("library_test::square", {floats({1, -3})})), (Floats{1, 9}));
  EXPECT_EQ(thrown<NotImplementedError>([] { user_call("library_test::square", {core::empty({2}, kFloat, kMeta)}); }),
            "library_test::square: there is no implementation for meta tensors; there are ones for cpu. Add one with "
            "m.impl in a "
            "GRADUS_LIBRARY(library_test, m)");
  EXPECT_EQ(thrown<NotImplementedError>([] { user_call("library_test::nothing", {floats({1})}); }),
            "library_test::nothing: there is no implementation for cpu tensors. Add one with m.impl in a "
            "GRADUS_LIBRARY(library_test, m)");
}

TEST(Library, WorksOnMetaTensorsWhenMadeOfOperators) {
  const Tensor y = user_call("library_test::scale", {core::empty({2, 3}, kFloat, kMeta)});
  EXPECT_TRUE(y.is_meta());
  EXPECT_EQ(y.sizes(), IntArrayRef({2, 3}));
}

TEST(Library, HasAGradientThroughItsOperators) {
  const Tensor x = floats({1, 2});
  x.requires_grad_();
  user_call("library_test::scale", {x, 3}).backward(floats({1, 10}));
  EXPECT_EQ(values(x.grad()), (Floats{3, 30}));
}

TEST(Library, HasARegisteredGradientThatCanBeDifferentiatedAgain) {
  const Tensor x = floats({1, 3});
  x.requires_grad_();
  const Tensor y = user_call("library_test::square", {x});
  ASSERT_TRUE(y.requires_grad());
  const Tensor g = autograd::grad({y}, {x}, {floats({1, 1})}, true, true)[0];
  EXPECT_EQ(values(g), (Floats{2, 6}));
  const Tensor gg = autograd::grad({g}, {x}, {floats({1, 1})})[0];
  EXPECT_EQ(values(gg), (Floats{2, 2}));
}

TEST(Library, RecordsNothingWithoutNeed) {
  EXPECT_FALSE(user_call("library_test::square", {floats({1})}).requires_grad());
  const Tensor x = floats({1});
  x.requires_grad_();
  NoGradGuard off;
  EXPECT_FALSE(user_call("library_test::square", {x}).requires_grad());
}

TEST(Library, InPlaceOperatorsReturnTheirTensorAndRecord) {
  const Tensor x = floats({1, -2});
  const Tensor r = user_call("library_test::negate_", {x});
  EXPECT_TRUE(r.is_same(x));
  EXPECT_EQ(values(x), (Floats{-1, 2}));
  const Tensor leaf = floats({1, 2});
  leaf.requires_grad_();
  const Tensor y = leaf.mul(3);
  user_call("library_test::negate_", {y});
  y.backward(floats({1, 1}));
  EXPECT_EQ(values(leaf.grad()), (Floats{-3, -3}));
}

TEST(Library, ListsOfTensorsHaveOneGradientEach) {
  const Tensor a = floats({1}), b = floats({2});
  a.requires_grad_();
  b.requires_grad_();
  user_call("library_test::dot_all", {std::vector<Tensor>{a, b, a}}).backward(floats({5}));
  EXPECT_EQ(values(a.grad()), (Floats{10}));
  EXPECT_EQ(values(b.grad()), (Floats{5}));
}

TEST(Library, AnInputWrittenBeforeBackwardIsNoticed) {
  const Tensor x = floats({1, 2});
  x.requires_grad_();
  const Tensor y = x.mul(1);
  const Tensor z = user_call("library_test::square", {y});
  {
    NoGradGuard off;
    y.add_(floats({1, 1}));
  }
  EXPECT_THROW(z.backward(floats({1, 1})), Error);
}

TEST(Library, InterposersSeeIt) {
  std::vector<std::string> lines;
  OperatorLogger logger([&](const std::string& line) { lines.push_back(line); });
  InterposerGuard on(logger);
  (void)user_call("library_test::square", {floats({2})});
  EXPECT_EQ(lines, (std::vector<std::string>{"library_test::square(Tensor(1) Float) -> Tensor(1) Float"}));
}

TEST(Library, MistakesAreErrors) {
  Library m("library_test");
  EXPECT_EQ(thrown<Error>([&] { m.def("scale(Tensor x, float factor=2.0) -> Tensor"); }),
            "library_test::scale: an operator of this name exists already; choose another name or overload");
  EXPECT_EQ(thrown<Error>([&] { m.def("other::f(Tensor x) -> Tensor"); }),
            "other::f: the schema's namespace is not the library's; expected library_test::");
  EXPECT_EQ(thrown<Error>([&] { m.impl("unknown", &scale); }),
            "library_test::unknown: no operator of this name was declared; call m.def with its schema first");
  EXPECT_EQ(thrown<Error>([&] { m.impl("scale", &scale); }),
            "library_test::scale: there is an implementation for all devices already");
  EXPECT_EQ(thrown<TypeError>([&] { m.impl("square", [](const Tensor& x, double) { return x; }); }),
            "library_test::square: the C++ signature (Tensor, float) -> (Tensor) is not that of the schema "
            "square(Tensor x) -> Tensor");
  EXPECT_THROW(m.def("broken(Tensor) -> Tensor"), Error);
}

TEST(Library, AFailureAtLoadTimeIsAWarning) {
  static std::string warning;
  const WarningHandler before = set_warning_handler([](const std::string& message) { warning = message; });
  detail::LibraryInit init("library_test", [](Library& m) { m.impl("unknown", &scale); });
  set_warning_handler(before);
  EXPECT_EQ(
      warning,
      "GRADUS_LIBRARY(library_test): library_test::unknown: no operator of this name was declared; call m.def with its "
      "schema first");
}

}  // namespace
}  // namespace gradus::testing
