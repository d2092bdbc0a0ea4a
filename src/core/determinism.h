// What operators ask of the determinism switch.
#pragma once

#include <atomic>

namespace gradus::inline v0::core {

/// The switch is on and new memory is to be filled.
extern constinit std::atomic<bool> fills_new_memory;

}  // namespace gradus::inline v0::core
