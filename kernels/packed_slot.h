// Where a kernel keeps a derived form of a tensor's data, such as a convolution's packed weights.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace gradus::inline v0::kernels {

/// A slot in the tensor's storage (StorageImpl::cache and cache_deleter), and which content it is asked for. An empty
/// slot (cache == nullptr) makes kernels pack anew at each call. Kept forms are found by version and a key of layout
/// and content, never by address, and are shared: a find stays valid while another thread stores a newer form.
struct PackedSlot {
  std::atomic<void*>* cache = nullptr;
  void (**deleter)(void*) = nullptr;
  uint64_t version = 0;
  int64_t offset = 0;  // of the tensor in its storage

  /// The form stored under `key`, or nullptr.
  std::shared_ptr<const void> find(uint64_t key) const;
  /// Stores a form, replacing those of other versions. At most four are kept.
  void store(uint64_t key, std::shared_ptr<const void> form) const;
};

}  // namespace gradus::inline v0::kernels
