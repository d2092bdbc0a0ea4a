// 16-bit floats are computed in float: what the row kernels need for that.
#pragma once

#include <algorithm>
#include <type_traits>

#include <kernels/scratch.h>
#include <kernels/view.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels {

/// What arithmetic on a T is done in.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// A run of T as its wide type: itself, or converted into `buffer`.
template <class T>
inline const Wide<T>* widen(const T* from, int64_t n, Wide<T>* buffer) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    (void)n, (void)buffer;
    return from;
  } else {
    for (int64_t i = 0; i < n; ++i) buffer[i] = static_cast<Wide<T>>(from[i]);
    return buffer;
  }
}

/// Where to compute a run of results: in place, or in `buffer`, which `narrow` then rounds.
template <class T>
inline Wide<T>* wide_target(T* to, Wide<T>* buffer) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    (void)buffer;
    return to;
  } else {
    (void)to;
    return buffer;
  }
}
template <class T>
inline void narrow(const Wide<T>* from, int64_t n, T* to) {
  if constexpr (!std::is_same_v<T, Wide<T>>) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i]);
  } else {
    (void)from, (void)n, (void)to;
  }
}

/// A buffer that is only there where T needs one.
template <class T>
inline size_t wide_size(int64_t n) {
  return std::is_same_v<T, Wide<T>> ? 0 : static_cast<size_t>(n);
}

/// A parameter vector of any floating dtype as W, or `otherwise` repeated where the view is empty.
template <class W>
ScratchArray<W> read_vector(const ConstView& v, int64_t n, W otherwise) {
  ScratchArray<W> out(static_cast<size_t>(n));
  if (!v.data) {
    std::fill_n(out.data(), n, otherwise);
  } else {
    visit_floating(v.dtype, [&]<class T>() {
      for (int64_t i = 0; i < n; ++i) out[static_cast<size_t>(i)] = static_cast<W>(v.as<T>()[i]);
    });
  }
  return out;
}
/// Writes a vector where the view is not empty.
template <class W>
void write_vector(const View& v, int64_t n, const W* from) {
  if (!v.data) return;
  visit_floating(v.dtype, [&]<class T>() {
    for (int64_t i = 0; i < n; ++i) v.as<T>()[i] = static_cast<T>(from[i]);
  });
}

}  // namespace gradus::inline v0::kernels
