// Note [Selective checkpoints]: an interposer keeps the results of an operator in the forward, and gives them out
// instead of calling the operator the second time. The operator saves tensors for its own gradient, too: those that are
// its operands go through the checkpoint's hooks, both times in the same order; others (its results) are simply kept.
#include <gradus/ops/selective_checkpoint.h>

#include <algorithm>

#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/interposer.h>

#include "autograd/saved_hooks.h"
#include "core/make_tensor.h"

namespace gradus::inline v0::autograd {

namespace {

std::vector<Tensor> tensors_of(const Stack& stack) {
  std::vector<Tensor> all;
  for (const IValue& v : stack) {
    if (v.isTensor()) all.push_back(v.toTensor());
    if (v.isTensorList()) all.insert(all.end(), v.toTensorVector().begin(), v.toTensorVector().end());
  }
  return all;
}

struct Result {
  Tensor tensor;  // without its history
  int64_t version;
  bool requires_grad;
};

struct Call {
  OperatorHandle op;
  std::vector<size_t> operands;  // which of them it saves
  std::vector<Result> results;
};

// Of one checkpoint.
struct Kept {
  std::vector<Call> calls;
  size_t next = 0;
};

// Saves a kept operator's operands by the checkpoint's hooks and notes which they are.
class OperandHooks final : public detail::SavedHooks {
 public:
  OperandHooks(detail::SavedHooks& outer, const std::vector<Tensor>& operands, std::vector<size_t>& saved)
      : outer_(outer), operands_(operands), saved_(saved) {}
  std::unique_ptr<PackedTensor> pack(const Tensor& t) override {
    const auto found = std::find_if(operands_.begin(), operands_.end(), [&](const Tensor& o) { return o.is_same(t); });
    if (found == operands_.end()) {
      auto kept = std::make_unique<KeptTensor>();
      kept->tensor = core::alias(t);
      return kept;
    }
    saved_.push_back(static_cast<size_t>(found - operands_.begin()));
    return outer_.pack(t);
  }

 private:
  detail::SavedHooks& outer_;
  const std::vector<Tensor>& operands_;
  std::vector<size_t>& saved_;
};

bool may_be_kept(const OperatorHandle& op) {
  if (op.is_inplace() || op.is_out() || op.is_view() || op.is_random() || op.schema().returns.empty()) return false;
  for (const SchemaArgument& a : op.schema().arguments) {
    if (a.written) return false;
  }
  for (const SchemaArgument& r : op.schema().returns) {
    if (r.aliased || r.type.is_list || r.type.base != SchemaType::Base::Tensor) return false;
  }
  return true;
}

class Keeper final : public Interposer {
 public:
  Keeper(const SelectivePolicy& policy, std::shared_ptr<Kept> kept, bool again)
      : policy_(policy), kept_(std::move(kept)), again_(again), hooks_(innermost_saved_hooks()) {}

  // In the parts of a composite operator what is saved is an operand more often.
  bool takes_whole(const OperatorHandle&) const override { return false; }
  void call(const OperatorHandle& op, Stack& stack) override {
    // Elsewhere a checkpoint inside this one has its hooks on, and computes what it holds again by itself.
    if (innermost_saved_hooks() != hooks_ || !keeps(op)) {
      op.call(stack);
    } else if (again_) {
      give_out(op, stack);
    } else {
      keep(op, stack);
    }
  }

 private:
  bool keeps(const OperatorHandle& op) const {
    return may_be_kept(op) && policy_(op.full_name()) == CheckpointPolicy::kSave;
  }
  void keep(const OperatorHandle& op, Stack& stack) {
    Call call{op, {}, {}};
    {
      const std::vector<Tensor> operands = tensors_of(stack);
      const detail::SavedHooksScope scope(std::make_shared<OperandHooks>(hooks_->hooks(), operands, call.operands));
      op.call(stack);
    }
    for (const IValue& v : stack) {
      const Tensor t = v.isTensor() ? v.toTensor() : Tensor();
      call.results.push_back(
          {t.defined() ? core::alias(t) : t, t.defined() ? t._version() : 0, t.defined() && t.requires_grad()});
    }
    kept_->calls.push_back(std::move(call));
  }
  void give_out(const OperatorHandle& op, Stack& stack) {
    if (kept_->next >= kept_->calls.size() || kept_->calls[kept_->next].op != op) {
      throw CheckpointError(
          str("checkpoint: the function, computed again, calls ", op.full_name(), "; expected ",
              kept_->next < kept_->calls.size() ? kept_->calls[kept_->next].op.full_name() : "no more",
              " among the operators that are kept"));
    }
    const Call& call = kept_->calls[kept_->next++];
    const std::vector<Tensor> operands = tensors_of(stack);
    for (const size_t i : call.operands) pack_saved(operands[i]);
    stack.clear();
    for (const Result& r : call.results) {
      if (!r.tensor.defined()) {
        stack.emplace_back(Tensor());
        continue;
      }
      GRADUS_CHECK(
          r.tensor._version() == r.version, "checkpoint: a result of ", op.full_name(),
          " that is kept was written in place; expected it to be as it was, or the operator to be computed again");
      Tensor t = core::alias(r.tensor);
      if (r.requires_grad && GradMode::is_enabled()) attach_blind_history(t);
      stack.emplace_back(std::move(t));
    }
  }

  const SelectivePolicy& policy_;
  std::shared_ptr<Kept> kept_;
  bool again_;
  detail::SavedHooksScope* hooks_;  // the checkpoint's
};

// CheckpointOptions::context. Each checkpoint has a copy of the options, and each copy keeps results of its own.
class Context {
 public:
  Context(SelectivePolicy policy, std::function<std::shared_ptr<void>(bool)> inner)
      : policy_(std::move(policy)), inner_(std::move(inner)) {}
  Context(const Context& o) : policy_(o.policy_), inner_(o.inner_) {}
  Context& operator=(const Context&) = delete;

  std::shared_ptr<void> operator()(bool recomputing) {
    kept_->next = 0;
    return std::make_shared<On>(*this, recomputing);
  }

 private:
  struct On {
    On(Context& c, bool again)
        : inner(c.inner_ ? c.inner_(again) : nullptr), keeper(c.policy_, c.kept_, again), guard(keeper) {}
    std::shared_ptr<void> inner;
    Keeper keeper;
    InterposerGuard guard;
  };
  SelectivePolicy policy_;
  std::function<std::shared_ptr<void>(bool)> inner_;
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace

CheckpointOptions selective_checkpoint(SelectivePolicy policy, CheckpointOptions options) {
  GRADUS_CHECK(policy, "selective_checkpoint: the policy is empty; expected a function");
  options.context = Context(std::move(policy), std::move(options.context));
  return options;
}

CheckpointOptions selective_checkpoint(std::vector<std::string> saved, CheckpointOptions options) {
  return selective_checkpoint(
      [saved = std::move(saved)](const std::string& name) {
        const bool found = std::find(saved.begin(), saved.end(), name) != saved.end();
        return found ? CheckpointPolicy::kSave : CheckpointPolicy::kRecompute;
      },
      std::move(options));
}

}  // namespace gradus::inline v0::autograd
