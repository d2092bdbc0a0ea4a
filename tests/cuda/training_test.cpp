// Tensors, modules, autograd and optimizers on CUDA devices, as programs use them: several streams, devices and
// threads. Under GRADUS_EMULATION_ORDER=lazy or random a missing wait between streams gives wrong numbers.
#include <thread>

#include "support.h"

namespace gradus_test {
namespace {

using namespace gradus;
namespace F = nn::functional;

const Device kFirst(kCUDA, 0), kSecond(kCUDA, 1);

class Training : public CudaTest {};

void expect_close(const Tensor& got, const Tensor& want, double tolerance = 1e-5) {
  ASSERT_EQ(got.sizes(), want.sizes());
  const Tensor a = got.detach().cpu().to(kDouble), b = want.detach().cpu().to(kDouble);
  EXPECT_TRUE(allclose(a, b, tolerance, tolerance)) << a << "\ninstead of\n" << b;
}

struct Net : nn::Module {
  Net() {
    first = register_module("first", nn::Linear(6, 16));
    second = register_module("second", nn::Linear(16, 3));
  }
  Tensor forward(const Tensor& x) { return second(relu(first(x))); }
  nn::Linear first{nullptr}, second{nullptr};
};

std::vector<Tensor> trained(Device device,
                            const std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>)>& by) {
  manual_seed(3);
  Net net;
  const Tensor x = randn({20, 6}), y = randn({20, 3});
  net.to(device);
  const auto optimizer = by(net.parameters());
  for (int step = 0; step < 8; ++step) {
    optimizer->zero_grad();
    F::mse_loss(net.forward(x.to(device)), y.to(device)).backward();
    optimizer->step();
  }
  return net.parameters();
}

TEST_F(Training, GivesWhatTheCpuGives) {
  const std::vector<std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>)>> optimizers = {
      [](std::vector<Tensor> p) -> std::unique_ptr<optim::Optimizer> {
        return std::make_unique<optim::SGD>(p, optim::SGDOptions(0.05).momentum(0.9).nesterov(true));
      },
      [](std::vector<Tensor> p) -> std::unique_ptr<optim::Optimizer> {
        return std::make_unique<optim::Adam>(p, optim::AdamOptions(1e-2).amsgrad(true));
      },
      [](std::vector<Tensor> p) -> std::unique_ptr<optim::Optimizer> {
        return std::make_unique<optim::AdamW>(p, optim::AdamWOptions(1e-2).weight_decay(0.1));
      }};
  for (const auto& by : optimizers) {
    const std::vector<Tensor> want = trained(kCPU, by), got = trained(kFirst, by);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(got[i].is_cuda());
      EXPECT_TRUE(got[i].grad().is_cuda());
      expect_close(got[i], want[i], 1e-4);
    }
  }
}

// Nothing but the library's own waits stands between the streams.
TEST_F(Training, BackwardRunsOnTheForwardsStreams) {
  const Tensor values = randn({64, 32}), factor = randn({32, 8});
  const Tensor leaf_here = values.clone().requires_grad_(), w_here = factor.clone().requires_grad_();
  leaf_here.mm(w_here).tanh().mul(leaf_here.sum()).sum().backward();

  const Tensor x = values.to(kFirst).requires_grad_(), w = factor.to(kFirst).requires_grad_();
  const cuda::CUDAStream a = cuda::getStreamFromPool(), b = cuda::getStreamFromPool();
  cuda::CUDAEvent ready;
  ready.record(cuda::getCurrentCUDAStream());
  ready.block(a);
  ready.block(b);
  Tensor hidden, total;
  {
    cuda::CUDAStreamGuard guard(a);
    hidden = x.mm(w).tanh();
    cuda::CUDAEvent done;
    done.record(a);
    done.block(b);
  }
  {
    cuda::CUDAStreamGuard guard(b);
    total = hidden.mul(x.sum()).sum();
    total.backward();
  }
  // backward() returned to the caller's stream, b: the default stream has to wait for it.
  cuda::CUDAEvent over;
  over.record(b);
  over.block(cuda::getCurrentCUDAStream());
  expect_close(x.grad(), leaf_here.grad(), 1e-4);
  expect_close(w.grad(), w_here.grad(), 1e-4);
}

TEST_F(Training, BackwardsCallerSeesTheGradients) {
  const Tensor values = randn({50});
  const Tensor x = values.to(kFirst).requires_grad_();
  Tensor y;
  {
    const cuda::CUDAStream side = cuda::getStreamFromPool();
    cuda::CUDAEvent ready;
    ready.record(cuda::getCurrentCUDAStream());
    ready.block(side);
    cuda::CUDAStreamGuard guard(side);
    y = x.mul(x).sum();
    cuda::CUDAEvent done;
    done.record(side);
    done.block(cuda::getDefaultCUDAStream());
  }
  y.backward();  // on the default stream, which then waits for the leaves' streams
  expect_close(x.grad(), values * 2);
}

TEST_F(Training, AcrossDevices) {
  GRADUS_NEEDS_TWO_DEVICES();
  const Tensor values = randn({8, 5});
  const Tensor w = values.to(kSecond).requires_grad_(), x = values.to(kFirst).requires_grad_();
  const Tensor y = x.mul(2).to(kSecond).mul(w).to(kFirst).sin();
  EXPECT_EQ(y.device(), kFirst);
  y.sum().backward();
  EXPECT_EQ(w.grad().device(), kSecond);
  EXPECT_EQ(x.grad().device(), kFirst);
  const Tensor inner = (values * 2 * values).cos();
  expect_close(x.grad(), inner * 2 * values);
  expect_close(w.grad(), inner * 2 * values);
  EXPECT_EQ(cuda::current_device(), 0);
  {
    cuda::CUDAGuard guard(1);
    EXPECT_EQ(zeros({2}, device(kCUDA)).device(), kSecond);
  }
  EXPECT_EQ(zeros({2}, device(kCUDA)).device(), kFirst);
}

TEST_F(Training, ParametersOnTwoDevicesInOneOptimizer) {
  GRADUS_NEEDS_TWO_DEVICES();
  const Tensor here = ones({4}), a = ones({4}, device(kFirst)).requires_grad_(),
               b = ones({4}, device(kSecond)).requires_grad_();
  optim::SGD optimizer(std::vector<Tensor>{a, b, here.requires_grad_()}, optim::SGDOptions(0.5));
  (a.sum().cpu() + b.sum().cpu() * 2 + here.sum() * 3).backward();
  optimizer.step();
  expect_close(a, full({4}, 0.5));
  expect_close(b, full({4}, 0.0));
  expect_close(here, full({4}, -0.5));
}

TEST_F(Training, OtherDevicesAreNamed) {
  const Tensor here = ones({2, 2}), there = ones({2, 2}, device(kFirst));
  for (const auto& call : std::vector<std::function<void()>>{[&] { here + there; }, [&] { here.mm(there); },
                                                             [&] { there.add_(here); }, [&] { F::linear(there, here); },
                                                             [&] {
                                                               cat({here, there});
                                                             },
                                                             [&] { there.index_select(0, zeros({1}, kLong)); }}) {
    try {
      call();
      ADD_FAILURE() << "tensors on two devices were taken";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("cuda:0"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("cpu"), std::string::npos) << e.what();
    }
  }
  // A number goes with tensors anywhere.
  expect_close(there + scalar_tensor(2.0), full({2, 2}, 3.0));
  expect_close(scalar_tensor(2.0) * there, full({2, 2}, 2.0));
}

TEST_F(Training, ThreadsTrainOnTheirOwn) {
  std::vector<std::vector<Tensor>> results(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&results, t] {
      const Device device(kCUDA, static_cast<DeviceIndex>(t % cuda::device_count()));
      Tensor w = arange(12, TensorOptions(kFloat)).view({4, 3}).mul(0.1).to(device).requires_grad_();
      const Tensor x = ones({2, 4}, TensorOptions(device));
      for (int i = 0; i < 5; ++i) {
        w.mutable_grad().reset();
        x.mm(w).tanh().sum().backward();
        NoGradGuard guard;
        w.sub_(w.grad(), 0.1);
      }
      results[t] = {w.detach().cpu()};
    });
  }
  for (std::thread& t : threads) t.join();
  for (size_t t = 1; t < results.size(); ++t) expect_close(results[t][0], results[0][0], 0);
}

TEST_F(Training, PinnedCopiesNeedNotBlock) {
  const Tensor pageable = randn({1000});
  const Tensor pinned = pageable.pin_memory();
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_FALSE(pageable.is_pinned());
  EXPECT_TRUE(pinned.pin_memory().is_same(pinned));
  EXPECT_TRUE(empty({3}, TensorOptions().pinned_memory(true)).is_pinned());
  const Tensor there = pinned.to(kFirst, kFloat, /*non_blocking=*/true);
  Tensor back = empty({1000}, TensorOptions().pinned_memory(true));
  back.copy_(there.mul(2), /*non_blocking=*/true);
  cuda::synchronize();
  EXPECT_TRUE(back.equal(pageable * 2));
}

TEST_F(Training, CopiesOfAllKinds) {
  const Tensor m = randn({5, 7});
  expect_close(m.t().to(kFirst), m.t());
  expect_close(m.to(kFirst).t().cpu(), m.t());
  expect_close(m.to(kFirst, kDouble), m);
  expect_close(m.to(kFirst).to(kCPU, kHalf), m, 1e-2);
  Tensor part = zeros({5, 9}, device(kFirst));
  part.slice(1, 1, 8).copy_(m);
  expect_close(part.slice(1, 1, 8), m);
  Tensor here = zeros({7, 5});
  here.t().copy_(part.slice(1, 1, 8));
  EXPECT_TRUE(here.t().equal(m));
  here.copy_(scalar_tensor(2.5).to(kFirst));
  EXPECT_TRUE(here.equal(full({7, 5}, 2.5)));
  EXPECT_EQ(part[0][1].item<float>(), m[0][0].item<float>());
}

TEST_F(Training, BadIndicesAreReportedLaterAndTheDeviceGoesOn) {
  const Tensor table = randn({5, 2}, device(kFirst)), at = tensor({0, 7, 1}, kLong).to(kFirst);
  const auto look_up = [&] {
    embedding(table, at);
    cuda::synchronize();
  };
  try {
    look_up();
    ADD_FAILURE() << "index 7 of 5 rows was taken";
  } catch (const IndexError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("embedding"), std::string::npos) << text;
    EXPECT_NE(text.find("7"), std::string::npos) << text;
  }
  expect_close(table + 1, table.cpu() + 1);
}

TEST_F(Training, CheckpointsMoveBetweenDevices) {
  manual_seed(1);
  Net net;
  net.to(kFirst);
  optim::Adam adam(net.parameters(), optim::AdamOptions(1e-2));
  const Tensor x = randn({4, 6}, device(kFirst));
  net.forward(x).sum().backward();
  adam.step();
  std::ostringstream weights, state;
  {
    serialize::OutputArchive model, optimizer;
    net.save(model);
    model.save_to(weights);
    adam.save(optimizer);
    optimizer.save_to(state);
  }
  Net other;
  optim::Adam again(other.parameters(), optim::AdamOptions(1e-2));
  serialize::InputArchive model, optimizer;
  std::istringstream weights_in(weights.str()), state_in(state.str());
  model.load_from(weights_in);
  other.load(model);
  optimizer.load_from(state_in);
  again.load(optimizer);
  expect_close(other.forward(x.cpu()), net.forward(x));
  other.forward(x.cpu()).sum().backward();
  again.step();
  adam.zero_grad();
  net.forward(x).sum().backward();
  adam.step();
  expect_close(other.first->weight, net.first->weight);
}

TEST_F(Training, GraphsReplayDraws) {
  const Tensor x = arange(300, TensorOptions(kFloat).device(kFirst));
  const cuda::CUDAStream side = cuda::getStreamFromPool();
  cuda::CUDAEvent ready;
  ready.record(cuda::getCurrentCUDAStream());
  ready.block(side);
  cuda::CUDAGraph graph;
  Tensor out;
  {
    cuda::CUDAStreamGuard guard(side);
    graph.capture_begin();
    out = x.mul(2).add(rand_like(x)).add(randn_like(x));
    graph.capture_end();
  }
  cuda::synchronize();
  manual_seed(11);
  std::vector<Tensor> replayed;
  for (int i = 0; i < 3; ++i) {
    graph.replay();
    replayed.push_back(out.cpu());
  }
  manual_seed(11);
  for (const Tensor& r : replayed) EXPECT_TRUE(r.equal(x.mul(2).add(rand_like(x)).add(randn_like(x)).cpu()));
  EXPECT_FALSE(replayed[0].equal(replayed[1]));
}

TEST_F(Training, Printing) {
  const Tensor x = ones({3}, device(kFirst));
  std::ostringstream text;
  text << x;
  EXPECT_EQ(text.str(), " 1\n 1\n 1\n[ CUDAFloatType{3} ]");
}

}  // namespace
}  // namespace gradus_test
