// a + b, 2 * a, a < b, ~a, a & b: operators of Tensor with tensors and numbers.
#pragma once

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {

#define GRADUS_BINARY_OPERATOR(op)                                 \
  GRADUS_API Tensor operator op(const Tensor& a, const Tensor& b); \
  GRADUS_API Tensor operator op(const Tensor& a, const Scalar& b); \
  GRADUS_API Tensor operator op(const Scalar& a, const Tensor& b);
GRADUS_BINARY_OPERATOR(+)
GRADUS_BINARY_OPERATOR(-)
GRADUS_BINARY_OPERATOR(*)
GRADUS_BINARY_OPERATOR(/)
GRADUS_BINARY_OPERATOR(%)  // the remainder with the divisor's sign
GRADUS_BINARY_OPERATOR(&)
GRADUS_BINARY_OPERATOR(|)
GRADUS_BINARY_OPERATOR(^)
GRADUS_BINARY_OPERATOR(<)
GRADUS_BINARY_OPERATOR(<=)
GRADUS_BINARY_OPERATOR(>)
GRADUS_BINARY_OPERATOR(>=)
GRADUS_BINARY_OPERATOR(==)
GRADUS_BINARY_OPERATOR(!=)
#undef GRADUS_BINARY_OPERATOR

/// The negation of bools: same as logical_not.
GRADUS_API Tensor operator!(const Tensor& a);

}  // namespace v0
}  // namespace gradus
