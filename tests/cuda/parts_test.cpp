// The allocator's parts: settings, lists of blocks, the map of addresses; and allocators with settings of their own.
#include <algorithm>
#include <map>
#include <random>

#include "cuda/runtime/allocator.h"
#include "internal.h"

using namespace gradus;
using namespace gradus::cuda::runtime;

namespace {

constexpr size_t kMB = 1024 * 1024;

TEST(CudaAllocatorConfig, ReadsItsKeys) {
  const AllocatorConfig c = parse_allocator_config(
      "max_split_size_mb:128, garbage_collection_threshold:0.8,expandable_segments:true,roundup_power2_divisions:4");
  EXPECT_EQ(c.error, "");
  EXPECT_EQ(c.max_split_size, 128 * kMB);
  EXPECT_EQ(c.garbage_collection_threshold, 0.8);
  EXPECT_TRUE(c.expandable_segments);
  EXPECT_EQ(c.roundup_power2_divisions[0], 4u);
  EXPECT_EQ(c.roundup_power2_divisions[16], 4u);
  EXPECT_FALSE(c.passthrough);
  EXPECT_EQ(parse_allocator_config("").error, "");
  EXPECT_TRUE(parse_allocator_config("passthrough:true").passthrough);
}

TEST(CudaAllocatorConfig, NamesWhatIsWrong) {
  const auto error = [](const char* text) { return parse_allocator_config(text).error; };
  EXPECT_EQ(
      error("max_split_size_mb:10"),
      "GRADUS_CUDA_ALLOC_CONF: max_split_size_mb is \"10\"; expected a number of MB above 20, what the large pool "
      "splits");
  EXPECT_EQ(error("garbage_collection_threshold:1.5"),
            "GRADUS_CUDA_ALLOC_CONF: garbage_collection_threshold is \"1.5\"; expected a number between 0 and 1");
  EXPECT_EQ(error("expandable_segments:yes"),
            "GRADUS_CUDA_ALLOC_CONF: expandable_segments is \"yes\"; expected true or false");
  EXPECT_EQ(error("expandable_segments"),
            "GRADUS_CUDA_ALLOC_CONF: expandable_segments is \"\"; expected true or false");
  EXPECT_EQ(error("backend:native"),
            "GRADUS_CUDA_ALLOC_CONF: there is no setting \"backend\"; known are max_split_size_mb, "
            "garbage_collection_threshold, expandable_segments, roundup_power2_divisions and passthrough");
  EXPECT_NE(error("roundup_power2_divisions:3").find("\"3\"; expected a power of two"), std::string::npos);
  EXPECT_NE(error("roundup_power2_divisions:[3:4]").find("roundup_power2_divisions is"), std::string::npos);
}

TEST(CudaAllocatorConfig, RoundsSizes) {
  AllocatorConfig c;
  EXPECT_EQ(round_size(1, c), 512u);
  EXPECT_EQ(round_size(512, c), 512u);
  EXPECT_EQ(round_size(513, c), 1024u);
  EXPECT_EQ(round_size(5 * kMB + 1, c), 5 * kMB + 512);
  c = parse_allocator_config("roundup_power2_divisions:4");
  EXPECT_EQ(round_size(5 * kMB + 1, c), 6 * kMB);
  EXPECT_EQ(round_size(4 * kMB, c), 4 * kMB);
  EXPECT_EQ(round_size(700, c), 1024u);
  c = parse_allocator_config("roundup_power2_divisions:[2:1,64:2,>:4]");
  EXPECT_EQ(c.error, "");
  EXPECT_EQ(round_size(3 * kMB + 1, c), 3 * kMB + 512);      // 1: to the next 512
  EXPECT_EQ(round_size(70 * kMB, c), 96 * kMB);              // halves of 64 MB
  EXPECT_EQ(round_size(1025 * kMB, c), (1024 + 256) * kMB);  // quarters of 1 GB
}

// A list against a plain search.
void check_lists(FreeBlocks& lists, size_t largest) {
  std::mt19937 random(1);
  std::vector<std::unique_ptr<Block>> all;
  std::multimap<size_t, Block*> expected;
  for (int i = 0; i < 3000; ++i) {
    if (random() % 2 == 0 || expected.empty()) {
      auto b = std::make_unique<Block>();
      b->size = (1 + random() % (largest / kRound)) * kRound;
      b->data = reinterpret_cast<char*>(static_cast<uintptr_t>(i + 1) * 4096);
      lists.insert(b.get());
      expected.emplace(b->size, b.get());
      all.push_back(std::move(b));
    } else {
      auto it = std::next(expected.begin(), static_cast<long>(random() % expected.size()));
      lists.erase(it->second);
      expected.erase(it);
    }
    const size_t wanted = (1 + random() % (largest / kRound)) * kRound;
    const auto fit = expected.lower_bound(wanted);
    Block* found = lists.find(wanted);
    ASSERT_EQ(found == nullptr, fit == expected.end());
    if (found) {
      ASSERT_EQ(found->size, fit->first);
    }
  }
  std::vector<Block*> rest;
  lists.collect(&rest);
  EXPECT_EQ(rest.size(), expected.size());
}

TEST(CudaBlocks, SmallListsFindTheBestFit) {
  const auto lists = make_small_lists();
  EXPECT_EQ(lists->find(512), nullptr);
  check_lists(*lists, kSmallSegment);
}
TEST(CudaBlocks, LargeListsFindTheBestFit) {
  const auto lists = make_large_lists();
  EXPECT_EQ(lists->find(512), nullptr);
  check_lists(*lists, 64 * kMB);
}

TEST(CudaBlocks, TheMapFindsWhatIsInIt) {
  AddressMap map;
  std::mt19937 random(2);
  std::map<char*, std::unique_ptr<Block>> expected;
  for (int i = 0; i < 20000; ++i) {
    auto* at = reinterpret_cast<char*>((1 + random() % 5000) * uintptr_t{512});
    const auto it = expected.find(at);
    ASSERT_EQ(map.find(at), it == expected.end() ? nullptr : it->second.get());
    if (it == expected.end()) {
      auto b = std::make_unique<Block>();
      b->data = at;
      map.insert(b.get());
      expected.emplace(at, std::move(b));
    } else if (random() % 2 == 0) {
      ASSERT_EQ(map.take(at), it->second.get());
      ASSERT_EQ(map.take(at), nullptr);
      expected.erase(it);
    }
  }
  size_t count = 0;
  map.each([&](Block*) { ++count; });
  EXPECT_EQ(count, expected.size());
}

class CudaAllocatorSettings : public gradus_test::InternalTest {
 protected:
  DeviceAllocator& make(const char* settings) {
    config_ = parse_allocator_config(settings);
    EXPECT_EQ(config_.error, "");
    return gradus_test::new_allocator(config_);
  }
  AllocatorConfig config_;
};

TEST_F(CudaAllocatorSettings, LargeBlocksAreNotSplit) {
  DeviceAllocator& a = make("max_split_size_mb:40");
  void* big = a.allocate(64 * kMB, nullptr);
  a.deallocate(big);
  void* small = a.allocate(30 * kMB, nullptr);  // would fit, and would split it
  EXPECT_NE(small, big);
  EXPECT_EQ(a.stats().oversize_segments.current, 1);
  void* same = a.allocate(60 * kMB, nullptr);  // about as large: takes all of it
  EXPECT_EQ(same, big);
  EXPECT_EQ(a.stats().allocated_bytes[0].current, static_cast<int64_t>(94 * kMB));
  EXPECT_EQ(a.stats().max_split_size, static_cast<int64_t>(40 * kMB));
  a.deallocate(same);
  a.deallocate(small);
  void* less = a.allocate(41 * kMB, nullptr);  // too far below
  EXPECT_NE(less, big);
  a.deallocate(less);
  a.empty_cache();
  EXPECT_EQ(a.stats().reserved_bytes[0].current, 0);
}

TEST_F(CudaAllocatorSettings, TheLongestUnusedIsCollected) {
  DeviceAllocator& a = make("garbage_collection_threshold:0.5");
  const size_t total = properties(0).totalGlobalMem;
  a.set_fraction(static_cast<double>(200 * kMB) / static_cast<double>(total));
  void* p[3] = {a.allocate(30 * kMB, nullptr), a.allocate(31 * kMB, nullptr), a.allocate(32 * kMB, nullptr)};
  a.deallocate(p[0]);  // at the same age as the next
  void* kept = a.allocate(28 * kMB, nullptr);
  EXPECT_EQ(kept, p[0]);
  a.deallocate(p[1]);
  a.deallocate(kept);
  a.deallocate(p[2]);
  // 94 MB of 200 are held; 40 more pass the threshold of 100: enough of the unused goes.
  void* q = a.allocate(40 * kMB, nullptr);
  EXPECT_LE(a.stats().reserved_bytes[0].current, static_cast<int64_t>(100 * kMB));
  EXPECT_EQ(a.stats().num_alloc_retries, 0);
  a.deallocate(q);
  a.empty_cache();
}

TEST_F(CudaAllocatorSettings, PassthroughGivesMemoryBackAtOnce) {
  DeviceAllocator& a = make("passthrough:true");
  void* p = a.allocate(1000, nullptr);
  EXPECT_EQ(a.stats().reserved_bytes[0].current, 1000);
  EXPECT_EQ(a.stats().allocated_bytes[0].current, 1000);
  std::vector<cuda::SegmentInfo> segments;
  a.snapshot(&segments);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].blocks.size(), 1u);
  EXPECT_TRUE(a.record_stream(p, {0, handle_of(next_of_pool(0, 0))}));
  EXPECT_TRUE(a.deallocate(p));
  EXPECT_FALSE(a.deallocate(p));
  EXPECT_EQ(a.stats().reserved_bytes[0].current, 0);
  EXPECT_EQ(a.stats().segment[0].freed, 1);
}

}  // namespace
