// What a Tensor points to. For the library itself; programs use Tensor.
#pragma once

#include <atomic>
#include <cstdint>

#include <gradus/core/array_ref.h>
#include <gradus/core/device.h>
#include <gradus/core/scalar_type.h>

namespace gradus {
inline namespace v0 {

class TensorImpl;

namespace autograd {
class Node;
struct TensorExtra;
}  // namespace autograd

/// Memory that tensors share, with its version counter.
struct StorageImpl {
  std::atomic<uint32_t> refs{1};
  std::atomic<uint32_t> version{0};
  void* data = nullptr;
  size_t nbytes = 0;
  Device device;
  bool embedded = false;  // lies in the block of `owner`, data included
  bool resizable = true;
  /// How a write was spelled: `add_`, `add_out`, or as the writer says.
  enum class Writer : uint8_t { kInplace, kOut, kOther } writer_kind = Writer::kOther;
  const char* last_writer = nullptr;         // the last operator that wrote, for version errors
  void (*deleter)(void* context) = nullptr;  // nullptr: the device's allocator takes `data` back
  void* context = nullptr;
  // A packed form of the contents (a convolution's weights), kept while `cache_version` equals `version`.
  std::atomic<void*> cache{nullptr};
  void (*cache_deleter)(void*) = nullptr;

  void bump(const char* writer, Writer kind = Writer::kInplace) {
    version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    last_writer = writer;
    writer_kind = kind;
  }
};

/// A counted handle of a StorageImpl.
class GRADUS_API Storage {
 public:
  Storage() = default;
  /// Takes over one reference.
  explicit Storage(StorageImpl* taken) : impl_(taken) {}
  Storage(const Storage& o);
  Storage(Storage&& o) noexcept : impl_(o.impl_) { o.impl_ = nullptr; }
  Storage& operator=(Storage o) noexcept {
    StorageImpl* t = impl_;
    impl_ = o.impl_;
    o.impl_ = t;
    return *this;
  }
  ~Storage();
  /// `nbytes` of new memory; uninitialised.
  static Storage allocate(size_t nbytes, Device device);
  /// Somebody else's memory; `deleter(context)` runs with the last reference.
  static Storage borrow(void* data, size_t nbytes, Device device, void (*deleter)(void*), void* context);
  explicit operator bool() const { return impl_ != nullptr; }
  void* mutable_data() const { return impl_ ? impl_->data : nullptr; }
  const void* data() const { return impl_ ? impl_->data : nullptr; }
  size_t nbytes() const { return impl_ ? impl_->nbytes : 0; }
  Device device() const { return impl_ ? impl_->device : Device(); }
  size_t use_count() const { return impl_ ? impl_->refs.load(std::memory_order_relaxed) : 0; }
  StorageImpl* get() const { return impl_; }
  StorageImpl* release() {
    StorageImpl* t = impl_;
    impl_ = nullptr;
    return t;
  }

 private:
  StorageImpl* impl_ = nullptr;
};

/// Sizes and strides together: inside the tensor up to 6 dimensions, one heap block above.
class Geometry {
 public:
  static constexpr int kInline = 6;
  Geometry() = default;
  Geometry(const Geometry& o) { set(o.sizes(), o.strides()); }
  Geometry& operator=(const Geometry& o) {
    if (this != &o) set(o.sizes(), o.strides());
    return *this;
  }
  ~Geometry() { drop(); }
  int ndim() const { return ndim_; }
  int64_t* sizes_data() { return ndim_ <= kInline ? inline_ : heap_; }
  int64_t* strides_data() { return ndim_ <= kInline ? inline_ + kInline : heap_ + ndim_; }
  const int64_t* sizes_data() const { return ndim_ <= kInline ? inline_ : heap_; }
  const int64_t* strides_data() const { return ndim_ <= kInline ? inline_ + kInline : heap_ + ndim_; }
  IntArrayRef sizes() const { return IntArrayRef(sizes_data(), static_cast<size_t>(ndim_)); }
  IntArrayRef strides() const { return IntArrayRef(strides_data(), static_cast<size_t>(ndim_)); }
  /// Room for `n` dimensions; their contents are unspecified.
  GRADUS_API void resize_slow(int n);
  void resize(int n) {
    if (GRADUS_LIKELY(n <= kInline && ndim_ <= kInline)) {
      ndim_ = n;
    } else {
      resize_slow(n);
    }
  }
  void set(IntArrayRef sizes, IntArrayRef strides) {
    resize(static_cast<int>(sizes.size()));
    int64_t *s = sizes_data(), *t = strides_data();
    for (size_t i = 0; i < sizes.size(); ++i) s[i] = sizes[i], t[i] = strides[i];
  }

 private:
  GRADUS_API void drop_slow();
  void drop() {
    if (GRADUS_UNLIKELY(ndim_ > kInline)) drop_slow();
  }
  int ndim_ = 0;
  union {
    int64_t inline_[2 * kInline];
    int64_t* heap_;
  };
};

/// A tensor's state. Two counts in one word: users' handles (strong) and holds, which keep memory but not history
/// (saved tensors, weak handles). The last strong reference drops the autograd state, the last hold the storage.
class TensorImpl {
 public:
  enum Flag : uint32_t {
    kRequiresGrad = 1u << 0,  // a leaf that asked for it, or a result with a grad_fn
    kLeafNode = 1u << 1,      // node_ is the leaf's accumulate node, not a grad_fn
    kView = 1u << 2,          // view_ is filled
    kContiguous = 1u << 3,
    kChannelsLast = 1u << 4,    // dense in channels_last order and not kContiguous-only
    kDense = 1u << 5,           // non-overlapping and dense in some order
    kAllStridesZero = 1u << 6,  // one element seen everywhere (an expanded scalar)
    kEmbedded = 1u << 7,        // the storage lies in this block
    kBorrowed = 1u << 8,        // the storage is base's embedded one; no reference of our own
    kInference = 1u << 9,
    kWrappedNumber = 1u << 10,  // a 0-dim tensor made of a number: weak in type promotion
    kPinned = 1u << 11,
    kWantsGrad = 1u << 12,  // requires_grad_(true) was called on this leaf
  };
  static constexpr uint64_t kStrongOne = 1, kHoldOne = uint64_t(1) << 32;
  static constexpr uint64_t kSole = kStrongOne + kHoldOne;

  IntArrayRef sizes() const { return geometry_.sizes(); }
  IntArrayRef strides() const { return geometry_.strides(); }
  int64_t dim() const { return geometry_.ndim(); }
  bool has(uint32_t flags) const { return (flags_ & flags) != 0; }
  void retain() { counts_.fetch_add(kStrongOne, std::memory_order_relaxed); }
  void release() {
    if (counts_.load(std::memory_order_acquire) == kSole) {
      destroy_sole();
    } else {
      release_shared();
    }
  }
  uint32_t strong_count() const { return static_cast<uint32_t>(counts_.load(std::memory_order_acquire)); }

  struct ViewInfo {
    TensorImpl* base = nullptr;   // the root; strong while users hold this view, a hold afterwards
    uint32_t version = 0;         // of the storage when node_ was made
    uint8_t creation = 0;         // autograd::CreationMeta
    const char* maker = nullptr;  // the operator that made the view
  };

  std::atomic<uint64_t> counts_{kSole};
  void* data_ = nullptr;  // of the first element
  StorageImpl* storage_ = nullptr;
  int64_t numel_ = 0;
  int64_t storage_offset_ = 0;  // in elements
  uint32_t flags_ = 0;
  ScalarType dtype_ = ScalarType::Undefined;
  Layout layout_ = Layout::Strided;
  Device device_;
  autograd::Node* node_ = nullptr;          // grad_fn, or a leaf's accumulate node
  autograd::TensorExtra* extra_ = nullptr;  // rare: retained gradient, name
  uint32_t output_nr_ = 0;
  uint32_t block_bytes_ = 0;
  ViewInfo view_;
  Geometry geometry_;

  GRADUS_API void destroy_sole();
  GRADUS_API void release_shared();
};

}  // namespace v0
}  // namespace gradus
