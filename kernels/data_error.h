// How a kernel reports bad data: as a value, for the operator to throw about.
#pragma once

#include <cstdint>

namespace gradus::inline v0::kernels {

/// The first element whose value was out of range: its position in order, and the value. What was to be computed from
/// it is unspecified, but nothing outside the operands was touched.
struct BadIndex {
  int64_t position = -1;  // -1: all were good
  int64_t value = 0;
  bool found() const { return position >= 0; }
};

}  // namespace gradus::inline v0::kernels
