// Class indices as targets: what the kernels of losses read of them.
#pragma once

#include <kernels/data_error.h>
#include <kernels/view.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels {

/// Target i, of any of the three integer types.
inline int64_t index_at(const ConstView& target, int64_t i) {
  switch (target.dtype) {
    case ScalarType::Long:
      return target.as<int64_t>()[i];
    case ScalarType::Int:
      return target.as<int32_t>()[i];
    case ScalarType::Byte:
      return target.as<uint8_t>()[i];
    default:
      unsupported_dtype(target.dtype);
  }
}

/// Scores as [batch, classes, spatial]: one target for each (batch, spatial).
struct ClassExtent {
  int64_t batch, classes, spatial = 1;
  explicit ClassExtent(const ConstView& v) : batch(v.sizes[0]), classes(v.sizes[1]) {
    for (int i = 2; i < v.ndim; ++i) spatial *= v.sizes[i];
  }
  int64_t targets() const { return batch * spatial; }
  /// Where the score of class `c` for target i lies.
  int64_t at(int64_t i, int64_t c) const { return (i / spatial * classes + c) * spatial + i % spatial; }
};

/// The first target that is neither a class nor ignored.
inline BadIndex first_bad(const ConstView& target, int64_t n, int64_t classes, int64_t ignore) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = index_at(target, i);
    if (c != ignore && (c < 0 || c >= classes)) return {i, c};
  }
  return {};
}

}  // namespace gradus::inline v0::kernels
