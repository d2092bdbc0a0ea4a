// The one door to threads. OpenMP stands behind it and nowhere else.
#pragma once

#include <cstdint>
#include <type_traits>

#include <gradus/core/parallel.h>

namespace gradus {
inline namespace v0 {

namespace kernels {
namespace detail {
using RangeFn = void (*)(void* context, int64_t begin, int64_t end);
GRADUS_API void parallel_run(int64_t begin, int64_t end, int64_t grain, RangeFn fn, void* context);
}  // namespace detail

/// Calls body(b, e) over disjoint parts of [begin, end), each at least `grain` long (but the last). Small ranges and
/// nested calls run on the caller's thread. The first exception of a part is rethrown.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& body) {
  if (end <= begin) return;
  if (end - begin <= grain) {
    body(begin, end);
    return;
  }
  detail::parallel_run(
      begin, end, grain, [](void* c, int64_t b, int64_t e) { (*static_cast<std::remove_reference_t<F>*>(c))(b, e); },
      const_cast<void*>(static_cast<const void*>(&body)));
}
}  // namespace kernels

}  // namespace v0
}  // namespace gradus
