// The switch for programs that must give the same bits each time they run: torch.use_deterministic_algorithms. It is
// the process's, may be set at any time, and holds for operations that begin afterwards.
#pragma once

#include <optional>
#include <string_view>

#include <gradus/core/device.h>
#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {

/// With `mode`, an operation that could be computed in an order that differs from run to run is computed in a fixed
/// one, and one that cannot be throws Error, naming itself; with `warn_only` it warns instead, once for each operation
/// and call of this function. Off by default. What it changes is told in docs/cuda.md.
GRADUS_API void use_deterministic_algorithms(bool mode, bool warn_only = false);
/// Whether the switch is on, with `warn_only` or without.
GRADUS_API bool are_deterministic_algorithms_enabled();
/// The `warn_only` that was last given.
GRADUS_API bool is_deterministic_algorithms_warn_only_enabled();

/// For an operation that has no deterministic way: does nothing while the switch is off, else throws or warns.
/// Operators that a program registers call it, too.
GRADUS_API void alert_not_deterministic(std::string_view op, std::optional<Device> device = std::nullopt);

/// Whether `empty`, its kin and `resize_` fill new memory while the switch is on, so that reading what nobody wrote
/// gives the same each time: with NaN, the greatest integer or true.
/// `torch.utils.deterministic.fill_uninitialized_memory`. True by default.
GRADUS_API bool get_fill_uninitialized_memory();
/// Sets what get_fill_uninitialized_memory() tells.
GRADUS_API void set_fill_uninitialized_memory(bool fill);

}  // namespace v0
}  // namespace gradus
