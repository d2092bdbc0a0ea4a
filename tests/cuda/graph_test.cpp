// CUDA graphs.
#include <thread>

#include "internal.h"
#include "probe.h"

using namespace gradus;
using namespace gradus::cuda::runtime;
using gradus_test::error_of;
using gradus_test::has;

namespace {

class CudaGraphs : public gradus_test::InternalTest {
 protected:
  void SetUp() override {
    cuda::empty_cache();
    before_ = cuda::memory_reserved();
  }
  static int64_t* allocate(size_t count) {
    return static_cast<int64_t*>(cuda::caching_allocator_alloc(count * sizeof(int64_t)));
  }
  static void release(void* p) { cuda::caching_allocator_delete(p); }
  size_t before_ = 0;
};

TEST_F(CudaGraphs, ReplayRepeats) {
  const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
  int64_t* d = allocate(100);
  gradus_test::fill(d, 100, 0);
  cuda::CUDAGraph graph;
  graph.capture_begin();
  EXPECT_TRUE(cuda::getCurrentCUDAStream().is_capturing());
  gradus_test::add(d, 100, 3);
  gradus_test::add(d, 100, 4);
  graph.capture_end();
  EXPECT_FALSE(cuda::getCurrentCUDAStream().is_capturing());
  EXPECT_EQ(read(d, 1)[0], 0);
  for (int i = 0; i < 5; ++i) graph.replay();
  EXPECT_EQ(read(d, 100), std::vector<int64_t>(100, 35));
  graph.reset();
  EXPECT_TRUE(has(error_of<Error>([&] { graph.replay(); }), "CUDAGraph::replay: the graph is empty"));
  release(d);
}

TEST_F(CudaGraphs, MemoryOfACaptureIsTheGraphs) {
  const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
  int64_t* outside = allocate(100);
  int64_t *result = nullptr, *temporary = nullptr;
  {
    cuda::CUDAGraph graph;
    graph.capture_begin();
    temporary = allocate(1000);
    gradus_test::fill(temporary, 1000, 5);
    release(temporary);
    int64_t* reused = allocate(1000);  // within the capture
    EXPECT_EQ(reused, temporary);
    result = allocate(1000);
    gradus_test::fill(result, 1000, 6);
    release(reused);
    graph.capture_end();
    EXPECT_NE(graph.pool(), cuda::MempoolId_t());

    // Nobody else gets what the graph wrote to, however much is asked for.
    std::vector<int64_t*> others;
    for (int i = 0; i < 50; ++i) others.push_back(allocate(1000));
    for (int64_t* o : others) {
      EXPECT_NE(o, temporary);
      gradus_test::fill(o, 1000, 1);
    }
    cuda::empty_cache();
    graph.replay();
    EXPECT_EQ(read(result, 1000), std::vector<int64_t>(1000, 6));
    for (int64_t* o : others) {
      EXPECT_EQ(read(o, 1000), std::vector<int64_t>(1000, 1));
      release(o);
    }
    size_t private_segments = 0;
    for (const auto& s : cuda::memory_snapshot()) {
      if (s.owner_private_pool_id == graph.pool()) ++private_segments;
    }
    EXPECT_EQ(private_segments, 1u);
  }
  // The graph is gone and its result is not.
  cuda::empty_cache();
  EXPECT_EQ(read(result, 1)[0], 6);
  release(result);
  release(outside);
  cuda::empty_cache();
  EXPECT_EQ(cuda::memory_reserved(), before_);
}

TEST_F(CudaGraphs, MayShareAPool) {
  const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
  const cuda::MempoolId_t pool = cuda::graph_pool_handle();
  cuda::CUDAGraph first, second;
  first.capture_begin(pool);
  int64_t* a = allocate(1000);
  gradus_test::fill(a, 1000, 1);
  first.capture_end();
  release(a);
  second.capture_begin(first.pool());
  int64_t* b = allocate(1000);
  gradus_test::fill(b, 1000, 2);
  second.capture_end();
  EXPECT_EQ(a, b);
  first.replay();
  second.replay();
  EXPECT_EQ(read(b, 1)[0], 2);
  release(b);
  first.reset();
  cuda::empty_cache();
  EXPECT_GT(cuda::memory_reserved(), before_);
  second.reset();
  cuda::empty_cache();
  EXPECT_EQ(cuda::memory_reserved(), before_);
}

TEST_F(CudaGraphs, DrawsGoOnFromReplayToReplay) {
  const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
  cuda::manual_seed(1234);
  auto& g = *default_generator(kCUDA).get<cuda::CUDAGeneratorImpl>();
  g.reserve(8);
  int64_t* d = allocate(4);
  cuda::CUDAGraph graph;
  graph.capture_begin();
  gradus_test::write_philox(d, g.reserve(5));      // 8
  gradus_test::write_philox(d + 2, g.reserve(4));  // 4
  EXPECT_TRUE(has(error_of<Error>([&] { g.set_current_seed(1); }), "is being captured"));
  graph.capture_end();
  EXPECT_EQ(g.get_offset(), 8u);  // a capture draws nothing
  graph.replay();
  EXPECT_EQ(read(d, 4), (std::vector<int64_t>{1234, 8, 1234, 16}));
  EXPECT_EQ(g.get_offset(), 20u);
  graph.replay();
  graph.replay();
  EXPECT_EQ(read(d, 4), (std::vector<int64_t>{1234, 32, 1234, 40}));
  gradus_test::write_philox(d, g.reserve(4));  // without a graph
  EXPECT_EQ(read(d, 2), (std::vector<int64_t>{1234, 44}));
  cuda::manual_seed(77);
  graph.replay();
  EXPECT_EQ(read(d, 4), (std::vector<int64_t>{77, 0, 77, 8}));
  release(d);
}

TEST_F(CudaGraphs, OtherGeneratorsAreRegistered) {
  const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
  Generator own = cuda::detail::createCUDAGenerator();
  auto& g = *own.get<cuda::CUDAGeneratorImpl>();
  int64_t* d = allocate(2);
  cuda::CUDAGraph graph;
  graph.register_generator_state(own);
  graph.capture_begin();
  gradus_test::write_philox(d, g.reserve(4));
  Generator unknown = cuda::detail::createCUDAGenerator();
  EXPECT_TRUE(has(error_of<Error>([&] { unknown.get<cuda::CUDAGeneratorImpl>()->reserve(4); }),
                  "this generator does not know it"));
  graph.capture_end();
  graph.replay();
  graph.replay();
  EXPECT_EQ(read(d, 2), (std::vector<int64_t>{static_cast<int64_t>(default_rng_seed_val), 4}));
  EXPECT_TRUE(has(error_of<Error>([&] { cuda::CUDAGraph().register_generator_state(make_generator(1)); }),
                  "expected a CUDA generator"));
  release(d);
}

TEST_F(CudaGraphs, BlocksOfOtherStreamsWaitForTheEnd) {
  const cuda::CUDAStream side = cuda::getStreamFromPool(), main = cuda::getStreamFromPool();
  const cuda::CUDAStreamGuard guard(main);
  cuda::CUDAGraph graph;
  graph.capture_begin();
  int64_t* shared = allocate(1000);
  cuda::CUDAEvent fork, join;
  fork.record(main);
  fork.block(side);
  {
    const cuda::CUDAStreamGuard on_side(side);
    gradus_test::fill(shared, 1000, 9);
    int64_t* of_side = allocate(1000);  // also the graph's
    gradus_test::fill(of_side, 1000, 8);
    release(of_side);
  }
  cuda::record_stream(shared, side);
  release(shared);
  join.record(side);
  join.block(main);
  int64_t* next = allocate(1000);
  EXPECT_NE(next, shared);
  gradus_test::fill(next, 1000, 4);
  graph.capture_end();
  graph.replay();
  EXPECT_EQ(read(next, 1)[0], 4);
  release(next);
}

TEST_F(CudaGraphs, OtherThreadsGoOn) {
  const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
  cuda::CUDAGraph graph;
  int64_t* d = allocate(10);
  gradus_test::fill(d, 10, 0);
  graph.capture_begin(cuda::MempoolId_t(), cuda::kCaptureThreadLocal);
  std::thread([&] {
    const cuda::CUDAStreamGuard other(cuda::getStreamFromPool());
    std::vector<int64_t*> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(allocate(400000));  // new segments, too
      cuda::record_stream(all.back(), cuda::getStreamFromPool());
      gradus_test::fill(all.back(), 10, i);
      EXPECT_EQ(read(all.back(), 1)[0], i);
    }
    for (int64_t* p : all) release(p);
    int64_t* again = allocate(400000);
    release(again);
  }).join();
  gradus_test::add(d, 10, 1);
  graph.capture_end();
  graph.replay();
  EXPECT_EQ(read(d, 10), std::vector<int64_t>(10, 1));
  release(d);
}

TEST_F(CudaGraphs, MisuseIsNamed) {
  {
    cuda::CUDAGraph graph;
    EXPECT_TRUE(has(error_of<Error>([&] { graph.capture_begin(); }), "is the default one, which cannot be captured"));
    EXPECT_TRUE(has(error_of<Error>([&] { graph.capture_end(); }), "no capture is under way"));
    EXPECT_TRUE(has(error_of<Error>([&] { graph.pool(); }), "nothing has been captured"));
    EXPECT_TRUE(has(error_of<ValueError>([&] { graph.capture_begin({0, 0}, 5); }), "mode 5 was given"));
  }
  const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
  int64_t* d = allocate(10);
  cuda::CUDAGraph graph;
  graph.capture_begin();
  const int64_t v = 1;
  EXPECT_TRUE(has(error_of<Error>([&] { accelerator().copy(d, Device(kCUDA, 0), &v, kCPU, 8, false); }),
                  "copy: pageable memory was to be copied to the device while a CUDA graph is captured"));
  EXPECT_TRUE(has(error_of<Error>([&] { read(d, 1); }), "a blocking copy to the host was asked for while"));
  gradus_test::fill(d, 10, 2);
  graph.capture_end();  // neither has broken it
  EXPECT_TRUE(has(error_of<Error>([&] { graph.capture_begin(); }), "holds a capture already"));
  graph.replay();
  EXPECT_EQ(read(d, 1)[0], 2);
  graph.reset();
  graph.capture_begin();
  gradus_test::fill(d, 10, 3);
  graph.reset();  // in the middle
  EXPECT_FALSE(cuda::getCurrentCUDAStream().is_capturing());
  EXPECT_EQ(read(d, 1)[0], 2);
  graph.capture_begin();
  gradus_test::fill(d, 10, 3);
  graph.capture_end();
  graph.replay();
  EXPECT_EQ(read(d, 1)[0], 3);
  release(d);
}

}  // namespace
