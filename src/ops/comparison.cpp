// Comparisons and logic. The results are bool: nothing is recorded.
#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_comparison.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

// An in-place comparison overwrites values that other gradients lead through: the recorder refuses or forgets them.
Tensor compare(const Dest& dest, const char* op, const char* node, const UnaryTable& kernel, const Tensor& self,
               Operand other) {
  if (dest.is_fresh()) [[likely]]
    return binary(dest, op, Promote::kCompare, kernel, self, other);
  auto r = recording(dest, self);
  Tensor out = binary(dest, op, Promote::kCompare, kernel, self, other);
  if (r) r.node(node, out, [](const GradIn& g, GradOut& d) { d[0] = gradus::zeros_like(g[0]); });
  return out;
}

}  // namespace

Tensor eq(const Dest& dest, const Tensor& self, const Tensor& other) {
  return compare(dest, "eq", "EqBackward1", kernels::eq, self, other);
}
Tensor eq(const Dest& dest, const Tensor& self, const Scalar& other) {
  return compare(dest, "eq", "EqBackward0", kernels::eq, self, other);
}
Tensor ne(const Dest& dest, const Tensor& self, const Tensor& other) {
  return compare(dest, "ne", "NeBackward1", kernels::ne, self, other);
}
Tensor ne(const Dest& dest, const Tensor& self, const Scalar& other) {
  return compare(dest, "ne", "NeBackward0", kernels::ne, self, other);
}
Tensor lt(const Dest& dest, const Tensor& self, const Tensor& other) {
  return compare(dest, "lt", "LtBackward1", kernels::lt, self, other);
}
Tensor lt(const Dest& dest, const Tensor& self, const Scalar& other) {
  return compare(dest, "lt", "LtBackward0", kernels::lt, self, other);
}
Tensor le(const Dest& dest, const Tensor& self, const Tensor& other) {
  return compare(dest, "le", "LeBackward1", kernels::le, self, other);
}
Tensor le(const Dest& dest, const Tensor& self, const Scalar& other) {
  return compare(dest, "le", "LeBackward0", kernels::le, self, other);
}
Tensor gt(const Dest& dest, const Tensor& self, const Tensor& other) {
  return compare(dest, "gt", "GtBackward1", kernels::gt, self, other);
}
Tensor gt(const Dest& dest, const Tensor& self, const Scalar& other) {
  return compare(dest, "gt", "GtBackward0", kernels::gt, self, other);
}
Tensor ge(const Dest& dest, const Tensor& self, const Tensor& other) {
  return compare(dest, "ge", "GeBackward1", kernels::ge, self, other);
}
Tensor ge(const Dest& dest, const Tensor& self, const Scalar& other) {
  return compare(dest, "ge", "GeBackward0", kernels::ge, self, other);
}

Tensor logical_and(const Dest& dest, const Tensor& self, const Tensor& other) {
  return compare(dest, "logical_and", "LogicalAndBackward0", kernels::logical_and, self, other);
}
Tensor logical_or(const Dest& dest, const Tensor& self, const Tensor& other) {
  return compare(dest, "logical_or", "LogicalOrBackward0", kernels::logical_or, self, other);
}
Tensor logical_xor(const Dest& dest, const Tensor& self, const Tensor& other) {
  return compare(dest, "logical_xor", "LogicalXorBackward0", kernels::logical_xor, self, other);
}
Tensor logical_not(const Dest& dest, const Tensor& self) {
  auto r = recording(dest, self);
  Tensor out = unary(dest, "logical_not", Promote::kCompare, kernels::logical_not, self);
  if (r && !dest.is_fresh())
    r.node("LogicalNotBackward0", out, [](const GradIn& g, GradOut& d) { d[0] = gradus::zeros_like(g[0]); });
  return out;
}

Tensor isnan(const Tensor& self) {
  return unary(Dest(), "isnan", Promote::kCompare, kernels::isnan, self);
}
Tensor isinf(const Tensor& self) {
  return unary(Dest(), "isinf", Promote::kCompare, kernels::isinf, self);
}
Tensor isfinite(const Tensor& self) {
  return unary(Dest(), "isfinite", Promote::kCompare, kernels::isfinite, self);
}

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  GRADUS_CHECK(self.scalar_type() == other.scalar_type(), "isclose: self is of type ", self.scalar_type(),
               " and other of type ", other.scalar_type(), "; expected the same type");
  GRADUS_CHECK(rtol >= 0 && atol >= 0, "isclose: rtol is ", rtol, " and atol ", atol, "; expected both at least 0");
  broadcast_shapes("isclose", self.sizes(), other.sizes());
  NoGradGuard no_grad;
  Tensor close = self.eq(other);
  const bool floating = self.is_floating_point();
  if (equal_nan && floating) close.logical_or_(self.isnan().logical_and(other.isnan()));
  if (rtol == 0 && atol == 0) return close;
  // Integers and bools are compared in the default floating dtype.
  Tensor a = floating ? self : self.mul(Scalar(1.0)), b = floating ? other : other.mul(Scalar(1.0));
  Tensor difference = a.sub(b).abs();
  return close.logical_or_(difference.isfinite().logical_and(difference.le(b.mul(rtol).abs().add(atol))));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  GRADUS_CHECK(self.scalar_type() == other.scalar_type(), "allclose: self is of type ", self.scalar_type(),
               " and other of type ", other.scalar_type(), "; expected the same type");
  broadcast_shapes("allclose", self.sizes(), other.sizes());
  return gradus::isclose(self, other, rtol, atol, equal_nan).all().item<bool>();
}

bool equal(const Tensor& self, const Tensor& other) {
  GRADUS_CHECK(self.device() == other.device(), "equal: self is on ", self.device(), " and other on ", other.device(),
               "; expected both on the same device");
  GRADUS_CHECK(self.scalar_type() == other.scalar_type(), "equal: self is of type ", self.scalar_type(),
               " and other of type ", other.scalar_type(), "; expected the same type");
  if (self.sizes() != other.sizes()) return false;
  return self.eq(other).all().item<bool>();
}

}  // namespace gradus::inline v0::ops
