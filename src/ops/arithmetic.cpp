// add, sub, mul, div, bits: the pattern that elementwise operators follow.
#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_pointwise.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

// alpha must be representable where the result is.
void check_alpha(const char* op, ScalarType result, const Scalar& alpha) {
  GRADUS_CHECK_AS(TypeError, !alpha.isBoolean() || result == ScalarType::Bool, op,
                  ": alpha is a bool and the result is ", result, "; expected a number");
  GRADUS_CHECK_AS(TypeError, !is_integral(result, true) || alpha.isIntegral(true), op, ": alpha is ", alpha,
                  " and the result is ", result, "; for integers alpha must be an integer");
}

Tensor add_scaled(const Dest& dest, const char* op, const Tensor& self, Operand other, const Scalar& alpha) {
  Pointwise p(dest, op, Promote::kArithmetic, self, other);
  if (!alpha.isIntegral(false)) [[unlikely]]  // an integer fits all
    check_alpha(op, p.dtype(), alpha);
  kernels::add(p.device(), p.loop(), alpha);
  return p.finish();
}

void check_sub(ScalarType a, ScalarType b) {
  GRADUS_CHECK_AS(TypeError, a != ScalarType::Bool || b != ScalarType::Bool,
                  "sub: two bool tensors were given; use logical_xor (or ^), or convert them");
}

}  // namespace

Tensor add(const Dest& dest, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  auto r = recording(dest, self, other);
  Tensor out = add_scaled(dest, "add", self, other, alpha);
  if (r) {
    r.node("AddBackward0", out, [alpha](const GradIn& g, GradOut& d) {
      d[0] = g[0];
      if (d.needs(1)) d[1] = alpha.equal(1) ? g[0] : g[0].mul(alpha);
    });
  }
  return out;
}

Tensor add(const Dest& dest, const Tensor& self, const Scalar& other, const Scalar& alpha) {
  auto r = recording(dest, self);
  Tensor out = add_scaled(dest, "add", self, other, alpha);
  if (r) r.node("AddBackward1", out, [](const GradIn& g, GradOut& d) { d[0] = g[0]; });
  return out;
}

Tensor sub(const Dest& dest, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  auto r = recording(dest, self, other);
  check_sub(self.scalar_type(), other.scalar_type());
  Tensor out = add_scaled(dest, "sub", self, other, -alpha);
  if (r) {
    r.node("SubBackward0", out, [alpha](const GradIn& g, GradOut& d) {
      d[0] = g[0];
      if (d.needs(1)) d[1] = g[0].mul(-alpha);
    });
  }
  return out;
}

Tensor sub(const Dest& dest, const Tensor& self, const Scalar& other, const Scalar& alpha) {
  auto r = recording(dest, self);
  check_sub(self.scalar_type(), other.type());
  Tensor out = add_scaled(dest, "sub", self, other, -alpha);
  if (r) r.node("SubBackward1", out, [](const GradIn& g, GradOut& d) { d[0] = g[0]; });
  return out;
}

Tensor mul(const Dest& dest, const Tensor& self, const Tensor& other) {
  auto r = recording(dest, self, other);
  r.keep_self(r.needs(1));
  Tensor out = binary(dest, "mul", Promote::kArithmetic, kernels::mul, self, other);
  if (r) {
    r.node("MulBackward0", out, [a = r.save_if(1, 0), b = r.save_if(0, 1)](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0].mul(d.unpack(b));
      if (d.needs(1)) d[1] = g[0].mul(d.unpack(a));
    });
  }
  return out;
}

Tensor mul(const Dest& dest, const Tensor& self, const Scalar& other) {
  auto r = recording(dest, self);
  Tensor out = binary(dest, "mul", Promote::kArithmetic, kernels::mul, self, other);
  if (r) r.node("MulBackward1", out, [other](const GradIn& g, GradOut& d) { d[0] = g[0].mul(other); });
  return out;
}

Tensor div(const Dest& dest, const Tensor& self, const Tensor& other) {
  auto r = recording(dest, self, other);
  r.keep_self(r.needs(1));
  Tensor out = binary(dest, "div", Promote::kFloat, kernels::div, self, other);
  if (r) {
    r.node("DivBackward0", out, [a = r.save_if(1, 0), b = r.save(1)](const GradIn& g, GradOut& d) {
      Tensor divisor = d.unpack(b);
      if (d.needs(0)) d[0] = g[0].div(divisor);
      if (d.needs(1)) d[1] = g[0].neg().mul(d.unpack(a).div(divisor).div(divisor));
    });
  }
  return out;
}

Tensor div(const Dest& dest, const Tensor& self, const Scalar& other) {
  auto r = recording(dest, self);
  Tensor out = binary(dest, "div", Promote::kFloat, kernels::div, self, other);
  if (r) r.node("DivBackward1", out, [other](const GradIn& g, GradOut& d) { d[0] = g[0].div(other); });
  return out;
}

Tensor hypot(const Dest& dest, const Tensor& self, const Tensor& other) {
  auto r = recording(dest, self, other);
  r.keep_self(r.needs(0));
  Pointwise p(dest, "hypot", Promote::kArithmetic, self, other);
  GRADUS_CHECK_AS(TypeError, is_floating_point(p.dtype()), "hypot: the operands make ", p.dtype(),
                  "; expected a floating type");
  kernels::hypot(p.device(), p.loop());
  Tensor out = p.finish();
  if (r) {
    r.node("HypotBackward0", out,
           [a = r.save_if(0, 0), b = r.save_if(1, 1), y = r.save_output(out)](const GradIn& g, GradOut& d) {
             const Tensor length = d.unpack(y);
             if (d.needs(0)) d[0] = g[0].mul(d.unpack(a).div(length));
             if (d.needs(1)) d[1] = g[0].mul(d.unpack(b).div(length));
           });
  }
  return out;
}

Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return gradus::sub(other, self, alpha);
}

Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  auto r = recording(self);
  check_sub(self.scalar_type(), other.type());
  Pointwise p(Dest(), "rsub", Promote::kArithmetic, other, self);
  check_alpha("rsub", p.dtype(), alpha);
  kernels::add(p.device(), p.loop(), -alpha);
  Tensor out = p.finish();
  if (r) r.node("RsubBackward1", out, [alpha](const GradIn& g, GradOut& d) { d[0] = g[0].mul(-alpha); });
  return out;
}

namespace {

Tensor bits(const Dest& dest, const char* op, const UnaryTable& kernel, Operand self, Operand other) {
  Pointwise p(dest, op, Promote::kArithmetic, self, other);
  GRADUS_CHECK_AS(TypeError, is_integral(p.dtype(), true), op, ": the operands make ", p.dtype(),
                  "; expected integers or bool");
  kernel(p.device(), p.loop());
  return p.finish();
}

}  // namespace

#define GRADUS_BITWISE(op)                                               \
  Tensor op(const Dest& dest, const Tensor& self, const Tensor& other) { \
    return bits(dest, #op, kernels::op, self, other);                    \
  }                                                                      \
  Tensor op(const Dest& dest, const Tensor& self, const Scalar& other) { \
    return bits(dest, #op, kernels::op, self, other);                    \
  }                                                                      \
  Tensor op(const Scalar& self, const Tensor& other) {                   \
    return bits(Dest(), #op, kernels::op, self, other);                  \
  }
GRADUS_BITWISE(bitwise_and)
GRADUS_BITWISE(bitwise_or)
GRADUS_BITWISE(bitwise_xor)
#undef GRADUS_BITWISE

}  // namespace gradus::inline v0::ops
