// Rounded division and remainders. Division of an integer by zero throws.
#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_pointwise.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

Tensor divide(const Dest& dest, const char* op, const kernels::DivisionTable& kernel, Operand self, Operand other) {
  Pointwise p(dest, op, Promote::kArithmetic, self, other);
  GRADUS_CHECK_AS(TypeError, p.dtype() != ScalarType::Bool, op, ": two bools were given; expected numbers");
  const bool fine = kernel(p.device(), p.loop()) || p.device().is_meta();
  GRADUS_CHECK(fine, op, ": an integer was divided by zero; expected a divisor that is not 0");
  return p.finish();
}

enum class Rounding : uint8_t { kNone, kTrunc, kFloor };
Rounding rounding(std::optional<std::string_view> mode) {
  if (!mode) return Rounding::kNone;
  GRADUS_CHECK(*mode == "trunc" || *mode == "floor", "div: rounding_mode is \"", *mode,
               "\"; expected \"trunc\", \"floor\" or none");
  return *mode == "trunc" ? Rounding::kTrunc : Rounding::kFloor;
}

// The quotient is a step function of both operands.
Tensor rounded(const Dest& dest, const char* op, Rounding mode, const Tensor& self, const Tensor& other) {
  auto r = recording(dest, self, other);
  Tensor out = divide(dest, op, mode == Rounding::kTrunc ? kernels::div_trunc : kernels::div_floor, self, other);
  if (r) {
    r.node("DivBackward2", out, [](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = gradus::zeros_like(g[0]);
      if (d.needs(1)) d[1] = gradus::zeros_like(g[0]);
    });
  }
  return out;
}
Tensor rounded(const Dest& dest, const char* op, Rounding mode, const Tensor& self, const Scalar& other) {
  auto r = recording(dest, self);
  Tensor out = divide(dest, op, mode == Rounding::kTrunc ? kernels::div_trunc : kernels::div_floor, self, other);
  if (r) r.node("DivBackward3", out, [](const GradIn& g, GradOut& d) { d[0] = gradus::zeros_like(g[0]); });
  return out;
}

// a - b * quotient: the gradient of b is minus the quotient, rounded as this remainder has it.
Tensor rest(const Dest& dest, const char* op, const char* node, const kernels::DivisionTable& kernel, const char* mode,
            const Tensor& self, const Tensor& other) {
  auto r = recording(dest, self, other);
  r.keep_self(r.needs(1));
  Tensor out = divide(dest, op, kernel, self, other);
  if (r) {
    r.node(node, out, [a = r.save_if(1, 0), b = r.save_if(1, 1), mode](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0];
      if (d.needs(1)) d[1] = g[0].mul(d.unpack(a).div(d.unpack(b), mode)).neg();
    });
  }
  return out;
}
Tensor rest(const Dest& dest, const char* op, const char* node, const kernels::DivisionTable& kernel,
            const Tensor& self, const Scalar& other) {
  auto r = recording(dest, self);
  Tensor out = divide(dest, op, kernel, self, other);
  if (r) r.node(node, out, [](const GradIn& g, GradOut& d) { d[0] = g[0]; });
  return out;
}

}  // namespace

Tensor div(const Dest& dest, const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  const Rounding mode = rounding(rounding_mode);
  return mode == Rounding::kNone ? div(dest, self, other) : rounded(dest, "div", mode, self, other);
}
Tensor div(const Dest& dest, const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  const Rounding mode = rounding(rounding_mode);
  return mode == Rounding::kNone ? div(dest, self, other) : rounded(dest, "div", mode, self, other);
}

Tensor floor_divide(const Dest& dest, const Tensor& self, const Tensor& other) {
  return rounded(dest, "floor_divide", Rounding::kFloor, self, other);
}
Tensor floor_divide(const Dest& dest, const Tensor& self, const Scalar& other) {
  return rounded(dest, "floor_divide", Rounding::kFloor, self, other);
}

Tensor remainder(const Dest& dest, const Tensor& self, const Tensor& other) {
  return rest(dest, "remainder", "RemainderBackward1", kernels::remainder, "floor", self, other);
}
Tensor remainder(const Dest& dest, const Tensor& self, const Scalar& other) {
  return rest(dest, "remainder", "RemainderBackward0", kernels::remainder, self, other);
}
Tensor remainder(const Scalar& self, const Tensor& other) {
  return gradus::remainder(core::number_tensor(self, self.type(), other.device(), true), other);
}

Tensor fmod(const Dest& dest, const Tensor& self, const Tensor& other) {
  return rest(dest, "fmod", "FmodBackward1", kernels::fmod, "trunc", self, other);
}
Tensor fmod(const Dest& dest, const Tensor& self, const Scalar& other) {
  return rest(dest, "fmod", "FmodBackward0", kernels::fmod, self, other);
}

}  // namespace gradus::inline v0::ops
