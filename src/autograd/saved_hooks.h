// What becomes of tensors that are saved while hooks are on.
#pragma once

#include <memory>

#include <gradus/autograd/saved_tensors_hooks.h>

#include "node_factory.h"

namespace gradus::inline v0::autograd {

/// Stands in a SavedTensor for the tensor.
struct PackedTensor {
  int16_t edge = SavedTensor::kNoEdge;
  virtual ~PackedTensor() = default;
  /// The tensor again, for `user`; its history does not matter.
  virtual Tensor unpack(const Node& user) = 0;
};

namespace detail {
class SavedHooks {
 public:
  virtual ~SavedHooks() = default;
  /// `t` has no history where it is the result of the operator that saves it. Nothing is recorded and no hooks are on
  /// during the call.
  virtual std::unique_ptr<PackedTensor> pack(const Tensor& t) = 0;
};
}  // namespace detail

/// Just keeps a tensor.
struct KeptTensor final : PackedTensor {
  Tensor tensor;  // without history: it may own the node that this belongs to
  Tensor unpack(const Node&) override { return tensor; }
};

/// The innermost hooks on this thread; nullptr where there are none.
detail::SavedHooksScope* innermost_saved_hooks();
/// Makes `bare` require a gradient which then goes nowhere. Unlike a leaf, in-place operators take it.
void attach_blind_history(const Tensor& bare);

/// Packs by the innermost hooks; there are some where core::kSavedHooks is set.
std::unique_ptr<PackedTensor> pack_saved(const Tensor& t);

}  // namespace gradus::inline v0::autograd
