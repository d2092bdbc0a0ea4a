// How many threads Gradus uses.
#pragma once

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {

/// Threads that one operator may use, the caller's included.
GRADUS_API int get_num_threads();
/// Sets it for the whole process. Throws ValueError where n < 1.
GRADUS_API void set_num_threads(int n);
/// Whether the caller runs inside one of the library's parallel loops.
GRADUS_API bool in_parallel_region();

}  // namespace v0
}  // namespace gradus
