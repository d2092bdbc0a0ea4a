// Hooks on what operators keep for backward.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

namespace detail {

class SavedHooks;

// Puts hooks on this thread's stack.
class GRADUS_API SavedHooksScope {
 public:
  explicit SavedHooksScope(std::shared_ptr<SavedHooks> hooks);
  ~SavedHooksScope();
  SavedHooksScope(const SavedHooksScope&) = delete;
  SavedHooksScope& operator=(const SavedHooksScope&) = delete;
  SavedHooks& hooks() const { return *hooks_; }
  std::shared_ptr<SavedHooks> shared_hooks() const { return hooks_; }
  // Takes `scope` out of the stack whose top is `top`; it need not be the top.
  static void take_out(SavedHooksScope*& top, SavedHooksScope* scope);

 private:
  std::shared_ptr<SavedHooks> hooks_;
  SavedHooksScope* outer_;
};

}  // namespace detail

/// Makes anything of a tensor: `pack(t)` may return a Tensor, a file's name, whatever is copyable.
using PackHook = std::function<std::any(const Tensor&)>;
/// Makes the tensor again: `unpack(a)` gets what pack returned (`std::any_cast<Tensor>(a)`).
using UnpackHook = std::function<Tensor(const std::any&)>;

/// For as long as it lives, each tensor that an operator of this thread saves for backward goes through `pack`, and
/// when backward needs it, its packed form through `unpack`. Guards nest; only the innermost one's hooks are called.
/// `pack` runs without recording. Numbers among operands are not packed, and in-place writes between pack and unpack
/// are not noticed. Throws Error where hooks are disabled; the operator throws Error where `pack` writes into its
/// tensor. The guard ends on the thread that made it. See
/// https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.saved_tensors_hooks
class GRADUS_API SavedTensorsHooks {
 public:
  SavedTensorsHooks(PackHook pack, UnpackHook unpack);

 private:
  detail::SavedHooksScope scope_;
};

/// For as long as it lives, this thread may use no SavedTensorsHooks: making one throws Error with `message`, as does
/// this guard where some are on. See
/// https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.disable_saved_tensors_hooks
class GRADUS_API DisableSavedTensorsHooks {
 public:
  explicit DisableSavedTensorsHooks(std::string message);
  ~DisableSavedTensorsHooks();
  DisableSavedTensorsHooks(const DisableSavedTensorsHooks&) = delete;
  DisableSavedTensorsHooks& operator=(const DisableSavedTensorsHooks&) = delete;

  /// Throws Error with the message.
  [[noreturn]] void refuse() const;

 private:
  std::string message_;
  DisableSavedTensorsHooks* outer_;
};

/// Keeps what operators save in the host's memory and brings it back to its device for backward. With `pin_memory` in
/// page-locked memory, and the way back does not block. See
/// https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.save_on_cpu
class GRADUS_API SaveOnCpu : public SavedTensorsHooks {
 public:
  explicit SaveOnCpu(bool pin_memory = false);
};

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
