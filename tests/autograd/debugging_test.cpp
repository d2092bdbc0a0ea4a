// What helps to find faults: anomaly mode and the drawing of a graph.
#include "support/vectors.h"

using namespace gradus;
using namespace support;
using autograd::AnomalyMode;
using autograd::DetectAnomalyGuard;

namespace {

TEST(Anomaly, TheGuardRestoresWhatWas) {
  EXPECT_FALSE(AnomalyMode::is_enabled());
  EXPECT_TRUE(AnomalyMode::should_check_nan());
  {
    const DetectAnomalyGuard on(/*check_nan=*/false);
    EXPECT_TRUE(AnomalyMode::is_enabled());
    EXPECT_FALSE(AnomalyMode::should_check_nan());
  }
  EXPECT_FALSE(AnomalyMode::is_enabled());
  EXPECT_TRUE(AnomalyMode::should_check_nan());
}

// 0 * inf: the gradient of sqrt at 0.
Tensor bad_loss(const Tensor& x) {
  return (x.sqrt() * 0).sum();
}

TEST(Anomaly, ANanIsNamedWithItsNodeAndWhereItWasRecorded) {
  Tensor x = leaf({0, 1});
  const DetectAnomalyGuard on;
  const std::string text = error_of([&] { bad_loss(x).backward(); });
  EXPECT_TRUE(begins(text, "backward: SqrtBackward0 returned nan values in its 0th output, the gradient of shape (2)"))
      << text;
  EXPECT_TRUE(has(text, "\nSqrtBackward0 was recorded here")) << text;
  EXPECT_TRUE(has(text, "autograd_debugging_test+0x")) << text;
  EXPECT_FALSE(has(text, "note_creation")) << text;
  EXPECT_FALSE(x.grad().defined());
}

TEST(Anomaly, WithoutTheModeOrTheSearchNanPasses) {
  Tensor x = leaf({0, 1});
  bad_loss(x).backward();
  EXPECT_TRUE(std::isnan(values(x.grad())[0]));
  const DetectAnomalyGuard on(false);
  bad_loss(x).backward();
}

TEST(Anomaly, AForwardOutsideTheMode) {
  Tensor x = leaf({0, 1});
  Tensor loss = bad_loss(x);
  const DetectAnomalyGuard on;
  EXPECT_ERROR(loss.backward(), "\nSqrtBackward0 was recorded outside anomaly mode");
}

TEST(Anomaly, TheParentInDoubleBackward) {
  Tensor x = leaf({0});
  const DetectAnomalyGuard on;
  // d/dx x^1.5 = 1.5 x^0.5; its derivative at 0 is infinite, times 0: NaN.
  Tensor first = autograd::grad({x.pow(1.5)}, {x}, {}, std::nullopt, true)[0];
  const std::string text = error_of([&] { autograd::grad({first * 0}, {x}); });
  EXPECT_TRUE(has(text, "returned nan values")) << text;
  EXPECT_TRUE(has(text, "\nThat was in the backward of PowBackward0.\nPowBackward0 was recorded here")) << text;
}

std::string warned;

TEST(Anomaly, AnErrorInANodeIsTracedToo) {
  Tensor x = leaf({1});
  const DetectAnomalyGuard on;
  Tensor y = x.exp();
  y.add_(1);
  const WarningHandler before = set_warning_handler([](const std::string& text) { warned = text; });
  EXPECT_ERROR(y.sum().backward(), "modified by an inplace operation");
  set_warning_handler(before);
  EXPECT_TRUE(begins(warned, "backward: an error was thrown in ExpBackward0\nExpBackward0 was recorded here"))
      << warned;
}

TEST(Anomaly, AWholeTrainingStepUnderIt) {
  manual_seed(0);
  nn::Sequential net(nn::Linear(3, 4), nn::Tanh(), nn::Linear(4, 1));
  const DetectAnomalyGuard on;
  Tensor x = rand({5, 3});
  x.requires_grad_();
  Tensor g = autograd::grad({net->forward(x).sum()}, {x}, {}, std::nullopt, true)[0];
  (g * g).sum().backward();
  EXPECT_TRUE(net->parameters()[0].grad().defined());
}

TEST(GraphToDot, NodesLeavesAndArrows) {
  Tensor w = leaf({1, 2}), b = leaf({3}), x = vec({4, 5});
  Tensor loss = ((w * x).exp() + b).sum();
  EXPECT_EQ(autograd::graph_to_dot(loss, {{"the \"w\"", w}, {"x", x}}),
            "digraph gradus {\n"
            "  rankdir=BT;\n"
            "  node [shape=box, fontname=\"monospace\"];\n"
            "  n0 [label=\"SumBackward0\"];\n"
            "  n1 -> n0;\n"
            "  n1 [label=\"AddBackward0\"];\n"
            "  n2 -> n1;\n"
            "  n3 -> n1;\n"
            "  n2 [label=\"ExpBackward0\"];\n"
            "  n4 -> n2;\n"
            "  n3 [label=\"leaf\\n(1)\", style=filled, fillcolor=lightblue];\n"
            "  n4 [label=\"MulBackward0\"];\n"
            "  n5 -> n4;\n"
            "  n5 [label=\"the \\\"w\\\"\\n(2)\", style=filled, fillcolor=lightblue];\n"
            "}\n");
  EXPECT_ERROR(autograd::graph_to_dot(x), "expected a tensor that requires a gradient");
  EXPECT_TRUE(begins(autograd::graph_to_dot(w), "digraph"));
}

TEST(GraphToDot, NamedParameters) {
  nn::Linear net(2, 3);
  const std::string dot = autograd::graph_to_dot(net->forward(ones({1, 2})), net->named_parameters());
  EXPECT_TRUE(has(dot, "weight\\n(3, 2)")) << dot;
  EXPECT_TRUE(has(dot, "bias\\n(3)")) << dot;
}

}  // namespace
