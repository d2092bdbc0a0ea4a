#include <kernels/packed_slot.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace gradus::inline v0::kernels {

namespace {

struct Form {
  uint64_t key, version;
  int64_t offset;
  std::shared_ptr<const void> data;
};

/// What StorageImpl::cache points to.
struct Forms {
  static constexpr size_t kMost = 4;  // forward and backward forms of two layouts
  std::mutex mutex;
  std::vector<Form> list;
};

Forms* get_or_make(const PackedSlot& slot) {
  void* current = slot.cache->load(std::memory_order_acquire);
  if (current) return static_cast<Forms*>(current);
  auto made = std::make_unique<Forms>();
  // Whoever wins writes the same deleter, so it is set before the pointer that makes it matter.
  std::atomic_ref(*slot.deleter).store([](void* p) { delete static_cast<Forms*>(p); }, std::memory_order_relaxed);
  if (slot.cache->compare_exchange_strong(current, made.get(), std::memory_order_acq_rel)) return made.release();
  return static_cast<Forms*>(current);
}

}  // namespace

std::shared_ptr<const void> PackedSlot::find(uint64_t key) const {
  if (!cache) return nullptr;
  auto* forms = static_cast<Forms*>(cache->load(std::memory_order_acquire));
  if (!forms) return nullptr;
  const std::lock_guard lock(forms->mutex);
  for (const Form& f : forms->list) {
    if (f.key == key && f.version == version && f.offset == offset) return f.data;
  }
  return nullptr;
}

void PackedSlot::store(uint64_t key, std::shared_ptr<const void> form) const {
  if (!cache) return;
  Forms* forms = get_or_make(*this);
  const std::lock_guard lock(forms->mutex);
  std::erase_if(forms->list, [&](const Form& f) { return f.version != version; });
  if (forms->list.size() >= Forms::kMost) forms->list.erase(forms->list.begin());
  forms->list.push_back({key, version, offset, std::move(form)});
}

}  // namespace gradus::inline v0::kernels
