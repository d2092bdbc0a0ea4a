// The same bits each time, whatever the order in which blocks run (tests/cuda/CMakeLists.txt runs this with another one
// for each launch), and what the determinism switch does on a device.
#include <cstring>

#include <gradus/core/determinism.h>

#include "support.h"

namespace gradus_test {
namespace {

using namespace gradus;
namespace F = nn::functional;

class DeviceDeterminism : public CudaTest {
 protected:
  void TearDown() override {
    if (cuda::is_available()) cuda::synchronize();
    use_deterministic_algorithms(false);
  }
};

/// Numbers of very different sizes: a sum in another order is another sum.
Tensor ragged(IntArrayRef size) {
  const Tensor x = randn(size) * exp(randn(size) * 4);
  return x.to(kCUDA);
}
Tensor indices(IntArrayRef size, int64_t below) {
  return randint(below, size, kLong).to(kCUDA);
}

/// Runs f often and compares all bits with the first answer's.
template <class Function>
void expect_same_bits(const char* op, Function f) {
  const Tensor first = f().cpu().contiguous();
  for (int i = 0; i < 6; ++i) {
    const Tensor again = f().cpu().contiguous();
    ASSERT_EQ(again.sizes(), first.sizes());
    ASSERT_EQ(std::memcmp(again.data_ptr(), first.data_ptr(), first.nbytes()), 0) << op << ", run " << i;
  }
}

TEST_F(DeviceDeterminism, SumsOverWhatFallsOnOnePlace) {
  manual_seed(5);
  const Tensor places = indices({2000}, 7), values = ragged({2000});
  const Tensor rows = ragged({2000, 6}), table = zeros({7, 6}, kCUDA);
  expect_same_bits("scatter_add", [&] { return zeros({7}, kCUDA).scatter_add(0, places, values); });
  expect_same_bits("index_add", [&] { return table.index_add(0, places, rows); });
  expect_same_bits("index_put_", [&] {
    return zeros({7}, kCUDA).index_put_(std::vector<std::optional<Tensor>>{places}, values, /*accumulate=*/true);
  });
  expect_same_bits("embedding_dense_backward",
                   [&] { return embedding_dense_backward(rows, places, 7, /*padding_idx=*/-1, false); });
  expect_same_bits("index", [&] {
    const Tensor x = zeros({7, 6}, kCUDA).requires_grad_();
    x.index({places}).backward(rows);
    return x.grad();
  });
  expect_same_bits("gather", [&] {
    const Tensor x = zeros({7}, kCUDA).requires_grad_();
    x.gather(0, places).backward(values);
    return x.grad();
  });
}

TEST_F(DeviceDeterminism, TheLastOfSeveralWritersStands) {
  manual_seed(6);
  const Tensor places = indices({3000}, 5), values = ragged({3000});
  expect_same_bits("scatter", [&] { return zeros({5}, kCUDA).scatter(0, places, values); });
  expect_same_bits("index_put_", [&] {
    return zeros({5}, kCUDA).index_put_(std::vector<std::optional<Tensor>>{places}, values, /*accumulate=*/false);
  });
}

TEST_F(DeviceDeterminism, ReductionsAndScans) {
  manual_seed(7);
  const Tensor x = ragged({3, 5000}), image = ragged({2, 3, 9, 9});
  expect_same_bits("sum", [&] { return x.sum(); });
  expect_same_bits("sum", [&] { return x.sum(0); });
  expect_same_bits("var", [&] { return x.var(); });
  expect_same_bits("norm", [&] { return x.norm(); });
  expect_same_bits("cumsum", [&] { return x.cumsum(1); });
  expect_same_bits("softmax", [&] { return softmax(x, 1); });
  expect_same_bits("sort", [&] { return std::get<1>(x.mul(0).sort(1)); });
  expect_same_bits("max_pool2d", [&] {
    const Tensor y = image.detach().requires_grad_();
    max_pool2d(y, {3, 3}, {1, 1}).sum().backward();
    return y.grad();
  });
  expect_same_bits("nll_loss", [&] { return nll_loss(x.t().contiguous(), indices({5000}, 3).fill_(1)); });
}

TEST_F(DeviceDeterminism, ATrainingStepUnderTheSwitch) {
  use_deterministic_algorithms(true);
  manual_seed(8);
  const Tensor images = randn({4, 3, 8, 8}).to(kCUDA), targets = indices({4}, 5);
  expect_same_bits("a step", [&] {
    manual_seed(9);
    nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1)), nn::BatchNorm2d(4), nn::ReLU(),
                       nn::MaxPool2d(2), nn::Flatten(), nn::Linear(64, 5));
    net->to(kCUDA);
    optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
    for (int step = 0; step < 2; ++step) {
      sgd.zero_grad();
      F::cross_entropy(net->forward(images), targets).backward();
      sgd.step();
    }
    std::vector<Tensor> all;
    for (const Tensor& p : net->parameters()) all.push_back(p.detach().flatten());
    return cat(all);
  });
}

TEST_F(DeviceDeterminism, NewMemoryIsFilled) {
  use_deterministic_algorithms(true);
  EXPECT_TRUE(isnan(empty({100}, kCUDA)).all().item<bool>());
  EXPECT_TRUE(empty({100}, TensorOptions(kLong).device(kCUDA)).eq(INT64_MAX).all().item<bool>());
  EXPECT_TRUE(isnan(empty_like(ones({3}, kCUDA))).all().item<bool>());
  Tensor x = ones({3}, kCUDA);
  x.resize_({5});
  EXPECT_EQ(isnan(x).sum().item<int64_t>(), 2);
  EXPECT_EQ(x.slice(0, 0, 3).sum().item<float>(), 3);
}

}  // namespace
}  // namespace gradus_test
