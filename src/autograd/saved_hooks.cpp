#include "saved_hooks.h"

#include <utility>

#include <gradus/autograd/grad_mode.h>

#include "hooks.h"

namespace gradus::inline v0::autograd {

namespace {

constinit thread_local detail::SavedHooksScope* innermost = nullptr;
constinit thread_local DisableSavedTensorsHooks* disabled = nullptr;

void set_innermost(detail::SavedHooksScope* scope) {
  innermost = scope;
  if (scope) {
    core::tls.flags |= core::kSavedHooks;
  } else {
    core::tls.flags &= ~uint32_t(core::kSavedHooks);
  }
}

// What a hook does must not go through the hooks itself.
struct HooksOff;
constinit thread_local HooksOff* innermost_off = nullptr;
struct HooksOff {
  HooksOff() : before(innermost), outer(innermost_off) {
    innermost_off = this;
    set_innermost(nullptr);
  }
  ~HooksOff() {
    innermost_off = outer;
    set_innermost(before);
  }
  HooksOff(const HooksOff&) = delete;
  detail::SavedHooksScope* before;
  HooksOff* outer;
};

struct UserPacked final : PackedTensor {
  std::any value;
  std::shared_ptr<const UnpackHook> hook;
  Tensor unpack(const Node&) override {
    Tensor t = (*hook)(value);
    GRADUS_CHECK(t.defined(), "unpack hook: it returned an undefined tensor; expected the one that was packed");
    return t;
  }
};

class UserHooks final : public detail::SavedHooks {
 public:
  UserHooks(PackHook pack, UnpackHook unpack)
      : pack_(std::move(pack)), unpack_(std::make_shared<const UnpackHook>(std::move(unpack))) {
    GRADUS_CHECK(pack_ && *unpack_, "SavedTensorsHooks: ", pack_ ? "unpack" : "pack",
                 " is an empty function; expected one to call");
  }
  std::unique_ptr<PackedTensor> pack(const Tensor& t) override {
    auto packed = std::make_unique<UserPacked>();
    packed->value = pack_(t);
    packed->hook = unpack_;
    return packed;
  }

 private:
  PackHook pack_;
  std::shared_ptr<const UnpackHook> unpack_;
};

}  // namespace

detail::SavedHooksScope* innermost_saved_hooks() {
  return innermost;
}

void attach_blind_history(const Tensor& bare) {
  NewNode n = make_node("CheckpointedBackward0", 0, 1, [](const GradIn&, GradOut&) {});
  number_node(n.get());
  describe_output(n.get(), 0, *bare.impl());
  attach_history(bare, n.release(), 0);
}

std::unique_ptr<PackedTensor> pack_saved(const Tensor& t) {
  const std::shared_ptr<detail::SavedHooks> hooks = innermost->shared_hooks();  // the guard may end inside
  const HooksOff off;
  const NoGradGuard guard;
  const int64_t version = t._version();
  std::unique_ptr<PackedTensor> packed = hooks->pack(t);
  GRADUS_CHECK(t._version() == version, "pack hook: it modified the tensor that it was given, of shape ", t.sizes(),
               ", in place; expected it to write into a clone()");
  return packed;
}

namespace detail {

SavedHooksScope::SavedHooksScope(std::shared_ptr<SavedHooks> hooks) : hooks_(std::move(hooks)), outer_(innermost) {
  if (disabled) disabled->refuse();
  set_innermost(this);
}
// Guards on the heap may end in any order, also inside a hook.
SavedHooksScope::~SavedHooksScope() {
  SavedHooksScope* top = innermost;
  take_out(top, this);
  set_innermost(top);
  for (HooksOff* off = innermost_off; off; off = off->outer) take_out(off->before, this);
}

void SavedHooksScope::take_out(SavedHooksScope*& top, SavedHooksScope* scope) {
  for (SavedHooksScope** at = &top; *at; at = &(*at)->outer_) {
    if (*at == scope) {
      *at = scope->outer_;
      return;
    }
  }
}

}  // namespace detail

SavedTensorsHooks::SavedTensorsHooks(PackHook pack, UnpackHook unpack)
    : scope_(std::make_shared<UserHooks>(std::move(pack), std::move(unpack))) {}

DisableSavedTensorsHooks::DisableSavedTensorsHooks(std::string message)
    : message_(std::move(message)), outer_(disabled) {
  if (innermost) refuse();
  disabled = this;
}
DisableSavedTensorsHooks::~DisableSavedTensorsHooks() {
  for (DisableSavedTensorsHooks** at = &disabled; *at; at = &(*at)->outer_) {
    if (*at == this) {
      *at = outer_;
      return;
    }
  }
}
void DisableSavedTensorsHooks::refuse() const {
  throw Error(message_);
}

namespace {
struct OnCpu {
  Tensor tensor;
  Device device;
};
}  // namespace

SaveOnCpu::SaveOnCpu(bool pin_memory)
    : SavedTensorsHooks(
          [pin_memory](const Tensor& t) -> std::any {
            Tensor copy = t.detach().to(TensorOptions(kCPU));
            if (pin_memory && t.is_cuda()) copy = copy.pin_memory();
            return OnCpu{std::move(copy), t.device()};
          },
          [pin_memory](const std::any& packed) {
            const auto& p = std::any_cast<const OnCpu&>(packed);
            return p.tensor.to(TensorOptions(p.device), /*non_blocking=*/pin_memory);
          }) {}

}  // namespace gradus::inline v0::autograd
