// The engine walks the recorded graph from the roots to the leaves, each node once, after all gradients for it have
// come together: nodes count the edges that lead to them, and among the ready ones the youngest runs first.
//
//   Tensor w = ones({2}).requires_grad_();
//   Tensor x = full({2}, 3.0);
//   Tensor loss = (w * x).sum();     // sum -> mul -> w's accumulate node
//   loss.backward();
//   // w.grad() is now {3, 3}
//
// Counts and gradients lie in the nodes themselves; the one walk that may use them at a time owns `slots_in_use`. A
// walk inside a walk, or one beside it on another thread, keeps the same things in a table of its own.
//
// Note [Passes that share a graph]
// Nodes that save no tensors are never freed by a pass and may be passed any number of times.
// Two threads may run backward over one graph: what a node saved belongs to the first pass that frees it, and a later
// one gets the error of a second backward. The walk with slots in the nodes, nearly always the only one, pays nothing
// for that: it marks all its nodes anyway while it counts. A walk beside it, on another thread, finds the mark in a
// node that both can reach and waits until the first is over. A walk with slots in the nodes that begins while one with
// a table is running cannot be found that way: it then enters nodes as those do, by atomic operations. Walks that keep
// the graph only read; a walk that frees and meets one inside a node leaves the memory to the node's end.
#include "engine.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>

#include <gradus/autograd/grad_mode.h>

#include "../core/accelerator.h"
#include "../core/make_tensor.h"
#include "anomaly.h"
#include "hooks.h"

namespace gradus::inline v0::autograd {

namespace {

std::atomic<bool> slots_in_use{false};
uint64_t last_task = 0;  // of the walk that owns the slots
constexpr uint64_t kCareful = UINT64_MAX;
// Of the walk that owns the slots: 0 while it counts, then its task, or kCareful where it enters nodes atomically.
std::atomic<uint64_t> counted_task{0};
std::atomic<const void*> slots_owner{nullptr};  // its thread
std::atomic<int> table_walks{0};

// Slots in the nodes.
class InlineSlots {
 public:
  InlineSlots() : careful_(table_walks.load() != 0), task_(++last_task) {
    slots_owner.store(&core::tls, std::memory_order_relaxed);
  }
  Node::EngineSlot& operator()(Node* n) {
    Node::EngineSlot& s = n->slot_;
    if (s.task.load(std::memory_order_relaxed) != task_) {
      s.task.store(task_, std::memory_order_relaxed);
      s.dependencies = 0;
      s.needed = false;
      s.capture = -1;
      s.buffers = n->num_outputs_ ? &n->outputs_[0].buffer : nullptr;
      s.stride = sizeof(Node::Output);
      fresh_ = true;
    } else {
      fresh_ = false;
    }
    return s;
  }
  bool was_fresh() const { return fresh_; }
  bool knows(Node* n) const { return n->slot_.task.load(std::memory_order_relaxed) == task_; }
  bool careful() const { return careful_; }
  void end_count() { counted_task.store(careful_ ? kCareful : task_, std::memory_order_release); }
  ~InlineSlots() {
    counted_task.store(0, std::memory_order_release);
    slots_owner.store(nullptr, std::memory_order_relaxed);
    slots_in_use.store(false, std::memory_order_release);
  }

 private:
  bool careful_;
  uint64_t task_;
  bool fresh_ = false;
};

// Slots in a table.
class TableSlots {
 public:
  TableSlots() {
    ++table_walks;
    while (slots_in_use.load() && !is_owner() && (other_ = counted_task.load(std::memory_order_acquire)) == 0)
      std::this_thread::yield();
  }
  ~TableSlots() { --table_walks; }
  TableSlots(const TableSlots&) = delete;
  Node::EngineSlot& operator()(Node* n) {
    auto [it, fresh] = table_.try_emplace(n);
    fresh_ = fresh;
    Entry& e = it->second;
    if (fresh) {
      shared_ |= other_ != 0 && n->num_edges_ != 0 && n->slot_.task.load(std::memory_order_relaxed) == other_;
      e.buffers.resize(n->num_outputs_);
      e.slot.buffers = e.buffers.data();
      e.slot.stride = sizeof(Tensor);
    }
    return e.slot;
  }
  bool was_fresh() const { return fresh_; }
  bool knows(Node* n) const { return table_.count(n) != 0; }
  static constexpr bool careful() { return true; }
  void end_count() const {
    while (shared_ && counted_task.load(std::memory_order_acquire) == other_) std::this_thread::yield();
  }

 private:
  struct Entry {
    Node::EngineSlot slot;
    std::vector<Tensor> buffers;
  };
  // A walk inside the one with the slots, on its thread.
  static bool is_owner() { return slots_owner.load(std::memory_order_relaxed) == &core::tls; }
  uint64_t other_ = 0;  // the walk beside this one that does not look out for others
  bool shared_ = false;
  std::unordered_map<Node*, Entry> table_;
  bool fresh_ = false;
};

struct GradModeScope {
  explicit GradModeScope(bool on) : before(GradMode::is_enabled()) { GradMode::set_enabled(on); }
  ~GradModeScope() { GradMode::set_enabled(before); }
  bool before;
};

// Note [Backward on streams]
// A node runs on the device and stream that were current when the forward ran. A gradient is made on its producer's
// stream and used on its consumer's: where they differ, the consumer's waits, and the memory is marked as used there.
// At the end the caller's streams wait for those on which leaves have gathered their gradients.
core::StreamId stream_of(const Node& n, const Tensor& gradient) {
  const Device device = gradient.device();
  if (n.stream_device_ == device.index()) return {device.index(), n.stream_};
  return core::accelerator(device.type(), "backward").current_stream(device.index());
}
void hand_over(const Tensor& gradient, core::StreamId from, core::StreamId to) {
  if (from == to || from.device != to.device) return;
  core::Accelerator& a = core::accelerator(gradient.device().type(), "backward");
  a.order(from, to);
  if (const StorageImpl* s = gradient.impl()->storage_; s && s->data) a.record_stream(s->data, to);
}

// Work of `n` goes to its stream for as long as this lives.
class StreamScope {
 public:
  explicit StreamScope(const Node& n) {
    if (n.stream_device_ >= 0) [[unlikely]]
      enter(n);
  }
  ~StreamScope() {
    if (accelerator_) [[unlikely]] {
      accelerator_->set_stream(before_);
      if (device_before_ != before_.device) accelerator_->set_device(device_before_);
    }
  }
  StreamScope(const StreamScope&) = delete;

 private:
  [[gnu::noinline]] void enter(const Node& n) {
    core::Accelerator& a = core::accelerator(kCUDA, "backward");
    before_ = a.current_stream(n.stream_device_);
    device_before_ = core::current_device();
    if (device_before_ != n.stream_device_) a.set_device(n.stream_device_);
    a.set_stream({n.stream_device_, n.stream_});
    accelerator_ = &a;
  }
  core::Accelerator* accelerator_ = nullptr;
  core::StreamId before_;
  DeviceIndex device_before_ = 0;
};

// A walk's stay in a node. See Note [Passes that share a graph].
class Use {
 public:
  Use(Node& node, bool frees, bool careful) : node_(node), frees_(frees), careful_(careful) {
    std::atomic<uint32_t>& users = node.users_;
    uint32_t before = users.load(std::memory_order_relaxed);
    if (!careful) [[likely]] {
      if (before & 1) second_time();
      users.store(before + step(), std::memory_order_relaxed);
    } else if (frees) {
      before = users.fetch_or(1, std::memory_order_acq_rel);
      if (before & 1) second_time();
    } else if (users.fetch_add(2, std::memory_order_acq_rel) & 1) {
      users.fetch_sub(2, std::memory_order_release);
      second_time();
    }
    alone_ = before == 0;
  }
  Use(const Use&) = delete;
  ~Use() {
    if (finished_ && frees_) return;  // the claim stays
    // Else a reader leaves, or the gradient threw and nothing is freed.
    if (careful_) {
      node_.users_.fetch_sub(step(), std::memory_order_release);
    } else {
      node_.users_.store(node_.users_.load(std::memory_order_relaxed) - step(), std::memory_order_relaxed);
    }
  }
  void finish() {
    finished_ = true;
    if (!frees_ || !alone_) return;
    node_.kind_->release(node_);
    node_.released_ = true;
  }

 private:
  uint32_t step() const { return frees_ ? 1 : 2; }
  [[noreturn, gnu::cold]] void second_time() const {
    throw Error(str(node_.name_,
                    ": backward ran through this graph before and its saved tensors are freed; pass retain_graph=true "
                    "to the first backward"));
  }
  Node& node_;
  bool frees_, careful_;
  bool alone_ = false, finished_ = false;
};

bool younger(const Node* a, const Node* b) {
  return a->sequence_ < b->sequence_;
}

// What this thread is in. The walk's destructor restores the outer one, also after an exception.
constinit thread_local CurrentWalk* innermost_walk = nullptr;

template <class Slots>
class Walk final : CurrentWalk {
 public:
  Walk(ArrayRef<Edge> captures, const RunOptions& options)
      : captures_(captures),
        selective_(!captures.empty()),
        watched_(anomaly_enabled()),
        options_(options),
        results_(captures.size()) {
    outer = innermost_walk;
    innermost_walk = this;
  }
  ~Walk() { innermost_walk = outer; }
  Walk(const Walk&) = delete;

  bool reaches(Node* n) override {
    if (!slots_.knows(n)) return false;
    return !selective_ || slots_(n).needed;
  }

  variable_list run(ArrayRef<Edge> roots, Tensor* grads) {
    for (size_t i = 0; i < roots.size(); ++i) count_from(roots[i].node);
    slots_.end_count();
    mark_captures();
    struct Clear {  // after an exception nodes must not keep gradients
      Walk& w;
      ~Clear() {
        if (!w.finished_) w.clear_buffers();
      }
    } clear{*this};
    for (size_t i = 0; i < roots.size(); ++i) {
      fit_gradient(grads[i], roots[i].node->outputs_[roots[i].input_nr], "backward");
      if (grads[i].defined() && grads[i].device().is_cuda()) [[unlikely]] {
        const DeviceIndex device = grads[i].device().index();
        hand_over(grads[i], core::accelerator(kCUDA, "backward").current_stream(device),
                  stream_of(*roots[i].node, grads[i]));
      }
      Node::EngineSlot& s = slots_(roots[i].node);
      if (!selective_ || s.needed) add_to(s, roots[i].input_nr, std::move(grads[i]));
    }
    for (size_t i = 0; i < roots.size(); ++i) {
      Node* n = roots[i].node;
      if (selective_ && !slots_(n).needed) continue;
      if (slots_(n).dependencies == 0 && std::find(ready_.begin(), ready_.end(), n) == ready_.end()) push(n);
    }
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end(), younger);
      Node* n = ready_.back();
      ready_.pop_back();
      visit(n);
    }
    if (!leaf_streams_.empty()) [[unlikely]]
      wait_for_leaves();
    finished_ = true;
    return std::move(results_);
  }

 private:
  // Counts, for every node reachable, how many edges lead to it.
  void count_from(Node* root) {
    slots_(root);
    if (!slots_.was_fresh()) return;
    stack_.push_back(root);
    all_.push_back(root);
    while (!stack_.empty()) {
      Node* n = stack_.back();
      stack_.pop_back();
      for (uint32_t i = 0; i < n->num_edges_; ++i) {
        Node* next = n->edges_[i].node;
        if (!next) continue;
        Node::EngineSlot& s = slots_(next);
        if (slots_.was_fresh()) {
          stack_.push_back(next);
          all_.push_back(next);
        }
        ++s.dependencies;
      }
    }
  }

  // With captures, only nodes on a way to one of them run.
  void mark_captures() {
    if (!selective_) return;
    for (size_t c = 0; c < captures_.size(); ++c) {
      if (!captures_[c].node) continue;
      Node::EngineSlot& s = slots_(captures_[c].node);
      if (slots_.was_fresh()) continue;  // not reachable from the roots
      s.needed = true;
      s.capture = 0;
    }
    // Older nodes first: a node's edges lead to older ones or to leaves, so one pass settles it.
    std::vector<Node*> order(all_.begin(), all_.end());
    std::sort(order.begin(), order.end(), [](const Node* a, const Node* b) {
      const bool la = a->sequence_ == UINT64_MAX, lb = b->sequence_ == UINT64_MAX;
      return la != lb ? la : a->sequence_ < b->sequence_;
    });
    for (Node* n : order) {
      Node::EngineSlot& s = slots_(n);
      for (uint32_t i = 0; i < n->num_edges_ && !s.needed; ++i) {
        Node* next = n->edges_[i].node;
        if (next && slots_(next).needed) s.needed = true;
      }
    }
  }

  void push(Node* n) {
    ready_.push_back(n);
    std::push_heap(ready_.begin(), ready_.end(), younger);
  }

  void add_to(Node::EngineSlot& s, uint32_t nr, Tensor grad) {
    if (!grad.defined()) return;
    Tensor& sum = s.buffer(nr);
    if (!sum.defined()) {
      sum = std::move(grad);
    } else if (!options_.create_graph && is_sole(sum)) {
      sum.add_(grad);
    } else if (!options_.create_graph && is_sole(grad)) {
      grad.add_(sum);
      sum = std::move(grad);
    } else {
      sum = sum.add(grad);
    }
  }

  // See Note [Backward on streams].
  void add_on_stream(const Node& from, const Node& to, Node::EngineSlot& s, uint32_t nr, Tensor grad) {
    hand_over(grad, stream_of(from, grad), stream_of(to, grad));
    const StreamScope consumer(to);
    add_to(s, nr, std::move(grad));
  }

  void wait_for_leaves() {
    for (const core::StreamId s : leaf_streams_) {
      core::Accelerator& a = core::accelerator(kCUDA, "backward");
      const core::StreamId caller = a.current_stream(s.device);
      if (caller != s) a.order(s, caller);
    }
  }

  void visit(Node* n) {
    Node::EngineSlot& slot = slots_(n);
    const StreamScope stream(*n);
    Gradients in(n->num_outputs_), out(n->num_edges_);
    bool any = false;
    for (uint32_t i = 0; i < n->num_outputs_; ++i) {
      in[i].swap(slot.buffer(i));
      any |= in[i].defined();
    }
    if (n->hooks_) [[unlikely]] {
      run_tensor_hooks(n, in.data(), options_.create_graph);
      any = any_defined(in.data(), n->num_outputs_);
    }
    if (selective_ && slot.capture >= 0 && !options_.accumulate) [[unlikely]] {
      for (size_t c = 0; c < captures_.size(); ++c) {
        if (captures_[c].node == n) results_[c] = in[captures_[c].input_nr];
      }
    }
    if (n->sequence_ == UINT64_MAX && n->num_edges_ == 0) {
      if (options_.accumulate && any) {
        if (n->hooks_) [[unlikely]] {
          accumulate_with_hooks(n, in[0]);
        } else {
          accumulate_into(n, std::move(in[0]), options_.create_graph);
        }
        if (n->stream_device_ >= 0) [[unlikely]]
          leaf_streams_.push_back({n->stream_device_, n->stream_});
      }
      return;
    }
    if (any && leads_on(n)) {
      if (n->hooks_ || watched_) [[unlikely]] {
        apply_observed(n, in, out);
      } else {
        apply(n, in.data(), out.data());
      }
    }
    for (uint32_t i = 0; i < n->num_edges_; ++i) {
      const Edge& e = n->edges_[i];
      if (!e.node) continue;
      Node::EngineSlot& s = slots_(e.node);
      if (selective_ && !s.needed) [[unlikely]]
        continue;
      if (out[i].defined()) {
        fit_gradient(out[i], e.node->outputs_[e.input_nr], n->name_);
        if (out[i].device().is_cuda()) [[unlikely]] {
          add_on_stream(*n, *e.node, s, e.input_nr, std::move(out[i]));
        } else {
          add_to(s, e.input_nr, std::move(out[i]));
        }
      }
      if (--s.dependencies == 0) push(e.node);
    }
  }

  [[gnu::always_inline]] void apply(Node* n, Tensor* in, Tensor* out) {
    Use use(*n, !options_.keep_graph && n->saves_, slots_.careful());
    GradIn grad_in(*n, in);
    GradOut grad_out(*n, out);
    n->kind_->apply(*n, grad_in, grad_out);
    use.finish();
  }

  static bool any_defined(const Tensor* grads, size_t n) {
    return std::any_of(grads, grads + n, [](const Tensor& t) { return t.defined(); });
  }

  // apply() between the hooks of the node, under the eyes of anomaly mode.
  [[gnu::noinline]] void apply_observed(Node* n, Gradients& in, Gradients& out) {
    if (n->hooks_) run_hooks_before(n, in.data());
    if (!any_defined(in.data(), n->num_outputs_)) return;
    variable_list given;
    if (n->hooks_ && !n->hooks_->after.empty()) given.assign(in.data(), in.data() + n->num_outputs_);
    const WatchedNode watch(n, watched_);
    try {
      apply(n, in.data(), out.data());
    } catch (...) {
      watch.threw();
      throw;
    }
    for (uint32_t i = 0; i < n->num_edges_; ++i) {
      const Edge& e = n->edges_[i];
      if (e.node && out[i].defined()) fit_gradient(out[i], e.node->outputs_[e.input_nr], n->name_);
    }
    watch.check(out.data(), n->num_edges_);
    if (!given.empty()) run_hooks_after(n, out.data(), n->num_edges_, given);
  }

  [[gnu::noinline]] void accumulate_with_hooks(Node* n, Tensor& grad) {
    run_hooks_before(n, &grad);
    if (!grad.defined()) return;
    variable_list given;  // a copy only where somebody wants it: the leaf may take a gradient that has no other owner
    if (!n->hooks_->after.empty()) given.push_back(grad);
    if (!accumulate_into(n, std::move(grad), options_.create_graph)) return;
    run_accumulated_hooks(n);
    run_hooks_after(n, nullptr, 0, given);
  }

  // A captured node at the end of all needed ways need not run itself.
  bool leads_on(Node* n) {
    if (!selective_) return true;
    for (uint32_t i = 0; i < n->num_edges_; ++i) {
      Node* next = n->edges_[i].node;
      if (next && slots_(next).needed) return true;
    }
    return false;
  }

  void clear_buffers() {
    for (Node* n : all_) {
      Node::EngineSlot& s = slots_(n);
      for (uint32_t i = 0; i < n->num_outputs_; ++i) s.buffer(i).reset();
    }
  }

  Slots slots_;
  ArrayRef<Edge> captures_;
  const bool selective_;  // only what leads to captures runs
  const bool watched_;    // anomaly mode
  RunOptions options_;
  variable_list results_;
  SmallVector<Node*, 32> stack_, all_;
  SmallVector<Node*, 32> ready_;
  SmallVector<core::StreamId, 4> leaf_streams_;
  bool finished_ = false;
};

Tensor sum_to(Tensor grad, IntArrayRef sizes) {
  DimVector dims;
  const int64_t lead = grad.dim() - static_cast<int64_t>(sizes.size());
  for (int64_t d = 0; d < grad.dim(); ++d) {
    if (d < lead || (sizes[static_cast<size_t>(d - lead)] == 1 && grad.size(d) != 1)) dims.push_back(d);
  }
  if (!dims.empty()) grad = grad.sum(IntArrayRef(dims), /*keepdim=*/true);
  return lead > 0 ? grad.reshape(sizes) : grad;
}

bool can_sum_to(IntArrayRef from, IntArrayRef to) {
  if (from.size() < to.size()) return false;
  const size_t lead = from.size() - to.size();
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] != 1 && to[d] != from[lead + d]) return false;
  }
  return true;
}

}  // namespace

void refit_gradient(Tensor& grad, const Node::Output& output, const char* who) {
  const IntArrayRef expected(output.sizes);
  if (grad.sizes() != expected) {
    GRADUS_CHECK(can_sum_to(grad.sizes(), expected), who, ": a gradient of shape ", grad.sizes(),
                 " was given for a result of shape ", expected,
                 "; expected the same shape, or one that broadcasting made of it");
    grad = sum_to(grad, expected);
  }
  if (grad.scalar_type() != output.dtype) grad = grad.to(output.dtype);
  if (grad.device() != output.device && !grad.is_meta()) {
    // A 0-dim tensor on the CPU may have been computed with on any device.
    GRADUS_CHECK(grad.dim() == 0, who, ": a gradient on ", grad.device(), " was given for a result on ", output.device,
                 "; expected the same device");
    grad = grad.to(TensorOptions(output.device));
  }
}

uint64_t CurrentWalk::id() {
  static std::atomic<uint64_t> last{0};
  if (id_ == 0) id_ = ++last;
  return id_;
}
CurrentWalk* current_walk() {
  return innermost_walk;
}

variable_list run_backward(ArrayRef<Edge> roots, Tensor* grads, ArrayRef<Edge> captures, const RunOptions& options) {
  GradModeScope scope(options.create_graph);
  if (!slots_in_use.exchange(true)) {
    Walk<InlineSlots> walk(captures, options);
    return walk.run(roots, grads);
  }
  Walk<TableSlots> walk(captures, options);
  return walk.run(roots, grads);
}

}  // namespace gradus::inline v0::autograd
