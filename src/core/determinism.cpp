#include <gradus/core/determinism.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include <gradus/core/error.h>

#include "determinism.h"

namespace gradus::inline v0 {

namespace core {
constinit std::atomic<bool> fills_new_memory = false;
}  // namespace core

namespace {

constinit std::atomic<bool> enabled = false;
constinit std::atomic<bool> warns_only = false;
constinit std::atomic<bool> fill_wanted = true;

struct Warned {
  std::mutex mutex;
  std::set<std::string, std::less<>> ops;  // since the switch was last set
};
Warned& warned() {
  static Warned& w = *new Warned;
  return w;
}

void settle_filling() {
  core::fills_new_memory.store(enabled.load() && fill_wanted.load());
}

}  // namespace

void use_deterministic_algorithms(bool mode, bool warn_only) {
  Warned& w = warned();
  const std::lock_guard lock(w.mutex);
  w.ops.clear();
  enabled.store(mode);
  warns_only.store(warn_only);
  settle_filling();
}
bool are_deterministic_algorithms_enabled() {
  return enabled.load(std::memory_order_relaxed);
}
bool is_deterministic_algorithms_warn_only_enabled() {
  return warns_only.load(std::memory_order_relaxed);
}

void alert_not_deterministic(std::string_view op, std::optional<Device> device) {
  if (!are_deterministic_algorithms_enabled()) [[likely]]
    return;
  const std::string what = str(op, device ? str(" on ", *device) : std::string());
  if (!is_deterministic_algorithms_warn_only_enabled()) {
    throw Error(str(what,
                    " has no deterministic implementation, and use_deterministic_algorithms(true) was called; call "
                    "use_deterministic_algorithms(false) before this operation, or give warn_only, where results may "
                    "differ from run to run"));
  }
  {
    Warned& w = warned();
    const std::lock_guard lock(w.mutex);
    if (!w.ops.insert(what).second) return;
  }
  warn(str(what,
           " has no deterministic implementation: its results may differ from run to run. "
           "use_deterministic_algorithms(true, warn_only=true) was called"));
}

bool get_fill_uninitialized_memory() {
  return fill_wanted.load(std::memory_order_relaxed);
}
void set_fill_uninitialized_memory(bool fill) {
  const std::lock_guard lock(warned().mutex);
  fill_wanted.store(fill);
  settle_filling();
}

}  // namespace gradus::inline v0
