// Hooks: registering, removing, running. See Note [Order of hooks] in hooks.h.
#include "hooks.h"

#include <mutex>
#include <unordered_map>

#include <gradus/autograd/hooks.h>

#include "../core/make_tensor.h"
#include "engine.h"

namespace gradus::inline v0 {

void RemovableHandle::remove() {
  for (const std::weak_ptr<Hook>& weak : hooks_) {
    if (const std::shared_ptr<Hook> hook = weak.lock()) hook->drop();
  }
  hooks_.clear();
}

void RemovableHandle::join(const RemovableHandle& other) {
  hooks_.insert(hooks_.end(), other.hooks_.begin(), other.hooks_.end());
}

namespace autograd {

NodeHooks::~NodeHooks() {
  for (const Retained& r : retained) core::unhold(r.tensor);
  if (leaf) core::unhold(leaf);
}

void retain_gradient(Node* n, uint32_t output, TensorImpl* t) {
  hooks_of(n).retained.push_back({output, t});
  core::hold(t);
}

void stop_retaining(Node* n, TensorImpl* t) {
  if (!n || !n->hooks_) return;
  std::erase_if(n->hooks_->retained, [&](const NodeHooks::Retained& r) {
    if (r.tensor == t) core::unhold(t);
    return r.tensor == t;
  });
}

RemovableHandle Node::add_hook(NodePreHook hook) {
  GRADUS_CHECK(hook, "register_prehook: the hook is an empty function; expected one to call");
  return RemovableHandle(hooks_of(this).before.add(std::move(hook)));
}
RemovableHandle Node::add_hook(NodePostHook hook) {
  GRADUS_CHECK(hook, "register_hook: the hook is an empty function; expected one to call");
  return RemovableHandle(hooks_of(this).after.add(std::move(hook)));
}
void Node::add_pre_hook(std::unique_ptr<FunctionPreHook> hook) {
  add_hook(
      NodePreHook([h = std::shared_ptr<FunctionPreHook>(std::move(hook))](const variable_list& g) { return (*h)(g); }));
}
void Node::add_post_hook(std::unique_ptr<FunctionPostHook> hook) {
  add_hook(NodePostHook([h = std::shared_ptr<FunctionPostHook>(std::move(hook))](
                            const variable_list& in, const variable_list& out) { return (*h)(in, out); }));
}

namespace {

void check_replacement(const Node& n, const Tensor& was, const Tensor& is) {
  if (!was.defined() || !is.defined()) return;
  GRADUS_CHECK(is.sizes() == was.sizes(), "hook of ", n.name_, ": it returned a gradient of shape ", is.sizes(),
               "; expected ", was.sizes());
  GRADUS_CHECK(is.scalar_type() == was.scalar_type(), "hook of ", n.name_, ": it returned a gradient of type ",
               is.dtype(), "; expected ", was.dtype());
}

void replace_list(const Node& n, variable_list& grads, variable_list&& by) {
  if (by.empty()) return;
  GRADUS_CHECK(by.size() == grads.size(), "hook of ", n.name_, ": it returned ", by.size(), " gradients; expected ",
               grads.size(), ", or none to replace nothing");
  for (size_t i = 0; i < by.size(); ++i) check_replacement(n, grads[i], by[i]);
  grads = std::move(by);
}

}  // namespace

void run_tensor_hooks(Node* n, Tensor* grads, bool create_graph) {
  n->hooks_->tensor.each([&](const auto& hook, NodeHooks::TensorHook& call) {
    Tensor& g = grads[hook.output];
    if (!g.defined() && !hook.undefined_too) return;
    // What the hook writes in place must not reach another consumer of the same gradient.
    if (g.defined() && !create_graph && !is_sole(g)) g = g.clone();
    Tensor replacement = call(g);
    if (!replacement.defined()) return;
    check_replacement(*n, g, replacement);
    g = std::move(replacement);
  });
  for (const NodeHooks::Retained& r : n->hooks_->retained) {
    const Tensor& g = grads[r.output];
    if (!g.defined() || !core::try_retain(r.tensor)) continue;
    const Tensor owner(r.tensor);
    if (!owner.impl()->extra_) continue;
    Tensor& sum = owner.impl()->extra_->retained_grad;
    // A gradient that goes on to other consumers may be written by them.
    sum = sum.defined() ? sum.add(g) : create_graph || is_sole(g) ? g : g.clone();
  }
}

void run_hooks_before(Node* n, Tensor* grads) {
  if (n->hooks_->before.empty()) return;
  variable_list list(grads, grads + n->num_outputs_);
  n->hooks_->before.each([&](const auto&, NodePreHook& call) { replace_list(*n, list, call(list)); });
  std::move(list.begin(), list.end(), grads);
}

void run_hooks_after(Node* n, Tensor* made, size_t count, const variable_list& given) {
  if (n->hooks_->after.empty()) return;
  variable_list list(made, made + count);
  n->hooks_->after.each([&](const auto&, NodePostHook& call) { replace_list(*n, list, call(list, given)); });
  std::move(list.begin(), list.end(), made);
}

void run_accumulated_hooks(Node* n) {
  if (n->hooks_->accumulated.empty()) return;
  Tensor leaf;
  if (core::try_retain(n->hooks_->leaf)) {
    leaf = Tensor(n->hooks_->leaf);
  } else {  // the program has dropped it; its memory and its gradient are there
    leaf = core::alias_of(*n->hooks_->leaf);
    retain_node(n);
    attach_history(leaf, n, 0);
    leaf.impl()->flags_ |= TensorImpl::kLeafNode;
  }
  n->hooks_->accumulated.each([&](const auto&, std::function<void(const Tensor&)>& call) { call(leaf); });
}

// --- several tensors ---

namespace {

// What a hook over several tensors has seen, for each pass that is under way.
class MultiGradHook {
 public:
  using Function = std::function<void(const variable_list&)>;
  using Member = HookList<NodeHooks::TensorHook>::Hook;
  MultiGradHook(Function f, bool all) : function_(std::move(f)), all_(all) {}

  void add_member(Node* node, std::weak_ptr<Member> hook) { members_.push_back({node, std::move(hook)}); }

  void arrived(size_t i, const Tensor& grad) {
    variable_list grads;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      CurrentWalk& walk = *current_walk();
      Pass& pass = pass_of(walk);
      if (pass.seen == 0) {
        pass.grads.resize(members_.size());
        pass.expected = all_ ? count_reached(walk) : 1;
      }
      if (pass.seen >= pass.expected) return;
      pass.grads[i] = grad;
      if (++pass.seen != pass.expected) return;
      grads = std::move(pass.grads);
    }
    function_(grads);
  }

 private:
  struct Pass {
    const void* thread = nullptr;
    size_t seen = 0, expected = 0;
    variable_list grads;
  };
  struct Membership {
    Node* node;
    std::weak_ptr<Member> hook;  // expires with the node
  };

  size_t count_reached(CurrentWalk& walk) const {
    size_t n = 0;
    for (const Membership& m : members_) n += !m.hook.expired() && walk.reaches(m.node);
    return n;
  }
  Pass& pass_of(CurrentWalk& walk) {
    const auto [it, fresh] = passes_.try_emplace(walk.id());
    if (!fresh) return it->second;
    // A pass that is over, perhaps by an exception, is none of those that this thread is in.
    std::erase_if(passes_, [&](const auto& entry) {
      if (entry.second.thread != &core::tls) return false;
      for (CurrentWalk* w = &walk; w; w = w->outer) {
        if (w->id() == entry.first) return false;
      }
      return true;
    });
    Pass& pass = passes_[walk.id()];
    pass.thread = &core::tls;
    return pass;
  }

  std::mutex mutex_;
  Function function_;
  bool all_;
  std::vector<Membership> members_;
  std::unordered_map<uint64_t, Pass> passes_;
};

}  // namespace

RemovableHandle register_multi_grad_hook(const variable_list& tensors, std::function<void(const variable_list&)> hook,
                                         const std::string& mode) {
  GRADUS_CHECK_AS(ValueError, mode == "all" || mode == "any", "register_multi_grad_hook: mode is \"", mode,
                  "\"; expected \"all\" or \"any\"");
  GRADUS_CHECK(hook, "register_multi_grad_hook: the hook is an empty function; expected one to call");
  for (size_t i = 0; i < tensors.size(); ++i) {
    GRADUS_CHECK(tensors[i].defined() && (tensors[i].requires_grad() || mode == "any"),
                 "register_multi_grad_hook: tensor ", i, " does not require a gradient, so none will come for it");
  }
  auto shared = std::make_shared<MultiGradHook>(std::move(hook), mode == "all");
  RemovableHandle handle;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Edge e = gradient_edge(tensors[i].impl());
    if (!e.node) {
      shared->add_member(nullptr, {});
      continue;
    }
    const NewNode owner(e.node);
    auto member = hooks_of(e.node).tensor.add([shared, i](const Tensor& g) {
      shared->arrived(i, g);
      return Tensor();
    });
    member->output = e.input_nr;
    member->number = e.node->hooks_->next_number++;
    member->undefined_too = mode == "all";
    shared->add_member(e.node, member);
    handle.join(RemovableHandle(std::weak_ptr<RemovableHandle::Hook>(member)));
  }
  return handle;
}

}  // namespace autograd
}  // namespace gradus::inline v0
