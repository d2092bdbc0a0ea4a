// Indexing by numbers, slices, masks and tensors; gather, scatter and their relatives; sorting.
#include "support/vectors.h"

#include <cmath>

#include <gradus/ops/library.h>
#include <gradus/ops/operator.h>

using namespace gradus;
using namespace support;

namespace {

Tensor longs(std::vector<int64_t> v) {
  Tensor t = empty({static_cast<int64_t>(v.size())}, kLong);
  std::copy(v.begin(), v.end(), t.data_ptr<int64_t>());
  return t;
}
Tensor mask(std::vector<double> v) {
  return vec(std::move(v)).to(kBool);
}

TEST(Index, EveryKindTogether) {
  Tensor x = arange(24, kDouble).view({2, 3, 4});
  EXPECT_EQ(values(x.index({1, Slice(0, 2), 3})), (V{15, 19}));
  EXPECT_EQ(x.index({"...", indexing::None, 0}).sizes(), IntArrayRef({2, 3, 1}));
  EXPECT_EQ(values(x.index({Slice(), 1, longs({0, -1})})), (V{4, 7, 16, 19}));
  EXPECT_EQ(values(x.index({longs({1, 0}), longs({2, 0}), longs({3, 1})})), (V{23, 1}));
  EXPECT_EQ(values(x.index({0, mask({1, 0, 1}), 0})), (V{0, 8}));
  EXPECT_EQ(x.index({true}).sizes(), IntArrayRef({1, 2, 3, 4}));
  EXPECT_EQ(x.index({false}).sizes(), IntArrayRef({0, 2, 3, 4}));
  // Index tensors apart: their dimensions come first.
  EXPECT_EQ(x.index({longs({0, 1}).view({2, 1}), Slice(), longs({0, 1, 2})}).sizes(), IntArrayRef({2, 3, 3}));
  EXPECT_EQ(x.index({Slice(), longs({0, 1}).view({2, 1}), longs({0, 1, 2})}).sizes(), IntArrayRef({2, 2, 3}));
  EXPECT_EQ(values(x[1][2]), (V{20, 21, 22, 23}));
}

TEST(Index, Errors) {
  Tensor x = arange(6, kDouble).view({2, 3});
  EXPECT_ERROR(x.index({longs({0, 2})}), "index: index 2 at position 1 is out of bounds for dimension 0 with size 2");
  EXPECT_THROW(x.index({longs({-3})}), IndexError);
  EXPECT_ERROR(x.index({mask({1, 0, 1})}), "mask");
  EXPECT_ERROR(x.index({longs({0, 1}), longs({0, 1, 2})}), "shape mismatch");
  EXPECT_ERROR(x.index({0, 0, 0}), "index");
  EXPECT_ERROR(x.index({vec({1})}), "long, int, byte or bool");
  EXPECT_ERROR(x.index_put_({longs({0})}, vec({1, 2})), "shape mismatch");
  EXPECT_ERROR(zeros({2, 3}, kMeta).nonzero(), "meta");
  EXPECT_THROW(x.index({longs({5}), 0}), IndexError);
}

TEST(Index, GradientAccumulatesWhereAnElementIsReadTwice) {
  Tensor x = leaf({1, 2, 3});
  (x.index({longs({2, 0, 2})}) * vec({1, 10, 100})).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{10, 0, 101}));
  Tensor y = leaf({1, 2, 3});
  Tensor g = autograd::grad({(y * y).index({mask({1, 0, 1})}).sum()}, {y}, {}, std::nullopt, true)[0];
  g.sum().backward();
  EXPECT_EQ(values(y.grad()), (V{2, 0, 2}));
}

// Case B13 of the reports: the last one wins, and the gradient says so.
TEST(IndexPut, RepeatedIndices) {
  Tensor t = zeros({3}, kDouble);
  t.index_put_({std::optional<Tensor>(longs({1, 1, 2}))}, tensor(5.0, kDouble), true);
  EXPECT_EQ(values(t), (V{0, 10, 5}));

  Tensor z = zeros({3}, kDouble), v = leaf({5, 7});
  z.index_put_({std::optional<Tensor>(longs({1, 1}))}, v);
  EXPECT_EQ(values(z), (V{0, 7, 0}));
  z.sum().backward();
  EXPECT_EQ(values(v.grad()), (V{0, 1}));
}

TEST(IndexPut, GradientsOfBothSides) {
  Tensor x = leaf({1, 2, 3, 4}), v = leaf({10});
  Tensor y = (x * 1).view({2, 2}).clone();
  y.index_put_({Slice(), longs({0})}, v);
  (y * vec({1, 2, 3, 4}).view({2, 2})).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{0, 2, 0, 4}));
  EXPECT_EQ(values(v.grad()), (V{4}));

  Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const std::optional<Tensor> at[] = {longs({1, 1})};
  (a.index_put(at, b, true) * vec({5, 7})).sum().backward();
  EXPECT_EQ(values(a.grad()), (V{5, 7}));
  EXPECT_EQ(values(b.grad()), (V{7, 7}));
}

TEST(IndexPut, Assignment) {
  Tensor x = zeros({2, 3}, kDouble);
  x[0] = 1.0;
  x.index({Slice(), 2}) = vec({7, 8});
  x.index_put_({1, mask({1, 0, 0})}, 5);
  EXPECT_EQ(values(x), (V{1, 1, 7, 5, 0, 8}));
  Tensor y = arange(4, kDouble);
  y.index_put_({longs({0, 1})}, y.slice(0, 2, 4));
  EXPECT_EQ(values(y), (V{2, 3, 2, 3}));
}

TEST(AlongADimension, SelectAddCopyFill) {
  Tensor x = arange(6, kDouble).view({2, 3});
  EXPECT_EQ(values(x.index_select(1, longs({2, 0, 2}))), (V{2, 0, 2, 5, 3, 5}));
  EXPECT_EQ(values(x.index_add(0, longs({1, 1}), ones({2, 3}, kDouble), 2)), (V{0, 1, 2, 7, 8, 9}));
  EXPECT_EQ(values(x.index_copy(1, longs({1}), vec({7, 8}).view({2, 1}))), (V{0, 7, 2, 3, 8, 5}));
  EXPECT_EQ(values(x.index_fill(0, longs({-1}), 9)), (V{0, 1, 2, 9, 9, 9}));
  EXPECT_ERROR(x.index_select(1, longs({3})), "index_select: index 3 at position 0");
  EXPECT_ERROR(x.index_select(1, longs({-1})), "out of bounds");
  EXPECT_ERROR(x.index_add(0, longs({0}), ones({2, 3}, kDouble)), "source has shape");
  EXPECT_THROW(x.index_copy(0, longs({2}), ones({1, 3}, kDouble)), IndexError);
}

TEST(AlongADimension, GatherAndScatter) {
  Tensor x = leaf({1, 2, 3, 4, 5, 6});
  Tensor m = x.view({2, 3});
  Tensor at = longs({2, 2, 0, 1}).view({2, 2});
  (m.gather(1, at) * vec({1, 10, 100, 1000}).view({2, 2})).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{0, 0, 11, 100, 1000, 0}));
  Tensor z = zeros({2, 3}, kDouble);
  EXPECT_EQ(values(z.scatter(1, at, vec({1, 2, 3, 4}).view({2, 2}))), (V{0, 0, 2, 3, 4, 0}));
  EXPECT_EQ(values(z.scatter_add(1, at, vec({1, 2, 3, 4}).view({2, 2}))), (V{0, 0, 3, 3, 4, 0}));
  EXPECT_EQ(values(z.scatter(1, at, 9)), (V{0, 0, 9, 9, 9, 0}));
  EXPECT_EQ(values(ones({2, 3}, kDouble).scatter(1, at, vec({1, 2, 3, 4}).view({2, 2}), "multiply")),
            (V{1, 1, 2, 3, 4, 1}));
  EXPECT_ERROR(m.gather(1, longs({0, 3}).view({1, 2})),
               "gather: index 3 at position 1 is out of bounds for dimension 1 with size 3");
  EXPECT_ERROR(z.scatter(0, longs({0, 1}), 1), "same number of dimensions");
  EXPECT_ERROR(z.scatter(0, at, 1, "mean"), "add");
}

TEST(AlongADimension, WritesIntoItself) {
  Tensor u = arange(4, kDouble);
  u.scatter_add_(0, longs({3, 2, 1, 0}), u);
  EXPECT_EQ(values(u), (V{3, 3, 3, 3}));
}

TEST(Masks, NonzeroAndMaskedSelect) {
  Tensor x = leaf({1, 0, 3, 4});
  EXPECT_EQ(values(x.detach().view({2, 2}).nonzero()), (V{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(tensor(3.0).nonzero().sizes(), IntArrayRef({1, 0}));
  x.view({2, 2}).masked_select(mask({1, 0})).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{1, 0, 1, 0}));
  EXPECT_EQ(values(one_hot(longs({2, 0}), 3)), (V{0, 0, 1, 1, 0, 0}));
}

TEST(Rearranging, FlipRollRepeat) {
  Tensor x = leaf({1, 2, 3, 4, 5, 6});
  Tensor m = x.view({2, 3});
  EXPECT_EQ(values(m.flip({0, 1})), (V{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(values(m.flip(1)), (V{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(values(m.roll(1)), (V{6, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values(m.roll({1, -1}, {0, 1})), (V{5, 6, 4, 2, 3, 1}));
  EXPECT_EQ(m.repeat({2, 1, 2}).sizes(), IntArrayRef({2, 2, 6}));
  (m.repeat({1, 2}) * arange(12, kDouble).view({2, 6})).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{3, 5, 7, 15, 17, 19}));
}

// Case C5 of the reports.
TEST(Sorting, NaNComesLastAndEqualElementsKeepTheirOrder) {
  const double nan = std::nan("");
  Tensor x = vec({3, nan, 5, nan});
  auto [v, i] = x.sort();
  EXPECT_EQ(values(i), (V{0, 2, 1, 3}));
  EXPECT_TRUE(std::isnan(values(v)[2]));
  auto [top, at] = x.topk(2);
  EXPECT_TRUE(std::isnan(values(top)[0]) && std::isnan(values(top)[1]));
  EXPECT_EQ(values(at), (V{1, 3}));
  EXPECT_EQ(values(vec({1, 0, 1, 0}).argsort(0, true)), (V{0, 2, 1, 3}));
  EXPECT_ERROR(x.topk(5), "topk");

  Tensor w = leaf({3, 1, 2});
  (std::get<0>(w.sort(0, true)) * vec({1, 10, 100})).sum().backward();
  EXPECT_EQ(values(w.grad()), (V{1, 100, 10}));
}

TEST(IndexPut, AMaskWithoutDimensionsByName) {
  const auto put = [](bool on, bool first) {
    Tensor x = ones({2, 2}, kDouble);
    const Tensor on_off = full({}, on, kBool);
    const std::vector<std::optional<Tensor>> indices = first ? std::vector<std::optional<Tensor>>{on_off, longs({0})}
                                                             : std::vector<std::optional<Tensor>>{std::nullopt, on_off};
    call("aten::index_put_", {x, indices, scalar_tensor(9.0, kDouble)});
    return values(x);
  };
  EXPECT_EQ(put(false, false), (V{1, 1, 1, 1}));
  EXPECT_EQ(put(true, false), (V{9, 9, 9, 9}));
  EXPECT_EQ(put(false, true), (V{1, 1, 1, 1}));
  EXPECT_EQ(put(true, true), (V{9, 9, 1, 1}));
  const std::vector<std::optional<Tensor>> indices = {std::nullopt, full({}, false, kBool)};
  EXPECT_THROW(call("aten::index.Tensor", {ones({2, 2}), indices}), IndexError);
}

TEST(Joining, EmptyTensorsAlongAnyDimension) {
  EXPECT_EQ(cat({zeros({0}), zeros({0})}, 1).sizes(), IntArrayRef({0}));
}

}  // namespace
