// Numbers that a tensor's type cannot hold: refused where they would be stored, harmless as far-away bounds.
#pragma once

#include <gradus/core/scalar.h>

namespace gradus::inline v0::ops {

/// Refuses a number that an integer type cannot hold. A fraction is cut off; a negative integer goes into an unsigned
/// type modulo its size, as in PyTorch, but not beyond it. Floating types, bool and complex ones take every number.
void check_storable(const char* op, const Scalar& value, ScalarType dtype);

/// A lower or upper bound as the type holds it: one beyond the far end of an integer type's range becomes that end. One
/// that no element could satisfy is refused.
Scalar lower_bound(const char* op, const Scalar& bound, ScalarType dtype);
Scalar upper_bound(const char* op, const Scalar& bound, ScalarType dtype);

}  // namespace gradus::inline v0::ops
