// clamp, maximum, minimum. NaN wins.
#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_pointwise.h"
#include "ops/surface/generated/ops_reduction.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"
#include "scalar_range.h"

namespace gradus::inline v0::ops {

namespace {

// The input in the dtype that bounds and input make together. In place it stays: the result must fit.
Tensor promoted(const Dest& dest, const char* op, const Tensor& self, std::initializer_list<Operand> operands) {
  GRADUS_CHECK(self.defined(), op, ": the input is an undefined tensor; expected one with data");
  const ScalarType dtype = result_type(operands);
  GRADUS_CHECK_AS(TypeError, self.scalar_type() != ScalarType::Bool && dtype != ScalarType::Bool, op,
                  ": a bool tensor was given; expected numbers");
  if (dtype == self.scalar_type()) return self;
  GRADUS_CHECK_AS(TypeError, !dest.is_inplace() || can_cast(dtype, self.scalar_type()), op, "_: the result is of type ",
                  dtype, ", which cannot be stored in self of type ", self.scalar_type());
  return dest.is_inplace() ? self : cast(self, dtype);
}

// Where the input is the result. A bound that is a number takes the ties.
Tensor inside(const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  if (!max) return x.gt(*min);
  if (!min) return x.lt(*max);
  return x.gt(*min).logical_and(x.lt(*max));
}

enum class Side : bool { kLow, kHigh };
Tensor extreme(const Dest& dest, const char* op, const char* node, Side side, const Tensor& self, const Tensor& other) {
  auto r = recording(dest, self, other);
  r.keep_self();
  Tensor out =
      binary(dest, op, Promote::kArithmetic, side == Side::kHigh ? kernels::maximum : kernels::minimum, self, other);
  if (r) {
    r.node(node, out, [x = r.save(0), y = r.save(1), side](const GradIn& g, GradOut& d) {
      Tensor a = d.unpack(x), b = d.unpack(y);
      const bool high = side == Side::kHigh;
      // Whoever is not beaten takes it: so does a NaN.
      if (d.needs(0)) d[0] = gradus::where(a.eq(b), g[0].div(2), g[0]).masked_fill(high ? a.lt(b) : a.gt(b), 0);
      if (d.needs(1)) d[1] = gradus::where(a.eq(b), g[0].div(2), g[0]).masked_fill(high ? a.gt(b) : a.lt(b), 0);
    });
  }
  return out;
}

Tensor between(const Dest& dest, const char* op, const Tensor& self, const std::optional<Scalar>& min,
               const std::optional<Scalar>& max) {
  GRADUS_CHECK(min || max, "clamp: neither min nor max was given; expected at least one");
  auto r = recording(dest, self);
  r.keep_self();
  Tensor out;
  {
    const Tensor input =
        promoted(dest, op, self, {Operand(self), Operand(min ? *min : *max), Operand(max ? *max : *min)});
    const Scalar low = min ? lower_bound(op, *min, input.scalar_type()) : Scalar();
    const Scalar high = max ? upper_bound(op, *max, input.scalar_type()) : Scalar();
    Pointwise p(dest, op, Promote::kArithmetic, input);
    if (min && max) {
      kernels::clamp_scalar(p.device(), p.loop(), low, high);
    } else {
      (min ? kernels::clamp_min_scalar : kernels::clamp_max_scalar)(p.device(), p.loop(), min ? low : high);
    }
    out = p.finish();
  }
  if (r) {
    r.node("ClampBackward1", out, [x = r.save(0), min, max](const GradIn& g, GradOut& d) {
      d[0] = gradus::where(inside(d.unpack(x), min, max), g[0], 0);
    });
  }
  return out;
}

}  // namespace

Tensor clamp(const Dest& dest, const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  return between(dest, "clamp", self, min, max);
}
Tensor clamp_min(const Dest& dest, const Tensor& self, const Scalar& min) {
  return between(dest, "clamp_min", self, min, std::nullopt);
}
Tensor clamp_max(const Dest& dest, const Tensor& self, const Scalar& max) {
  return between(dest, "clamp_max", self, std::nullopt, max);
}

Tensor clamp_min(const Dest& dest, const Tensor& self, const Tensor& min) {
  return extreme(dest, "clamp_min", "ClampMinBackward1", Side::kHigh, self, min);
}
Tensor clamp_max(const Dest& dest, const Tensor& self, const Tensor& max) {
  return extreme(dest, "clamp_max", "ClampMaxBackward1", Side::kLow, self, max);
}

Tensor clamp(const Dest& dest, const Tensor& self, const Tensor& min, const Tensor& max) {
  GRADUS_CHECK(min.defined() || max.defined(), "clamp: neither min nor max was given; expected at least one");
  if (!max.defined()) return extreme(dest, "clamp", "ClampBackward0", Side::kHigh, self, min);
  if (!min.defined()) return extreme(dest, "clamp", "ClampBackward0", Side::kLow, self, max);
  auto r = recording(dest, self, min, max);
  r.keep_self();
  Pointwise p(dest, "clamp", Promote::kArithmetic, self, min, max);
  GRADUS_CHECK_AS(TypeError, p.dtype() != ScalarType::Bool, "clamp: bool tensors were given; expected numbers");
  kernels::clamp(p.device(), p.loop());
  Tensor out = p.finish();
  if (r) {
    r.node("ClampBackward0", out, [x = r.save(0), from = r.save(1), to = r.save(2)](const GradIn& g, GradOut& d) {
      Tensor a = d.unpack(x), low = d.unpack(from), high = d.unpack(to);
      // A tie with one of two different bounds is shared with it. Crossed bounds: the result is the upper one.
      const Tensor half = g[0].div(2), ordered = low.lt(high), allowed = low.le(high);
      const Tensor at_low = a.eq(low), at_high = a.eq(high);
      if (d.needs(0)) {
        d[0] = gradus::where(at_low.logical_xor(at_high), half, g[0]).masked_fill(a.lt(low).logical_or(a.gt(high)), 0);
      }
      if (d.needs(1)) {
        d[1] = gradus::where(a.lt(low).logical_and(allowed), g[0], gradus::where(at_low.logical_and(ordered), half, 0));
      }
      if (d.needs(2)) {
        const Tensor taken = a.gt(high).logical_and(allowed).logical_or(low.gt(high).logical_and(a.eq(a)));
        d[2] = gradus::where(taken, g[0], gradus::where(at_high.logical_and(ordered), half, 0));
      }
    });
  }
  return out;
}

Tensor maximum(const Dest& dest, const Tensor& self, const Tensor& other) {
  return extreme(dest, "maximum", "MaximumBackward0", Side::kHigh, self, other);
}
Tensor minimum(const Dest& dest, const Tensor& self, const Tensor& other) {
  return extreme(dest, "minimum", "MinimumBackward0", Side::kLow, self, other);
}
Tensor max(const Dest& dest, const Tensor& self, const Tensor& other) {
  return extreme(dest, "max", "MaximumBackward0", Side::kHigh, self, other);
}
Tensor min(const Dest& dest, const Tensor& self, const Tensor& other) {
  return extreme(dest, "min", "MinimumBackward0", Side::kLow, self, other);
}

}  // namespace gradus::inline v0::ops
