// Views and in-place writes. Note [Views]: a view knows its root; both share one version. When something was written in
// place through either, the root's history is the truth and a view's grad_fn is made again from it, as a strided view
// of it.
#include "recording.h"

#include <algorithm>

#include "../core/autograd_hooks.h"
#include "anomaly.h"
#include "hooks.h"

namespace gradus::inline v0::autograd {

Tensor as_strided_backward(const Tensor& grad, const ViewGeometry& root, const ViewGeometry& view) {
  // On a flat stand-in for the storage, from the lowest offset that either reaches.
  const int64_t start = std::min(root.offset, view.offset);
  auto end_of = [](const ViewGeometry& g) {
    int64_t last = g.offset;
    for (size_t d = 0; d < g.sizes.size(); ++d) last += (g.sizes[d] - 1) * g.strides[d];
    return last + 1;
  };
  if (grad.numel() == 0) return grad.new_zeros(root.sizes);
  const int64_t length = std::max(end_of(root), end_of(view)) - start;
  Tensor flat = grad.new_zeros({length});
  Tensor places = flat.as_strided(view.sizes, view.strides, view.offset - start);
  if (core::overlaps_itself(*places.impl())) {
    // Counted by methods: `arange` is a function of ops, which stands above.
    Tensor at = flat.new_ones({length}, TensorOptions(kLong)).cumsum(0).sub_(1);
    at = at.as_strided(view.sizes, view.strides, view.offset - start);
    const std::optional<Tensor> indices[] = {at.reshape({-1})};
    flat = flat.index_put(indices, grad.reshape({-1}), /*accumulate=*/true);
  } else {
    places.copy_(grad);
  }
  return flat.as_strided(root.sizes, root.strides, root.offset - start);
}

namespace {

// Out of date: something wrote since grad_fn was made.
bool stale(const TensorImpl* view) {
  return view->storage_ && view->storage_->version.load(std::memory_order_relaxed) != view->view_.version;
}

void set_node(TensorImpl* t, Node* n) {
  if (t->node_) release_node(t->node_);
  t->node_ = n;
  t->output_nr_ = 0;
  t->flags_ = (t->flags_ & ~uint32_t(TensorImpl::kLeafNode)) | TensorImpl::kRequiresGrad;
  if (anomaly_enabled()) [[unlikely]]
    note_creation(n);
}

// A grad_fn that reaches the root by as_strided.
void rebuild_from_root(TensorImpl* view) {
  TensorImpl* base = view->view_.base;
  Edge edge = gradient_edge(base);
  if (!edge.node) return;
  NewNode n = make_node("AsStridedBackward0", 1, 1,
                        [root = ViewGeometry(*base), v = ViewGeometry(*view)](const GradIn& g, GradOut& d) {
                          d[0] = as_strided_backward(g[0], root, v);
                        });
  n->edges_[0] = edge;
  number_node(n.get());
  describe_output(n.get(), 0, *view);
  set_node(view, n.release());
}

}  // namespace

bool view_requires_grad(const TensorImpl* view) {
  return view->view_.base->has(TensorImpl::kRequiresGrad);
}

void rebuild_view_history(TensorImpl* view) {
  if (view_requires_grad(view)) rebuild_from_root(view);
  view->view_.version = view->storage_->version.load(std::memory_order_relaxed);
}

void drop_history(TensorImpl& t) {
  if (t.node_ && !t.has(TensorImpl::kLeafNode)) {
    release_node(t.node_);
    t.node_ = nullptr;
    t.output_nr_ = 0;
  }
  t.flags_ &= ~uint32_t(TensorImpl::kRequiresGrad);
}

namespace {

// Why a view that was made in a restricted way may not be written to, nor used after its base was.
[[noreturn, gnu::cold]] void refuse_view(const TensorImpl* view, const char* who, const char* what) {
  const auto creation = static_cast<CreationMeta>(view->view_.creation);
  const char* how =
      creation == CreationMeta::kNoGrad        ? " was created in no_grad mode; do both in the same mode, or clone() it"
      : creation == CreationMeta::kMultiOutput ? " is the output of a function that returns multiple views, which do "
                                                 "not allow their views to be modified inplace; clone() it, "
                                                 "or use narrow or select"
      : creation == CreationMeta::kInference   ? " was created in inference mode; clone() it first"
                                               : " was created inside a custom Function; clone() it first";
  throw Error(str(who, ": the output of ", view->view_.maker, what, ", and it", how));
}

}  // namespace

void refresh_view(TensorImpl* view) {
  if (!stale(view) || !view_requires_grad(view)) return;
  if (view->view_.creation != static_cast<uint8_t>(CreationMeta::kDefault)) {
    refuse_view(view, "grad_fn", " is a view and its base or another view of its base has been modified inplace");
  }
  rebuild_from_root(view);
  view->view_.version = view->storage_->version.load(std::memory_order_relaxed);
}

void check_inplace(const Tensor& self, const char* op) {
  const char* who = op ? op : "in-place operator";
  GRADUS_CHECK(self.defined(), who, ": the self tensor is undefined; expected one with data");
  const TensorImpl* t = self.impl();
  if (t->has(TensorImpl::kView)) {
    const TensorImpl* base = t->view_.base;
    if (t->view_.creation != static_cast<uint8_t>(CreationMeta::kDefault))
      refuse_view(t, who, " is a view and is being modified inplace");
    // The view may itself be the one that requires a gradient: the write would cut it off from its accumulate node.
    const bool wanted = t->has(TensorImpl::kRequiresGrad) || base->has(TensorImpl::kRequiresGrad);
    GRADUS_CHECK(
        !(wanted && (base->node_ == nullptr || base->has(TensorImpl::kLeafNode))), who,
        ": a view of a leaf Variable that requires grad is being used in an in-place operation; use NoGradGuard to "
        "change the leaf");
    return;
  }
  GRADUS_CHECK(
      !(t->has(TensorImpl::kRequiresGrad) && (t->node_ == nullptr || t->has(TensorImpl::kLeafNode))), who,
      ": a leaf Variable that requires grad is being used in an in-place operation; use NoGradGuard to change it");
}

namespace {

// The history of a root after an in-place write through one of its views: the gradient of the part goes through the
// write's own node, the rest passes.
NewNode make_copy_slices(TensorImpl* base, const TensorImpl* view, Node* write) {
  struct Inner {
    Node* node;
    explicit Inner(Node* n) : node(n) {}
    Inner(Inner&& o) noexcept : node(o.node) { o.node = nullptr; }
    Inner(const Inner&) = delete;
    ~Inner() {
      if (node) node->release();
    }
  };
  const uint32_t edges = write->num_edges_;
  NewNode n = make_node(
      "CopySlices", edges, 1,
      [inner = Inner(write), root = ViewGeometry(*base), v = ViewGeometry(*view)](const GradIn& g, GradOut& d) {
        Tensor whole = g[0].new_empty_strided(root.sizes, root.strides);
        whole.copy_(g[0]);
        Tensor part = whole.as_strided(v.sizes, v.strides, v.offset - root.offset);
        Tensor part_grad = part.clone();
        std::vector<Tensor> grads(inner.node->num_edges_);
        GradIn in(*inner.node, &part_grad);
        GradOut out(*inner.node, grads.data());
        inner.node->kind_->apply(*inner.node, in, out);
        for (size_t i = 1; i < grads.size(); ++i) {
          if (d.needs(i)) d[i] = grads[i];
        }
        if (!d.needs(0)) return;
        if (grads[0].defined()) {
          part.copy_(grads[0]);
        } else {
          part.zero_();
        }
        d[0] = whole;
      });
  // The inner node keeps its edges: they say what it must compute, and what its saved tensors are made of. Here the
  // root stands in for the part that was overwritten.
  n->saves_ = write->saves_;
  Edge root_edge = gradient_edge(base);
  n->edges_[0] = root_edge;
  for (uint32_t i = 1; i < edges; ++i) {
    n->edges_[i] = write->edges_[i];
    if (n->edges_[i].node) n->edges_[i].node->retain();
  }
  number_node(n.get());
  describe_output(n.get(), 0, *base);
  return n;
}

}  // namespace

void rebase_history(const Tensor& self, Node* taken) {
  NewNode node(taken);
  TensorImpl* t = self.impl();
  if (!t->has(TensorImpl::kView)) {
    if (t->extra_ && t->extra_->retains_grad) {
      // The gradient to keep is that of the value as it is now: the hook moves to the new node.
      t->extra_->retains_grad = false;
      stop_retaining(t->node_, t);
      set_node(t, node.release());
      self.retain_grad();
      return;
    }
    set_node(t, node.release());
    return;
  }
  TensorImpl* base = t->view_.base;
  GRADUS_CHECK(!core::overlaps_itself(*base), node->name_,
               ": the tensor behind the view overlaps itself and cannot be differentiated through an "
               "in-place write");
  NewNode slices = make_copy_slices(base, t, node.release());
  set_node(base, slices.release());
  rebuild_from_root(t);
  t->view_.version = t->storage_->version.load(std::memory_order_relaxed);
}

}  // namespace gradus::inline v0::autograd
