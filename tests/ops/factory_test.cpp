// New tensors: dtypes, values, options, errors.
#include "support/vectors.h"

#include <cmath>

using namespace gradus;
using namespace support;

namespace {

TEST(Factory, DtypesOfWhatIsGiven) {
  EXPECT_EQ(zeros({2}).scalar_type(), kFloat);
  EXPECT_EQ(full({2}, 3).scalar_type(), kLong);
  EXPECT_EQ(full({2}, 3.5).scalar_type(), kFloat);
  EXPECT_EQ(full({2}, true).scalar_type(), kBool);
  EXPECT_EQ(full({2}, 3, kDouble).scalar_type(), kDouble);
  EXPECT_EQ(arange(3).scalar_type(), kLong);
  EXPECT_EQ(arange(3.0).scalar_type(), kFloat);
  EXPECT_EQ(linspace(0, 1, 3).scalar_type(), kFloat);
  EXPECT_EQ(vec({1}).new_zeros({2}).scalar_type(), kDouble);
  EXPECT_EQ(vec({1}).new_full({2}, 3, kLong).scalar_type(), kLong);
  EXPECT_EQ(ones_like(arange(3)).scalar_type(), kLong);
  EXPECT_EQ(scalar_tensor(2).scalar_type(), kFloat);
}

TEST(Factory, Ranges) {
  EXPECT_EQ(values(arange(5)), (V{0, 1, 2, 3, 4}));
  EXPECT_EQ(values(arange(5, 0, -2)), (V{5, 3, 1}));
  EXPECT_EQ(values(arange(0, 1, 0.25)), (V{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(0, 0).numel(), 0);
  EXPECT_EQ(arange(INT64_MAX - 2, INT64_MAX)[1].item<int64_t>(), INT64_MAX - 1);
  EXPECT_ERROR(arange(0, 1, 0), "step");
  EXPECT_ERROR(arange(0, 1, -1), "inconsistent");
  EXPECT_ERROR(arange(0.0, INFINITY), "unsupported range");
  EXPECT_ERROR(arange(0, 1, std::nan("")), "step");
  EXPECT_EQ(values(linspace(-1, 1, 5, kDouble)), (V{-1, -0.5, 0, 0.5, 1}));
  EXPECT_EQ(values(linspace(0, 10, 4, kLong)), (V{0, 3, 6, 10}));
  EXPECT_EQ(values(linspace(3, 9, 1)), (V{3}));
  EXPECT_ERROR(linspace(0, 1, -1), "non-negative");
}

TEST(Factory, Matrices) {
  EXPECT_EQ(values(eye(2, 3)), (V{1, 0, 0, 0, 1, 0}));
  Tensor m = arange(9, kDouble).view({3, 3});
  EXPECT_EQ(values(m.tril(-1)), (V{0, 0, 0, 3, 0, 0, 6, 7, 0}));
  EXPECT_EQ(values(m.triu(1)), (V{0, 1, 2, 0, 0, 5, 0, 0, 0}));
}

TEST(Factory, OptionsAreHonoured) {
  Tensor x = ones({2, 3}, TensorOptions(kDouble).requires_grad(true));
  EXPECT_TRUE(x.requires_grad() && x.is_leaf());
  (x * 2).sum().backward();
  EXPECT_EQ(values(x.grad()), (V{2, 2, 2, 2, 2, 2}));
  EXPECT_ERROR(ones({2}, TensorOptions(kLong).requires_grad(true)), "floating");
  Tensor m = zeros({1 << 20, 1 << 20}, kMeta);
  EXPECT_EQ(m.numel(), int64_t(1) << 40);
  EXPECT_TRUE(empty({1, 2, 3, 4}, TensorOptions().memory_format(MemoryFormat::ChannelsLast))
                  .is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_EQ(empty_strided({2, 3}, {1, 2}).strides().vec(), (std::vector<int64_t>{1, 2}));
}

TEST(Factory, OutForms) {
  Tensor out = empty({0}, kDouble);
  arange_out(out, 3);
  EXPECT_EQ(values(out), (V{0, 1, 2}));
  Tensor wide = empty({2, 2}, kDouble).t();
  arange_out(wide, 4);
  EXPECT_EQ(values(wide), (V{0, 1, 2, 3}));
  zeros_out(out, {2});
  EXPECT_EQ(values(out), (V{0, 0}));
  Tensor grad = leaf({1});
  EXPECT_ERROR(ones_out(grad, {1}), "out=");
}

TEST(Factory, BadSizesNameTheOperator) {
  EXPECT_ERROR(zeros({2, -1}), "zeros: ");
  EXPECT_ERROR(ones({int64_t(1) << 40, int64_t(1) << 40}), "ones: ");
  EXPECT_ERROR(eye(-1), "eye: ");
}

TEST(Factory, FromListsAndMemory) {
  EXPECT_EQ(tensor({1, 2}).scalar_type(), kLong);
  EXPECT_EQ(tensor({1.0, 2.0}).scalar_type(), kFloat);
  std::vector<int> v{1, 2, 3};
  Tensor b = from_blob(v.data(), {3});
  EXPECT_EQ(b.scalar_type(), kInt);
  EXPECT_EQ(values(b), (V{1, 2, 3}));
  v[1] = 9;
  EXPECT_EQ(values(b), (V{1, 9, 3}));
  EXPECT_ERROR(b.resize_({10}), "borrows");
}

// Row 45 of the complaints and case C11: a vector's memory can be owned, and its type is the dtype.
TEST(Factory, TakesAVectorsMemoryOver) {
  Tensor t;
  const int* memory = nullptr;
  {
    std::vector<int> v{1, 2, 3, 4, 5, 6};
    memory = v.data();
    t = from_vector(std::move(v), {2, 3});
  }
  EXPECT_EQ(t.scalar_type(), kInt);
  EXPECT_EQ(t.data_ptr<int>(), memory);
  EXPECT_EQ(t.sizes(), (IntArrayRef{2, 3}));
  const Tensor row = t[1];
  t = Tensor();
  EXPECT_EQ(values(row), (V{4, 5, 6}));

  EXPECT_EQ(from_vector(std::vector<double>{0.5, 1.5}).scalar_type(), kDouble);
  EXPECT_EQ(from_vector(std::vector<uint8_t>{7}).sizes(), (IntArrayRef{1}));
  EXPECT_EQ(from_vector(std::vector<float>{}).sizes(), (IntArrayRef{0}));
  EXPECT_EQ(from_vector(std::vector<float>{}, {0, 4}).sizes(), (IntArrayRef{0, 4}));
  const Tensor leaf = from_vector(std::vector<float>{1, 2}, {2}, TensorOptions().requires_grad(true));
  leaf.pow(2).sum().backward();
  EXPECT_EQ(values(leaf.grad()), (V{2, 4}));
}

TEST(Factory, AVectorThatDoesNotFitIsLeftAsItWas) {
  std::vector<float> v{1, 2, 3};
  EXPECT_ERROR(from_vector(std::move(v), {2, 2}), "from_vector: sizes (2, 2) need 4 elements; the vector has 3");
  EXPECT_ERROR(from_vector(std::move(v), {-3}), "from_vector: ");
  EXPECT_ERROR(from_vector(std::move(v), {int64_t(1) << 40, int64_t(1) << 40}), "from_vector: ");
  EXPECT_ERROR(from_vector(std::move(v), {3}, kInt), "from_vector: dtype ");
  EXPECT_ERROR(from_vector(std::move(v), {3}, kMeta), "from_vector: device meta");
  EXPECT_EQ(v, (std::vector<float>{1, 2, 3}));
}

// Each vector is freed when the last tensor over it is: a leak shows under AddressSanitizer, a double free everywhere.
TEST(Factory, AVectorsMemoryDiesWithItsLastTensor) {
  for (int i = 0; i < 100; ++i) {
    Tensor t = from_vector(std::vector<int64_t>(1000, i));
    const Tensor part = t.slice(0, 500);
    t = t + 1;
    EXPECT_EQ(part[0].item<int64_t>(), i);
  }
}

}  // namespace
