// Checkpoints stand on saved-tensor hooks. Note [Checkpoints]: the forward's hooks put a number in place of each tensor
// that is saved. The first number that backward asks about has the function computed again, under hooks that count
// along and leave each tensor in its place. Where checkpoints nest, the inner one's inputs are saved under the outer's
// hooks: they are among what the outer one computes again.
#include <gradus/autograd/checkpoint.h>

#include <mutex>
#include <optional>

#include <gradus/autograd/grad_mode.h>
#include <gradus/core/generator.h>

#include "../core/make_tensor.h"
#include "saved_hooks.h"

namespace gradus::inline v0::autograd {

CheckpointError::~CheckpointError() = default;

namespace {

// An input, without its history: what the function writes in place gets a history that owns this checkpoint.
class Input {
 public:
  explicit Input(const Tensor& t)
      : requires_grad_(t.defined() && t.requires_grad()), is_leaf_(!requires_grad_ || t.is_leaf()) {
    if (!t.defined()) return;
    Tensor bare = core::alias(t);
    version_ = bare._version();
    if (core::tls.flags & core::kSavedHooks) {
      packed_ = pack_saved(bare);
    } else {
      bare_ = std::move(bare);
    }
  }
  Tensor again(size_t number, const Node& user) const {
    if (!bare_.defined() && !packed_) return Tensor();
    GRADUS_CHECK(packed_ || bare_._version() == version_, "checkpoint: input ", number, " of shape ", bare_.sizes(),
                 " has been modified by an inplace operation since the forward; expected it to be as it was");
    Tensor t = packed_ ? core::alias(packed_->unpack(user)) : core::alias(bare_);
    if (!requires_grad_) return t;
    if (is_leaf_) return t.requires_grad_();
    attach_blind_history(t);
    return t;
  }

 private:
  bool requires_grad_, is_leaf_;
  Tensor bare_;
  int64_t version_ = 0;
  std::unique_ptr<PackedTensor> packed_;
};

// The default generators as they were.
class RandomState {
 public:
  explicit RandomState(const variable_list& inputs) {
    add(Device(kCPU));
    for (const Tensor& t : inputs) {
      if (t.defined() && t.is_cuda()) add(t.device());
    }
  }
  // For as long as it lives, this thread draws what followed then; the generators themselves stay untouched.
  class Scope {
   public:
    explicit Scope(const RandomState* state) {
      if (!state) return;
      for (const Generator& g : state->generators_) guards_.push_back(std::make_unique<GeneratorGuard>(g.clone()));
    }
    ~Scope() {
      while (!guards_.empty()) guards_.pop_back();  // the innermost first
    }
    Scope(const Scope&) = delete;

   private:
    std::vector<std::unique_ptr<GeneratorGuard>> guards_;
  };

 private:
  void add(Device device) {
    for (const Generator& g : generators_) {
      if (g.device() == device) return;
    }
    const Generator g = default_generator(device);
    const std::lock_guard<std::mutex> lock(g.mutex());
    generators_.push_back(g.clone());
  }
  std::vector<Generator> generators_;
};

// One call of checkpoint().
class Frame : public std::enable_shared_from_this<Frame> {
 public:
  using Function = std::function<variable_list(const variable_list&)>;
  Frame(Function f, const variable_list& inputs, const CheckpointOptions& options)
      : function_(std::move(f)), options_(options) {
    for (const Tensor& t : inputs) inputs_.emplace_back(t);
    if (options.preserve_rng_state) random_.emplace(inputs);
  }
  variable_list forward(const variable_list& inputs);

 private:
  struct Slot {
    DimVector sizes;
    ScalarType dtype;
    Device device;
    bool wanted = true;  // its node is alive
    Tensor value;
  };
  struct Stop {  // thrown where all that is wanted is there
    const Frame* frame;
  };
  // Stands for the tensor of a slot.
  struct Holder final : PackedTensor {
    std::shared_ptr<Frame> frame;
    size_t slot;
    ~Holder() override { frame->forget(slot); }
    Tensor unpack(const Node& user) override { return frame->value(slot, user); }
  };
  struct ForwardHooks final : detail::SavedHooks {
    explicit ForwardHooks(std::shared_ptr<Frame> f) : frame(std::move(f)) {}
    std::unique_ptr<PackedTensor> pack(const Tensor& t) override { return frame->note(t); }
    std::shared_ptr<Frame> frame;
  };
  struct AgainHooks final : detail::SavedHooks {
    explicit AgainHooks(Frame& f) : frame(f) {}
    std::unique_ptr<PackedTensor> pack(const Tensor& t) override { return frame.fill(t); }
    Frame& frame;
  };

  std::unique_ptr<PackedTensor> note(const Tensor& t);
  std::unique_ptr<PackedTensor> fill(const Tensor& t);
  Tensor value(size_t slot, const Node& user);
  void forget(size_t slot);
  void compute_again(const Node& user);
  void compare() const;

  Function function_;
  CheckpointOptions options_;
  std::vector<Input> inputs_;
  std::optional<RandomState> random_;
  std::recursive_mutex mutex_;  // a node that dies while the function is computed again may hold slots
  std::vector<Slot> slots_;
  bool complete_ = false;      // the forward is over
  bool incomparable_ = false;  // backward ran inside the forward
  size_t filled_ = 0;
  const Node* user_ = nullptr;  // the last node to ask, and the slots that it got
  std::vector<size_t> given_;
};

variable_list Frame::forward(const variable_list& inputs) {
  const detail::SavedHooksScope scope(std::make_shared<ForwardHooks>(shared_from_this()));
  const std::shared_ptr<void> context = options_.context ? options_.context(false) : nullptr;
  variable_list outputs = function_(inputs);
  complete_ = true;
  return outputs;
}

std::unique_ptr<PackedTensor> Frame::note(const Tensor& t) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  auto holder = std::make_unique<Holder>();
  holder->frame = shared_from_this();
  holder->slot = slots_.size();
  slots_.push_back({DimVector(t.sizes()), t.scalar_type(), t.device(), true, {}});
  return holder;
}

std::unique_ptr<PackedTensor> Frame::fill(const Tensor& t) {
  auto kept = std::make_unique<KeptTensor>();  // for a backward inside the function
  kept->tensor = core::alias(t);
  const size_t slot = filled_++;
  if (slot >= slots_.size()) {
    if (complete_) {
      throw CheckpointError(str("checkpoint: the function saves more tensors when it is computed again; expected ",
                                slots_.size(), ", as in the forward"));
    }
    incomparable_ = true;
    return kept;
  }
  if (slots_[slot].wanted) slots_[slot].value = kept->tensor;
  if (options_.early_stop && filled_ == slots_.size()) throw Stop{this};
  return kept;
}

// A node may ask twice for one tensor; what it got is dropped with the node's own SavedTensor, or, where the graph is
// kept, when another node asks.
Tensor Frame::value(size_t slot, const Node& user) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (user_ != &user) {
    for (const size_t i : given_) slots_[i].value.reset();
    given_.clear();
    user_ = &user;
  }
  if (!slots_[slot].value.defined()) compute_again(user);
  if (!slots_[slot].value.defined()) {
    throw CheckpointError(str("checkpoint: the function, computed again, did not come to the tensor at position ", slot,
                              ", which ", user.name(), " saved in the forward"));
  }
  given_.push_back(slot);
  return slots_[slot].value;
}

void Frame::forget(size_t slot) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  slots_[slot].wanted = false;
  slots_[slot].value.reset();
}

void Frame::compute_again(const Node& user) {
  variable_list inputs;
  const AutoGradMode grad_mode(true);
  for (size_t i = 0; i < inputs_.size(); ++i) inputs.push_back(inputs_[i].again(i, user));
  filled_ = 0;
  try {
    const RandomState::Scope random(random_ ? &*random_ : nullptr);
    const detail::SavedHooksScope scope(std::make_shared<AgainHooks>(*this));
    const std::shared_ptr<void> context = options_.context ? options_.context(true) : nullptr;
    function_(inputs);
  } catch (const Stop& stop) {
    if (stop.frame != this) throw;
  }
  if (options_.check_determinism || filled_ != slots_.size()) compare();
}

void Frame::compare() const {
  if (incomparable_) return;
  if (filled_ != slots_.size()) {
    throw CheckpointError(str("checkpoint: the function saved ", filled_,
                              " tensors when it was computed again; expected ", slots_.size(), ", as in the forward"));
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& s = slots_[i];
    if (!s.wanted) continue;
    const Tensor& t = s.value;
    if (t.sizes() == IntArrayRef(s.sizes) && t.scalar_type() == s.dtype && t.device() == s.device) continue;
    throw CheckpointError(str("checkpoint: the function, computed again, saved a tensor of shape ", t.sizes(),
                              ", type ", t.dtype(), " and device ", t.device(), " at position ", i, "; expected shape ",
                              IntArrayRef(s.sizes), ", type ", s.dtype, " and device ", s.device,
                              ", as in the forward"));
  }
}

}  // namespace

variable_list checkpoint(std::function<variable_list(const variable_list&)> function, const variable_list& inputs,
                         const CheckpointOptions& options) {
  GRADUS_CHECK(function, "checkpoint: the function is empty; expected one to call");
  if (!GradMode::is_enabled()) return function(inputs);
  return std::make_shared<Frame>(std::move(function), inputs, options)->forward(inputs);
}

Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input,
                  const CheckpointOptions& options) {
  GRADUS_CHECK(function, "checkpoint: the function is empty; expected one to call");
  return checkpoint([f = std::move(function)](const variable_list& in) { return variable_list{f(in[0])}; },
                    variable_list{input}, options)[0];
}

Tensor checkpoint_sequential(std::vector<std::function<Tensor(const Tensor&)>> functions, int64_t segments,
                             const Tensor& input, const CheckpointOptions& options) {
  const auto count = static_cast<int64_t>(functions.size());
  GRADUS_CHECK_AS(ValueError, segments >= 1 && segments <= count, "checkpoint_sequential: ", segments,
                  " segments were asked for of ", count, " functions; expected 1 to as many");
  const int64_t length = count / segments;
  const auto all = std::make_shared<const std::vector<std::function<Tensor(const Tensor&)>>>(std::move(functions));
  const auto part = [all](int64_t first, int64_t last) {
    return [all, first, last](const Tensor& x) {
      Tensor y = x;
      for (int64_t i = first; i < last; ++i) y = (*all)[static_cast<size_t>(i)](y);
      return y;
    };
  };
  Tensor x = input;
  for (int64_t s = 0; s + 1 < segments; ++s) x = checkpoint(part(s * length, (s + 1) * length), x, options);
  return part((segments - 1) * length, count)(x);
}

}  // namespace gradus::inline v0::autograd
