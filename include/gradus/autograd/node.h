// One recorded operator of the backward graph.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradus/core/removable_handle.h>
#include <gradus/core/small_vector.h>
#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

using Variable = Tensor;
using variable_list = std::vector<Tensor>;

/// Points to input `input_nr` of `node`; the node that holds the edge owns one reference of it.
struct Edge {
  Node* node = nullptr;
  uint32_t input_nr = 0;
};

/// The gradients of an operator's outputs, as its backward receives them. An output nobody used has an undefined one.
class GradIn {
 public:
  GradIn(const Node& node, Tensor* grads) : node_(node), grads_(grads) {}
  const Tensor& operator[](size_t i) const { return grads_[i]; }
  bool defined(size_t i) const { return grads_[i].defined(); }
  /// The gradient, or zeros of the output's shape where it is undefined.
  Tensor or_zeros(size_t i) const;

 private:
  const Node& node_;
  Tensor* grads_;
};

class SavedTensor;

/// Where a backward puts the gradients of the operator's inputs.
class GradOut {
 public:
  GradOut(Node& node, Tensor* grads) : node_(node), grads_(grads) {}
  /// Whether input `i` wants a gradient.
  bool needs(size_t i) const;
  /// The gradient of input `i`; may be of a shape that input was broadcast to, and of another floating dtype: the
  /// engine sums and casts it.
  Tensor& operator[](size_t i) { return grads_[i]; }
  /// A saved tensor's value. Throws Error where it was written in place since.
  Tensor unpack(const SavedTensor& saved) const;
  Node& node() const { return node_; }

 private:
  Node& node_;
  Tensor* grads_;
};

/// What a node does, one constant per operator.
struct NodeKind {
  void (*apply)(Node&, const GradIn&, GradOut&);
  void (*release)(Node&);  // destroys what was saved
};

struct NodeHooks;

/// Gets the gradients of a node's outputs, undefined where there is none; returns others in their place, or nothing.
using NodePreHook = std::function<variable_list(const variable_list& grad_outputs)>;
/// Gets the gradients that a node has computed, and those it was given; returns others in place of the former, or
/// nothing.
using NodePostHook = std::function<variable_list(const variable_list& grad_inputs, const variable_list& grad_outputs)>;

/// libtorch's form of the hooks of a node.
struct GRADUS_API FunctionPreHook {
  virtual ~FunctionPreHook() = default;
  virtual variable_list operator()(const variable_list& grads) = 0;
};
struct GRADUS_API FunctionPostHook {
  virtual ~FunctionPostHook() = default;
  virtual variable_list operator()(const variable_list& outputs, const variable_list& inputs) = 0;
};

/// A node: edges to the inputs' nodes, a slot per output, saved values. One block of memory; counted.
class GRADUS_API Node {
 public:
  /// libtorch's name for it: "AddBackward0", "torch::autograd::AccumulateGrad".
  std::string name() const { return name_; }
  size_t num_inputs() const { return num_outputs_; }  // in backward, the forward's outputs are the inputs
  size_t num_outputs() const { return num_edges_; }
  const Edge& next_edge(size_t i) const { return edges_[i]; }
  /// The node behind input `i` of the operator; nullptr where that needs no gradient.
  std::shared_ptr<Node> next_function(size_t i) const;
  uint64_t sequence_nr() const { return sequence_; }

  /// Calls `hook(grad_outputs)` before this node runs, after the hooks of its tensors. Returns as many gradients to be
  /// used instead, of the same shapes and types, or an empty list (or is of type void). Does not run where a backward
  /// need not run the node. See
  /// https://pytorch.org/docs/stable/generated/torch.autograd.graph.Node.register_prehook.html
  template <class F>
  RemovableHandle register_prehook(F&& hook) {
    if constexpr (std::is_void<decltype(hook(std::declval<const variable_list&>()))>::value) {
      return add_hook(NodePreHook([f = std::forward<F>(hook)](const variable_list& g) mutable -> variable_list {
        f(g);
        return {};
      }));
    } else {
      return add_hook(NodePreHook(std::forward<F>(hook)));
    }
  }
  /// Calls `hook(grad_inputs, grad_outputs)` after this node ran; what it may return is as above, for grad_inputs. An
  /// accumulate node has no grad_inputs. See
  /// https://pytorch.org/docs/stable/generated/torch.autograd.graph.Node.register_hook.html
  template <class F>
  RemovableHandle register_hook(F&& hook) {
    using L = const variable_list&;
    if constexpr (std::is_void<decltype(hook(std::declval<L>(), std::declval<L>()))>::value) {
      return add_hook(NodePostHook([f = std::forward<F>(hook)](L in, L out) mutable -> variable_list {
        f(in, out);
        return {};
      }));
    } else {
      return add_hook(NodePostHook(std::forward<F>(hook)));
    }
  }
  /// libtorch's form of register_prehook and register_hook. Here, too, an empty list replaces nothing.
  void add_pre_hook(std::unique_ptr<FunctionPreHook> hook);
  void add_post_hook(std::unique_ptr<FunctionPostHook> hook);

  // --- for the library ---
  struct Output {
    Tensor buffer;  // the engine's: the gradient gathered so far
    DimVector sizes;
    ScalarType dtype = ScalarType::Undefined;
    Device device;
  };
  struct EngineSlot {
    std::atomic<uint64_t> task{0};
    int32_t dependencies = 0;
    bool needed = false;
    int32_t capture = -1;  // of input 0..: first entry of the captures of this node
    Tensor* buffers = nullptr;
    size_t stride = 0;  // bytes from one buffer to the next
    Tensor& buffer(size_t i) { return *reinterpret_cast<Tensor*>(reinterpret_cast<char*>(buffers) + i * stride); }
  };

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release();
  void* payload() { return payload_; }

  std::atomic<uint32_t> refs_{1};
  uint32_t num_edges_ = 0;
  uint32_t num_outputs_ = 0;
  uint32_t block_bytes_ = 0;
  const char* name_ = nullptr;
  const NodeKind* kind_ = nullptr;
  uint64_t sequence_ = 0;
  Edge* edges_ = nullptr;
  Output* outputs_ = nullptr;
  void* payload_ = nullptr;
  NodeHooks* hooks_ = nullptr;
  EngineSlot slot_;
  /// Who uses what is saved here: 1 for the one backward pass that frees it, 2 for every pass that keeps it and is just
  /// now inside. See Note [Passes that share a graph] in engine.cpp.
  std::atomic<uint32_t> users_{0};
  /// Keeps tensors for its gradient. One that does not has nothing to free, so backward may pass it again.
  bool saves_ = false;
  bool released_ = false;      // what was saved is gone
  int8_t stream_device_ = -1;  // of a device with streams: the one that the forward ran on, and its current stream then
  uint32_t stream_ = 0;
  Node* next_dead_ = nullptr;

 private:
  RemovableHandle add_hook(NodePreHook hook);
  RemovableHandle add_hook(NodePostHook hook);
};

inline bool GradOut::needs(size_t i) const {
  return node_.edges_[i].node != nullptr;
}

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
