// Finding the operator behind a NaN in a gradient.
#pragma once

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

/// Anomaly mode, of the whole process: off at its start. While it is on, every recorded operator keeps the stack of its
/// call, and a backward throws Error at the first node whose gradients have a NaN. The text names the node, where its
/// forward was called, and in a double backward the nodes whose backward recorded it. Where a node's backward throws,
/// a warning names the same. Slow: for debugging.
/// See https://pytorch.org/docs/stable/autograd.html#anomaly-detection
struct GRADUS_API AnomalyMode {
  static bool is_enabled();
  /// Whether gradients are searched for NaN (true unless set otherwise), or only stacks kept.
  static bool should_check_nan();
  static void set_enabled(bool enabled, bool check_nan = true);
};

/// Turns anomaly mode on for a scope, and back to what it was. Functions are named in the error where the program is
/// linked with -rdynamic; else their offsets in it are given.
class GRADUS_API DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true);
  ~DetectAnomalyGuard();
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool enabled_before_, check_before_;
};

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
