// The backward pass. How it works, with a ten-line example: see engine.cpp.
#pragma once

#include "node_factory.h"

namespace gradus::inline v0::autograd {

/// Undefined tensors, a few of them without the heap.
class Gradients {
 public:
  explicit Gradients(size_t n) : n_(n), data_(n <= kInline ? inline_.tensors : new Tensor[n]) {
    if (n <= kInline) {
      for (size_t i = 0; i < n; ++i) new (data_ + i) Tensor;
    }
  }
  ~Gradients() {
    if (data_ != inline_.tensors) {
      delete[] data_;
      return;
    }
    for (size_t i = 0; i < n_; ++i) data_[i].~Tensor();
  }
  Gradients(const Gradients&) = delete;
  Tensor* data() { return data_; }
  Tensor& operator[](size_t i) { return data_[i]; }

 private:
  static constexpr size_t kInline = 4;
  union Room {
    Room() {}
    ~Room() {}
    Tensor tensors[kInline];
  };
  size_t n_;
  Room inline_;
  Tensor* data_;
};

/// Whether nothing but this handle knows of the tensor and its memory, so that it may be written.
inline bool is_sole(const Tensor& t) {
  const TensorImpl* i = t.impl();
  return i->counts_.load(std::memory_order_acquire) == TensorImpl::kSole && i->has(TensorImpl::kDense) &&
         !i->has(TensorImpl::kView) && i->storage_ && i->storage_->refs.load(std::memory_order_acquire) == 1 &&
         i->storage_->deleter == nullptr && !i->node_;
}

/// A backward pass, as hooks see it that it calls.
class CurrentWalk {
 public:
  /// Whether the pass computes gradients for this node.
  virtual bool reaches(Node* n) = 0;
  /// A number that no other pass has.
  uint64_t id();
  CurrentWalk* outer = nullptr;  // the pass on this thread inside which this one runs

 protected:
  ~CurrentWalk() = default;

 private:
  uint64_t id_ = 0;
};
/// The innermost pass on this thread; nullptr outside.
CurrentWalk* current_walk();

struct RunOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate = true;  // leaves' grads are written, and no gradients are returned
};

/// Runs the graph from `roots` with `grads`, as many, which it takes. Where `captures` is given, only what leads to
/// them runs and their gradients are returned in order (undefined for one that was not reached).
variable_list run_backward(ArrayRef<Edge> roots, Tensor* grads, ArrayRef<Edge> captures, const RunOptions& options);

/// autograd::backward over lists that need not be vectors.
void backward_from(TensorList tensors, TensorList grad_tensors, std::optional<bool> retain_graph, bool create_graph,
                   TensorList inputs);

/// Makes a gradient fit the output it is for: summed over broadcast dimensions, cast, a number brought to its device.
/// `who` names the producer in errors.
void refit_gradient(Tensor& grad, const Node::Output& output, const char* who);
inline void fit_gradient(Tensor& grad, const Node::Output& output, const char* who) {
  const TensorImpl& t = *grad.impl();
  bool fits = t.dtype_ == output.dtype && t.device_ == output.device &&
              static_cast<size_t>(t.geometry_.ndim()) == output.sizes.size();
  const int64_t* sizes = t.geometry_.sizes_data();
  for (size_t d = 0; fits && d < output.sizes.size(); ++d) fits = sizes[d] == output.sizes[d];
  if (!fits) [[unlikely]]
    refit_gradient(grad, output, who);
}

/// Adds `grad` to a leaf. False where the leaf takes none any more.
bool accumulate_into(Node* leaf, Tensor grad, bool create_graph);

}  // namespace gradus::inline v0::autograd
