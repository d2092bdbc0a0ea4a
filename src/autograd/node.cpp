// Graph nodes: memory, saved tensors, release without recursion.
#include <gradus/autograd/node.h>

#include "../core/accelerator.h"
#include "../core/autograd_hooks.h"
#include "../core/make_tensor.h"
#include "hooks.h"
#include "saved_hooks.h"

namespace gradus::inline v0::autograd {

void remember_stream(Node* node, Device device) {
  node->stream_device_ = device.index();
  node->stream_ = core::accelerator(device.type(), "autograd").current_stream(device.index()).id;
}

namespace {

constexpr size_t round16(size_t n) {
  return (n + 15) & ~size_t(15);
}

void destroy_node(Node* n) noexcept {
  if (!n->released_ && n->kind_->release) n->kind_->release(*n);
  delete n->hooks_;
  for (uint32_t i = 0; i < n->num_edges_; ++i) {
    if (Node* next = n->edges_[i].node) release_node(next);
  }
  for (uint32_t i = 0; i < n->num_outputs_; ++i) n->outputs_[i].~Output();
  const size_t bytes = n->block_bytes_;
  core::cpu_free(n, bytes);
}

// A graph can be a million nodes deep: a node that dies while another is being destroyed waits in a list instead of
// recursing. Saved tensors reach other nodes too, so the list hangs on the thread, not on the caller.
void drain(Node* n) noexcept {
  core::ThreadState& t = core::tls;
  if (t.draining_graph) {
    n->next_dead_ = static_cast<Node*>(t.dead_nodes);
    t.dead_nodes = n;
    return;
  }
  t.draining_graph = true;
  destroy_node(n);
  while (auto* next = static_cast<Node*>(t.dead_nodes)) {
    t.dead_nodes = next->next_dead_;
    destroy_node(next);
  }
  t.draining_graph = false;
}

}  // namespace

void release_node(Node* n) noexcept {
  if (n->refs_.load(std::memory_order_acquire) == 1 || core::count_down<uint32_t>(n->refs_, 1) == 1) drain(n);
}

void Node::release() {
  release_node(this);
}

void delete_extra(TensorExtra* extra) noexcept {
  delete extra;
}

std::shared_ptr<Node> Node::next_function(size_t i) const {
  GRADUS_CHECK_AS(IndexError, i < num_edges_, "next_function: index ", i, " is out of range; ", name_, " has ",
                  num_edges_, " edges");
  Node* n = edges_[i].node;
  if (!n) return nullptr;
  n->retain();
  return std::shared_ptr<Node>(n, [](Node* p) { release_node(p); });
}

Node* allocate_node(const char* name, const NodeKind* kind, size_t payload_bytes, size_t edges, size_t outputs) {
  const size_t payload_at = round16(sizeof(Node));
  const size_t edges_at = payload_at + round16(payload_bytes);
  const size_t outputs_at = edges_at + round16(edges * sizeof(Edge));
  const size_t bytes = outputs_at + outputs * sizeof(Node::Output);
  GRADUS_CHECK(bytes < UINT32_MAX, name, ": ", edges, " inputs and ", outputs,
               " outputs are too many for one operator");
  char* block = static_cast<char*>(core::cpu_allocate(bytes));
  Node* n = new (block) Node;
  n->block_bytes_ = static_cast<uint32_t>(bytes);
  n->name_ = name;
  n->kind_ = kind;
  n->payload_ = block + payload_at;
  n->num_edges_ = static_cast<uint32_t>(edges);
  n->num_outputs_ = static_cast<uint32_t>(outputs);
  n->edges_ = reinterpret_cast<Edge*>(block + edges_at);
  for (size_t i = 0; i < edges; ++i) new (n->edges_ + i) Edge;
  n->outputs_ = reinterpret_cast<Node::Output*>(block + outputs_at);
  for (size_t i = 0; i < outputs; ++i) new (n->outputs_ + i) Node::Output;
  return n;
}

Tensor GradIn::or_zeros(size_t i) const {
  if (grads_[i].defined()) return grads_[i];
  const Node::Output& o = node_.outputs_[i];
  Tensor z = core::empty(o.sizes, o.dtype, o.device);
  z.zero_();
  return z;
}

Tensor GradOut::unpack(const SavedTensor& saved) const {
  return saved.unpack(node_);
}

SavedTensor::SavedTensor(TensorImpl* t, int16_t edge) : edge_(edge) {
  GRADUS_CHECK(
      !t->has(TensorImpl::kInference),
      "an inference tensor cannot be saved for backward; clone() it outside InferenceMode to get a normal one");
  if ((core::tls.flags & core::kSavedHooks) && !t->has(TensorImpl::kWrappedNumber)) [[unlikely]] {
    pack(t);
    return;
  }
  core::hold(t);
  impl_ = t;
  if (t->storage_) version_ = t->storage_->version.load(std::memory_order_relaxed);
}

SavedTensor SavedTensor::output(const Tensor& t, uint16_t output_nr) {
  // Without its grad_fn, which would be a cycle.
  Tensor bare = core::alias(t);
  SavedTensor s(bare.impl(), kOutputEdge);
  s.output_nr_ = output_nr;
  return s;
}

std::string last_writer(const StorageImpl& s) {
  std::string name = s.last_writer ? s.last_writer : "unknown";
  const bool spelled = name.back() == '_' || s.writer_kind == StorageImpl::Writer::kOther;
  return spelled ? name : name + (s.writer_kind == StorageImpl::Writer::kOut ? "_out" : "_");
}

namespace {
[[noreturn, gnu::cold]] void written_since(const Node& node, const TensorImpl& t, uint32_t saved_version) {
  throw Error(str(node.name_, ": a tensor of shape ", t.sizes(), " and type ", t.dtype_,
                  " that was saved for backward by ", node.name_,
                  " has been modified by an inplace operation since (the last writer was ", last_writer(*t.storage_),
                  "): it is at version ", t.storage_->version.load(std::memory_order_relaxed), "; expected version ",
                  saved_version, ". Write into a clone() instead"));
}
}  // namespace

namespace {

// The node's edge (or, for an output, the node) that a saved tensor's history is.
struct History {
  Node* node = nullptr;
  uint32_t nr = 0;
};

History history_of(Node& node, int16_t edge, uint16_t output_nr) {
  if (edge == SavedTensor::kOutputEdge) return grad_mode_enabled() ? History{&node, output_nr} : History{};
  return edge >= 0 ? History{node.edges_[edge].node, node.edges_[edge].input_nr} : History{};
}

Tensor with_history(const TensorImpl& memory, const History& history) {
  Tensor bare = core::alias_of(memory);
  if (history.node && grad_mode_enabled()) {
    retain_node(history.node);
    attach_history(bare, history.node, history.nr);
    if (history.node->sequence_ == UINT64_MAX) bare.impl()->flags_ |= TensorImpl::kLeafNode;
  }
  return bare;
}

}  // namespace

Tensor SavedTensor::unpack(Node& node) const {
  if (!impl_) return Tensor();
  if (edge_ == kPacked) [[unlikely]]
    return unpack_packed(node);
  TensorImpl* t = impl_;
  if (t->storage_ && t->storage_->version.load(std::memory_order_relaxed) != version_) [[unlikely]]
    written_since(node, *t, version_);
  if (core::revive(t)) return Tensor(t);
  // The tensor itself where its users still hold it with the history it had; else one over the same memory.
  const bool is_output = edge_ == kOutputEdge;
  const History history = history_of(node, edge_, output_nr_);
  if (!is_output && core::try_retain(t)) {
    Tensor self(t);
    if (t->node_ == history.node || !grad_mode_enabled() || (!history.node && !requires_grad(t))) return self;
  }
  return with_history(*t, history);
}

void SavedTensor::pack(TensorImpl* t) {
  t->retain();
  std::unique_ptr<PackedTensor> packed = pack_saved(Tensor(t));
  packed->edge = edge_;
  edge_ = kPacked;
  packed_ = packed.release();
}

Tensor SavedTensor::unpack_packed(Node& node) const {
  Tensor data = packed_->unpack(node);
  const History history = history_of(node, packed_->edge, output_nr_);
  if (!(history.node && grad_mode_enabled()) && !data.requires_grad()) return data;
  return with_history(*data.impl(), history);
}

void SavedTensor::drop_packed() noexcept {
  delete packed_;
}

}  // namespace gradus::inline v0::autograd
