// Functions of one operand.
#include <cmath>

#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_pointwise.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

// An operator whose gradient is a function of its input: gradient(g, x).
template <class F>
Tensor of_input(const Dest& dest, const char* op, const char* node, Promote promote, const UnaryTable& kernel,
                const Tensor& self, F gradient) {
  auto r = recording(dest, self);
  r.keep_self();
  Tensor out = unary(dest, op, promote, kernel, self);
  if (r)
    r.node(node, out, [x = r.save(0), gradient](const GradIn& g, GradOut& d) { d[0] = gradient(g[0], d.unpack(x)); });
  return out;
}

// An operator whose gradient is a function of its result: gradient(g, y).
template <class F>
Tensor of_result(const Dest& dest, const char* op, const char* node, Promote promote, const UnaryTable& kernel,
                 const Tensor& self, F gradient) {
  auto r = recording(dest, self);
  Tensor out = unary(dest, op, promote, kernel, self);
  if (r) {
    r.node(node, out,
           [y = r.save_output(out), gradient](const GradIn& g, GradOut& d) { d[0] = gradient(g[0], d.unpack(y)); });
  }
  return out;
}

// A step function: its gradient is zero.
Tensor step(const Dest& dest, const char* op, const char* node, const UnaryTable& kernel, const Tensor& self) {
  auto r = recording(dest, self);
  Tensor out = unary(dest, op, Promote::kArithmetic, kernel, self);
  if (r) r.node(node, out, [](const GradIn& g, GradOut& d) { d[0] = gradus::zeros_like(g[0]); });
  return out;
}

// floor, ceil, round, trunc: integers are whole already.
Tensor whole(const Dest& dest, const char* op, const char* node, const UnaryTable& kernel, const Tensor& self) {
  GRADUS_CHECK_AS(TypeError, self.scalar_type() != ScalarType::Bool, op, ": a bool tensor was given; expected numbers");
  return step(dest, op, node, is_integral(self.scalar_type(), true) ? kernels::copy : kernel, self);
}

}  // namespace

Tensor abs(const Dest& dest, const Tensor& self) {
  return of_input(dest, "abs", "AbsBackward0", Promote::kArithmetic, kernels::abs, self,
                  [](const Tensor& g, const Tensor& x) { return g.mul(x.sign()); });
}

Tensor neg(const Dest& dest, const Tensor& self) {
  GRADUS_CHECK_AS(TypeError, self.scalar_type() != ScalarType::Bool,
                  "neg: a bool tensor was given; use logical_not (or ~)");
  auto r = recording(dest, self);
  Tensor out = unary(dest, "neg", Promote::kArithmetic, kernels::neg, self);
  if (r) r.node("NegBackward0", out, [](const GradIn& g, GradOut& d) { d[0] = g[0].neg(); });
  return out;
}

Tensor sign(const Dest& dest, const Tensor& self) {
  return step(dest, "sign", "SignBackward0", kernels::sign, self);
}
Tensor floor(const Dest& dest, const Tensor& self) {
  return whole(dest, "floor", "FloorBackward0", kernels::floor, self);
}
Tensor ceil(const Dest& dest, const Tensor& self) {
  return whole(dest, "ceil", "CeilBackward0", kernels::ceil, self);
}
Tensor round(const Dest& dest, const Tensor& self) {
  return whole(dest, "round", "RoundBackward0", kernels::round, self);
}
Tensor trunc(const Dest& dest, const Tensor& self) {
  return whole(dest, "trunc", "TruncBackward0", kernels::trunc, self);
}

Tensor round(const Dest& dest, const Tensor& self, int64_t decimals) {
  if (decimals == 0) return round(dest, self);
  GRADUS_CHECK_AS(TypeError, is_floating_point(self.scalar_type()), "round: decimals is ", decimals,
                  " and the tensor is of type ", self.scalar_type(), "; expected a floating one");
  auto r = recording(dest, self);
  Pointwise p(dest, "round", Promote::kArithmetic, self);
  kernels::round_decimals(p.device(), p.loop(), Scalar(decimals));
  Tensor out = p.finish();
  if (r) r.node("RoundBackward1", out, [](const GradIn& g, GradOut& d) { d[0] = gradus::zeros_like(g[0]); });
  return out;
}

Tensor exp(const Dest& dest, const Tensor& self) {
  return of_result(dest, "exp", "ExpBackward0", Promote::kFloat, kernels::exp, self,
                   [](const Tensor& g, const Tensor& y) { return g.mul(y); });
}

Tensor exp2(const Dest& dest, const Tensor& self) {
  return of_result(dest, "exp2", "Exp2Backward0", Promote::kFloat, kernels::exp2, self,
                   [](const Tensor& g, const Tensor& y) { return g.mul(y.mul(0.69314718055994530942)); });
}

Tensor expm1(const Dest& dest, const Tensor& self) {
  return of_result(dest, "expm1", "Expm1Backward0", Promote::kFloat, kernels::expm1, self,
                   [](const Tensor& g, const Tensor& y) { return g.mul(y.add(1)); });
}

Tensor log(const Dest& dest, const Tensor& self) {
  return of_input(dest, "log", "LogBackward0", Promote::kFloat, kernels::log, self,
                  [](const Tensor& g, const Tensor& x) { return g.div(x); });
}

Tensor log2(const Dest& dest, const Tensor& self) {
  return of_input(dest, "log2", "Log2Backward0", Promote::kFloat, kernels::log2, self,
                  [](const Tensor& g, const Tensor& x) { return g.div(x.mul(0.69314718055994530942)); });
}

Tensor log10(const Dest& dest, const Tensor& self) {
  return of_input(dest, "log10", "Log10Backward0", Promote::kFloat, kernels::log10, self,
                  [](const Tensor& g, const Tensor& x) { return g.div(x.mul(2.30258509299404568402)); });
}

Tensor log1p(const Dest& dest, const Tensor& self) {
  return of_input(dest, "log1p", "Log1PBackward0", Promote::kFloat, kernels::log1p, self,
                  [](const Tensor& g, const Tensor& x) { return g.div(x.add(1)); });
}

Tensor sqrt(const Dest& dest, const Tensor& self) {
  return of_result(dest, "sqrt", "SqrtBackward0", Promote::kFloat, kernels::sqrt, self,
                   [](const Tensor& g, const Tensor& y) { return g.div(y.mul(2)); });
}

Tensor rsqrt(const Dest& dest, const Tensor& self) {
  return of_result(dest, "rsqrt", "RsqrtBackward0", Promote::kFloat, kernels::rsqrt, self,
                   [](const Tensor& g, const Tensor& y) { return g.mul(y.pow(3)).mul(-0.5); });
}

Tensor reciprocal(const Dest& dest, const Tensor& self) {
  return of_result(dest, "reciprocal", "ReciprocalBackward0", Promote::kFloat, kernels::reciprocal, self,
                   [](const Tensor& g, const Tensor& y) { return g.neg().mul(y.mul(y)); });
}

namespace {

constexpr double kErfSlope = 1.12837916709551257390;  // 2 / sqrt(pi): erf'(x) = kErfSlope exp(-x^2)

}  // namespace

Tensor erf(const Dest& dest, const Tensor& self) {
  return of_input(dest, "erf", "ErfBackward0", Promote::kFloat, kernels::erf, self,
                  [](const Tensor& g, const Tensor& x) { return g.mul(x.mul(x).neg().exp().mul(kErfSlope)); });
}

Tensor erfc(const Dest& dest, const Tensor& self) {
  return of_input(dest, "erfc", "ErfcBackward0", Promote::kFloat, kernels::erfc, self,
                  [](const Tensor& g, const Tensor& x) { return g.mul(x.mul(x).neg().exp().mul(-kErfSlope)); });
}

Tensor sin(const Dest& dest, const Tensor& self) {
  return of_input(dest, "sin", "SinBackward0", Promote::kFloat, kernels::sin, self,
                  [](const Tensor& g, const Tensor& x) { return g.mul(x.cos()); });
}

Tensor cos(const Dest& dest, const Tensor& self) {
  return of_input(dest, "cos", "CosBackward0", Promote::kFloat, kernels::cos, self,
                  [](const Tensor& g, const Tensor& x) { return g.mul(x.sin().neg()); });
}

Tensor tan(const Dest& dest, const Tensor& self) {
  return of_result(dest, "tan", "TanBackward0", Promote::kFloat, kernels::tan, self,
                   [](const Tensor& g, const Tensor& y) { return g.mul(y.mul(y).add(1)); });
}

Tensor tanh(const Dest& dest, const Tensor& self) {
  return of_result(dest, "tanh", "TanhBackward0", Promote::kFloat, kernels::tanh, self,
                   [](const Tensor& g, const Tensor& y) { return gradus::tanh_backward(g, y); });
}

Tensor sigmoid(const Dest& dest, const Tensor& self) {
  return of_result(dest, "sigmoid", "SigmoidBackward0", Promote::kFloat, kernels::sigmoid, self,
                   [](const Tensor& g, const Tensor& y) { return gradus::sigmoid_backward(g, y); });
}

Tensor bitwise_not(const Dest& dest, const Tensor& self) {
  GRADUS_CHECK_AS(TypeError, is_integral(self.scalar_type(), true), "bitwise_not: a tensor of type ",
                  self.scalar_type(), " was given; expected integers or bool");
  return unary(dest, "bitwise_not", Promote::kArithmetic, kernels::bitwise_not, self);
}

}  // namespace gradus::inline v0::ops
