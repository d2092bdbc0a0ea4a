// Anomaly mode: where nodes were made, and what is wrong with what they compute.
#pragma once

#include "hooks.h"

namespace gradus::inline v0::autograd {

extern std::atomic<bool> anomaly_on;
inline bool anomaly_enabled() {
  return anomaly_on.load(std::memory_order_relaxed);
}

/// Where a node was made. Holds no node: that could be a cycle through a leaf's gradient.
struct Creation {
  std::string name;
  std::vector<void*> frames;               // return addresses; empty where the node was made outside anomaly mode
  std::shared_ptr<const Creation> parent;  // of the node whose backward made this one, in double backward
};

/// Notes the calling stack in a new node.
[[gnu::cold]] void note_creation(Node* n);

/// Around a node's backward. Does nothing where `on` is false.
class WatchedNode {
 public:
  WatchedNode(Node* n, bool on);
  ~WatchedNode();
  WatchedNode(const WatchedNode&) = delete;
  /// Throws Error where one of the gradients has a NaN.
  void check(const Tensor* grads, size_t count) const;
  /// Warns, with the node's creation: its backward threw.
  void threw() const noexcept;

 private:
  friend void note_creation(Node* n);
  std::shared_ptr<const Creation> creation_;  // empty where off
  const WatchedNode* outer_ = nullptr;
};

}  // namespace gradus::inline v0::autograd
