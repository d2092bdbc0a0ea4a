// Shapes, strides and errors of views; copies and casts. What PyTorch's operator database covers is in the replay.
#include "support/vectors.h"

using namespace gradus;
using namespace support;

namespace {

using Shape = std::vector<int64_t>;
Shape shape(const Tensor& t) {
  return t.sizes().vec();
}
Shape strides(const Tensor& t) {
  return t.strides().vec();
}

TEST(View, StridesOfShapesThatFit) {
  Tensor x = arange(24, kFloat).view({2, 3, 4});
  EXPECT_EQ(strides(x.view({6, 4})), (Shape{4, 1}));
  EXPECT_EQ(shape(x.view({-1, 2})), (Shape{12, 2}));
  Tensor t = x.transpose(0, 2);  // 4 3 2
  EXPECT_EQ(strides(t.view({4, 3, 1, 2})), (Shape{1, 4, 24, 12}));
  EXPECT_EQ(strides(t.view({2, 2, 3, 2})), (Shape{2, 1, 4, 12}));
  EXPECT_ERROR(t.view({12, 2}), "view: shape");
  EXPECT_ERROR(x.view({5, 5}), "invalid");
  EXPECT_ERROR(x.view({-1, -1}), "two -1");
  EXPECT_ERROR(x.view({-1, 5}), "invalid");
  EXPECT_ERROR(empty({0}).view({-1, 0}), "ambiguous");
  EXPECT_EQ(shape(empty({0, 3}).view({3, 0})), (Shape{3, 0}));
  EXPECT_EQ(strides(ones({1}).expand({3}).view({3, 1})), (Shape{0, 0}));
}

TEST(View, ReshapeCopiesOnlyWhereItMust) {
  Tensor x = arange(6, kFloat).view({2, 3});
  EXPECT_TRUE(x.reshape({3, 2}).is_alias_of(x));
  Tensor r = x.t().reshape({6});
  EXPECT_FALSE(r.is_alias_of(x));
  EXPECT_FALSE(r.is_view());
  EXPECT_EQ(values(r), (V{0, 3, 1, 4, 2, 5}));
}

TEST(View, OfAnotherType) {
  Tensor x = tensor({1.0f, 2.0f});
  EXPECT_EQ(x.view(kInt)[0].item<int>(), 0x3f800000);
  EXPECT_EQ(shape(x.view(kByte)), (Shape{8}));
  EXPECT_EQ(shape(x.view(kLong)), (Shape{1}));
  EXPECT_ERROR(tensor({1.0f, 2.0f, 3.0f}).view(kLong), "divisible");
}

TEST(View, RangesOfSlices) {
  Tensor x = arange(10, kDouble);
  EXPECT_EQ(values(x.slice(0, 2, -2, 3)), (V{2, 5}));
  EXPECT_EQ(values(x.slice(0, 7, 3)), (V{}));
  EXPECT_EQ(values(x.slice(0, -100, 100, 5)), (V{0, 5}));
  EXPECT_ERROR(x.slice(0, 0, 5, 0), "step");
  EXPECT_ERROR(x.select(0, 10), "select: index 10 is out of range");
  EXPECT_THROW(x.select(0, -11), IndexError);
  EXPECT_THROW(x.select(1, 0), IndexError);
  EXPECT_THROW(tensor(1.0).select(0, 0), IndexError);
  EXPECT_EQ(values(x.narrow(0, -3, 2)), (V{7, 8}));
  EXPECT_ERROR(x.narrow(0, 8, 3), "narrow");
  EXPECT_EQ(x.split(4).size(), 3U);
  EXPECT_EQ(x.chunk(4).size(), 4U);
  EXPECT_EQ(x.chunk(6).size(), 5U);
  EXPECT_ERROR(x.split(0), "split");
  EXPECT_ERROR(x.split({4, 4}), "sum to 8");
}

TEST(View, OrderOfDimensions) {
  Tensor x = empty({2, 3, 4, 5});
  EXPECT_EQ(shape(x.permute({3, -4, 2, 1})), (Shape{5, 2, 4, 3}));
  EXPECT_EQ(shape(x.movedim(0, -1)), (Shape{3, 4, 5, 2}));
  EXPECT_EQ(shape(x.movedim({0, 1}, {1, 0})), (Shape{3, 2, 4, 5}));
  EXPECT_EQ(shape(x.swapaxes(0, 3)), (Shape{5, 3, 4, 2}));
  EXPECT_EQ(shape(x.flatten(1, 2)), (Shape{2, 12, 5}));
  EXPECT_EQ(shape(x.unflatten(2, {2, -1})), (Shape{2, 3, 2, 2, 5}));
  EXPECT_EQ(shape(x.mT()), (Shape{2, 3, 5, 4}));
  EXPECT_ERROR(x.permute({0, 1, 2, 2}), "twice");
  EXPECT_ERROR(x.permute({0, 1}), "permute");
  EXPECT_ERROR(x.t(), "at most 2");
  EXPECT_EQ(shape(tensor(1.0).flatten()), (Shape{1}));
}

TEST(View, MoreDimensionsThanFitInsideATensor) {
  Tensor x = arange(256, kFloat).view({2, 2, 2, 2, 2, 2, 2, 2});
  Tensor y = x.permute({7, 6, 5, 4, 3, 2, 1, 0}).clone(MemoryFormat::Contiguous);
  EXPECT_EQ(y[1][0][0][0][0][0][0][0].item<float>(), 1);
  EXPECT_EQ(y.sum().item<float>(), 255 * 128);
}

TEST(View, AsStridedStaysInTheStorage) {
  Tensor x = arange(6, kFloat);
  EXPECT_EQ(values(x.as_strided({2, 2}, {1, 2}, 1)), (V{1, 3, 2, 4}));
  EXPECT_ERROR(x.as_strided({7}, {1}), "out of bounds");
  EXPECT_ERROR(x.as_strided({2}, {1}, -1), "negative");
  EXPECT_ERROR(x.as_strided({int64_t(1) << 62, 4}, {int64_t(1) << 40, 1}), "out of bounds");
}

TEST(Copy, KeepsTheMemoryOrderOfImages) {
  Tensor x = randn({2, 3, 4, 5}).contiguous(MemoryFormat::ChannelsLast);
  EXPECT_TRUE(x.is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_TRUE(x.clone().is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(x.to(kDouble).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(cat({x, x}, 1).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(empty_like(x).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(x.contiguous().equal(x));
  EXPECT_TRUE(x.contiguous(MemoryFormat::ChannelsLast).is_same(x));
  EXPECT_EQ(x.suggest_memory_format(), MemoryFormat::ChannelsLast);
}

TEST(Copy, ConvertsOnlyWhereItMust) {
  Tensor x = vec({1.5, -2.5, 300});
  EXPECT_TRUE(x.to(kDouble).is_same(x));
  EXPECT_FALSE(x.to(kDouble, false, true).is_same(x));
  EXPECT_EQ(values(x.to(kInt)), (V{1, -2, 300}));
  EXPECT_EQ(values(x.to(kByte)), (V{1, 254, 44}));
  EXPECT_EQ(values(x.to(kBool)), (V{1, 1, 1}));
  EXPECT_EQ(x.to(tensor(1)).scalar_type(), kLong);
  Tensor m = x.to(TensorOptions(kMeta));
  EXPECT_TRUE(m.is_meta());
  EXPECT_ERROR(m.to(TensorOptions(kCPU)), "no data");
  EXPECT_ERROR(m.select(0, 0).item(), "meta");
  Tensor w = leaf({1, 2});
  w.to(kFloat).sum().backward();
  EXPECT_EQ(w.grad().scalar_type(), kDouble);
}

TEST(Copy, ChecksShapesAndTakesNumbersOut) {
  Tensor x = zeros({2, 3}, kDouble);
  x.copy_(vec({1, 2, 3}));
  EXPECT_EQ(values(x), (V{1, 2, 3, 1, 2, 3}));
  EXPECT_ERROR(x.copy_(vec({1, 2})), "copy_");
  EXPECT_ERROR(vec({1}).copy_(vec({1, 2})), "copy_");
  EXPECT_ERROR(x.item(), "6 elements");
  EXPECT_EQ(tensor(true).item<bool>(), true);
  EXPECT_THROW(tensor(300).item<int8_t>(), ValueError);
  EXPECT_ERROR(Tensor().clone(), "undefined");
}

TEST(Copy, Resizing) {
  Tensor x = vec({1, 2, 3, 4});
  x.resize_({2, 2});
  EXPECT_EQ(values(x), (V{1, 2, 3, 4}));
  x.resize_({2, 4});
  EXPECT_EQ(values(x.flatten().slice(0, 0, 4)), (V{1, 2, 3, 4}));
  EXPECT_ERROR(leaf({1}).resize_({2}), "require grad");
}

TEST(View, RavelIsContiguous) {
  const Tensor r = vec({1, 2, 3, 4}).slice(0, 0, 4, 2).ravel();
  EXPECT_TRUE(r.is_contiguous());
  EXPECT_EQ(values(r), (V{1, 3}));
  EXPECT_TRUE(vec({1}).expand({3}).ravel().is_contiguous());
}

TEST(View, ExpandCountsItsElements) {
  EXPECT_ERROR(ones({1}).expand({int64_t(1) << 62, 4}), "elements");
}

}  // namespace
