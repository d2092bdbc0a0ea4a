// A tensor's autograd state: leaves and their grads, hooks, backward() and grad().
#include <gradus/autograd/autograd.h>

#include <algorithm>

#include "../core/autograd_hooks.h"
#include "../core/make_tensor.h"
#include "anomaly.h"
#include "engine.h"
#include "hooks.h"
#include "recording.h"

namespace gradus::inline v0 {

bool GradMode::is_enabled() {
  return grad_mode_enabled();
}
void GradMode::set_enabled(bool enabled) {
  core::tls.flags = enabled ? core::tls.flags | core::kGradMode : core::tls.flags & ~uint32_t(core::kGradMode);
}
InferenceMode::InferenceMode(bool enabled) : before_(core::tls.flags) {
  constexpr uint32_t kBoth = core::kGradMode | core::kInferenceMode;
  core::tls.flags = (core::tls.flags & ~kBoth) | (enabled ? core::kInferenceMode : core::kGradMode);
}
InferenceMode::~InferenceMode() {
  constexpr uint32_t kBoth = core::kGradMode | core::kInferenceMode;
  core::tls.flags = (core::tls.flags & ~kBoth) | (before_ & kBoth);
}
bool InferenceMode::is_enabled() {
  return (core::tls.flags & core::kInferenceMode) != 0;
}

namespace autograd {

namespace {

// The payload of a leaf's node.
struct Leaf {
  Tensor grad;
  std::atomic<bool> frozen{false};  // requires_grad was cleared after the forward: what still arrives is dropped
  std::atomic<bool> busy{false};    // backward passes on several threads may reach one leaf
};

void leaf_apply(Node&, const GradIn&, GradOut&) {}
void leaf_release(Node& n) {
  static_cast<Leaf*>(n.payload_)->~Leaf();
}
constexpr NodeKind kLeafKind{&leaf_apply, &leaf_release};
constexpr const char* kLeafName = "torch::autograd::AccumulateGrad";

struct SpinLock {
  explicit SpinLock(std::atomic<bool>& b) : busy(b) {
    while (busy.exchange(true, std::memory_order_acquire)) {
    }
  }
  ~SpinLock() { busy.store(false, std::memory_order_release); }
  std::atomic<bool>& busy;
};

// May this gradient become the leaf's own, without a copy?
bool stealable(const Tensor& g, const Node::Output& leaf) {
  const TensorImpl* t = g.impl();
  return t->counts_.load(std::memory_order_acquire) == TensorImpl::kSole && t->has(TensorImpl::kDense) &&
         !t->has(TensorImpl::kView) && t->storage_ && t->storage_->refs.load(std::memory_order_acquire) == 1 &&
         t->storage_->deleter == nullptr && IntArrayRef(leaf.sizes) == t->sizes();
}

}  // namespace

void out_form_requires_grad(const char* what) {
  throw Error(str("functions with ", what,
                  " arguments do not support automatic differentiation, but one of the arguments requires grad; "
                  "use the form that returns its result, or NoGradGuard"));
}
void stop_saving_overwritten_self() {
  throw std::logic_error("an in-place operator saves its overwritten self: keep_self() is missing");
}
Tensor inplace_copy_of(const Tensor& t) {
  NoGradGuard guard;
  return t.clone();
}

void finish_outputs(Node* n, const Tensor* const* outs, size_t count) {
  bool used = false;
  for (size_t i = 0; i < count; ++i) {
    const Tensor& out = *outs[i];
    if (!out.defined()) continue;
    describe_output(n, static_cast<uint32_t>(i), *out.impl());
    if (!is_differentiable(out.scalar_type())) continue;
    if (used) n->retain();
    used = true;
    set_history(out, n, static_cast<uint32_t>(i));
  }
  if (!used) n->release();
}

ListRecorder::ListRecorder(const ops::Dest* dest, TensorList inputs) : inputs_(inputs) {
  if (!grad_mode_enabled()) return;
  for (const Tensor& t : inputs) active_ |= requires_grad(t.impl());
  if (dest && dest->is_out() && (active_ || requires_grad(dest->target(0).impl()))) out_form_requires_grad("out=");
}

Node* accumulate_node(TensorImpl* t) {
  if (!t->node_) {
    Node* n = allocate_node(kLeafName, &kLeafKind, sizeof(Leaf), 0, 1);
    new (n->payload_) Leaf;
    n->sequence_ = UINT64_MAX;
    describe_output(n, 0, *t);
    t->node_ = n;
    t->flags_ |= TensorImpl::kLeafNode;
  }
  return t->node_;
}

void freeze_leaf(Node* n, bool frozen) {
  static_cast<Leaf*>(n->payload_)->frozen.store(frozen, std::memory_order_relaxed);
}

Tensor& accumulated_grad(Node* n) {
  return static_cast<Leaf*>(n->payload_)->grad;
}

bool accumulate_into(Node* n, Tensor g, bool create_graph) {
  auto& leaf = *static_cast<Leaf*>(n->payload_);
  if (leaf.frozen.load(std::memory_order_relaxed)) return false;
  SpinLock lock(leaf.busy);
  if (!leaf.grad.defined()) {
    leaf.grad = create_graph ? g : stealable(g, n->outputs_[0]) ? std::move(g) : g.clone();
  } else if (create_graph) {
    leaf.grad = leaf.grad.add(g);
  } else {
    leaf.grad.add_(g);
  }
  return true;
}

Edge gradient_edge(TensorImpl* t) {
  if (!t || !requires_grad(t)) return {};
  if (t->has(TensorImpl::kView)) refresh_view(t);
  if (!t->node_) {
    if (!t->has(TensorImpl::kRequiresGrad)) return {};  // a view made without recording: a leaf of its own
    accumulate_node(t);
  }
  retain_node(t->node_);
  return {t->node_, t->has(TensorImpl::kLeafNode) ? 0 : t->output_nr_};
}

void attach_history(const Tensor& out, Node* node, uint32_t nr) {
  TensorImpl* t = out.impl();
  if (t->node_) release_node(t->node_);
  t->node_ = node;
  t->output_nr_ = nr;
  t->flags_ = (t->flags_ & ~uint32_t(TensorImpl::kLeafNode)) | TensorImpl::kRequiresGrad;
}

void set_history(const Tensor& out, Node* node, uint32_t nr) {
  attach_history(out, node, nr);
  if (anomaly_enabled()) [[unlikely]]
    note_creation(node);
}

}  // namespace autograd

// --- Tensor ---

using autograd::Node;
using autograd::NodeHooks;
using autograd::TensorExtra;

bool Tensor::requires_grad() const {
  return autograd::requires_grad(&get("requires_grad()"));
}

bool Tensor::is_leaf() const {
  TensorImpl& t = get("is_leaf()");
  if (t.has(TensorImpl::kView) && autograd::requires_grad(&t)) autograd::refresh_view(&t);
  return t.node_ == nullptr || t.has(TensorImpl::kLeafNode);
}

const Tensor& Tensor::set_requires_grad(bool value) const {
  TensorImpl& t = get("requires_grad_()");
  if (value) {
    GRADUS_CHECK(is_differentiable(t.dtype_), "requires_grad_: a tensor of type ", t.dtype_,
                 " cannot have a gradient; expected a floating or complex type");
    GRADUS_CHECK(
        !t.has(TensorImpl::kInference) || InferenceMode::is_enabled(),
        "requires_grad_: an inference tensor cannot require a gradient outside InferenceMode; clone() it first");
    if (is_leaf()) {
      t.flags_ |= TensorImpl::kRequiresGrad;
      autograd::freeze_leaf(autograd::accumulate_node(&t), false);
    }
  } else {
    GRADUS_CHECK(is_leaf(), "requires_grad_: only a leaf's flag can be cleared; this tensor was made by ",
                 t.node_ ? t.node_->name() : "", ": use detach()");
    t.flags_ &= ~uint32_t(TensorImpl::kRequiresGrad);
    if (t.node_) autograd::freeze_leaf(t.node_, true);
  }
  return *this;
}

namespace {
const Tensor& no_tensor() {
  static const Tensor none;
  return none;
}
TensorExtra& extra_of(TensorImpl& t) {
  if (!t.extra_) t.extra_ = new TensorExtra;
  return *t.extra_;
}
}  // namespace

const Tensor& Tensor::grad() const {
  TensorImpl& t = get("grad()");
  if (t.has(TensorImpl::kLeafNode)) return autograd::accumulated_grad(t.node_);
  return t.extra_ ? t.extra_->retained_grad : no_tensor();
}

Tensor& Tensor::mutable_grad() const {
  TensorImpl& t = get("mutable_grad()");
  if (is_leaf()) return autograd::accumulated_grad(autograd::accumulate_node(&t));
  return extra_of(t).retained_grad;
}

std::shared_ptr<Node> Tensor::grad_fn() const {
  TensorImpl& t = get("grad_fn()");
  if (is_leaf()) return nullptr;
  t.node_->retain();
  return std::shared_ptr<Node>(t.node_, [](Node* n) { n->release(); });
}

void Tensor::retain_grad() const {
  TensorImpl& t = get("retain_grad()");
  GRADUS_CHECK(requires_grad(), "retain_grad: the tensor does not require a gradient");
  if (is_leaf() || (t.extra_ && t.extra_->retains_grad)) return;
  extra_of(t).retains_grad = true;
  autograd::retain_gradient(t.node_, t.output_nr_, &t);
}

bool Tensor::retains_grad() const {
  const TensorImpl& t = get("retains_grad()");
  return t.extra_ && t.extra_->retains_grad;
}

unsigned Tensor::add_hook(std::function<Tensor(const Tensor&)> hook) const {
  TensorImpl& t = get("register_hook()");
  GRADUS_CHECK(requires_grad(), "register_hook: the tensor does not require a gradient, so the hook would never run");
  GRADUS_CHECK(hook, "register_hook: the hook is an empty function; expected one to call");
  Node* n = is_leaf() ? autograd::accumulate_node(&t) : t.node_;
  NodeHooks& hooks = autograd::hooks_of(n);
  const auto added = hooks.tensor.add(std::move(hook));
  added->output = t.has(TensorImpl::kLeafNode) ? 0 : t.output_nr_;
  added->number = hooks.next_number++;
  return added->number;
}

void Tensor::remove_hook(unsigned number) const {
  TensorImpl& t = get("remove_hook()");
  GRADUS_CHECK_AS(IndexError, t.node_ && t.node_->hooks_ && t.node_->hooks_->tensor.remove(number),
                  "remove_hook: the tensor has no hook number ", number);
}

RemovableHandle Tensor::register_post_accumulate_grad_hook(std::function<void(const Tensor&)> hook) const {
  TensorImpl& t = get("register_post_accumulate_grad_hook()");
  GRADUS_CHECK(requires_grad(),
               "register_post_accumulate_grad_hook: the tensor does not require a gradient, so the "
               "hook would never run");
  GRADUS_CHECK(hook, "register_post_accumulate_grad_hook: the hook is an empty function; expected one to call");
  GRADUS_CHECK(is_leaf(), "register_post_accumulate_grad_hook: the tensor was made by ", t.node_->name(),
               "; expected a leaf, since no other accumulates its gradient");
  NodeHooks& hooks = autograd::hooks_of(autograd::accumulate_node(&t));
  if (!hooks.leaf) {
    core::hold(&t);
    hooks.leaf = &t;
  }
  return RemovableHandle(hooks.accumulated.add(std::move(hook)));
}

Tensor Tensor::_base() const {
  const TensorImpl& t = get("_base()");
  GRADUS_CHECK(t.has(TensorImpl::kView), "_base: the tensor is not a view");
  t.view_.base->retain();
  return Tensor(t.view_.base);
}

const std::string& Tensor::name() const {
  static const std::string none;
  const TensorImpl& t = get("name()");
  return t.extra_ ? t.extra_->name : none;
}

Tensor Tensor::data() const {
  get("data()");
  return core::alias(*this);
}

void Tensor::set_data(const Tensor& other) const {
  TensorImpl& t = get("set_data()");
  GRADUS_CHECK(other.defined(), "set_data: the new data is undefined; expected a tensor");
  GRADUS_CHECK(is_leaf(), "set_data: only a leaf's data can be replaced");
  GRADUS_CHECK_AS(TypeError, !requires_grad() || is_differentiable(other.scalar_type()), "set_data: data of type ",
                  other.dtype(), " cannot replace that of a tensor which requires a gradient");
  // Whoever saved the old contents must notice.
  const uint32_t version = t.storage_ ? t.storage_->version.load(std::memory_order_relaxed) : 0;
  Storage storage = other.storage();
  core::replace(t, storage, DimVector(other.sizes()), DimVector(other.strides()), other.storage_offset(),
                other.scalar_type());
  t.device_ = other.device();
  if (t.storage_) {
    t.storage_->version.store(std::max(version, t.storage_->version.load(std::memory_order_relaxed)),
                              std::memory_order_relaxed);
    t.storage_->bump("set_data", StorageImpl::Writer::kOther);
  }
  if (t.has(TensorImpl::kLeafNode)) autograd::describe_output(t.node_, 0, t);
}

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                      std::optional<TensorList> inputs) const {
  get("backward()");
  GRADUS_CHECK(!inputs || !inputs->empty(), "backward: the list of inputs is empty; leave it out to reach all leaves");
  autograd::backward_from(*this, gradient.defined() ? TensorList(gradient) : TensorList(), retain_graph, create_graph,
                          inputs.value_or(TensorList()));
}

namespace autograd {

namespace {

struct EdgeList {
  SmallVector<Edge, 4> edges;
  ~EdgeList() {
    for (const Edge& e : edges) {
      if (e.node) e.node->release();
    }
  }
};

// Roots and their gradients, checked. `root_grads` has room for as many as `tensors`.
void prepare_roots(const char* op, TensorList tensors, TensorList grads, EdgeList& roots, Gradients& root_grads,
                   bool create_graph) {
  GRADUS_CHECK(!tensors.empty(), op, ": the list of tensors is empty; expected at least one");
  GRADUS_CHECK(grads.empty() || grads.size() == tensors.size(), op, ": ", tensors.size(), " tensors and ", grads.size(),
               " gradients were given; expected as many of each");
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    GRADUS_CHECK(t.defined(), op, ": tensor ", i, " is undefined");
    GRADUS_CHECK(t.requires_grad(), op, ": element ", i,
                 " of tensors does not require grad and does not have a grad_fn");
    Tensor g = grads.empty() ? Tensor() : grads[i];
    if (!g.defined()) {
      GRADUS_CHECK(t.numel() == 1, op,
                   ": grad can be implicitly created only for scalar outputs; the tensor has shape ", t.sizes(),
                   ": pass a gradient");
      g = core::scalar_tensor(1, t.scalar_type(), t.device(), false);
      if (t.dim() > 0) g = g.expand(t.sizes());
    } else {
      GRADUS_CHECK(g.sizes() == t.sizes(), op, ": a gradient of shape ", g.sizes(), " was given for a tensor of shape ",
                   t.sizes(), "; expected equal shapes");
      GRADUS_CHECK_AS(TypeError, g.is_complex() == t.is_complex() && is_differentiable(g.scalar_type()), op,
                      ": a gradient of type ", g.dtype(), " was given for a tensor of type ", t.dtype());
      if (!create_graph && g.requires_grad()) g = g.detach();
    }
    Edge e = gradient_edge(t.impl());
    GRADUS_CHECK(e.node, op, ": element ", i, " of tensors does not require grad and does not have a grad_fn");
    roots.edges.push_back(e);
    root_grads[i] = std::move(g);
  }
}

}  // namespace

void backward_from(TensorList tensors, TensorList grad_tensors, std::optional<bool> retain_graph, bool create_graph,
                   TensorList inputs) {
  EdgeList roots, captures;
  Gradients grads(tensors.size());
  prepare_roots("backward", tensors, grad_tensors, roots, grads, create_graph);
  for (const Tensor& t : inputs) {
    GRADUS_CHECK(t.defined() && t.requires_grad(), "backward: one of the inputs does not require grad");
    if (!t.is_leaf()) t.retain_grad();  // PyTorch's way to let one that is no leaf accumulate
    captures.edges.push_back(gradient_edge(t.impl()));
  }
  run_backward(roots.edges, grads.data(), captures.edges,
               {retain_graph.value_or(create_graph), create_graph, /*accumulate=*/true});
}

void backward(const variable_list& tensors, const variable_list& grad_tensors, std::optional<bool> retain_graph,
              bool create_graph, const variable_list& inputs) {
  backward_from(tensors, grad_tensors, retain_graph, create_graph, inputs);
}

variable_list grad(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs,
                   std::optional<bool> retain_graph, bool create_graph, std::optional<bool> allow_unused,
                   bool materialize_grads) {
  EdgeList roots, captures;
  Gradients grads(outputs.size());
  GRADUS_CHECK(!inputs.empty(), "grad: the list of inputs is empty; expected at least one");
  GRADUS_CHECK_AS(
      ValueError, !materialize_grads || allow_unused.value_or(true),
      "grad: allow_unused is false and materialize_grads true; expected allow_unused to be true or left out");
  prepare_roots("grad", outputs, grad_outputs, roots, grads, create_graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    GRADUS_CHECK(inputs[i].defined() && inputs[i].requires_grad(), "grad: input ", i, " does not require grad");
    captures.edges.push_back(gradient_edge(inputs[i].impl()));
  }
  variable_list result = run_backward(roots.edges, grads.data(), captures.edges,
                                      {retain_graph.value_or(create_graph), create_graph, false});
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    if (materialize_grads) {
      result[i] = inputs[i].detach().new_zeros(inputs[i].sizes());
    } else {
      GRADUS_CHECK(allow_unused.value_or(false), "grad: input ", i,
                   " was not used in the graph; pass allow_unused=true to get an undefined gradient for it");
    }
  }
  return result;
}

}  // namespace autograd
}  // namespace gradus::inline v0
