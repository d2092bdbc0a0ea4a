#include <gradus/ops/interposer.h>

#include <ostream>

#include "core/thread_state.h"
#include "ops/registry.h"

namespace gradus::inline v0 {
namespace {

// The innermost guard that is on. The guards are the list's nodes; the flag in ThreadState says whether there is one.
thread_local InterposerGuard* top = nullptr;

void set_top(InterposerGuard* guard) {
  top = guard;
  if (guard) {
    core::tls.flags |= core::kInterposed;
  } else {
    core::tls.flags &= ~static_cast<uint32_t>(core::kInterposed);
  }
}

// Takes the top and what was above it off while an interposer runs.
struct Popped {
  explicit Popped(InterposerGuard* was) : was_(was) { set_top(was->below()); }
  ~Popped() { set_top(was_); }
  Popped(const Popped&) = delete;
  Popped& operator=(const Popped&) = delete;
  InterposerGuard* was_;
};

std::string text_of(const Stack& stack) {
  std::string s;
  for (const IValue& v : stack) s += (s.empty() ? "" : ", ") + v.str();
  return s;
}

}  // namespace

Interposer::~Interposer() = default;
bool Interposer::takes_whole(const OperatorHandle&) const {
  return true;
}

InterposerGuard::InterposerGuard(Interposer& interposer) : interposer_(interposer), below_(top) {
  set_top(this);
}
InterposerGuard::~InterposerGuard() {
  set_top(below_);
}

NoInterposers::NoInterposers() : top_(top) {
  set_top(nullptr);
}
NoInterposers::~NoInterposers() {
  set_top(top_);
}

namespace surface {

bool top_wants(const Operator& op) {
  return !(op.flags & Operator::kComposite) || top->interposer().takes_whole(OperatorHandle(&op));
}

void run_interposed(const Operator& op, Stack& stack) {
  Interposer& interposer = top->interposer();
  const Popped popped(top);
  interposer.call(OperatorHandle(&op), stack);
}

}  // namespace surface

OperatorLogger::OperatorLogger(Sink sink, bool parts) : sink_(std::move(sink)), parts_(parts) {}
OperatorLogger::OperatorLogger(std::ostream& out, bool parts)
    : sink_([&out](const std::string& line) { out << line << '\n'; }), parts_(parts) {}

void OperatorLogger::call(const OperatorHandle& op, Stack& stack) {
  std::string line = op.full_name() + "(" + text_of(stack) + ")";
  op.call(stack);
  sink_(line + " -> " + text_of(stack));
}
bool OperatorLogger::takes_whole(const OperatorHandle&) const {
  return !parts_;
}

void IdentityBoxer::call(const OperatorHandle& op, Stack& stack) {
  op.call(stack);
}
bool IdentityBoxer::takes_whole(const OperatorHandle&) const {
  return false;
}

}  // namespace gradus::inline v0
