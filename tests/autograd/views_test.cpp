// Views and in-place operators: PyTorch's rules.
#include "support/vectors.h"

#include <gradus/ops/function_schema.h>
#include <gradus/ops/library.h>
#include <gradus/ops/operator.h>

using namespace gradus;
using namespace support;

namespace {

TEST(Views, AViewKnowsItsRoot) {
  Tensor x = vec({1, 2, 3, 4, 5, 6});
  Tensor v = x.view({2, 3}), w = v.transpose(0, 1).select(0, 1);
  EXPECT_TRUE(v.is_view());
  EXPECT_TRUE(w._base().is_same(x));
  EXPECT_FALSE(x.is_view());
  EXPECT_FALSE(x.detach().is_view());
  w.zero_();
  EXPECT_EQ(values(x), (V{1, 0, 3, 4, 0, 6}));
  EXPECT_EQ(x._version(), 1);
  EXPECT_EQ(v._version(), 1);
  EXPECT_ERROR(x._base(), "not a view");
}

// Case B11 of the reports.
TEST(Views, AViewTakenBeforeAWriteToItsBase) {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x * 1;
  Tensor v = y[1];
  y.mul_(2);
  (v * v).backward();
  EXPECT_EQ(values(x.grad()), (V{0, 16, 0}));
}

TEST(Views, AWriteThroughAViewReachesTheBasesGradient) {
  Tensor x = leaf({1, 2, 3}), k = leaf({5});
  Tensor y = x * 1;
  Tensor v = y.slice(0, 0, 2);
  v.mul_(k);
  (y * y).sum().backward();
  EXPECT_EQ(values(y), (V{5, 10, 3}));
  EXPECT_EQ(values(x.grad()), (V{50, 100, 6}));
  EXPECT_EQ(values(k.grad()), (V{50}));  // 2 * 5 * (1 + 4)
}

TEST(Views, WritesThroughSeveralViewsInTurn) {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 1;
  Tensor m = y.view({2, 2}), row = m[0], column = m.select(1, 1);
  row.mul_(3);       // 3 6 / 3 4
  column.add_(row);  // 3 6+3 / 3 4+6
  EXPECT_EQ(values(y), (V{3, 9, 3, 10}));
  y.sum().backward();
  // d/dx0: y0 + y1 = 3 + 3; x1: 3 (y1) + 3 (y3); x2: 1; x3: 1
  EXPECT_EQ(values(x.grad()), (V{6, 6, 1, 1}));
}

TEST(Views, CopyIntoAView) {
  Tensor x = leaf({1, 2, 3}), s = leaf({7, 8});
  Tensor y = x * 1;
  y.slice(0, 1, 3).copy_(s);
  (y * y).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{2, 0, 0}));
  EXPECT_EQ(values(s.grad()), (V{14, 16}));
}

TEST(Views, ATensorWithoutHistoryTakesOneThroughItsView) {
  Tensor base = zeros({3}, kDouble), s = leaf({7});
  base[1].copy_(s[0]);
  EXPECT_TRUE(base.requires_grad());
  (base * 2).sum().backward();
  EXPECT_EQ(values(s.grad()), (V{2}));
}

TEST(Views, SecondDerivativeThroughAWriteIntoAView) {
  Tensor x = leaf({2, 3});
  Tensor y = x * x;
  y[0].mul_(x[0]);  // x0^3
  Tensor g = autograd::grad({y.sum()}, {x}, {}, std::nullopt, true)[0];
  EXPECT_EQ(values(g), (V{12, 6}));
  g.sum().backward();
  EXPECT_EQ(values(x.grad()), (V{12, 2}));
}

TEST(Views, ViewsMadeWithoutGradMode) {
  Tensor x = leaf({1, 2});
  Tensor b = x * 1, v;
  {
    NoGradGuard guard;
    v = b.view({2, 1});
  }
  EXPECT_TRUE(v.requires_grad());
  EXPECT_TRUE(v.is_leaf());
  EXPECT_ERROR(v.add_(1), "no_grad");
  EXPECT_ERROR(v.view({2}).add_(1), "no_grad");  // and views of it
  {
    NoGradGuard guard;
    v.add_(1);
  }
  Tensor plain = vec({1, 2}), w = leaf({1, 1});
  {
    NoGradGuard guard;
    v = plain.view({2});
  }
  EXPECT_ERROR(v.add_(w), "no_grad");
  v.add_(1);
}

TEST(Views, SeveralViewsAtOnceMayNotBeWritten) {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor c = x * 1;
  EXPECT_ERROR(c.unbind()[0].add_(1), "multiple views");
  EXPECT_ERROR(c.split(2)[0].mul_(2), "multiple views");
  EXPECT_ERROR(c.chunk(2)[1].mul_(2), "multiple views");
  auto parts = c.split(2);
  c.add_(1);
  EXPECT_ERROR((parts[0] * 2).sum().backward(), "modified inplace");
  // Without a gradient anything goes.
  Tensor plain = vec({1, 2, 3, 4});
  plain.split(2)[1].mul_(2);
  EXPECT_EQ(values(plain), (V{1, 2, 6, 8}));
  EXPECT_ERROR(plain.unbind()[0].add_(x[0]), "multiple views");
}

TEST(Views, ShapesChangedInPlace) {
  Tensor x = leaf({1, 2, 3, 4, 5, 6});
  Tensor y = (x * 1).view({2, 3}).clone();
  y.transpose_(0, 1);
  EXPECT_EQ(y.sizes(), IntArrayRef({3, 2}));
  y.unsqueeze_(0);
  y.squeeze_(0);
  (y * arange(6, kDouble).view({3, 2})).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{0, 2, 4, 1, 3, 5}));

  Tensor b = x * 1;
  Tensor v = b.view({2, 3});
  v.t_();
  v.mul_(2);
  EXPECT_EQ(v.sizes(), IntArrayRef({3, 2}));
  x.mutable_grad().reset();
  (b * b).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{8, 16, 24, 32, 40, 48}));
  EXPECT_ERROR(x.unsqueeze_(0), "leaf");
}

TEST(Views, DetachInPlace) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  y.detach_();
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_leaf());
  Tensor z = x * 2;
  EXPECT_ERROR(z.view({2}).detach_(), "view");
}

// Case C1 of the reports, row 53 of the complaints: fill_ and zero_ are refused, too.
TEST(Views, ExpandedTensorsAreNotWritten) {
  Tensor base = ones({1}, kDouble);
  Tensor e = base.expand({4});
  EXPECT_ERROR(e.add_(1), "share memory");
  EXPECT_ERROR(e.copy_(arange(4)), "share memory");
  EXPECT_ERROR(e.masked_fill_(vec({1, 0, 0, 0}).to(kBool), 3), "share memory");
  EXPECT_ERROR(e.fill_(7), "share memory");
  EXPECT_ERROR(e.zero_(), "share memory");
  EXPECT_EQ(values(base), (V{1}));
}

// Case C3 of the reports.
TEST(Views, OverlappingSourceAndTarget) {
  Tensor t = arange(5, kDouble);
  t.slice(0, 1, 5).copy_(t.slice(0, 0, 4));
  EXPECT_EQ(values(t), (V{0, 0, 1, 2, 3}));
  Tensor u = arange(4, kDouble);
  u.index_add_(0, arange(4).flip(0), u);
  EXPECT_EQ(values(u), (V{3, 3, 3, 3}));
}

TEST(Views, AssignmentThroughIndices) {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor y = (x * 1).view({2, 2}).clone();
  y[0] = vec({7, 8});
  y.index({Slice(), 1}) = 5.0;
  EXPECT_EQ(values(y), (V{7, 5, 3, 5}));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (V{0, 0, 1, 0}));
  Tensor z = y;
  z = vec({1});  // an lvalue is bound anew
  EXPECT_EQ(values(y), (V{7, 5, 3, 5}));
}

TEST(Views, GradientsOfEveryKindOfView) {
  Tensor x = leaf({1, 2, 3, 4, 5, 6});
  auto gradient = [&](const Tensor& y) {
    x.mutable_grad().reset();
    (y * arange(1, y.numel() + 1, kDouble).view(y.sizes())).sum().backward();
    return values(x.grad());
  };
  auto m = [&] { return x.view({2, 3}); };
  EXPECT_EQ(gradient(m().t()), (V{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(gradient(m().permute({1, 0}).reshape({6})), (V{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(gradient(m().select(1, 2)), (V{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(gradient(m().slice(1, 0, 3, 2)), (V{1, 0, 2, 3, 0, 4}));
  EXPECT_EQ(gradient(m().diagonal(1)), (V{0, 1, 0, 0, 0, 2}));
  EXPECT_EQ(gradient(x.unfold(0, 3, 2)), (V{1, 2, 7, 5, 6, 0}));
  EXPECT_EQ(gradient(x.as_strided({2, 2}, {1, 1}, 1)), (V{0, 1, 5, 4, 0, 0}));
  EXPECT_EQ(gradient(m().unsqueeze(1).expand({2, 2, 3})), (V{5, 7, 9, 17, 19, 21}));
  EXPECT_EQ(gradient(m().unbind(1)[1]), (V{0, 1, 0, 0, 2, 0}));
  EXPECT_EQ(gradient(x.split(4)[1]), (V{0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(gradient(m().squeeze().flatten()), (V{1, 2, 3, 4, 5, 6}));
}

TEST(Views, AViewThatIsALeafItselfIsNotWritten) {
  Tensor x = ones({3}, kDouble);
  Tensor v = x.view({3});
  v.requires_grad_(true);
  EXPECT_ERROR(v.mul_(2), "a view of a leaf Variable that requires grad is being used in an in-place operation");
  {
    NoGradGuard guard;
    v.mul_(2);
  }
  EXPECT_EQ(values(x), (V{2, 2, 2}));
  (v * v).sum().backward();
  EXPECT_EQ(values(v.grad()), (V{4, 4, 4}));
}

TEST(Views, SelfAmongTheOtherOperands) {
  Tensor x = leaf({2, 3});
  Tensor y = x * 1;
  y.addcmul_(y, y, 0.5);  // x + x^2 / 2
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (V{3, 4}));
  x.mutable_grad().reset();
  Tensor one = vec({1, 1});
  Tensor z = x * 1;
  z.addcdiv_(one, z);  // x + 1 / x
  z.sum().backward();
  expect_values(x.grad(), {0.75, 1 - 1.0 / 9});
  Tensor w = leaf({1, 2, 3, 4});
  Tensor m = w.view({2, 2}).clone();
  m.addmm_(m, m);  // the gradient of sum(m + m m): 1 + (row sums of m at column) + (column sums of m at row)
  m.sum().backward();
  EXPECT_EQ(values(w.grad()), (V{1 + 3 + 4, 1 + 7 + 4, 1 + 3 + 6, 1 + 7 + 6}));
}

// Every operand that may be self is self: what a gradient reads must have been kept before the write.
TEST(Views, EveryInPlaceOperatorTakesItselfAsOperand) {
  int ran = 0;
  for (const OperatorHandle& op : all_operators()) {
    if (!op.is_inplace() || begins(op.full_name(), "aten::requires_grad_")) continue;
    const Tensor self = leaf({0.1, 0.2, 0.3, 0.4}).view({2, 2}) * 1;
    Stack stack;
    for (const SchemaArgument& a : op.schema().arguments) {
      if (a.has_default) break;
      const bool list = a.type.is_list;
      switch (a.type.base) {
        case SchemaType::Base::Tensor:
          stack.push_back(list ? IValue(std::vector<Tensor>{self}) : IValue(self));
          break;
        case SchemaType::Base::Bool:
          stack.push_back(false);
          break;
        default:
          stack.push_back(list ? IValue(std::vector<int64_t>{0}) : IValue(1));
      }
    }
    try {
      call(op.full_name(), stack);
      self.sum().backward();
      ++ran;
    } catch (const std::logic_error& e) {
      ADD_FAILURE() << op.full_name() << ": " << e.what();
    } catch (const Error&) {  // a dtype, a shape or an argument that it does not take
    }
  }
  EXPECT_GT(ran, 60);
}

// As PyTorch, where unfold's gradient goes by the index, not by the memory.
TEST(Views, UnfoldOfAnExpandedTensor) {
  Tensor x = leaf({1, 2});
  Tensor e = x.expand({3, 2});
  Tensor g = autograd::grad({e.unfold(0, 2, 1).sum()}, {e})[0];
  EXPECT_EQ(values(g), (V{1, 1, 2, 2, 1, 1}));
  x.expand({3, 2}).unfold(0, 2, 1).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{4, 4}));
  Tensor s = scalar_tensor(3.0, kDouble).requires_grad_();
  s.unfold(0, 1, 1).sum().backward();
  EXPECT_EQ(values(s.grad()), (V{1}));
}

TEST(Views, TheShapeOfAnExpandedTensorMayChange) {
  Tensor e = vec({1, 2}).expand({3, 2});
  e.transpose_(0, 1);
  EXPECT_EQ(values(e), (V{1, 1, 1, 2, 2, 2}));
  e.t_();
  e.unsqueeze_(0);
  e.squeeze_(0);
  EXPECT_EQ(e.sizes(), IntArrayRef({3, 2}));
  e.as_strided_({2, 2}, {0, 1});
  EXPECT_EQ(values(e), (V{1, 2, 1, 2}));
  Tensor x = leaf({1, 2});
  Tensor y = (x * 1).expand({3, 2});
  y.t_();
  (y * vec({1, 2, 3})).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{6, 6}));
}

}  // namespace
