// Standing between a caller and the operators: autocast, tracing, logging, a user's override.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include <gradus/ops/operator.h>

namespace gradus {
inline namespace v0 {

/// Sees every operator call on the threads where an InterposerGuard put it, all forms alike, written once for all
/// operators:
///
///     struct Counter : gradus::Interposer {
///       int calls = 0;
///       void call(const OperatorHandle& op, Stack& stack) override { ++calls; op.call(stack); }
///     };
///     Counter counter;
///     gradus::InterposerGuard on(counter);
///
/// While call() runs, this interposer and those put above it are off: op.call() goes to the next one below, or to the
/// operator. The innermost guard is the top.
class GRADUS_API Interposer {
 public:
  virtual ~Interposer();
  /// `stack` holds the arguments in schema order; the results are to stand there afterwards. In-place operators' result
  /// is `self`, out forms' the out tensors.
  virtual void call(const OperatorHandle& op, Stack& stack) = 0;
  /// Whether a composite operator comes as one call (true) or as the calls it is made of.
  virtual bool takes_whole(const OperatorHandle& op) const;
};

/// Puts `interposer` on top of this thread's stack for as long as the guard lives. Guards nest.
class GRADUS_API InterposerGuard {
 public:
  explicit InterposerGuard(Interposer& interposer);
  ~InterposerGuard();
  InterposerGuard(const InterposerGuard&) = delete;
  InterposerGuard& operator=(const InterposerGuard&) = delete;

  Interposer& interposer() const { return interposer_; }
  InterposerGuard* below() const { return below_; }

 private:
  Interposer& interposer_;
  InterposerGuard* below_;
};

/// Takes every interposer off this thread for as long as the guard lives.
class GRADUS_API NoInterposers {
 public:
  NoInterposers();
  ~NoInterposers();
  NoInterposers(const NoInterposers&) = delete;
  NoInterposers& operator=(const NoInterposers&) = delete;

 private:
  InterposerGuard* top_;
};

/// Writes a line per call: "aten::add.Tensor(Tensor(2, 3) float, 2, 1) -> Tensor(2, 3) float".
class GRADUS_API OperatorLogger : public Interposer {
 public:
  using Sink = std::function<void(const std::string& line)>;
  explicit OperatorLogger(Sink sink, bool parts = false);
  explicit OperatorLogger(std::ostream& out, bool parts = false);
  void call(const OperatorHandle& op, Stack& stack) override;
  /// Composite operators are logged whole, or as their parts where the constructor's `parts` says so.
  bool takes_whole(const OperatorHandle& op) const override;

 private:
  Sink sink_;
  bool parts_;
};

/// Sends every call through its boxed form and back, changing nothing: for tests.
class GRADUS_API IdentityBoxer : public Interposer {
 public:
  void call(const OperatorHandle& op, Stack& stack) override;
  /// Parts of composite operators go through boxes too.
  bool takes_whole(const OperatorHandle& op) const override;
};

}  // namespace v0
}  // namespace gradus
