// Powers.
#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_pointwise.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

void check_pow(ScalarType result) {
  GRADUS_CHECK_AS(TypeError, result != ScalarType::Bool, "pow: two bools were given; expected numbers");
}

// x * log(base) where the base is not zero; 0^y for y >= 0 does not change with y.
Tensor exponent_gradient(const Tensor& g, const Tensor& base, const Tensor& exponent, const Tensor& result) {
  Tensor flat = base.eq(0).logical_and(exponent.ge(0));
  return gradus::where(flat, 0, g.mul(result.mul(base.log())));
}

}  // namespace

namespace {

// pow and square: the same but for the name in errors.
Tensor to_power(const Dest& dest, const char* op, const Tensor& self, const Scalar& exponent) {
  auto r = recording(dest, self);
  GRADUS_CHECK(!is_integral(self.scalar_type(), true) || !exponent.isIntegral(true) || exponent.as_int() >= 0, op,
               ": the exponent is ", exponent, " and the base of type ", self.scalar_type(),
               "; integers take no negative integer powers: convert the base to a floating type");
  r.keep_self();
  const ScalarType dtype = result_type({Operand(self), Operand(exponent)});
  check_pow(dtype);
  // A fractional exponent makes integers floating.
  const Tensor base = self.scalar_type() == dtype || dest.is_inplace() ? self : cast(self, dtype);
  GRADUS_CHECK_AS(TypeError, !dest.is_inplace() || can_cast(dtype, self.scalar_type()), op, "_: the result is of type ",
                  dtype, ", which cannot be stored in self of type ", self.scalar_type());
  Tensor out;
  {
    Pointwise p(dest, op, Promote::kArithmetic, base);
    kernels::pow_scalar(p.device(), p.loop(), exponent);
    out = p.finish();
  }
  if (r) {
    r.node("PowBackward0", out, [x = r.save(0), exponent](const GradIn& g, GradOut& d) {
      if (exponent.equal(0)) {
        d[0] = gradus::zeros_like(g[0]);
      } else if (exponent.equal(2)) {
        d[0] = g[0].mul(d.unpack(x).mul(2));
      } else {
        const Scalar less =
            exponent.isIntegral(true) ? Scalar(exponent.as_int() - 1) : Scalar(exponent.as_double() - 1);
        d[0] = g[0].mul(d.unpack(x).pow(less).mul(exponent));
      }
    });
  }
  return out;
}

}  // namespace

Tensor pow(const Dest& dest, const Tensor& self, const Scalar& exponent) {
  return to_power(dest, "pow", self, exponent);
}
Tensor square(const Dest& dest, const Tensor& self) {
  return to_power(dest, "square", self, Scalar(2));
}

Tensor pow(const Dest& dest, const Tensor& self, const Tensor& exponent) {
  auto r = recording(dest, self, exponent);
  r.keep_self();
  Pointwise p(dest, "pow", Promote::kArithmetic, self, exponent);
  check_pow(p.dtype());
  kernels::pow(p.device(), p.loop());
  Tensor out = p.finish();
  if (r) {
    r.node("PowBackward1", out,
           [x = r.save(0), y = r.save(1), z = r.needs(1) ? r.save_output(out) : SavedTensor()](const GradIn& g,
                                                                                               GradOut& d) {
             Tensor base = d.unpack(x), power = d.unpack(y);
             if (d.needs(0)) d[0] = gradus::where(power.eq(0), 0, g[0].mul(power.mul(base.pow(power.sub(1)))));
             if (d.needs(1)) d[1] = exponent_gradient(g[0], base, power, d.unpack(z));
           });
  }
  return out;
}

Tensor pow(const Dest& dest, const Scalar& self, const Tensor& exponent) {
  auto r = recording(dest, exponent);
  Pointwise p(dest, "pow", Promote::kArithmetic, self, exponent);
  check_pow(p.dtype());
  kernels::pow(p.device(), p.loop());
  Tensor out = p.finish();
  if (r) {
    r.node("PowBackward2", out, [y = r.save(0), z = r.save_output(out), self](const GradIn& g, GradOut& d) {
      Tensor power = d.unpack(y);
      // No wrapped number: its logarithm would have the default dtype's precision.
      d[0] = exponent_gradient(g[0], core::number_tensor(self, g[0].scalar_type(), g[0].device(), false), power,
                               d.unpack(z));
    });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
