// The caching allocator, from outside.
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "support.h"

using namespace gradus;
using gradus_test::error_of;
using gradus_test::has;
using gradus_test::Memory;

namespace {

constexpr size_t kKB = 1024, kMB = 1024 * 1024;

class CudaMemory : public gradus_test::CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cuda::memory_reserved(), 0u);
    before_ = cuda::memory_stats();
  }
  // The device is one of `nbytes` for this test.
  void limit(size_t nbytes) {
    const size_t total = cuda::mem_get_info().second;
    cuda::set_per_process_memory_fraction(static_cast<double>(nbytes) / static_cast<double>(total));
  }
  void TearDown() override {
    if (cuda::is_available()) cuda::set_per_process_memory_fraction(1);
  }
  cuda::DeviceStats before_;
};

TEST_F(CudaMemory, SizesAreRoundedAndBlocksReused) {
  Memory a(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.get()) % 512, 0u);
  EXPECT_EQ(cuda::memory_allocated(), 1024u);
  EXPECT_EQ(cuda::memory_reserved(), 2 * kMB);
  EXPECT_EQ(cuda::memory_stats().requested_bytes[0].current, 1000);
  void* const first = a.get();
  a.release();
  EXPECT_EQ(cuda::memory_allocated(), 0u);
  EXPECT_EQ(cuda::memory_reserved(), 2 * kMB);
  Memory b(900);
  EXPECT_EQ(b.get(), first);
  EXPECT_EQ(cuda::max_memory_allocated(), 1024u);
}

TEST_F(CudaMemory, BlocksAreSplitAndGrowTogetherAgain) {
  Memory a(600 * kKB), b(600 * kKB), c(600 * kKB);
  EXPECT_EQ(b.bytes(), a.bytes() + 600 * kKB);
  EXPECT_EQ(c.bytes(), b.bytes() + 600 * kKB);
  auto segments = cuda::memory_snapshot();
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].address, reinterpret_cast<uintptr_t>(a.get()));
  EXPECT_EQ(segments[0].total_size, 2 * kMB);
  EXPECT_FALSE(segments[0].is_large);
  EXPECT_EQ(segments[0].allocated_size, 1800 * kKB);
  ASSERT_EQ(segments[0].blocks.size(), 4u);
  EXPECT_FALSE(segments[0].blocks[3].allocated);
  EXPECT_EQ(segments[0].blocks[3].size, 248 * kKB);

  a.release();
  c.release();  // joins the rest behind it
  cuda::DeviceStats s = cuda::memory_stats();
  EXPECT_EQ(s.inactive_split[1].current, 2);
  EXPECT_EQ(s.inactive_split_bytes[0].current, static_cast<int64_t>(600 * kKB + 848 * kKB));
  EXPECT_EQ(cuda::memory_snapshot()[0].blocks.size(), 3u);
  b.release();
  segments = cuda::memory_snapshot();
  ASSERT_EQ(segments[0].blocks.size(), 1u);
  EXPECT_EQ(segments[0].blocks[0].size, 2 * kMB);
  s = cuda::memory_stats();
  EXPECT_EQ(s.inactive_split[0].current, 0);
  EXPECT_EQ(s.inactive_split_bytes[0].current, 0);
  EXPECT_EQ(s.allocation[0].current, 0);
  cuda::empty_cache();
  EXPECT_EQ(cuda::memory_reserved(), 0u);
  EXPECT_TRUE(cuda::memory_snapshot().empty());
}

TEST_F(CudaMemory, TheSmallestFitIsTaken) {
  for (const size_t unit : {kKB, 3 * kMB / 2}) {  // in the small and in the large pool
    Memory a(4 * unit), wall(unit), b(2 * unit), another(unit), c(3 * unit), last(unit);
    void *const two = b.get(), *const three = c.get(), *const four = a.get();
    a.release();
    b.release();
    c.release();
    Memory x(2 * unit), y(3 * unit), z(4 * unit);
    EXPECT_EQ(x.get(), two);
    EXPECT_EQ(y.get(), three);
    EXPECT_EQ(z.get(), four);
  }
}

TEST_F(CudaMemory, LargeRequestsHaveTheirOwnPool) {
  Memory a(3 * kMB);
  EXPECT_EQ(cuda::memory_reserved(), 20 * kMB);
  Memory b(5 * kMB);
  EXPECT_EQ(cuda::memory_reserved(), 20 * kMB);
  Memory c(12 * kMB + 1);
  EXPECT_EQ(cuda::memory_reserved(), 34 * kMB);
  Memory d(1);
  EXPECT_EQ(cuda::memory_reserved(), 36 * kMB);
  const cuda::DeviceStats s = cuda::memory_stats();
  EXPECT_EQ(s.segment[0].current, 3);
  EXPECT_EQ(s.segment[1].current, 1);
  EXPECT_EQ(s.segment[2].current, 2);
  EXPECT_EQ(s.allocated_bytes[1].current, 512);
  EXPECT_EQ(s.allocated_bytes[2].current, static_cast<int64_t>(20 * kMB + 512));
}

TEST_F(CudaMemory, StreamsDoNotShareFreeBlocks) {
  const cuda::CUDAStream side = cuda::getStreamFromPool();
  Memory a(1000);
  void* const address = a.get();
  a.release();
  {
    const cuda::CUDAStreamGuard guard(side);
    Memory b(1000);
    EXPECT_NE(b.get(), address);
    EXPECT_EQ(cuda::memory_reserved(), 4 * kMB);
  }
  Memory c(1000);
  EXPECT_EQ(c.get(), address);
}

TEST_F(CudaMemory, ARecordedStreamDelaysReuse) {
  const cuda::CUDAStream side = cuda::getStreamFromPool();
  cuda::CUDAEvent behind;
  Memory a(1000);
  void* const address = a.get();
  cuda::record_stream(address, side);
  cuda::record_stream(address, side);
  a.release();
  // It waits for the stream: active and not allocated, until an allocation sees that the stream has passed.
  EXPECT_EQ(cuda::memory_stats().allocation[0].current, 0);
  EXPECT_EQ(cuda::memory_stats().active[0].current, 1);
  EXPECT_TRUE(cuda::memory_snapshot()[0].blocks[0].active);
  side.synchronize();
  Memory b(1000);
  EXPECT_EQ(b.get(), address);
  EXPECT_EQ(cuda::memory_stats().active[0].current, 1);
}

TEST_F(CudaMemory, RecordingTheOwnStreamOrForeignMemoryChangesNothing) {
  Memory a(1000);
  void* const address = a.get();
  cuda::record_stream(address, cuda::getCurrentCUDAStream());
  int on_the_host = 0;
  cuda::record_stream(&on_the_host, cuda::getStreamFromPool());
  a.release();
  EXPECT_EQ(cuda::memory_stats().active[0].current, 0);
  EXPECT_EQ(Memory(1000).get(), address);
}

TEST_F(CudaMemory, StreamsOfOtherDevicesDelayReuse) {
  GRADUS_NEEDS_TWO_DEVICES();
  Memory a(1000);
  void* const address = a.get();
  cuda::record_stream(address, cuda::getDefaultCUDAStream(1));  // of the same handle as its own stream
  a.release();
  EXPECT_EQ(cuda::memory_stats().active[0].current, 1);
  cuda::synchronize(1);
  EXPECT_EQ(Memory(1000).get(), address);
  EXPECT_EQ(cuda::current_device(), 0);
}

TEST_F(CudaMemory, OutOfMemorySaysWhatThereIsAndLosesNothing) {
  limit(64 * kMB);
  {
    Memory big(30 * kMB);
    Memory more[3] = {Memory(kMB / 2), Memory(kMB / 2), Memory(kMB / 2)};
    const std::string text = error_of<OutOfMemoryError>([] { Memory(40 * kMB); });
    EXPECT_TRUE(has(text, "CUDA out of memory: 40.00 MiB were asked for on cuda:0")) << text;
    EXPECT_TRUE(has(text, "Gradus holds 32.00 MiB: 31.50 MiB in use by tensors and 512.00 KiB cached")) << text;
    EXPECT_TRUE(has(text, "the largest in use are 30.00 MiB, 3 x 512.00 KiB.")) << text;
    EXPECT_TRUE(has(text, "set_per_process_memory_fraction allows 64.00 MiB")) << text;
    EXPECT_TRUE(has(text, "Use a smaller batch or free tensors")) << text;
    EXPECT_EQ(cuda::memory_stats().num_ooms, 1);
    EXPECT_EQ(cuda::memory_stats().num_alloc_retries, 1);
    Memory smaller(20 * kMB);
    EXPECT_EQ(cuda::memory_reserved(), 52 * kMB);
  }
  Memory all(62 * kMB);  // the cache goes back to the driver for it
  EXPECT_EQ(cuda::memory_reserved(), 62 * kMB);
  EXPECT_EQ(cuda::memory_stats().num_alloc_retries, 2);
}

TEST_F(CudaMemory, OutOfMemoryWaitsForStreamsThatHoldBlocks) {
  limit(64 * kMB);
  Memory a(40 * kMB);
  cuda::record_stream(a.get(), cuda::getStreamFromPool());
  a.release();
  Memory b(60 * kMB);
  EXPECT_EQ(cuda::memory_reserved(), 60 * kMB);
}

TEST_F(CudaMemory, AbsurdSizesAreOutOfMemory) {
  const std::string text = error_of<OutOfMemoryError>([] { Memory(size_t(1) << 62); });
  EXPECT_TRUE(has(text, "TiB were asked for")) << text;
}

TEST_F(CudaMemory, FragmentedCacheIsNamed) {
  limit(64 * kMB);
  std::vector<Memory> all;
  for (int i = 0; i < 15; ++i) all.emplace_back(4 * kMB);  // three segments of 20 MB
  for (size_t i = 0; i < all.size(); i += 2) all[i].release();
  const std::string text = error_of<OutOfMemoryError>([] { Memory(12 * kMB); });
  EXPECT_TRUE(has(text, "The cached memory is in pieces that are too small")) << text;
}

TEST_F(CudaMemory, CountersCanStartAnew) {
  { Memory a(5 * kMB); }
  Memory b(1000);
  EXPECT_EQ(cuda::max_memory_allocated(), 5 * kMB);
  cuda::reset_peak_memory_stats();
  EXPECT_EQ(cuda::max_memory_allocated(), 1024u);
  EXPECT_EQ(cuda::max_memory_reserved(), 22 * kMB);
  EXPECT_EQ(cuda::memory_stats().allocation[0].allocated, 2);
  EXPECT_EQ(cuda::memory_stats().allocation[0].freed, 1);
  cuda::reset_accumulated_memory_stats();
  EXPECT_EQ(cuda::memory_stats().allocation[0].allocated, 0);
  EXPECT_EQ(cuda::memory_stats().allocation[0].current, 1);
  const std::string text = cuda::memory_summary();
  EXPECT_TRUE(has(text, "Memory of cuda:0 (")) << text;
  EXPECT_TRUE(has(text, "reserved                        22.0 MB")) << text;
}

TEST_F(CudaMemory, DevicesAreSeparate) {
  GRADUS_NEEDS_TWO_DEVICES();
  const size_t before = cuda::memory_allocated(1);
  Memory here(1000);
  {
    const cuda::CUDAGuard guard(1);
    Memory there(3000);
    EXPECT_EQ(cuda::memory_allocated(), before + 3072);
    EXPECT_EQ(cuda::memory_allocated(0), 1024u);
    cuda::set_device(0);  // freed while another device is current
  }
  EXPECT_EQ(cuda::memory_allocated(1), before);
}

TEST_F(CudaMemory, ArgumentsAreChecked) {
  EXPECT_TRUE(has(error_of<ValueError>([] { cuda::memory_allocated(100); }),
                  "memory_allocated: device cuda:100 was given; this machine has "));
  EXPECT_EQ(error_of<ValueError>([] { cuda::set_per_process_memory_fraction(1.5); }),
            "set_per_process_memory_fraction: 1.5 was given; expected a number from 0 to 1");
}

TEST_F(CudaMemory, ThreadsNeverGetOverlappingBlocks) {
  struct Ranges {
    std::mutex mutex;
    std::map<uintptr_t, size_t> live;
    bool add(void* p, size_t n) {
      const std::lock_guard lock(mutex);
      const auto at = reinterpret_cast<uintptr_t>(p);
      const auto next = live.lower_bound(at);
      if (next != live.end() && at + n > next->first) return false;
      if (next != live.begin() && std::prev(next)->first + std::prev(next)->second > at) return false;
      live.emplace(at, n);
      return true;
    }
    void remove(void* p) {
      const std::lock_guard lock(mutex);
      live.erase(reinterpret_cast<uintptr_t>(p));
    }
  } ranges;
  std::mutex handover_mutex;
  std::vector<Memory> handover;  // freed by other threads
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      const cuda::CUDAStream mine = cuda::getStreamFromPool();
      const cuda::CUDAStreamGuard guard(mine);
      std::vector<Memory> own;
      for (int i = 0; i < 400; ++i) {
        const size_t n = size_t(1) << random() % 23;
        Memory m(n);
        EXPECT_TRUE(ranges.add(m.get(), n));
        if (random() % 8 == 0) cuda::record_stream(m.get(), cuda::getDefaultCUDAStream());
        own.push_back(std::move(m));
        if (random() % 2 == 0) {
          std::swap(own[random() % own.size()], own.back());
          ranges.remove(own.back().get());
          const std::lock_guard lock(handover_mutex);
          handover.push_back(std::move(own.back()));
          own.pop_back();
          if (handover.size() > 8) handover.clear();
        }
      }
      for (const Memory& m : own) ranges.remove(m.get());
    });
  }
  for (std::thread& t : threads) t.join();
  handover.clear();
  EXPECT_EQ(cuda::memory_allocated(), 0u);
  cuda::empty_cache();
  EXPECT_EQ(cuda::memory_reserved(), 0u);
  const cuda::DeviceStats s = cuda::memory_stats();
  EXPECT_EQ(s.active[0].current, 0);
  EXPECT_EQ(s.inactive_split[0].current, 0);
  EXPECT_EQ(s.requested_bytes[0].current, 0);
}

}  // namespace
