// What registering a hook returns.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {

/// Takes a hook away again; torch.utils.hooks.RemovableHandle. It owns nothing: copies mean the same hook, one that is
/// dropped leaves the hook where it is, and it may outlive the hook, the tensor and the graph. Removing is safe inside
/// the hook itself; beside a backward pass of another thread over the same node it is not.
class GRADUS_API RemovableHandle {
 public:
  /// The library's: what a list of hooks keeps of one.
  struct Hook {
    virtual ~Hook() = default;
    /// Gives up the function. It is called no more.
    virtual void drop() = 0;
  };
  /// A handle of no hook.
  RemovableHandle() = default;
  explicit RemovableHandle(std::vector<std::weak_ptr<Hook>> hooks) : hooks_(std::move(hooks)) {}
  explicit RemovableHandle(std::weak_ptr<Hook> hook) { hooks_.push_back(std::move(hook)); }

  /// The hook runs no more and what it captured is freed. Nothing happens where that is so already.
  void remove();
  /// Makes this handle remove the hooks of `other` too.
  void join(const RemovableHandle& other);

 private:
  std::vector<std::weak_ptr<Hook>> hooks_;
};

}  // namespace v0
}  // namespace gradus
