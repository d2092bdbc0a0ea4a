// Named values in the order they were added.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gradus/core/error.h>

namespace gradus {
inline namespace v0 {

/// libtorch's torch::OrderedDict: small, searched from the front.
template <class Key, class Value>
class OrderedDict {
 public:
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    const Key& key() const noexcept { return pair_.first; }
    Value& value() noexcept { return pair_.second; }
    const Value& value() const noexcept { return pair_.second; }
    Value& operator*() { return pair_.second; }
    const Value& operator*() const { return pair_.second; }
    Value* operator->() { return &pair_.second; }
    const Value* operator->() const { return &pair_.second; }
    const std::pair<Key, Value>& pair() const noexcept { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };

  OrderedDict() = default;
  explicit OrderedDict(std::string key_description) : what_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : items_(items) {}

  bool is_empty() const noexcept { return items_.empty(); }
  bool empty() const noexcept { return items_.empty(); }
  size_t size() const noexcept { return items_.size(); }
  Value* find(const Key& key) noexcept {
    for (Item& i : items_)
      if (i.key() == key) return &i.value();
    return nullptr;
  }
  const Value* find(const Key& key) const noexcept { return const_cast<OrderedDict*>(this)->find(key); }
  bool contains(const Key& key) const noexcept { return find(key) != nullptr; }
  Value& operator[](const Key& key) {
    Value* v = find(key);
    GRADUS_CHECK_AS(IndexError, v, what_, " '", key, "' is not defined");
    return *v;
  }
  const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }
  Item& operator[](size_t i) {
    GRADUS_CHECK_AS(IndexError, i < items_.size(), what_, ": index ", i, " is out of range for ", items_.size(),
                    " entries");
    return items_[i];
  }
  const Item& operator[](size_t i) const { return const_cast<OrderedDict&>(*this)[i]; }
  /// Throws Error where the key is there already.
  Value& insert(Key key, Value value) {
    GRADUS_CHECK(!contains(key), what_, " '", key, "' already defined");
    items_.emplace_back(std::move(key), std::move(value));
    return items_.back().value();
  }
  void update(const OrderedDict& other) {
    for (const Item& i : other) insert(i.key(), i.value());
  }
  void erase(const Key& key) {
    for (auto it = items_.begin(); it != items_.end(); ++it) {
      if (it->key() == key) {
        items_.erase(it);
        return;
      }
    }
    GRADUS_CHECK_AS(IndexError, false, what_, " '", key, "' is not defined");
  }
  void clear() noexcept { items_.clear(); }
  void reserve(size_t n) { items_.reserve(n); }
  Item& front() { return items_.front(); }
  Item& back() { return items_.back(); }
  auto begin() noexcept { return items_.begin(); }
  auto end() noexcept { return items_.end(); }
  auto begin() const noexcept { return items_.begin(); }
  auto end() const noexcept { return items_.end(); }
  const std::vector<Item>& items() const noexcept { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> r;
    for (const Item& i : items_) r.push_back(i.key());
    return r;
  }
  std::vector<Value> values() const {
    std::vector<Value> r;
    for (const Item& i : items_) r.push_back(i.value());
    return r;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> r;
    for (const Item& i : items_) r.push_back(i.pair());
    return r;
  }

 private:
  std::vector<Item> items_;
  std::string what_ = "Key";
};

}  // namespace v0
}  // namespace gradus
