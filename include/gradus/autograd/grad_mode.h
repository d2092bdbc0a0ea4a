// Whether operators record history on this thread.
#pragma once

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {

/// The thread's grad mode: on at a thread's start.
struct GRADUS_API GradMode {
  static bool is_enabled();
  static void set_enabled(bool enabled);
};

/// Sets grad mode for a scope.
class GRADUS_API AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : before_(GradMode::is_enabled()) { GradMode::set_enabled(enabled); }
  ~AutoGradMode() { GradMode::set_enabled(before_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool before_;
};

/// Records nothing for a scope. Per thread: a worker needs its own.
class GRADUS_API NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};

/// As NoGradGuard, and tensors made in it can never take part in recording; cheaper and stricter.
class GRADUS_API InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true);
  ~InferenceMode();
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled();

 private:
  unsigned before_;
};

using InferenceModeGuard = InferenceMode;

}  // namespace v0
}  // namespace gradus
