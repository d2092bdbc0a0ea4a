// How an operator records itself:
//
//   auto r = recording(dest, self, other);            // before the kernel; inert unless something needs a gradient
//   Tensor out = ...;                                 // checks, result, kernel
//   if (r) r.node("MulBackward0", out, [a = r.save_if(1, 0), b = r.save_if(0, 1)](const GradIn& g, GradOut& d) {
//     if (d.needs(0)) d[0] = g[0].mul(d.unpack(b));   // gradients are written with public operators
//     if (d.needs(1)) d[1] = g[0].mul(d.unpack(a));
//   });
//
// In the in-place form `out` may be undefined: the recorder knows self. save_if(n, i) keeps input i only where input n
// needs a gradient. An in-place operator that saves its own self calls r.keep_self() before the kernel.
#pragma once

#include "../core/dest.h"
#include "node_factory.h"

namespace gradus::inline v0::autograd {

[[noreturn]] void out_form_requires_grad(const char* what);
void stop_saving_overwritten_self();

template <size_t N>
class Recorder {
 public:
  template <class... T>
  [[gnu::always_inline]] Recorder(const ops::Dest* dest, const T&... inputs) : inputs_{inputs.impl()...} {
    if (!grad_mode_enabled()) return;
    active_ = (requires_grad(inputs.impl()) || ...);
    if (dest != nullptr && !dest->is_fresh()) [[unlikely]]
      prepare_dest(*dest);
  }
  explicit operator bool() const { return active_; }
  bool needs(size_t i) const { return requires_grad(inputs_[i]); }

  /// For an in-place operator whose gradient reads self as it was: keeps a copy, if `wanted`.
  void keep_self(bool wanted = true) {
    if (active_ && inplace_ && wanted) [[unlikely]]
      kept_ = copy_of(*self_);
  }
  /// For one whose gradient reads only the other operands: keeps a copy where self is passed for one of them too.
  void keep_self_if_operand() {
    if (!active_ || !inplace_) [[likely]]
      return;
    for (size_t i = 1; i < N && !kept_.defined(); ++i) keep_self(inputs_[i] == self_->impl());
  }
  SavedTensor save(size_t i) const {
    if (inputs_[i]) saves_ = true;
    if (inplace_ && inputs_[i] == self_->impl()) [[unlikely]] {
      if (!kept_.defined()) stop_saving_overwritten_self();
      return SavedTensor(kept_.impl(), static_cast<int16_t>(i));
    }
    return inputs_[i] ? SavedTensor(inputs_[i], static_cast<int16_t>(i)) : SavedTensor();
  }
  SavedTensor save_if(size_t needed, size_t i) const { return needs(needed) ? save(i) : SavedTensor(); }
  /// Keeps a result of this operator.
  SavedTensor save_output(const Tensor& out, uint16_t nr = 0) const {
    saves_ = true;
    return SavedTensor::output(inplace_ ? *self_ : out, nr);
  }
  /// Keeps a tensor that is neither input nor output.
  SavedTensor save_other(const Tensor& t) const {
    if (t.defined()) saves_ = true;
    return t.defined() ? SavedTensor(t.impl(), SavedTensor::kNoEdge) : SavedTensor();
  }

  template <class F>
  void node(const char* name, const Tensor& out, F&& f) {
    NewNode n = make_node(name, N, 1, std::forward<F>(f));
    fill_edges(n.get());
    if (inplace_) [[unlikely]] {
      describe_output(n.get(), 0, *self_->impl());
      rebase_history(*self_, n.release());
    } else {
      describe_output(n.get(), 0, *out.impl());
      set_history(out, n.release(), 0);
    }
  }
  /// An operator with several results; those of a dtype without gradients are left alone.
  template <class F>
  void node(const char* name, std::initializer_list<const Tensor*> outs, F&& f) {
    NewNode n = make_node(name, N, outs.size(), std::forward<F>(f));
    fill_edges(n.get());
    finish(n.release(), outs.begin(), outs.size());
  }
  template <class F>
  void node_of_list(const char* name, const std::vector<Tensor>& outs, F&& f) {
    std::vector<const Tensor*> pointers;
    for (const Tensor& t : outs) pointers.push_back(&t);
    NewNode n = make_node(name, N, outs.size(), std::forward<F>(f));
    fill_edges(n.get());
    finish(n.release(), pointers.data(), pointers.size());
  }

 private:
  static Tensor copy_of(const Tensor& t);
  void prepare_dest(const ops::Dest& dest) {
    if (dest.is_out()) {
      if (active_ || requires_grad(dest.target(0).impl())) out_form_requires_grad("out=");
      return;
    }
    self_ = &dest.target(0);
    inplace_ = true;
    if (active_) {
      check_inplace(*self_, nullptr);
      self_edge_ = gradient_edge(self_->impl());
    }
  }
  void fill_edges(Node* n) {
    n->saves_ = saves_;
    for (size_t i = 0; i < N; ++i) {
      if (inplace_ && inputs_[i] == self_->impl()) [[unlikely]] {
        n->edges_[i] = self_edge_;
        if (self_edge_.node) self_edge_.node->retain();
      } else if (requires_grad(inputs_[i])) {
        n->edges_[i] = gradient_edge(inputs_[i]);
      }
    }
    number_node(n);
  }
  static void finish(Node* n, const Tensor* const* outs, size_t count);

 public:
  Recorder(const Recorder&) = delete;
  ~Recorder() {
    if (self_edge_.node) [[unlikely]]
      self_edge_.node->release();
  }

 private:
  TensorImpl* inputs_[N];
  bool active_ = false;
  bool inplace_ = false;
  mutable bool saves_ = false;
  const Tensor* self_ = nullptr;
  Edge self_edge_;
  Tensor kept_;
};

void finish_outputs(Node* n, const Tensor* const* outs, size_t count);
Tensor inplace_copy_of(const Tensor& t);
template <size_t N>
void Recorder<N>::finish(Node* n, const Tensor* const* outs, size_t count) {
  finish_outputs(n, outs, count);
}
template <size_t N>
Tensor Recorder<N>::copy_of(const Tensor& t) {
  return inplace_copy_of(t);
}

/// Whether anything here must be recorded, and the means to do it.
template <class... T>
Recorder<sizeof...(T)> recording(const ops::Dest& dest, const T&... inputs) {
  return Recorder<sizeof...(T)>(&dest, inputs...);
}
template <class First, class... T>
requires(!std::is_same_v<std::decay_t<First>, ops::Dest>) Recorder<1 + sizeof...(T)> recording(const First& first,
                                                                                               const T&... inputs) {
  return Recorder<1 + sizeof...(T)>(nullptr, first, inputs...);
}

/// For operators over lists (cat, stack): one edge per element.
class ListRecorder {
 public:
  ListRecorder(const ops::Dest* dest, TensorList inputs);
  explicit operator bool() const { return active_; }
  template <class F>
  void node(const char* name, const Tensor& out, F&& f) {
    NewNode n = make_node(name, inputs_.size(), 1, std::forward<F>(f));
    for (size_t i = 0; i < inputs_.size(); ++i) n->edges_[i] = gradient_edge(inputs_[i].impl());
    number_node(n.get());
    describe_output(n.get(), 0, *out.impl());
    set_history(out, n.release(), 0);
  }

 private:
  TensorList inputs_;
  bool active_ = false;
};

}  // namespace gradus::inline v0::autograd

namespace gradus::inline v0::ops {
using autograd::GradIn;
using autograd::GradOut;
using autograd::ListRecorder;
using autograd::recording;
using autograd::SavedTensor;
}  // namespace gradus::inline v0::ops
