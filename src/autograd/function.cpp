// Custom Functions: running forward without recording, then recording one node for it.
#include <gradus/autograd/function.h>

#include <algorithm>

#include <gradus/autograd/grad_mode.h>

#include "../core/make_tensor.h"
#include "recording.h"

namespace gradus::inline v0::autograd {

struct AutogradContext::State {
  variable_list to_save;  // until the node exists
  std::vector<SavedTensor> saved;
  std::vector<TensorImpl*> dirty, non_differentiable;
  std::vector<bool> needs;
  bool materialize = true;
  bool freed = false;
  Node* node = nullptr;  // borrowed: the node owns the context
};

AutogradContext::AutogradContext() : state_(std::make_unique<State>()) {}
AutogradContext::~AutogradContext() = default;

void AutogradContext::save_for_backward(variable_list to_save) {
  state_->to_save = std::move(to_save);
}

variable_list AutogradContext::get_saved_variables() const {
  if (!state_->node) return state_->to_save;
  GRADUS_CHECK(
      !state_->freed,
      "get_saved_variables: the saved tensors were freed by an earlier backward; pass retain_graph=true to it");
  variable_list result;
  for (const SavedTensor& s : state_->saved) result.push_back(s.unpack(*state_->node));
  return result;
}

void AutogradContext::mark_dirty(const variable_list& inputs) {
  for (const Tensor& t : inputs) state_->dirty.push_back(t.impl());
}
void AutogradContext::mark_non_differentiable(const variable_list& outputs) {
  for (const Tensor& t : outputs) state_->non_differentiable.push_back(t.impl());
}
void AutogradContext::set_materialize_grads(bool value) {
  state_->materialize = value;
}
bool AutogradContext::needs_input_grad(size_t i) const {
  return i < state_->needs.size() && state_->needs[i];
}

namespace detail {

FunctionRun::FunctionRun(const char* name, variable_list arguments)
    : context(std::make_shared<AutogradContext>()),
      name_(name),
      arguments_(std::move(arguments)),
      recording_(false),
      grad_mode_before_(GradMode::is_enabled()) {
  for (const Tensor& t : arguments_) {
    const bool needs = grad_mode_before_ && requires_grad(t.impl());
    context->state_->needs.push_back(needs);
    recording_ |= needs;
  }
  GradMode::set_enabled(false);
}

FunctionRun::~FunctionRun() {
  GradMode::set_enabled(grad_mode_before_);
}

void FunctionRun::finish(variable_list& outputs, variable_list (*backward)(AutogradContext*, variable_list)) {
  GradMode::set_enabled(grad_mode_before_);
  AutogradContext::State& state = *context->state_;
  auto is_in = [](const std::vector<TensorImpl*>& list, const Tensor& t) {
    return std::find(list.begin(), list.end(), t.impl()) != list.end();
  };
  for (const Tensor& t : arguments_) {
    if (t.defined() && is_in(state.dirty, t) && t.impl()->storage_) {
      t.impl()->storage_->bump(name_, StorageImpl::Writer::kOther);
      if (recording_) check_inplace(t, name_);
    }
  }
  if (!recording_) return;

  NewNode owner = make_node(
      name_, arguments_.size(), outputs.size(),
      [context = context, backward, count = arguments_.size()](const GradIn& g, GradOut& d) {
        AutogradContext::State& s = *context->state_;
        variable_list grads;
        for (size_t i = 0; i < d.node().num_outputs_; ++i) grads.push_back(s.materialize ? g.or_zeros(i) : g[i]);
        variable_list result = backward(context.get(), std::move(grads));
        GRADUS_CHECK(
            result.size() == count ||
                (result.size() > count && std::none_of(result.begin() + static_cast<std::ptrdiff_t>(count),
                                                       result.end(), [](const Tensor& t) { return t.defined(); })),
            "Function: backward returned ", result.size(), " gradients; expected one for each of the ", count,
            " arguments of forward (undefined where it is no tensor)");
        for (size_t i = 0; i < count; ++i) {
          if (d.needs(i)) d[i] = result[i];
        }
      });
  Node* const node = owner.get();
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (state.needs[i]) node->edges_[i] = gradient_edge(arguments_[i].impl());
  }
  number_node(node);
  node->saves_ = std::any_of(state.to_save.begin(), state.to_save.end(), [](const Tensor& t) { return t.defined(); });

  // An output that is an input must not take over that input's history; a changed one is rebased, another becomes a
  // view.
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor& out = outputs[i];
    if (!out.defined()) continue;
    const bool is_dirty = is_in(state.dirty, out);
    const bool is_input =
        std::any_of(arguments_.begin(), arguments_.end(), [&](const Tensor& t) { return t.is_same(out); });
    const auto nr = static_cast<uint32_t>(i);
    if (is_input && !is_dirty) out = core::view_of(out, out.sizes(), out.strides(), out.storage_offset(), name_);
    describe_output(node, nr, *out.impl());
    if (is_in(state.non_differentiable, out) || !is_differentiable(out.scalar_type())) continue;
    if (is_dirty && out.impl()->has(TensorImpl::kView)) {
      GRADUS_CHECK(outputs.size() == 1, "Function: an in-place write into a view needs a Function with one output");
      node->retain();
      rebase_history(out, node);
    } else {
      node->retain();
      set_history(out, node, nr);
      if (out.impl()->has(TensorImpl::kView)) {
        out.impl()->view_.creation = static_cast<uint8_t>(CreationMeta::kCustomFunction);
        out.impl()->view_.version = out.impl()->storage_->version.load(std::memory_order_relaxed);
      }
    }
  }
  for (const Tensor& t : state.to_save) {
    if (!t.defined()) {
      state.saved.emplace_back();
      continue;
    }
    int16_t edge = SavedTensor::kNoEdge;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (arguments_[i].is_same(t)) edge = static_cast<int16_t>(i);
    }
    bool output = false;
    for (size_t i = 0; i < outputs.size() && !output; ++i) {
      if (outputs[i].is_same(t)) {
        state.saved.push_back(SavedTensor::output(t, static_cast<uint16_t>(i)));
        output = true;
      }
    }
    if (!output) state.saved.emplace_back(t.impl(), edge);
  }
  state.to_save.clear();
  state.node = node;
}

}  // namespace detail
}  // namespace gradus::inline v0::autograd
