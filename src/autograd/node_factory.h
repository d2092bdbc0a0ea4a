// Making graph nodes, saving tensors: what operators record with. See recording.h for how an operator does it.
#pragma once

#include <new>
#include <utility>

#include <gradus/autograd/node.h>

#include "../core/autograd_hooks.h"
#include "../core/counting.h"
#include "../core/heap.h"
#include "../core/thread_state.h"

namespace gradus::inline v0 {

namespace core {
void hold(TensorImpl* t);
void unhold(TensorImpl* t) noexcept;
bool try_retain(TensorImpl* t);
/// For backward without recording, on the only thread: a tensor that nothing but one saved handle holds any more
/// becomes a strong one again, in place of a new tensor over its memory. False where it cannot be.
bool revive(TensorImpl* t);
}  // namespace core

namespace autograd {

/// Records nothing for a scope: operators that call others inside.
struct GradModeOff {
  GradModeOff() : before(core::tls.flags) { core::tls.flags &= ~uint32_t(core::kGradMode); }
  ~GradModeOff() { core::tls.flags = before; }
  GradModeOff(const GradModeOff&) = delete;
  uint32_t before;
};

/// How a view was made; decides which in-place writes through it are allowed.
enum class CreationMeta : uint8_t { kDefault, kNoGrad, kMultiOutput, kInference, kCustomFunction };

struct PackedTensor;

/// A tensor kept for backward: its memory and version, not its history, so that no cycle can arise. Under saved-tensor
/// hooks what they made of it stands there instead.
class SavedTensor {
 public:
  static constexpr int16_t kNoEdge = -1, kOutputEdge = -2, kPacked = -3;
  SavedTensor() = default;
  /// An operator's input, whose history is the node's edge `edge` (kNoEdge: none).
  SavedTensor(TensorImpl* t, int16_t edge);
  /// An operator's output number `output_nr`.
  static SavedTensor output(const Tensor& t, uint16_t output_nr = 0);
  SavedTensor(SavedTensor&& o) noexcept
      : impl_(o.impl_), version_(o.version_), edge_(o.edge_), output_nr_(o.output_nr_) {
    o.impl_ = nullptr;
  }
  SavedTensor& operator=(SavedTensor&& o) noexcept {
    std::swap(impl_, o.impl_);
    std::swap(version_, o.version_);
    std::swap(edge_, o.edge_);
    std::swap(output_nr_, o.output_nr_);
    return *this;
  }
  SavedTensor(const SavedTensor&) = delete;
  ~SavedTensor() {
    if (!impl_) return;
    if (edge_ == kPacked) [[unlikely]] {
      drop_packed();
    } else {
      core::unhold(impl_);
    }
  }
  bool defined() const { return impl_ != nullptr; }
  Tensor unpack(Node& node) const;

 private:
  void pack(TensorImpl* t);
  Tensor unpack_packed(Node& node) const;
  void drop_packed() noexcept;
  union {
    TensorImpl* impl_ = nullptr;  // a hold
    PackedTensor* packed_;        // where edge_ is kPacked
  };
  uint32_t version_ = 0;
  int16_t edge_ = kNoEdge;
  uint16_t output_nr_ = 0;
};

/// The operator that wrote last, in the user's spelling: "add_", "add_out".
std::string last_writer(const StorageImpl& s);

/// A node with room for a payload, `edges` edges and `outputs` outputs; the caller fills them and owns one reference.
Node* allocate_node(const char* name, const NodeKind* kind, size_t payload_bytes, size_t edges, size_t outputs);

inline void retain_node(Node* n) {
  core::count_up<uint32_t>(n->refs_, 1);
}
/// Edge to what made `t` (or to the leaf's accumulate node); owns a reference. Empty where `t` needs no gradient.
Edge gradient_edge(TensorImpl* t);
/// A leaf's accumulate node, made where there is none. Borrowed.
Node* accumulate_node(TensorImpl* t);
/// Whether a leaf's node drops what arrives: its tensor no longer requires a gradient.
void freeze_leaf(Node* accumulate, bool frozen);
/// The accumulated gradient of a leaf's node.
Tensor& accumulated_grad(Node* accumulate);

/// Makes output `nr` of `node` out of `t` (fresh or a fresh view). Takes over one reference of the node per call.
void set_history(const Tensor& t, Node* node, uint32_t nr);
/// Remembers the shape and dtype that the gradient of output `nr` will have.
/// The stream of the forward is the backward's, too.
void remember_stream(Node* node, Device device);
inline void describe_output(Node* node, uint32_t nr, const TensorImpl& t) {
  Node::Output& o = node->outputs_[nr];
  o.sizes = t.sizes();
  o.dtype = t.dtype_;
  o.device = t.device_;
  if (t.device_.is_cuda() && node->stream_device_ < 0) [[unlikely]]
    remember_stream(node, t.device_);
}
/// Numbers a node after its edges.
inline void number_node(Node* node) {
  uint64_t last = core::tls.sequence;
  for (uint32_t i = 0; i < node->num_edges_; ++i) {
    const Node* n = node->edges_[i].node;
    if (n && n->sequence_ > last && n->sequence_ != UINT64_MAX) last = n->sequence_;
  }
  node->sequence_ = core::tls.sequence = last + 1;
}

template <class F>
struct LambdaKind {
  static void apply(Node& n, const GradIn& in, GradOut& out) { (*static_cast<F*>(n.payload_))(in, out); }
  static void release(Node& n) { static_cast<F*>(n.payload_)->~F(); }
  static constexpr NodeKind kind{&apply, &release};
};

/// Owns a node until somebody takes it over: what comes between may throw.
class NewNode {
 public:
  explicit NewNode(Node* n) : n_(n) {}
  NewNode(NewNode&& o) noexcept : n_(o.release()) {}
  NewNode& operator=(NewNode&&) = delete;
  ~NewNode() {
    if (n_) release_node(n_);
  }
  Node* get() const { return n_; }
  Node* operator->() const { return n_; }
  Node* release() {
    Node* n = n_;
    n_ = nullptr;
    return n;
  }

 private:
  Node* n_;
};

/// A node whose backward is `f(const GradIn&, GradOut&)`.
template <class F>
NewNode make_node(const char* name, size_t edges, size_t outputs, F&& f) {
  using Lambda = std::decay_t<F>;
  static_assert(alignof(Lambda) <= 16);
  Node* n = allocate_node(name, &LambdaKind<Lambda>::kind, sizeof(Lambda), edges, outputs);
  new (n->payload_) Lambda(std::forward<F>(f));
  return NewNode(n);
}

// --- in-place operators and views (views.cpp) ---
/// Throws where an in-place write into `t` may not be recorded.
void check_inplace(const Tensor& t, const char* op);
/// `node` is the in-place operator's, its edge 0 the old self's. Afterwards `self` (and the root it views) has that
/// history. Takes over one reference, also where it throws.
void rebase_history(const Tensor& self, Node* node);
/// The grad_fn of a view after its root changed.
void refresh_view(TensorImpl* view);
bool view_requires_grad(const TensorImpl* view);
/// Gives a view whose geometry was changed in place a grad_fn that fits it.
void rebuild_view_history(TensorImpl* view);
/// Makes a leaf that needs no gradient of `t`, which is no view.
void drop_history(TensorImpl& t);

inline bool requires_grad(const TensorImpl* t) {
  return t != nullptr && (t->has(TensorImpl::kRequiresGrad) || (t->has(TensorImpl::kView) && view_requires_grad(t)));
}

struct ViewGeometry {
  DimVector sizes, strides;
  int64_t offset;
  explicit ViewGeometry(const TensorImpl& t) : sizes(t.sizes()), strides(t.strides()), offset(t.storage_offset_) {}
};
/// The gradient of `view`, a strided window on the memory of `root`, with respect to root.
Tensor as_strided_backward(const Tensor& grad, const ViewGeometry& root, const ViewGeometry& view);

struct TensorExtra {
  Tensor retained_grad;
  bool retains_grad = false;
  std::string name;
};

}  // namespace autograd
}  // namespace gradus::inline v0
