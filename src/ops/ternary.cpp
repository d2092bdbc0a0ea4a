// where, masked_fill, lerp, addcmul, addcdiv.
#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_indexing.h"
#include "ops/surface/generated/ops_pointwise.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"
#include "scalar_range.h"

namespace gradus::inline v0::ops {

namespace {

// The condition as bool; uint8 masks are what old programs have.
Tensor condition_of(const char* op, const Tensor& condition) {
  GRADUS_CHECK(condition.defined(), op, ": the condition is an undefined tensor; expected a bool one");
  GRADUS_CHECK_AS(TypeError, condition.scalar_type() == ScalarType::Bool || condition.scalar_type() == ScalarType::Byte,
                  op, ": the condition is of type ", condition.scalar_type(), "; expected Bool");
  return cast(condition, ScalarType::Bool);
}

// cond ? a : b. The two choices are promoted, the condition is not; in place the result has self's dtype whatever b's.
Tensor choose(const Dest& dest, const char* op, const Tensor& condition, Operand a, Operand b) {
  GRADUS_CHECK((!a.tensor || a.tensor->defined()) && (!b.tensor || b.tensor->defined()), op,
               ": an input is an undefined tensor; expected one with data");
  const ScalarType dtype = dest.is_inplace() ? dest.target().scalar_type() : result_type({a, b});
  for (const Operand& o : {a, b}) {
    if (o.scalar) check_storable(op, *o.scalar, dtype);
  }
  Tensor left, right;
  if (a.tensor && a.tensor->scalar_type() != dtype) left = cast(*a.tensor, dtype);
  if (b.tensor && b.tensor->scalar_type() != dtype) right = cast(*b.tensor, dtype);
  Tensor wrapped_a = a.scalar ? core::number_tensor(*a.scalar, dtype, condition.device(), false) : Tensor();
  Tensor wrapped_b = b.scalar ? core::number_tensor(*b.scalar, dtype, condition.device(), false) : Tensor();
  Pointwise p(dest, op, dtype, condition,
              a.scalar         ? wrapped_a
              : left.defined() ? left
                               : *a.tensor,
              b.scalar          ? wrapped_b
              : right.defined() ? right
                                : *b.tensor);
  kernels::where(p.device(), p.loop());
  return p.finish();
}

}  // namespace

Tensor where(const Dest& dest, const Tensor& condition, const Tensor& self, const Tensor& other) {
  auto r = recording(dest, self, other);
  Tensor mask = condition_of("where", condition);
  Tensor out = choose(dest, "where", mask, self, other);
  if (r) {
    r.node("WhereBackward0", out, [c = r.save_other(mask)](const GradIn& g, GradOut& d) {
      Tensor m = d.unpack(c);
      if (d.needs(0)) d[0] = gradus::where(m, g[0], 0);
      if (d.needs(1)) d[1] = gradus::where(m, 0, g[0]);
    });
  }
  return out;
}

Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other) {
  auto r = recording(self);
  Tensor mask = condition_of("where", condition);
  Tensor out = choose(Dest(), "where", mask, self, other);
  if (r) {
    r.node("WhereBackward0", out,
           [c = r.save_other(mask)](const GradIn& g, GradOut& d) { d[0] = gradus::where(d.unpack(c), g[0], 0); });
  }
  return out;
}

Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other) {
  auto r = recording(other);
  Tensor mask = condition_of("where", condition);
  Tensor out = choose(Dest(), "where", mask, self, other);
  if (r) {
    r.node("WhereBackward0", out,
           [c = r.save_other(mask)](const GradIn& g, GradOut& d) { d[0] = gradus::where(d.unpack(c), 0, g[0]); });
  }
  return out;
}

Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other) {
  return choose(Dest(), "where", condition_of("where", condition), self, other);
}

std::vector<Tensor> where(const Tensor& condition) {
  return gradus::nonzero_numpy(condition);
}

namespace {

void check_mask(const Tensor& self, const Tensor& mask) {
  GRADUS_CHECK_AS(TypeError, mask.defined() && mask.scalar_type() == ScalarType::Bool,
                  "masked_fill: the mask is of type ", mask.defined() ? mask.scalar_type() : ScalarType::Undefined,
                  "; expected Bool");
  GRADUS_CHECK(self.device() == mask.device() || (mask.device().is_cpu() && mask.dim() == 0),
               "masked_fill: self is on ", self.device(), " and the mask on ", mask.device(),
               "; expected both on the same device");
}
// As PyTorch: a number goes into every type of tensor but a complex one into real ones.
void check_fits(const Tensor& self, ScalarType value) {
  GRADUS_CHECK_AS(TypeError, !is_complex(value) || is_complex(self.scalar_type()), "masked_fill: the value is of type ",
                  value, "; it cannot be stored in self of type ", self.scalar_type());
}

}  // namespace

Tensor masked_fill(const Dest& dest, const Tensor& self, const Tensor& mask, const Scalar& value) {
  auto r = recording(dest, self);
  check_mask(self, mask);
  check_fits(self, value.type());
  check_storable("masked_fill", value, self.scalar_type());
  Tensor fill = core::number_tensor(value, self.scalar_type(), self.device(), false);
  Tensor out = choose(dest, "masked_fill", mask, fill, self);
  if (r) {
    r.node("MaskedFillBackward0", out,
           [m = r.save_other(mask)](const GradIn& g, GradOut& d) { d[0] = gradus::where(d.unpack(m), 0, g[0]); });
  }
  return out;
}

Tensor masked_fill(const Dest& dest, const Tensor& self, const Tensor& mask, const Tensor& value) {
  auto r = recording(dest, self, value);
  check_mask(self, mask);
  GRADUS_CHECK(value.dim() == 0, "masked_fill: the value has shape ", value.sizes(),
               "; expected one without dimensions");
  check_fits(self, value.scalar_type());
  Tensor out = choose(dest, "masked_fill", mask, cast(value, self.scalar_type()), self);
  if (r) {
    r.node("MaskedFillBackward1", out, [m = r.save_other(mask)](const GradIn& g, GradOut& d) {
      Tensor where_filled = d.unpack(m);
      if (d.needs(0)) d[0] = gradus::where(where_filled, 0, g[0]);
      if (d.needs(1)) d[1] = gradus::where(where_filled, g[0], 0).sum();
    });
  }
  return out;
}

Tensor lerp(const Dest& dest, const Tensor& self, const Tensor& end, const Scalar& weight) {
  auto r = recording(dest, self, end);
  GRADUS_CHECK_AS(TypeError, self.scalar_type() == end.scalar_type() && is_floating_point(self.scalar_type()),
                  "lerp: self is of type ", self.scalar_type(), " and end of type ", end.scalar_type(),
                  "; expected one floating type");
  Pointwise p(dest, "lerp", Promote::kArithmetic, self, end);
  kernels::lerp_scalar(p.device(), p.loop(), weight);
  Tensor out = p.finish();
  if (r) {
    r.node("LerpBackward0", out, [w = weight.as_double()](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0].mul(1 - w);
      if (d.needs(1)) d[1] = g[0].mul(w);
    });
  }
  return out;
}

Tensor lerp(const Dest& dest, const Tensor& self, const Tensor& end, const Tensor& weight) {
  auto r = recording(dest, self, end, weight);
  GRADUS_CHECK_AS(TypeError,
                  self.scalar_type() == end.scalar_type() && self.scalar_type() == weight.scalar_type() &&
                      is_floating_point(self.scalar_type()),
                  "lerp: self is of type ", self.scalar_type(), ", end of type ", end.scalar_type(),
                  " and weight of type ", weight.scalar_type(), "; expected one floating type");
  r.keep_self(r.needs(2));
  r.keep_self_if_operand();
  Pointwise p(dest, "lerp", Promote::kArithmetic, self, end, weight);
  kernels::lerp(p.device(), p.loop());
  Tensor out = p.finish();
  if (r) {
    r.node("LerpBackward1", out,
           [a = r.save_if(2, 0), b = r.save_if(2, 1), w = r.save(2)](const GradIn& g, GradOut& d) {
             if (d.needs(0)) d[0] = g[0].mul(d.unpack(w).neg().add(1));
             if (d.needs(1)) d[1] = g[0].mul(d.unpack(w));
             if (d.needs(2)) d[2] = g[0].mul(d.unpack(b).sub(d.unpack(a)));
           });
  }
  return out;
}

Tensor addcmul(const Dest& dest, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  auto r = recording(dest, self, tensor1, tensor2);
  r.keep_self_if_operand();
  Pointwise p(dest, "addcmul", Promote::kArithmetic, self, tensor1, tensor2);
  GRADUS_CHECK_AS(TypeError, p.dtype() != ScalarType::Bool, "addcmul: bool tensors were given; expected numbers");
  kernels::addcmul(p.device(), p.loop(), value);
  Tensor out = p.finish();
  if (r) {
    r.node("AddcmulBackward0", out, [a = r.save_if(2, 1), b = r.save_if(1, 2), value](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0];
      if (d.needs(1)) d[1] = g[0].mul(d.unpack(b).mul(value));
      if (d.needs(2)) d[2] = g[0].mul(d.unpack(a).mul(value));
    });
  }
  return out;
}

Tensor addcdiv(const Dest& dest, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  GRADUS_CHECK_AS(TypeError, !is_integral(tensor1.scalar_type(), true) || !is_integral(tensor2.scalar_type(), true),
                  "addcdiv: tensor1 is of type ", tensor1.scalar_type(), " and tensor2 of type ", tensor2.scalar_type(),
                  "; expected floating ones: convert them, or divide with div and add");
  auto r = recording(dest, self, tensor1, tensor2);
  r.keep_self_if_operand();
  Pointwise p(dest, "addcdiv", Promote::kArithmetic, self, tensor1, tensor2);
  kernels::addcdiv(p.device(), p.loop(), value);
  Tensor out = p.finish();
  if (r) {
    r.node("AddcdivBackward0", out, [a = r.save_if(2, 1), b = r.save(2), value](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0];
      Tensor divisor = d.unpack(b);
      if (d.needs(1)) d[1] = g[0].mul(divisor.reciprocal().mul(value));
      if (d.needs(2)) d[2] = g[0].mul(d.unpack(a).mul(value).div(divisor.mul(divisor))).neg();
    });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
