// The registry entry of an operator, and the door that every surface function goes through.
#pragma once

#include <cstddef>
#include <iterator>

#include <gradus/ops/boxing.h>
#include <gradus/ops/interposer.h>

#include "core/thread_state.h"

namespace gradus::inline v0 {

/// Constant data for built-in operators; a user's are made at run time.
struct Operator {
  enum Flag : unsigned {
    kInplace = 1u << 0,
    kOut = 1u << 1,
    kView = 1u << 2,
    kRandom = 1u << 3,
    kComposite = 1u << 4,
    kNondiff = 1u << 5,
    kDataDependent = 1u << 6,
    kPointwise = 1u << 7,
    kReduction = 1u << 8,
    kUser = 1u << 9,
  };
  const char* name;      // "aten::add"
  const char* overload;  // "Tensor"
  const char* schema;
  boxing::AnyFunction function;
  boxing::Unboxer unbox;
  unsigned flags;
  unsigned outs;  // how many out tensors it has, the last arguments
};

namespace surface {

using boxing::AnyFunction;
using boxing::unboxer;

struct OperatorTable {
  const Operator* const* entries;
  size_t count;
};
/// Every family's table, then nullptr.
extern const OperatorTable* const kTables[];

/// Whether the interposer on top wants this call: a composite operator only if it takes it whole.
[[gnu::cold]] bool top_wants(const Operator& op);
/// Hands the call to the interposer on top.
[[gnu::cold]] void run_interposed(const Operator& op, Stack& stack);

[[gnu::always_inline]] inline bool intercepted(const Operator& op) {
  return gradus::intercepted() && top_wants(op);
}

template <class R, class... A>
[[gnu::noinline, gnu::cold]] R intercept(const Operator& op, const A&... args) {
  Stack stack = boxing::box(args...);
  run_interposed(op, stack);
  return boxing::Result<R>::take(stack);
}

inline const Tensor& or_undefined(const std::optional<Tensor>& t) {
  return t ? *t : boxing::undefined();
}

inline Tensor with_requires_grad(Tensor t, const TensorOptions& options) {
  if (options.requires_grad()) [[unlikely]]
    t.set_requires_grad(true);
  return t;
}

}  // namespace surface

/// Adds a run-time operator. Throws Error if the name is taken.
void register_operator(const Operator* op);
/// Calls one (library.cpp): the implementation for its tensors' device, recorded where it has a gradient.
void call_user_operator(const Operator& op, Stack& stack);
/// Leaves of the arguments of an operator that wrote into them its results.
void keep_results(const Operator& op, Stack& stack);

}  // namespace gradus::inline v0
