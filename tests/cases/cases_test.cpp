// What people reported of libtorch and no other test of ours covers. Cases of the reports and rows of the complaints
// that belong to one part of the library carry their number where that part is tested.
#include "support/vectors.h"

#include <gradus/core/allocator.h>
#include <gradus/ops/operator.h>

using namespace gradus;
using namespace support;

namespace {

namespace F = gradus::nn::functional;

// Case B5, second half: derivatives of derivatives leave nothing behind.
TEST(Cases, B5RepeatedHigherDerivativesKeepMemoryFlat) {
  Tensor x = leaf({2});
  const auto once = [&] {
    Tensor g = x * x * x;
    for (int i = 0; i < 3; ++i) g = autograd::grad({g.sum()}, {x}, {}, std::nullopt, true)[0];
    EXPECT_EQ(values(g), (V{6}));
  };
  for (int i = 0; i < 10; ++i) once();
  const size_t before = memory_allocated();
  for (int i = 0; i < 1000; ++i) once();
  EXPECT_EQ(memory_allocated(), before);
}

// Case C1: a mask that is broadcast is no write into one element twice; a target that overlaps itself is.
TEST(Cases, C1MaskedFillOfABroadcastTensor) {
  Tensor base = vec({1, 1});
  Tensor wide = base.expand({2, 2});
  EXPECT_ERROR(wide.masked_fill_(tensor({{true, false}, {false, false}}), 5), "masked_fill: ");
  EXPECT_EQ(values(base), (V{1, 1}));
  Tensor plain = ones({2, 2}, kDouble);
  plain.masked_fill_(tensor({true, false}), 5);
  EXPECT_EQ(values(plain), (V{5, 1, 5, 1}));
}

// Case D3: without attention, which is not here yet.
TEST(Cases, D3SoftmaxOfFullyMaskedRows) {
  const Tensor x = vec({-kInf, -kInf, -kInf, 0}).view({2, 2});
  expect_values(x.softmax(1), {kNan, kNan, 0, 1});
  expect_values(x.log_softmax(1), {kNan, kNan, -kInf, 0});
}

// Case D5.
TEST(Cases, D5LabelSmoothingWithIgnoredRowsAndWeights) {
  const Tensor logits = vec({1, 2, 3, .5}).view({2, 2}), targets = longs({-100, 1}), weight = vec({.2, .3});
  const auto loss = [&](double smoothing, bool weighted) {
    F::CrossEntropyFuncOptions options;
    options.label_smoothing(smoothing);
    if (weighted) options.weight(weight);
    Tensor x = logits.clone().requires_grad_();
    Tensor l = F::cross_entropy(x, targets, options);
    l.backward();
    EXPECT_EQ(values(x.grad()[0]), (V{0, 0}));  // the ignored row
    return l.item<double>();
  };
  EXPECT_NEAR(loss(0, true), 2.578889734, 1e-8);
  EXPECT_NEAR(loss(0, false), 2.578889734, 1e-8);
  EXPECT_NEAR(loss(.2, true), 2.326260076, 1e-8);
  EXPECT_NEAR(loss(.2, false), 2.328889734, 1e-8);
}

// Case D7, without one dimension, which is not here yet.
TEST(Cases, D7PoolingWithCeilMode) {
  const Tensor x = ones({1, 1, 5, 5}, kDouble);
  const Tensor most = max_pool2d(x, 2, 2, 1, 1, true);
  EXPECT_EQ(most.sizes(), (IntArrayRef{1, 1, 3, 3}));
  EXPECT_TRUE(equal(most, ones({1, 1, 3, 3}, kDouble)));
  EXPECT_EQ(max_pool2d(ones({1, 1, 6, 7}), 1, 2, 0, 1, true).sizes(), (IntArrayRef{1, 1, 3, 4}));
  expect_values(avg_pool2d(x, 2, 2, 1, true), {.25, .5, .5, .5, 1, 1, .5, 1, 1});
  expect_values(avg_pool2d(x, 2, 2, 1, true, false), {1, 1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_ERROR(max_pool2d(x, 2, 2, 2), "max_pool2d: ");
  EXPECT_ERROR(avg_pool2d(x, 2, 2, 2), "avg_pool2d: ");
  const Tensor bad = ones({1, 1, 2, 2}, kDouble);
  bad[0][0][1][0] = kNan;
  expect_values(max_pool2d(bad, 2), {kNan});
}

// Row 19 of the complaints: the duplicate is named.
TEST(Cases, Row19ADuplicateParameterIsNamed) {
  Tensor p = leaf({1}), q = leaf({2});
  EXPECT_ERROR(optim::SGD({q, p, p}, 0.1), "parameter 2 of group 0 is the same tensor as parameter 1 of group 0");
  const std::vector<optim::OptimizerParamGroup> groups{optim::OptimizerParamGroup({q, p}),
                                                       optim::OptimizerParamGroup({p})};
  EXPECT_ERROR(optim::SGD(groups, 0.1), "parameter 0 of group 1 is the same tensor as parameter 1 of group 0");
}

// Row 37 of the complaints: operator, argument, shapes and dtypes.
TEST(Cases, Row37ErrorsSayWhatWasGivenAndExpected) {
  const Tensor a = ones({2, 3}), b = ones({4, 5}), whole = ones({2, 3}, kLong);
  const auto says = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_TRUE(has(text, part)) << part << " is not in: " << text;
  };
  says(error_of([&] { a + b; }), {"add: ", "(2, 3)", "(4, 5)"});
  says(error_of([&] { a.mm(b); }), {"mm: ", "(2, 3)", "(4, 5)"});
  says(error_of([&] { a.softmax(5); }), {"softmax: ", "5", "2 dimensions", "-2..1"});
  says(error_of([&] { a.view({7}); }), {"view: ", "6 elements", "(7)"});
  says(error_of([&] { a.mm(whole); }), {"mm: ", "Float", "Long"});
  says(error_of([&] { cat({a, b}); }), {"cat: ", "(2, 3)", "(4, 5)"});
  says(error_of([&] { whole.mean(); }), {"mean: ", "Long"});
  says(error_of([&] { a.select(0, 2); }), {"select: ", "2", "(2, 3)"});
  says(error_of([&] { conv2d(ones({1, 3, 8, 8}), ones({4, 2, 3, 3})); }), {"conv2d: ", "(1, 3, 8, 8)", "(4, 2, 3, 3)"});
  says(error_of([&] { a.add_(whole.to(kComplexFloat)); }), {"add", "ComplexFloat", "Float"});
  says(error_of([&] { cross_entropy_loss(a, tensor({0, 3})); }), {"3"});
  says(error_of([&] { Tensor() + a; }), {"add: ", "undefined"});
  says(error_of([&] { a.item(); }), {"item: ", "6 elements"});
}

// Row 53 of the complaints: no operator writes into a tensor whose elements share memory, whatever else it is given.
TEST(Cases, Row53NothingIsWrittenIntoAnExpandedTensor) {
  const Tensor shape_only = ones({1});
  int refused = 0;
  for (const OperatorHandle& op : all_operators()) {
    if (!op.is_inplace() || op.is_view()) continue;
    Tensor base = full({1}, 3.0);
    std::vector<IValue> arguments{base.expand({4})};
    for (size_t i = 1; i < op.schema().arguments.size(); ++i) {
      const SchemaArgument& a = op.schema().arguments[i];
      if (a.has_default) break;
      switch (a.type.base) {
        case SchemaType::Base::Tensor:
          arguments.emplace_back(a.name == "mask"    ? ones({4}, kBool)
                                 : a.name == "index" ? zeros({4}, kLong)
                                                     : full({4}, 0.5));
          break;
        case SchemaType::Base::Bool:
          arguments.emplace_back(false);
          break;
        case SchemaType::Base::Int:
          arguments.emplace_back(int64_t{0});
          break;
        default:
          arguments.emplace_back(0.25);
      }
    }
    try {
      call(op, arguments);
    } catch (const Error&) {
      ++refused;
    }
    EXPECT_EQ(values(base), (V{3})) << op.full_name();
  }
  EXPECT_GT(refused, 60);
}

}  // namespace
