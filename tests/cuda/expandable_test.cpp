// Segments that grow, on a driver of the test's own.
#include <sys/mman.h>

#include <map>
#include <random>
#include <vector>

#include "cuda/runtime/allocator.h"
#include "cuda/runtime/expandable.h"
#include "internal.h"

using namespace gradus;
using namespace gradus::cuda::runtime;

namespace {

constexpr size_t kMB = 1024 * 1024;
using Address = DriverMemory::Address;

// Pages are the host's, and touching one that is not mapped ends the test.
struct Driver {
  static inline size_t left = 0;     // bytes
  static inline size_t created = 0;  // bytes in handles that live
  static inline size_t reserved = 0;
  static inline std::map<DriverMemory::MemoryHandle, size_t> handles;

  static int reserve(Address* at, size_t size, size_t, Address, unsigned long long) {
    void* p = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return 1;
    *at = reinterpret_cast<Address>(p);
    reserved += size;
    return 0;
  }
  static int give_up(Address at, size_t size) {
    reserved -= size;
    return munmap(reinterpret_cast<void*>(at), size);
  }
  static int create(DriverMemory::MemoryHandle* h, size_t size, const DriverMemory::Properties* p, unsigned long long) {
    if (p->type != 1 || p->location.type != 1) return 1;
    if (size > left) return DriverMemory::kOutOfMemory;
    left -= size;
    created += size;
    static DriverMemory::MemoryHandle next = 0;
    handles[*h = ++next] = size;
    return 0;
  }
  static int release(DriverMemory::MemoryHandle h) {
    left += handles.at(h);
    created -= handles.at(h);
    handles.erase(h);
    return 0;
  }
  static int map(Address at, size_t size, size_t, DriverMemory::MemoryHandle h, unsigned long long) {
    return handles.at(h) == size && at % 4096 == 0 ? 0 : 1;
  }
  static int unmap(Address at, size_t size) {
    void* p = reinterpret_cast<void*>(at);
    return madvise(p, size, MADV_DONTNEED) | mprotect(p, size, PROT_NONE);
  }
  static int set_access(Address at, size_t size, const DriverMemory::Access* a, size_t) {
    return a->flags == 3 ? mprotect(reinterpret_cast<void*>(at), size, PROT_READ | PROT_WRITE) : 1;
  }
};

class CudaExpandable : public gradus_test::InternalTest {
 protected:
  static void SetUpTestSuite() {
    InternalTest::SetUpTestSuite();
    driver_memory() = {&Driver::reserve, &Driver::give_up, &Driver::create,    &Driver::release,
                       &Driver::map,     &Driver::unmap,   &Driver::set_access};
  }
  void SetUp() override {
    Driver::left = 400 * kMB;
    config_ = parse_allocator_config("expandable_segments:true");
  }
  DeviceAllocator& make() { return gradus_test::new_allocator(config_); }
  static size_t reserved(DeviceAllocator& a) { return static_cast<size_t>(a.stats().reserved_bytes[0].current); }
  static char* get(DeviceAllocator& a, size_t nbytes, Handle stream = nullptr) {
    return static_cast<char*>(a.allocate(nbytes, stream));
  }
  AllocatorConfig config_;
};

TEST_F(CudaExpandable, OneSegmentServesAllSizes) {
  DeviceAllocator& a = make();
  char *p = get(a, 3 * kMB), *q = get(a, 5 * kMB), *r = get(a, 40 * kMB);
  EXPECT_EQ(q, p + 3 * kMB);
  EXPECT_EQ(r, q + 5 * kMB);
  EXPECT_EQ(reserved(a), 60 * kMB);
  EXPECT_EQ(Driver::created, 60 * kMB);
  EXPECT_EQ(a.stats().segment[0].current, 1);
  std::memset(p, 1, 48 * kMB);
  a.deallocate(p);
  a.deallocate(q);
  a.deallocate(r);
  char* all = get(a, 60 * kMB);  // what fixed segments of 20 and 40 MB could not give
  EXPECT_EQ(all, p);
  EXPECT_EQ(reserved(a), 60 * kMB);
  std::vector<cuda::SegmentInfo> segments;
  a.snapshot(&segments);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_TRUE(segments[0].is_expandable);
  EXPECT_EQ(segments[0].total_size, 60 * kMB);
  EXPECT_EQ(segments[0].blocks.size(), 1u);
  a.deallocate(all);
  a.empty_cache();
  EXPECT_EQ(reserved(a), 0u);
  EXPECT_EQ(Driver::created, 0u);
  EXPECT_EQ(Driver::reserved, 0u);
}

TEST_F(CudaExpandable, PagesInTheMiddleComeAndGo) {
  DeviceAllocator& a = make();
  char *p = get(a, 35 * kMB), *q = get(a, 10 * kMB), *r = get(a, 35 * kMB);
  EXPECT_EQ(reserved(a), 80 * kMB);
  a.deallocate(p);
  a.deallocate(r);
  a.empty_cache();  // the first page; the second one and the third hold q; the last
  EXPECT_EQ(reserved(a), 40 * kMB);
  EXPECT_EQ(Driver::created, 40 * kMB);
  std::memset(q, 2, 10 * kMB);
  char* s = get(a, 30 * kMB);  // into the hole, with the free rest of the second page
  EXPECT_EQ(s, p);
  EXPECT_EQ(reserved(a), 60 * kMB);
  std::memset(s, 3, 30 * kMB);
  char* t = get(a, 50 * kMB);  // behind q, with the free rest of the third page
  EXPECT_EQ(t, q + 10 * kMB);
  EXPECT_EQ(reserved(a), 100 * kMB);
  std::memset(t, 3, 50 * kMB);
  for (char* x : {q, s, t}) a.deallocate(x);
  a.empty_cache();
  EXPECT_EQ(Driver::created, 0u);
  EXPECT_EQ(Driver::reserved, 0u);
}

TEST_F(CudaExpandable, OutOfMemoryGivesPagesBackFirst) {
  DeviceAllocator& a = make();
  cudaStream_t side = handle_of(next_of_pool(0, 0));
  char* cached = get(a, 300 * kMB, side);
  a.deallocate(cached);
  char* p = get(a, 200 * kMB);  // of another stream
  EXPECT_EQ(reserved(a), 200 * kMB);
  EXPECT_EQ(a.stats().num_alloc_retries, 1);
  EXPECT_THROW(get(a, 300 * kMB), OutOfMemoryError);
  char* q = get(a, 180 * kMB);
  EXPECT_EQ(Driver::left, 20 * kMB);
  a.deallocate(p);
  a.deallocate(q);
  a.empty_cache();
  EXPECT_EQ(Driver::left, 400 * kMB);
}

TEST_F(CudaExpandable, BlocksNeverOverlap) {
  DeviceAllocator& a = make();
  Handle streams[2] = {nullptr, handle_of(next_of_pool(0, 0))};
  std::mt19937 random(7);
  struct Live {
    size_t size;
    char mark;
  };
  std::map<char*, Live> live;
  const auto check = [](char* p, const Live& l) {
    return p[0] == l.mark && p[l.size / 2] == l.mark && p[l.size - 1] == l.mark;
  };
  for (int i = 0; i < 4000; ++i) {
    if (random() % 5 < 3 || live.empty()) {
      const size_t size = 1 + random() % (random() % 4 == 0 ? 30 * kMB : 2 * kMB);
      char* p = nullptr;
      try {
        p = get(a, size, streams[random() % 2]);
      } catch (const OutOfMemoryError&) {
        continue;
      }
      const Live l{size, static_cast<char>(random())};
      const auto next = live.lower_bound(p);
      ASSERT_TRUE(next == live.end() || p + size <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second.size <= p);
      p[0] = p[size / 2] = p[size - 1] = l.mark;
      live.emplace(p, l);
    } else {
      const auto it = std::next(live.begin(), static_cast<long>(random() % live.size()));
      ASSERT_TRUE(check(it->first, it->second));
      ASSERT_TRUE(a.deallocate(it->first));
      live.erase(it);
    }
    if (i % 200 == 0) a.empty_cache();
    ASSERT_EQ(reserved(a), Driver::created);
  }
  for (const auto& [p, l] : live) {
    ASSERT_TRUE(check(p, l));
    a.deallocate(p);
  }
  EXPECT_EQ(a.stats().allocated_bytes[0].current, 0);
  a.empty_cache();
  EXPECT_EQ(Driver::created, 0u);
  EXPECT_EQ(Driver::reserved, 0u);
}

}  // namespace
