// The parts of the caching allocator that know nothing of CUDA: blocks, lists of free ones, and which block an address
// is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include <gradus/core/macros.h>

struct CUstream_st;  // CUDA's name of what a cudaStream_t points to

namespace gradus::inline v0::cuda::runtime {

using Handle = CUstream_st*;

constexpr size_t kRound = 512;                      // every block's size is a multiple
constexpr size_t kSmallMax = size_t(1) << 20;       // larger requests come from the large pool
constexpr size_t kSmallSegment = size_t(2) << 20;   // what the small pool takes from the driver
constexpr size_t kLargeSegment = size_t(20) << 20;  // what the large pool takes for requests below kLargeMin
constexpr size_t kLargeMin = size_t(10) << 20;
constexpr size_t kSegmentRound = size_t(2) << 20;  // the size of larger segments

struct Block;
struct Pool;
class ExpandableSegment;

/// A stream of a device; every device has a default one, and its handle is the same.
struct StreamOf {
  int device;
  Handle stream;
  bool operator==(const StreamOf& o) const { return device == o.device && stream == o.stream; }
};

/// Memory held from the driver.
struct Segment {
  char* base = nullptr;
  size_t size = 0;
  Pool* pool = nullptr;
  Handle stream = nullptr;
  Block* first = nullptr;
  ExpandableSegment* expandable = nullptr;
  bool direct = false;  // one allocation of the driver's for one of ours; not cached
};

struct BySize {
  inline bool operator()(const Block* a, const Block* b) const;
};
using BlockSet = std::set<Block*, BySize>;

/// A piece of a segment: in use, or in a list of free ones, or waiting for streams.
struct Block {
  char* data = nullptr;
  size_t size = 0;
  size_t requested = 0;
  Segment* segment = nullptr;
  Block* before = nullptr;  // its neighbours in the segment
  Block* after = nullptr;
  bool allocated = false;
  bool mapped = true;           // of an expandable segment: has memory behind its addresses
  uint32_t events = 0;          // that must pass before it is free
  uint64_t last_used = 0;       // the allocator's clock when it was freed
  std::vector<StreamOf> users;  // streams other than its own
  Block* next = nullptr;        // of a list of free small blocks
  Block* previous = nullptr;
  BlockSet::node_type node;  // its place in a set while it is not in one
  BlockSet::iterator place;  // its place while it is

  bool is_split() const { return before != nullptr || after != nullptr; }
  /// In use by a tensor, or by a stream that is not done with it.
  bool is_active() const { return allocated || events != 0 || !users.empty(); }
};
inline bool BySize::operator()(const Block* a, const Block* b) const {
  return a->size != b->size ? a->size < b->size : a->data < b->data;
}

/// The free blocks of one stream in one pool, found by best fit.
class FreeBlocks {
 public:
  virtual ~FreeBlocks() = default;
  virtual void insert(Block* block) = 0;
  virtual void erase(Block* block) = 0;
  /// The smallest block of at least `size` bytes; it stays where it is.
  virtual Block* find(size_t size) = 0;
  virtual void collect(std::vector<Block*>* all) const = 0;
};
std::unique_ptr<FreeBlocks> make_small_lists();
std::unique_ptr<FreeBlocks> make_large_lists();

/// Of one size class, for ordinary use or for a CUDA graph.
struct Pool {
  bool small = false;
  struct PrivatePool* owner = nullptr;
  struct OfStream {
    Handle stream;
    std::unique_ptr<FreeBlocks> free;
  };
  std::vector<OfStream> streams;

  FreeBlocks& of(Handle stream) {
    for (OfStream& s : streams) {
      if (s.stream == stream) return *s.free;
    }
    return add(stream);
  }

 private:
  FreeBlocks& add(Handle stream);
};

/// From addresses to blocks in use: open addressing, no allocation but when it grows.
class AddressMap {
 public:
  AddressMap() : slots_(1024) {}
  void insert(Block* block);
  /// nullptr where there is none; takes it out.
  Block* take(const void* data);
  Block* find(const void* data) const;
  template <class F>
  void each(F&& f) const {
    for (Block* b : slots_) {
      if (b) f(b);
    }
  }

 private:
  size_t home(const void* data) const {
    return (reinterpret_cast<uintptr_t>(data) / kRound * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1);
  }
  size_t slot_of(const void* data) const;
  std::vector<Block*> slots_;
  size_t count_ = 0;
};

/// Block objects, reused.
class BlockObjects {
 public:
  Block* make();
  void give_back(Block* block) noexcept;

 private:
  Block* free_ = nullptr;
};

}  // namespace gradus::inline v0::cuda::runtime
