// Hooks of a node, and what runs them for the engine.
#pragma once

#include "node_factory.h"

namespace gradus::inline v0::autograd {

/// Hooks of one kind, in the order in which they were registered.
template <class F>
class HookList {
 public:
  struct Hook final : RemovableHandle::Hook {
    std::shared_ptr<F> call;  // empty: removed
    uint32_t output = 0;      // a tensor's: which one of the node's
    unsigned number = 0;
    bool undefined_too = false;  // called where there is no gradient, too
    void drop() override { call.reset(); }
  };

  std::shared_ptr<Hook> add(F f) {
    std::erase_if(hooks_, [](const auto& h) { return !h->call; });
    auto hook = std::make_shared<Hook>();
    hook->call = std::make_shared<F>(std::move(f));
    hooks_.push_back(hook);
    return hook;
  }
  bool remove(unsigned number) {
    return std::erase_if(hooks_, [&](const auto& h) { return h->call && h->number == number; }) != 0;
  }
  bool empty() const { return hooks_.empty(); }
  /// Calls `use(hook, function)` for each. A hook may remove itself or others and register new ones, which do not run
  /// this time.
  template <class Use>
  void each(Use&& use) const {
    const std::vector<std::shared_ptr<Hook>> now = hooks_;
    for (const auto& h : now) {
      if (const std::shared_ptr<F> call = h->call) use(*h, *call);
    }
  }

 private:
  std::vector<std::shared_ptr<Hook>> hooks_;
};

struct Creation;

/// Hooks of a node, nullptr where it has none, nearly always.
struct NodeHooks {
  using TensorHook = std::function<Tensor(const Tensor&)>;
  struct Retained {
    uint32_t output;
    TensorImpl* tensor;  // a hold
  };
  HookList<TensorHook> tensor;
  std::vector<Retained> retained;
  HookList<NodePreHook> before;
  HookList<NodePostHook> after;
  HookList<std::function<void(const Tensor&)>> accumulated;
  TensorImpl* leaf = nullptr;  // a hold on the tensor that `accumulated` gets
  unsigned next_number = 0;
  std::shared_ptr<const Creation> creation;  // where the node was made; see anomaly.h
  ~NodeHooks();
};

inline NodeHooks& hooks_of(Node* n) {
  if (!n->hooks_) n->hooks_ = new NodeHooks;
  return *n->hooks_;
}

/// set_history() for a tensor that stands for one which the node made before.
void attach_history(const Tensor& t, Node* node, uint32_t nr);

/// Keeps in `t` what arrives for output `output` of `n`.
void retain_gradient(Node* n, uint32_t output, TensorImpl* t);
void stop_retaining(Node* n, TensorImpl* t);

// Note [Order of hooks]
// As PyTorch has it: a tensor's hooks in the order of registration, then what retain_grad keeps; the gradient as it is
// now is what autograd::grad returns for that tensor; hooks before the node, the node, hooks after it. A leaf's
// post-accumulate hooks stand between its accumulation and the hooks after its node. The tensors' hooks run for every
// tensor whose gradient is computed, the node's where the node runs.
void run_tensor_hooks(Node* n, Tensor* grads, bool create_graph);
void run_hooks_before(Node* n, Tensor* grads);
/// `made`: gradients of the node's inputs, `count` of them; `given`: those of its outputs.
void run_hooks_after(Node* n, Tensor* made, size_t count, const variable_list& given);
void run_accumulated_hooks(Node* n);

}  // namespace gradus::inline v0::autograd
