#include "blocks.h"

#include <algorithm>
#include <bit>

namespace gradus::inline v0::cuda::runtime {

namespace {

// A list for each size, and two levels of bits that say which have something: a fit is found in a few instructions.
class SmallLists final : public FreeBlocks {
 public:
  void insert(Block* block) override {
    const size_t i = list_of(block->size);
    block->previous = nullptr;
    block->next = heads_[i];
    if (heads_[i]) heads_[i]->previous = block;
    heads_[i] = block;
    bits_[i / 64] |= uint64_t(1) << i % 64;
    summary_ |= uint64_t(1) << i / 64;
  }

  void erase(Block* block) override {
    if (block->next) block->next->previous = block->previous;
    if (block->previous) {
      block->previous->next = block->next;
      return;
    }
    const size_t i = list_of(block->size);
    heads_[i] = block->next;
    if (heads_[i]) return;
    bits_[i / 64] &= ~(uint64_t(1) << i % 64);
    if (bits_[i / 64] == 0) summary_ &= ~(uint64_t(1) << i / 64);
  }

  Block* find(size_t size) override {
    const size_t i = list_of(size);
    const size_t word = i / 64;
    if (const uint64_t here = bits_[word] >> i % 64) return heads_[i + static_cast<size_t>(std::countr_zero(here))];
    const uint64_t later = word == 63 ? 0 : summary_ >> (word + 1);
    if (later == 0) return nullptr;
    const size_t w = word + 1 + static_cast<size_t>(std::countr_zero(later));
    return heads_[w * 64 + static_cast<size_t>(std::countr_zero(bits_[w]))];
  }

  void collect(std::vector<Block*>* all) const override {
    for (Block* head : heads_) {
      for (Block* b = head; b; b = b->next) all->push_back(b);
    }
  }

 private:
  static constexpr size_t kLists = kSmallSegment / kRound;  // sizes 1..4096 times kRound
  // The last list also has what an expandable segment left larger: enough for any request of this pool.
  static size_t list_of(size_t size) { return std::min(size / kRound, kLists) - 1; }

  Block* heads_[kLists] = {};
  uint64_t bits_[kLists / 64] = {};
  uint64_t summary_ = 0;
  static_assert(kLists / 64 == 64);
};

class LargeLists final : public FreeBlocks {
 public:
  void insert(Block* block) override {
    // The node comes back with the block: a set that only takes nodes never allocates.
    block->place = block->node.empty() ? set_.insert(block).first : set_.insert(std::move(block->node)).position;
  }
  void erase(Block* block) override { block->node = set_.extract(block->place); }
  Block* find(size_t size) override {
    key_.size = size;
    const auto it = set_.lower_bound(&key_);
    return it == set_.end() ? nullptr : *it;
  }
  void collect(std::vector<Block*>* all) const override { all->insert(all->end(), set_.begin(), set_.end()); }

 private:
  BlockSet set_;
  Block key_;
};

}  // namespace

std::unique_ptr<FreeBlocks> make_small_lists() {
  return std::make_unique<SmallLists>();
}
std::unique_ptr<FreeBlocks> make_large_lists() {
  return std::make_unique<LargeLists>();
}

FreeBlocks& Pool::add(Handle stream) {
  streams.push_back({stream, small ? make_small_lists() : make_large_lists()});
  return *streams.back().free;
}

size_t AddressMap::slot_of(const void* data) const {
  size_t i = home(data);
  while (slots_[i] != nullptr && slots_[i]->data != data) i = (i + 1) & (slots_.size() - 1);
  return i;
}

void AddressMap::insert(Block* block) {
  if ((count_ + 1) * 2 > slots_.size()) {
    std::vector<Block*> old(slots_.size() * 2);
    old.swap(slots_);
    for (Block* b : old) {
      if (b) slots_[slot_of(b->data)] = b;
    }
  }
  slots_[slot_of(block->data)] = block;
  ++count_;
}

Block* AddressMap::find(const void* data) const {
  return slots_[slot_of(data)];
}

Block* AddressMap::take(const void* data) {
  const size_t mask = slots_.size() - 1;
  size_t hole = slot_of(data);
  Block* found = slots_[hole];
  if (found == nullptr) return nullptr;
  --count_;
  // Those behind it move up, unless that would put them before their home.
  for (size_t i = (hole + 1) & mask; slots_[i] != nullptr; i = (i + 1) & mask) {
    if (((i - home(slots_[i]->data)) & mask) >= ((i - hole) & mask)) {
      slots_[hole] = slots_[i];
      hole = i;
    }
  }
  slots_[hole] = nullptr;
  return found;
}

Block* BlockObjects::make() {
  if (free_ == nullptr) return new Block;
  Block* b = free_;
  free_ = b->next;
  b->next = nullptr;
  return b;
}

void BlockObjects::give_back(Block* block) noexcept {
  block->data = nullptr;
  block->size = block->requested = 0;
  block->segment = nullptr;
  block->before = block->after = block->previous = nullptr;
  block->allocated = false;
  block->mapped = true;
  block->events = 0;
  block->last_used = 0;
  block->users.clear();
  block->next = free_;
  free_ = block;
}

}  // namespace gradus::inline v0::cuda::runtime
