// dropout's arithmetic.
#pragma once

#include <cstdint>

#include "kernels/bodies/host_device.h"

namespace gradus::inline v0::kernels::bodies {

/// The mask is a number of 0 or 1: GCC makes vector code of that, and not of a choice.
template <class T>
struct MaskedScale {
  T scale;
  GRADUS_HOST_DEVICE T operator()(T a, uint8_t mask) const { return a * (scale * static_cast<T>(mask)); }
};

}  // namespace gradus::inline v0::kernels::bodies
