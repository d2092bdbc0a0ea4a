// What the library keeps per thread, in a few words of static TLS.
#pragma once

#include <cstdint>

namespace gradus::inline v0 {

namespace core {

struct Heap;

enum ThreadFlag : uint32_t {
  kGradMode = 1u << 0,
  kInferenceMode = 1u << 1,
  kInterposed = 1u << 2,  // an interposer stands on this thread's stack
  kSavedHooks = 1u << 3,  // tensors that are saved go through hooks
};

// Trivially constructed and destroyed, so that it outlives every thread_local object (core_measurements, pitfall 4).
struct ThreadState {
  uint32_t flags = kGradMode;
  bool heap_retired = false;
  bool draining_graph = false;
  Heap* heap = nullptr;
  void* dead_nodes = nullptr;  // graph nodes waiting to be freed, a list through Node
  uint64_t sequence = 0;       // of the last graph node made here
};

// Initial-exec: a load from %fs instead of a call. The struct is small, so a late dlopen of the library still fits.
extern constinit thread_local ThreadState tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

}  // namespace core

inline bool grad_mode_enabled() {
  return (core::tls.flags & core::kGradMode) != 0;
}
inline bool intercepted() {
  return (core::tls.flags & core::kInterposed) != 0;
}

}  // namespace gradus::inline v0
