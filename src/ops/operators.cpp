// Tensor's C++ operators: each calls the operator of that name.
#include <gradus/ops/operators.h>
#include <gradus/ops/ops.h>

namespace gradus::inline v0 {

#define GRADUS_BINARY_OPERATOR(op, name)                 \
  Tensor operator op(const Tensor& a, const Tensor& b) { \
    return gradus::name(a, b);                           \
  }                                                      \
  Tensor operator op(const Tensor& a, const Scalar& b) { \
    return gradus::name(a, b);                           \
  }
GRADUS_BINARY_OPERATOR(+, add)
GRADUS_BINARY_OPERATOR(-, sub)
GRADUS_BINARY_OPERATOR(*, mul)
GRADUS_BINARY_OPERATOR(/, div)
GRADUS_BINARY_OPERATOR(%, remainder)
GRADUS_BINARY_OPERATOR(&, bitwise_and)
GRADUS_BINARY_OPERATOR(|, bitwise_or)
GRADUS_BINARY_OPERATOR(^, bitwise_xor)
GRADUS_BINARY_OPERATOR(<, lt)
GRADUS_BINARY_OPERATOR(<=, le)
GRADUS_BINARY_OPERATOR(>, gt)
GRADUS_BINARY_OPERATOR(>=, ge)
GRADUS_BINARY_OPERATOR(==, eq)
GRADUS_BINARY_OPERATOR(!=, ne)
#undef GRADUS_BINARY_OPERATOR

// The number first.
Tensor operator+(const Scalar& a, const Tensor& b) {
  return gradus::add(b, a);
}
Tensor operator-(const Scalar& a, const Tensor& b) {
  return gradus::rsub(b, a);
}
Tensor operator*(const Scalar& a, const Tensor& b) {
  return gradus::mul(b, a);
}
Tensor operator/(const Scalar& a, const Tensor& b) {
  return b.reciprocal().mul(a);
}
Tensor operator%(const Scalar& a, const Tensor& b) {
  return gradus::remainder(a, b);
}
Tensor operator&(const Scalar& a, const Tensor& b) {
  return gradus::bitwise_and(a, b);
}
Tensor operator|(const Scalar& a, const Tensor& b) {
  return gradus::bitwise_or(a, b);
}
Tensor operator^(const Scalar& a, const Tensor& b) {
  return gradus::bitwise_xor(a, b);
}
Tensor operator<(const Scalar& a, const Tensor& b) {
  return gradus::gt(b, a);
}
Tensor operator<=(const Scalar& a, const Tensor& b) {
  return gradus::ge(b, a);
}
Tensor operator>(const Scalar& a, const Tensor& b) {
  return gradus::lt(b, a);
}
Tensor operator>=(const Scalar& a, const Tensor& b) {
  return gradus::le(b, a);
}
Tensor operator==(const Scalar& a, const Tensor& b) {
  return gradus::eq(b, a);
}
Tensor operator!=(const Scalar& a, const Tensor& b) {
  return gradus::ne(b, a);
}

Tensor operator!(const Tensor& a) {
  return a.logical_not();
}
Tensor Tensor::operator-() const {
  return neg();
}
Tensor Tensor::operator~() const {
  return bitwise_not();
}

Tensor& Tensor::operator+=(const Tensor& o) const {
  return add_(o);
}
Tensor& Tensor::operator+=(const Scalar& o) const {
  return add_(o);
}
Tensor& Tensor::operator-=(const Tensor& o) const {
  return sub_(o);
}
Tensor& Tensor::operator-=(const Scalar& o) const {
  return sub_(o);
}
Tensor& Tensor::operator*=(const Tensor& o) const {
  return mul_(o);
}
Tensor& Tensor::operator*=(const Scalar& o) const {
  return mul_(o);
}
Tensor& Tensor::operator/=(const Tensor& o) const {
  return div_(o);
}
Tensor& Tensor::operator/=(const Scalar& o) const {
  return div_(o);
}

}  // namespace gradus::inline v0
