// Copies, pinned memory, errors, the order of streams.
#include <numeric>
#include <thread>

#include "cuda/runtime/host_allocator.h"
#include "internal.h"
#include "kernels/cuda/scratch.h"
#include "probe.h"

using namespace gradus;
using namespace gradus::cuda::runtime;
using gradus_test::error_of;
using gradus_test::has;

namespace {

const Device kFirst(kCUDA, 0), kSecond(kCUDA, 1);

class CudaRuntime : public gradus_test::InternalTest {
 protected:
  static int64_t* allocate(size_t count) {
    return static_cast<int64_t*>(cuda::caching_allocator_alloc(count * sizeof(int64_t)));
  }
  static void release(void* p) { cuda::caching_allocator_delete(p); }
  static std::vector<int64_t> numbers(size_t count, int64_t first = 0) {
    std::vector<int64_t> v(count);
    std::iota(v.begin(), v.end(), first);
    return v;
  }
};

TEST_F(CudaRuntime, PageableMemoryMayBeUsedAtOnce) {
  for (const size_t count : {size_t(1), size_t(1000), size_t(300000)}) {  // staged, and too large for that
    int64_t* d = allocate(count);
    std::vector<int64_t> h = numbers(count);
    accelerator().copy(d, kFirst, h.data(), kCPU, count * 8, /*non_blocking=*/true);
    std::fill(h.begin(), h.end(), -1);
    EXPECT_EQ(read(d, count), numbers(count));
    release(d);
  }
}

TEST_F(CudaRuntime, SmallPageableCopiesDoNotWait) {
  int64_t* d = allocate(10);
  const auto before = gradus_emulation::counters();
  for (int i = 0; i < 10; ++i) {
    const int64_t v = i;
    accelerator().copy(d + i, kFirst, &v, kCPU, 8, false);
  }
  EXPECT_EQ(gradus_emulation::counters().host_waits, before.host_waits);
  EXPECT_EQ(read(d, 10), numbers(10));
  release(d);
}

TEST_F(CudaRuntime, PinnedMemoryIsCopiedWithoutWaiting) {
  constexpr size_t kCount = 300000;
  auto* h = static_cast<int64_t*>(accelerator().allocate_pinned(kCount * 8));
  auto* back = static_cast<int64_t*>(accelerator().allocate_pinned(kCount * 8));
  EXPECT_TRUE(accelerator().is_pinned(h));
  EXPECT_TRUE(accelerator().is_pinned(h + kCount - 1));
  int64_t on_stack = 0;
  EXPECT_FALSE(accelerator().is_pinned(&on_stack));
  EXPECT_FALSE(accelerator().is_pinned(nullptr));
  const auto v = numbers(kCount, 5);
  std::copy(v.begin(), v.end(), h);
  int64_t* d = allocate(kCount);
  const auto before = gradus_emulation::counters();
  accelerator().copy(d, kFirst, h, kCPU, kCount * 8, true);
  accelerator().copy(back, kCPU, d, kFirst, kCount * 8, true);
  EXPECT_EQ(gradus_emulation::counters().host_waits, before.host_waits);
  cuda::synchronize();
  EXPECT_TRUE(std::equal(v.begin(), v.end(), back));
  accelerator().free_pinned(h, kCount * 8);
  accelerator().free_pinned(back, kCount * 8);
  release(d);
}

TEST_F(CudaRuntime, PinnedMemoryIsReusedWhenItsCopiesAreDone) {
  int64_t* d = allocate(100);
  void* first = accelerator().allocate_pinned(800);
  std::memset(first, 1, 800);
  accelerator().copy(d, kFirst, first, kCPU, 800, true);
  accelerator().free_pinned(first, 800);
  void* second = accelerator().allocate_pinned(800);  // perhaps another one, if the copy has not been done
  std::memset(second, 2, 800);
  EXPECT_EQ(read(d, 1)[0], 0x0101010101010101);
  cuda::synchronize();
  accelerator().free_pinned(second, 800);
  void* third = accelerator().allocate_pinned(700);
  void* fourth = accelerator().allocate_pinned(900);
  EXPECT_TRUE(third == first || third == second);
  accelerator().free_pinned(third, 700);
  accelerator().free_pinned(fourth, 900);
  cuda::empty_cache();
  release(d);
}

TEST_F(CudaRuntime, StreamsAreOrdered) {
  constexpr size_t kCount = 1000;
  int64_t* d = allocate(kCount);
  const core::StreamId a = next_of_pool(0, 0), b = next_of_pool(0, 0);
  for (int round = 0; round < 10; ++round) {
    accelerator().set_stream(a);
    gradus_test::fill(d, kCount, round);
    accelerator().order(a, b);
    accelerator().set_stream(b);
    gradus_test::add(d, kCount, 100);
    accelerator().order(b, a);
  }
  accelerator().set_stream(a);
  EXPECT_EQ(read(d, kCount), std::vector<int64_t>(kCount, 109));
  accelerator().set_stream({0, 0});
  release(d);
}

TEST_F(CudaRuntime, CopiesBetweenDevicesAreOrdered) {
  if (cuda::device_count() < 2) GTEST_SKIP() << "needs two devices";
  constexpr size_t kCount = 1000;
  int64_t* here = allocate(kCount);
  accelerator().set_device(1);
  int64_t* there = allocate(kCount);
  const core::StreamId target = next_of_pool(1, 0);
  accelerator().set_stream(target);
  gradus_test::fill(there, kCount, -1);  // before the copy
  accelerator().set_device(0);
  const core::StreamId source = next_of_pool(0, 0);
  accelerator().set_stream(source);
  gradus_test::fill(here, kCount, 7);
  accelerator().copy(there, kSecond, here, kFirst, kCount * 8, false);
  gradus_test::fill(here, kCount, 8);  // after it
  accelerator().set_device(1);
  gradus_test::add(there, kCount, 1);  // after it, too
  EXPECT_EQ(read(there, kCount, kSecond), std::vector<int64_t>(kCount, 8));
  accelerator().set_stream({1, 0});
  accelerator().set_device(0);
  accelerator().set_stream({0, 0});
  release(here);
  release(there);
}

TEST_F(CudaRuntime, ScratchIsReusedByItsStreamAlone) {
  void* address = nullptr;
  {
    kernels::cuda::Scratch s(10000);
    address = s.as<void>();
    gradus_test::fill(s.as<int64_t>(), 100, 1);
  }
  kernels::cuda::Scratch again(10000);
  EXPECT_EQ(again.as<void>(), address);
  accelerator().set_stream(next_of_pool(0, 0));
  kernels::cuda::Scratch other(10000);
  EXPECT_NE(other.as<void>(), address);
  accelerator().set_stream({0, 0});
}

TEST_F(CudaRuntime, ProgramsBringTheirOwnStreams) {
  cudaStream_t own = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), cudaSuccess);
  const cuda::CUDAStream s = cuda::getStreamFromExternal(own, 0);
  EXPECT_EQ(s.stream(), own);
  EXPECT_EQ(cuda::getStreamFromExternal(own, 0), s);
  {
    const cuda::CUDAStreamGuard guard(s);
    EXPECT_EQ(kernels::cuda::context().stream, own);
    int64_t* d = allocate(10);
    gradus_test::fill(d, 10, 3);
    EXPECT_EQ(read(d, 10), std::vector<int64_t>(10, 3));
    release(d);
  }
  EXPECT_EQ(kernels::cuda::context().stream, nullptr);
  cuda::empty_cache();
  cudaStreamDestroy(own);
}

TEST_F(CudaRuntime, DataErrorsComeWithTheNextWait) {
  int64_t* d = allocate(4);
  const int64_t indices[4] = {0, 4, 2, 7};
  accelerator().copy(d, kFirst, indices, kCPU, sizeof indices, false);
  const std::string expected = "embedding_forward: index 7 at position 3 is out of range; expected 0 <= index < 5";
  gradus_test::check_indices(d, 4, 5);
  EXPECT_EQ(error_of<IndexError>([&] { read(d, 4); }), expected);
  EXPECT_EQ(read(d, 4)[3], 7);  // once
  gradus_test::check_indices(d, 4, 5);
  EXPECT_EQ(error_of<IndexError>([] { cuda::synchronize(); }), expected);
  gradus_test::check_indices(d, 4, 5);
  EXPECT_EQ(error_of<IndexError>([] { cuda::getCurrentCUDAStream().synchronize(); }), expected);
  gradus_test::check_indices(d, 4, 5);
  cuda::CUDAEvent event;
  event.record();
  EXPECT_EQ(error_of<IndexError>([&] { event.synchronize(); }), expected);
  gradus_test::check_indices(d, 4, 8);
  cuda::synchronize();
  release(d);
}

/// Two operands: Float [2, 3] and Long, without dimensions.
struct TwoViews {
  int64_t sizes[2] = {2, 3}, strides[2] = {3, 1};
  char memory[8] = {};
  kernels::View first{memory, sizes, strides, 2, ScalarType::Float, kFirst};
  kernels::ConstView second{memory, sizes, strides, 0, ScalarType::Long, kFirst};
  template <class E>
  std::string error(gradus_test::Failure how) {
    return error_of<E>([&] { kernels::failing_views(kFirst, first, second, how); });
  }
};

// Run with GRADUS_CUDA_SYNC=1.
TEST_F(CudaRuntime, SynchronousLaunchesReportAtOnce) {
  const char* on = std::getenv("GRADUS_CUDA_SYNC");
  if (on == nullptr) GTEST_SKIP() << "GRADUS_CUDA_SYNC is not set";
  int64_t* d = allocate(1);
  gradus_test::fill(d, 1, 9);
  EXPECT_TRUE(has(error_of<IndexError>([&] { gradus_test::check_indices(d, 1, 9); }), "index 9 at position 0"));
  const auto before = gradus_emulation::counters();
  gradus_test::fill(d, 1, 9);
  EXPECT_EQ(gradus_emulation::counters().host_waits, before.host_waits + 1);
  EXPECT_TRUE(has(error_of<Error>([] { gradus_test::fail_on_the_device(); }),
                  "fail_on_the_device on cuda:0, grid (1, 1, 1), block (64, 1, 1), 0 bytes of shared memory: "
                  "cudaErrorLaunchFailure: "));
  gradus_emulation::clear_errors();
  TwoViews views;
  const std::string text = views.error<Error>(gradus_test::Failure::kOnTheDevice);
  EXPECT_TRUE(has(text, "failing_views: fail_on_the_device on cuda:0, grid (1, 1, 1)")) << text;
  EXPECT_TRUE(has(text, "; operands: Float (2, 3), Long ()")) << text;
  gradus_emulation::clear_errors();
  release(d);
}

TEST_F(CudaRuntime, DataErrorsAreTheirDevices) {
  if (cuda::device_count() < 2) GTEST_SKIP() << "needs two devices";
  accelerator().set_device(1);
  int64_t* d = allocate(1);
  gradus_test::fill(d, 1, 9);
  gradus_test::check_indices(d, 1, 9);
  cuda::synchronize(0);
  EXPECT_TRUE(has(error_of<IndexError>([] { cuda::synchronize(1); }), "index 9 at position 0"));
  release(d);
}

TEST_F(CudaRuntime, ErrorsNameCallDeviceAndCause) {
  EXPECT_EQ(error_of<Error>([] { fail(cudaErrorInvalidValue, "some_kernel"); }),
            "some_kernel on cuda:0: cudaErrorInvalidValue: invalid argument");
  {
    const kernels::OperationName op("layer_norm");
    EXPECT_EQ(error_of<Error>([] { fail(cudaErrorInvalidValue, "some_kernel"); }),
              "layer_norm: some_kernel on cuda:0: cudaErrorInvalidValue: invalid argument");
  }
  EXPECT_TRUE(has(error_of<OutOfMemoryError>([] { fail(cudaErrorMemoryAllocation, "x"); }), "smaller batch"));
  EXPECT_TRUE(has(error_of<Error>([] { fail(cudaErrorNoKernelImageForDevice, "x"); }), "CMAKE_CUDA_ARCHITECTURES"));
  EXPECT_TRUE(is_sticky(cudaErrorIllegalAddress));
  EXPECT_FALSE(is_sticky(cudaErrorInvalidValue));
}

TEST_F(CudaRuntime, ErrorsOfLaunchesNameOperatorKernelLaunchDeviceAndOperands) {
  using gradus_test::Failure;
  TwoViews views;
  EXPECT_EQ(views.error<Error>(Failure::kThreads),
            "failing_views: idle_kernel on cuda:0, grid (3, 2, 1), block (2048, 1, 1), 0 bytes of shared memory: "
            "cudaErrorInvalidConfiguration: invalid configuration argument; operands: Float (2, 3), Long ()");
  {
    const kernels::OperationName op("softmax");
    EXPECT_EQ(views.error<Error>(Failure::kSharedMemory),
              "softmax: idle_kernel on cuda:0, grid (1, 1, 1), block (32, 1, 1), 1048576 bytes of shared memory: "
              "cudaErrorInvalidValue: invalid argument; operands: Float (2, 3), Long ()");
  }
  const std::string text = views.error<OutOfMemoryError>(Failure::kMemory);
  EXPECT_TRUE(text.rfind("failing_views of Float (2, 3), Long (): CUDA out of memory: ", 0) == 0) << text;
  EXPECT_EQ(views.error<IndexError>(Failure::kData), "an index");
}

TEST_F(CudaRuntime, ErrorsOfElementwiseOperatorsShowWhatIsBroadcast) {
  kernels::Loop loop;
  loop.ndim = 2, loop.operands = 3, loop.numel = 20;
  loop.dtype = ScalarType::Half, loop.out_dtype = ScalarType::Bool;
  loop.sizes[0] = 5, loop.sizes[1] = 4;  // innermost first
  const int64_t strides[2][3] = {{1, 2, 0}, {5, 0, 0}};
  for (int d = 0; d < 2; ++d) std::copy(strides[d], strides[d] + 3, loop.strides[d]);
  loop.on_host = 1u << 2;
  EXPECT_TRUE(has(error_of<Error>([&] { kernels::failing_loop(kFirst, loop); }),
                  "; operands: Bool (4, 5), Half (1, 5), Half ()"));
}

TEST_F(CudaRuntime, ErrorsOfIndexingShowTheElementsAndTheIndexedSizes) {
  kernels::IndexPlan plan;
  plan.dtype = ScalarType::Double;
  plan.positions = 7;
  plan.index_count = 2, plan.index_size[0] = 10, plan.index_size[1] = 20;
  plan.before = 1, plan.before_size[0] = 2;
  plan.after = 1, plan.after_size[0] = 3;
  EXPECT_TRUE(has(error_of<Error>([&] { kernels::failing_plan(kFirst, plan); }),
                  "; operands: Double (2, 7, 3) at indices below 10, 20"));
}

TEST_F(CudaRuntime, ALostContextIsSaidToBeLost) {
  const std::string text = error_of<Error>([] {
    gradus_test::fail_on_the_device();  // says so itself where work is done at once
    cuda::synchronize();
  });
  EXPECT_TRUE(has(text, " on cuda:0") && has(text, ": cudaErrorLaunchFailure: ")) << text;
  EXPECT_TRUE(has(text, "the device's context is lost")) << text;
  EXPECT_TRUE(has(text, "GRADUS_CUDA_SYNC=1")) << text;
  gradus_emulation::clear_errors();
  cuda::synchronize();
}

TEST_F(CudaRuntime, ContextsAreTheThreads) {
  const Context& mine = kernels::cuda::context();
  EXPECT_EQ(mine.device, 0);
  EXPECT_GT(mine.multiprocessors, 0);
  EXPECT_GT(mine.max_shared, 48 * 1024);
  std::thread([&] { EXPECT_NE(&kernels::cuda::context(), &mine); }).join();
}

TEST_F(CudaRuntime, OtherLibrariesAreRefused) {
  char message[512];
  core::Handshake other;
  other.version += 1;
  EXPECT_NE(gradus_cuda_initialize(&other, message, sizeof message), 0);
  EXPECT_TRUE(has(message, "is of another build than libgradus.so")) << message;
  other = core::Handshake();
  other.library = nullptr;
  EXPECT_NE(gradus_cuda_initialize(&other, message, sizeof message), 0);
  EXPECT_TRUE(has(message, "bound to another libgradus")) << message;
}

}  // namespace
