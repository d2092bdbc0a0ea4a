// Addresses without memory, given memory page by page: segments that grow
// (GRADUS_CUDA_ALLOC_CONF=expandable_segments:true).
#pragma once

#include <cstddef>
#include <vector>

#include <gradus/core/macros.h>

namespace gradus::inline v0::cuda::runtime {

/// The driver's calls for it, with the types of cuda.h, which the runtime does not include.
struct DriverMemory {
  using Address = unsigned long long;
  using MemoryHandle = unsigned long long;
  enum Result : int { kSuccess = 0, kOutOfMemory = 2 };
  struct Location {
    int type;  // 1: a device
    int id;
  };
  struct Properties {
    int type;  // 1: of a fixed size
    int handle_types;
    Location location;
    void* metadata;
    unsigned char flags[8];
  };
  struct Access {
    Location location;
    int flags;  // 3: reading and writing
  };
  int (*reserve)(Address*, size_t size, size_t alignment, Address wanted, unsigned long long flags) = nullptr;
  int (*give_up)(Address, size_t size) = nullptr;
  int (*create)(MemoryHandle*, size_t size, const Properties*, unsigned long long flags) = nullptr;
  int (*release)(MemoryHandle) = nullptr;
  int (*map)(Address, size_t size, size_t offset, MemoryHandle, unsigned long long flags) = nullptr;
  int (*unmap)(Address, size_t size) = nullptr;
  int (*set_access)(Address, size_t size, const Access*, size_t count) = nullptr;

  bool complete() const { return reserve && give_up && create && release && map && unmap && set_access; }
};
/// What the driver has of it; not complete() where it is too old.
DriverMemory& driver_memory();

/// A range of a device's addresses, in pages.
class ExpandableSegment {
 public:
  /// Throws where the addresses cannot be had.
  ExpandableSegment(int device, size_t page_size, size_t size);
  ~ExpandableSegment();
  ExpandableSegment(const ExpandableSegment&) = delete;
  ExpandableSegment& operator=(const ExpandableSegment&) = delete;

  char* base() const { return base_; }
  size_t page_size() const { return page_size_; }
  size_t size() const { return pages_.size() * page_size_; }
  /// Gives whole pages memory. False, and nothing is changed, where there is none left.
  bool map(char* begin, size_t size);
  /// Takes it back. Nothing may be using the pages.
  void unmap(char* begin, size_t size) noexcept;

 private:
  struct Page {
    bool mapped = false;
    DriverMemory::MemoryHandle handle = 0;
  };
  size_t page_of(const char* at) const { return static_cast<size_t>(at - base_) / page_size_; }
  int map_page(size_t page);
  void unmap_page(size_t page) noexcept;

  int device_;
  size_t page_size_;
  char* base_ = nullptr;
  std::vector<Page> pages_;
};

}  // namespace gradus::inline v0::cuda::runtime
