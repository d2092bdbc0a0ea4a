// Negative log likelihood on the device against plain loops in double.
#include <kernels/loss.h>

#include <string>

#include "device_array.h"
#include "kernels/cuda/data_error.h"

namespace gradus::inline v0::kernels {
namespace {

template <class T>
class CudaLoss : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(CudaLoss, Types);

// Target i is of class 5 i mod classes; class 2 does not count.
template <class T, class Index>
void check(const std::vector<int64_t>& sizes, bool weighted, LossReduction reduction, size_t shift) {
  const std::string name = std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + ", reduction " +
                           std::to_string(static_cast<int>(reduction));
  Array<T> x(sizes), w({sizes[1]}), dx(sizes);
  x.fill(1), w.fill(3, 0.2, 1), dx.fill(9);
  std::vector<int64_t> target_sizes = {sizes[0]};
  target_sizes.insert(target_sizes.end(), sizes.begin() + 2, sizes.end());
  Array<Index> target(target_sizes);
  const int64_t n = target.numel(), spatial = sizes.size() == 2 ? 1 : sizes[2] * sizes[3];
  const int64_t ignore = sizes[1] > 2 ? 2 : -100;
  for (int64_t i = 0; i < n; ++i) target.data[static_cast<size_t>(i)] = static_cast<Index>(i * 5 % sizes[1]);
  Array<T> out(reduction == LossReduction::None ? target_sizes : std::vector<int64_t>{}), total({}), g(out.sizes);
  g.fill(4);
  std::vector<double> each(static_cast<size_t>(n)), grad(x.data.size());
  long double sums[3] = {};  // thousands of terms: the reference must not be the less accurate of the two
  const auto at = [&](int64_t i, int64_t c) {
    return static_cast<size_t>((i / spatial * sizes[1] + c) * spatial + i % spatial);
  };
  const auto weight_of = [&](int64_t c) { return weighted ? static_cast<double>(w.data[static_cast<size_t>(c)]) : 1; };
  for (int64_t i = 0; i < n; ++i) {
    const auto c = static_cast<int64_t>(target.data[static_cast<size_t>(i)]);
    if (c == ignore) continue;
    each[static_cast<size_t>(i)] = -weight_of(c) * static_cast<double>(x.data[at(i, c)]);
    sums[0] += each[static_cast<size_t>(i)], sums[1] += weight_of(c), sums[2] += std::abs(each[static_cast<size_t>(i)]);
  }
  const auto sum = static_cast<double>(sums[0]), weights = static_cast<double>(sums[1]),
             size = static_cast<double>(sums[2]);
  DeviceArray<T> dev_x(x), dev_w(w), dev_dx(dx, shift), dev_out(out), dev_total(total), dev_g(g);
  DeviceArray<Index> dev_target(target);
  const ConstView weight = weighted ? ConstView(dev_w.view()) : no_cuda_view();
  EXPECT_FALSE(nll_loss_forward(on_cuda(), dev_out.view(), dev_total.view(), dev_x.view(), dev_target.view(), weight,
                                reduction, ignore)
                   .found());
  dev_out.read(), dev_total.read();
  const double tolerance = rounding<T>() * (1 + size / 10);
  if (reduction == LossReduction::None) {
    expect_near(out, each, rounding<T>(), name);
    expect_near(total, {0}, 0, name + " total weight");
  } else {
    const bool mean = reduction == LossReduction::Mean;
    expect_near(out, {mean ? sum / weights : sum}, mean ? tolerance / std::max(1.0, weights) : tolerance, name);
    expect_near(total, {weights}, rounding<T>() * (1 + weights / 10), name + " total weight");
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto c = static_cast<int64_t>(target.data[static_cast<size_t>(i)]);
    if (c == ignore) continue;
    const bool single = reduction != LossReduction::None;
    const auto upstream = static_cast<double>(g.data[single ? 0 : static_cast<size_t>(i)]);
    grad[at(i, c)] =
        -weight_of(c) * upstream / (reduction == LossReduction::Mean ? static_cast<double>(total.data[0]) : 1);
  }
  if (x.numel() == 0) return;
  nll_loss_backward(on_cuda(), dev_dx.view(), dev_g.view(), dev_target.view(), weight, dev_total.view(), reduction,
                    ignore);
  expect_near(dev_dx.read(), grad, rounding<T>(), name + " gradient");
  cuda::throw_data_error(0);
}

TYPED_TEST(CudaLoss, NllLoss) {
  const std::vector<int64_t> shapes[] = {{5, 4}, {1, 1},    {3, 7, 2, 3}, {2, 5, 33, 31}, {700, 3},
                                         {0, 3}, {1023, 2}, {6, 1025},    {20011, 11},    {3, 50021}};
  for (const auto& sizes : shapes) {
    for (bool weighted : {false, true}) {
      for (LossReduction reduction : {LossReduction::None, LossReduction::Mean, LossReduction::Sum}) {
        check<TypeParam, int64_t>(sizes, weighted, reduction, 0);
        check<TypeParam, int32_t>(sizes, weighted, reduction, 1);
        if (sizes[1] < 256) check<TypeParam, uint8_t>(sizes, weighted, reduction, 3);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

// Nothing outside of the operands is touched, the good targets count, and the synchronisation reports one of the bad.
TEST(CudaLoss, BadTargetsAreReported) {
  for (int64_t bad : {int64_t{3}, int64_t{-1}, int64_t{1} << 40}) {
    for (LossReduction reduction : {LossReduction::None, LossReduction::Sum}) {
      Array<float> x({4, 3}), out(reduction == LossReduction::None ? std::vector<int64_t>{4} : std::vector<int64_t>{}),
          total({}), dx({4, 3}), g(out.sizes);
      x.fill(1), g.fill(2);
      Array<int64_t> target({4});
      target.data = {0, -100, bad, 1};
      DeviceArray<float> dev_x(x), dev_out(out), dev_total(total), dev_dx(dx), dev_g(g);
      DeviceArray<int64_t> dev_target(target);
      const BadIndex later = nll_loss_forward(on_cuda(), dev_out.view(), dev_total.view(), dev_x.view(),
                                              dev_target.view(), no_cuda_view(), reduction, -100);
      EXPECT_FALSE(later.found());
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      EXPECT_THROW(cuda::throw_data_error(0), Error);
      nll_loss_backward(on_cuda(), dev_dx.view(), dev_g.view(), dev_target.view(), no_cuda_view(), dev_total.view(),
                        reduction, -100);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      EXPECT_THROW(cuda::throw_data_error(0), Error);
      EXPECT_NO_THROW(cuda::throw_data_error(0));
      dev_out.read();
      if (reduction == LossReduction::Sum) {
        EXPECT_NEAR(out.get(0), -x.get(0) - x.get(10), 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
