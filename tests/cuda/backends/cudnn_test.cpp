// The code that calls cuDNN, against the emulated library: which engine is taken under which switch, what is kept, and
// what happens where plans, memory or the library are missing.
#include <src/backends/cudnn/convolution.h>

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gradus/core/determinism.h>
#include <gradus/cuda/backends.h>

#include <kernels/convolution.h>
#include <kernels/cuda/convolution_limits.h>
#include <src/backends/cudnn/library.h>
#include <tests/cuda/kernels/device_memory.h>
#include <tests/cuda_emulation/libraries.h>

namespace gradus::inline v0::backends::cudnn {
namespace {

using kernels::OnDevice;
namespace emulated = gradus_emulation::cudnn;

/// 1 x 1 convolutions of images of ones by ones, whose results are the number of terms.
template <class T>
struct Ones {
  ConvolutionShape shape;
  OnDevice<T> input, weight, output;

  explicit Ones(int64_t size, int64_t channels = 3, bool channels_last = false)
      : shape{2,
              channels,
              4,
              1,
              2,
              {size, size},
              {size, size},
              {1, 1},
              {1, 1},
              {0, 0},
              {1, 1},
              CppTypeToScalarType<T>::value,
              channels_last},
        input(std::vector<T>(static_cast<size_t>(2 * channels * size * size), T(1.0f))),
        weight(std::vector<T>(static_cast<size_t>(4 * channels), T(1.0f))),
        output(std::vector<T>(static_cast<size_t>(2 * 4 * size * size), T(1.0f))) {}
  /// The engine that computed it.
  int run(Direction direction = Direction::kOutput) {
    EXPECT_TRUE(convolution(direction, shape, {input.data(), weight.data(), output.data()}));
    const std::vector<T> got = direction == Direction::kOutput  ? output.read()
                               : direction == Direction::kInput ? input.read()
                                                                : weight.read();
    const int64_t terms = direction == Direction::kOutput  ? shape.in_channels
                          : direction == Direction::kInput ? shape.out_channels
                                                           : 2 * shape.in[0] * shape.in[1];
    EXPECT_EQ(static_cast<float>(got[0]), static_cast<float>(terms));
    EXPECT_EQ(static_cast<float>(got.back()), static_cast<float>(terms));
    return emulated::state().last_engine;
  }
};

TEST(CudnnConvolution, EnginesBySwitchAndType) {
  EXPECT_EQ(Ones<float>(3).run(), emulated::kTensorCore);
  EXPECT_EQ(Ones<Half>(3).run(), emulated::kTensorCore);
  EXPECT_EQ(Ones<double>(3).run(), emulated::kExact);
  EXPECT_EQ(Ones<double>(3).run(Direction::kInput), emulated::kNondeterministic);
  gradus::cuda::set_cudnn_allow_tf32(false);
  EXPECT_EQ(Ones<float>(3).run(), emulated::kExact);
  EXPECT_EQ(Ones<BFloat16>(3).run(), emulated::kTensorCore);
  EXPECT_EQ(Ones<float>(3).run(Direction::kWeight), emulated::kNondeterministic);
  gradus::cuda::set_cudnn_deterministic(true);
  EXPECT_EQ(Ones<float>(3).run(Direction::kWeight), emulated::kExact);
  EXPECT_EQ(Ones<double>(3).run(Direction::kInput), emulated::kExact);
  gradus::cuda::set_cudnn_deterministic(false);
  gradus::cuda::set_cudnn_allow_tf32(true);
}

TEST(CudnnConvolution, TheDeterminismSwitchLeavesOutWhatIsNotAndTimesNothing) {
  gradus::cuda::set_cudnn_allow_tf32(false);
  EXPECT_EQ(Ones<float>(3).run(Direction::kWeight), emulated::kNondeterministic);
  use_deterministic_algorithms(true);
  EXPECT_EQ(Ones<float>(3).run(Direction::kWeight), emulated::kExact);
  use_deterministic_algorithms(true, /*warn_only=*/true);
  EXPECT_EQ(Ones<double>(3).run(Direction::kInput), emulated::kExact);
  gradus::cuda::set_cudnn_benchmark(true);
  const int before = emulated::state().executions;
  EXPECT_EQ(Ones<float>(11).run(Direction::kWeight), emulated::kExact);
  EXPECT_EQ(emulated::state().executions, before + 1);
  gradus::cuda::set_cudnn_benchmark(false);
  use_deterministic_algorithms(false);
  EXPECT_EQ(Ones<float>(3).run(Direction::kWeight), emulated::kNondeterministic);
  gradus::cuda::set_cudnn_allow_tf32(true);
}

TEST(CudnnConvolution, ChannelsInnermost) {
  for (const Direction d : {Direction::kOutput, Direction::kInput, Direction::kWeight}) Ones<float>(5, 3, true).run(d);
}

TEST(CudnnConvolution, PlansAreKept) {
  Ones<float> ones(7);
  ones.run();
  const int plans = emulated::state().plans, lists = emulated::state().heuristics;
  ones.run();
  Ones<float>(7).run();
  EXPECT_EQ(emulated::state().plans, plans);
  EXPECT_EQ(emulated::state().heuristics, lists);
  Ones<float>(8).run();
  EXPECT_GT(emulated::state().plans, plans);
  // Less aligned operands are another problem.
  const OnDevice<float> shifted(std::vector<float>(2 * 3 * 7 * 7 + 1, 1.0f));
  const int before = emulated::state().plans;
  EXPECT_TRUE(
      convolution(Direction::kOutput, ones.shape, {shifted.data() + 1, ones.weight.data(), ones.output.data()}));
  EXPECT_GT(emulated::state().plans, before);
  EXPECT_EQ(ones.output.read()[0], 3);
}

TEST(CudnnConvolution, BenchmarksRunEveryCandidateOnce) {
  gradus::cuda::set_cudnn_benchmark(true);
  Ones<float> ones(9);
  const int before = emulated::state().executions;
  const int chosen = ones.run();
  const int first = emulated::state().executions - before;
  EXPECT_EQ(first, 3 * 4 + 1) << "tensor core, exact and fallback, four times each, and the convolution";
  EXPECT_NE(chosen, emulated::kUnbuildable);
  ones.run();
  EXPECT_EQ(emulated::state().executions - before, first + 1);
  gradus::cuda::set_cudnn_benchmark_limit(1);
  Ones<float> others(10);
  others.run();
  EXPECT_EQ(emulated::state().executions - before, first + 1 + 5);
  gradus::cuda::set_cudnn_benchmark_limit(10);
  gradus::cuda::set_cudnn_benchmark(false);
}

/// Takes the device's free memory but for `rest` bytes.
class Hoard {
 public:
  explicit Hoard(size_t rest) {
    size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    while (free > rest && cudaMalloc(&held_.emplace_back(), free - rest) == cudaSuccess) {
      EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    }
    cudaGetLastError();
  }
  ~Hoard() {
    for (void* p : held_) cudaFree(p);
  }

 private:
  std::vector<void*> held_;
};

TEST(CudnnConvolution, LessWorkspaceWhereMemoryIsScarce) {
  Ones<float> ones(620, 1);  // the tensor cores' workspace: 12 MB
  {
    const Hoard hoard(1 << 20);
    EXPECT_TRUE(
        convolution(Direction::kOutput, ones.shape, {ones.input.data(), ones.weight.data(), ones.output.data()}));
    EXPECT_EQ(emulated::state().last_engine, emulated::kExact);
  }
  EXPECT_EQ(ones.run(), emulated::kTensorCore);
}

TEST(CudnnConvolution, TheFallbackListAndNoPlanAtAll) {
  emulated::state().only_engine = emulated::kFallback;
  EXPECT_EQ(Ones<float>(11).run(), emulated::kFallback);
  emulated::state().only_engine = emulated::kUnbuildable;
  Ones<float> none(12);
  EXPECT_FALSE(
      convolution(Direction::kOutput, none.shape, {none.input.data(), none.weight.data(), none.output.data()}));
  // The kernel then computes it itself.
  const int64_t image[] = {2, 3, 12, 12}, strides[] = {432, 144, 12, 1}, out[] = {2, 4, 12, 12};
  const int64_t out_strides[] = {576, 144, 12, 1}, weight[] = {4, 3, 1, 1}, weight_strides[] = {3, 1, 1, 1};
  const Device device = kernels::test_device();
  kernels::convolution_forward(device, {none.output.data(), out, out_strides, 4, kFloat, device},
                               {none.input.data(), image, strides, 4, kFloat, device},
                               {none.weight.data(), weight, weight_strides, 4, kFloat, device},
                               {nullptr, nullptr, nullptr, 0, kFloat, device}, {}, {});
  EXPECT_EQ(none.output.read()[575], 3);
  emulated::state().only_engine = emulated::kNoEngine;
}

TEST(CudnnConvolution, LargeImagesInParts) {
  const int64_t image[] = {5, 2, 3, 3}, strides[] = {18, 9, 3, 1}, weight[] = {2, 2, 1, 1},
                weight_strides[] = {2, 1, 1, 1};
  std::vector<float> x(90), w{1, 2, 3, 4};
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  const Device device = kernels::test_device();
  const auto run = [&](int64_t most) {
    kernels::cuda::convolution_most_elements = most;
    const OnDevice<float> input(x), filter(w), output(std::vector<float>(90)), grad_input(x), grad_weight(w);
    const kernels::ConstView in{input.data(), image, strides, 4, kFloat, device};
    const kernels::ConstView f{filter.data(), weight, weight_strides, 4, kFloat, device};
    const kernels::View out{output.data(), image, strides, 4, kFloat, device};
    kernels::convolution_forward(device, out, in, f, {nullptr, nullptr, nullptr, 0, kFloat, device}, {}, {});
    kernels::convolution_backward_input(device, {grad_input.data(), image, strides, 4, kFloat, device}, out, f, {}, {});
    kernels::convolution_backward_weight(device, {grad_weight.data(), weight, weight_strides, 4, kFloat, device},
                                         kernels::View{}, out, in, {});
    kernels::cuda::convolution_most_elements = INT32_MAX;
    std::vector<float> all = output.read();
    for (const auto& more : {grad_input.read(), grad_weight.read()}) all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::vector<float> whole = run(INT32_MAX);
  const int before = emulated::state().executions;
  EXPECT_EQ(run(36), whole);  // two images at once
  EXPECT_EQ(emulated::state().executions, before + 9);
  EXPECT_EQ(run(17), whole);  // not even one: by the plain kernels
  EXPECT_EQ(emulated::state().executions, before + 9);
}

TEST(CudnnConvolution, Threads) {
  // The emulated library refuses a handle or plan that two threads use at once.
  const int before = emulated::state().handles;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 20; ++i) {
        Ones<float> ones(4 + i % 2);
        EXPECT_TRUE(
            convolution(Direction::kOutput, ones.shape, {ones.input.data(), ones.weight.data(), ones.output.data()}));
        EXPECT_EQ(ones.output.read()[0], 3);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_LE(emulated::state().handles - before, 4);
}

TEST(CudnnConvolution, AMissingLibraryIsNamed) {
  try {
    open_library("libno_such_cudnn.so.9");
    FAIL();
  } catch (const NotImplementedError& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.find("convolution: cuDNN 9 cannot be used: libno_such_cudnn.so.9: cannot open"), 0u) << text;
    EXPECT_NE(text.find("libcudnn9-cuda-13"), std::string::npos) << text;
    EXPECT_NE(text.find("set_cudnn_enabled(false)"), std::string::npos) << text;
  }
  EXPECT_EQ(version(), 91900);
}

TEST(CudnnConvolution, ErrorsNameCallStatusAndProblem) {
  Ones<float> ones(3);
  ones.shape.out[0] = 4;
  try {
    convolution(Direction::kWeight, ones.shape, {ones.input.data(), ones.weight.data(), ones.output.data()});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "convolution: cudnnBackendFinalize failed with CUDNN_STATUS_BAD_PARAM (an operation's tensors do not fit "
              "together) for the weight's gradient of input [2, 3, 3, 3], weight [4, 3, 1, 1], output [2, 4, 4, 3], "
              "stride (1, 1), padding (0, 0), dilation (1, 1), groups 1 of Float, on cuda:0");
  }
}

}  // namespace
}  // namespace gradus::inline v0::backends::cudnn
