// Norms, and the logarithm of a sum of exponentials.
#include <cmath>
#include <limits>

#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_reduction.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"
#include "reduction_plan.h"

namespace gradus::inline v0::ops {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

DimVector list_of(DimSet dims, int64_t ndim) {
  DimVector list;
  for (int64_t d = 0; d < ndim; ++d) {
    if (holds(dims, d)) list.push_back(d);
  }
  return list;
}

// g and norm as they are after expansion. Where the norm is zero the gradient is taken as zero.
Tensor norm_gradient(const Tensor& g, const Tensor& x, const Tensor& norm, double p, const Reduced& shape) {
  Tensor grad = shape.kept(g), n = shape.kept(norm);
  if (p == 0) return gradus::zeros_like(x);
  if (p == 2) return x.mul(grad.div(n).masked_fill(n.eq(0), 0));
  if (p == 1) return x.sign().mul(grad);
  if (std::isinf(p)) {
    Tensor reached = x.abs().eq(n).logical_or(x.isnan());
    const DimVector over = list_of(shape.dims, x.dim());
    Tensor count = x.dim() == 0 ? reached.sum() : reached.sum(IntArrayRef(over), true);
    return x.sign().mul(gradus::where(reached, grad.div(count), 0));
  }
  if (p < 1) {
    Tensor scaled = x.sign().mul(x.abs().pow(p - 1).masked_fill(x.eq(0), 0));
    return scaled.mul(grad).mul(n.pow(1 - p));
  }
  Tensor scale = grad.div(n.pow(p - 1)).masked_fill(n.eq(0), 0);
  if (p < 2) return x.sign().mul(x.abs().pow(p - 1)).mul(scale);
  return x.mul(x.abs().pow(p - 2)).mul(scale);
}

Tensor norm_of(const Dest& dest, const char* op, const Tensor& self, double p, DimSet dims, bool keepdim,
               std::optional<ScalarType> asked) {
  const ScalarType dtype = asked ? *asked : self.scalar_type();
  GRADUS_CHECK_AS(TypeError, is_floating_point(self.scalar_type()) && is_floating_point(dtype), op,
                  ": a tensor of type ", self.scalar_type(), " and a result of type ", dtype,
                  " were given; expected floating ones");
  GRADUS_CHECK_AS(TypeError, promote_types(self.scalar_type(), dtype) == dtype, op, ": dtype is ", dtype,
                  " and self of type ", self.scalar_type(), "; expected a dtype that self fits into");
  if (p < 0 || p == kInfinity) check_not_empty(op, self, dims);
  auto r = recording(dest, self);
  Tensor out;
  {
    const Tensor in = cast(self, dtype);
    Reduce plan(dest, op, in, dims, keepdim, dtype);
    kernels::norm(plan.device(), plan.plan(), p);
    out = plan.finish();
  }
  if (r) {
    r.node("LinalgVectorNormBackward0", out,
           [x = r.save(0), y = r.save_output(out), p, shape = Reduced(self, dims, keepdim)](
               const GradIn& g, GradOut& d) { d[0] = norm_gradient(g[0], d.unpack(x), d.unpack(y), p, shape); });
  }
  return out;
}

double order_of(const std::optional<Scalar>& p) {
  return p ? p->as_double() : 2;
}

}  // namespace

Tensor norm(const Tensor& self, const Scalar& p) {
  return norm_of(Dest(), "norm", self, p.as_double(), kAllDims, false, std::nullopt);
}
Tensor norm(const Dest& dest, const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  return norm_of(dest, "norm", self, order_of(p), dims_of("norm", dim, self.dim()), keepdim, std::nullopt);
}
Tensor norm(const Dest& dest, const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim,
            ScalarType dtype) {
  return norm_of(dest, "norm", self, order_of(p), dims_of("norm", dim, self.dim()), keepdim, dtype);
}
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype) {
  return norm_of(Dest(), "norm", self, order_of(p), kAllDims, false, dtype);
}

Tensor linalg_vector_norm(const Dest& dest, const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim,
                          bool keepdim, std::optional<ScalarType> dtype) {
  return norm_of(dest, "linalg_vector_norm", self, ord.as_double(), dims_of("linalg_vector_norm", dim, self.dim()),
                 keepdim, dtype);
}

Tensor logsumexp(const Dest& dest, const Tensor& self, IntArrayRef dim, bool keepdim) {
  auto r = recording(dest, self);
  const DimSet dims = dims_of("logsumexp", dim, self.dim());
  const DimVector over = list_of(dims, self.dim());
  const IntArrayRef list(over);
  Tensor out;
  {
    NoGradGuard no_grad;
    Tensor x = is_floating_point(self.scalar_type()) ? self : cast(self, get_default_dtype());
    if (self.numel() == 0) {
      out = x.exp().sum(list, keepdim).log();
    } else {
      // Relative to the largest one, but for infinities, which are what they are.
      Tensor largest = x.amax(list, true);
      largest = largest.masked_fill(largest.abs().eq(kInfinity), 0);
      out = x.sub(largest).exp().sum(list, keepdim).log();
      out = out.add(keepdim ? largest : largest.reshape(out.sizes()));
    }
    out = dest.deliver("logsumexp", out);
  }
  if (r) {
    r.node("LogsumexpBackward0", out,
           [x = r.save(0), y = r.save_output(out), shape = Reduced(self, dims, keepdim)](const GradIn& g, GradOut& d) {
             d[0] = shape.kept(g[0]).mul(d.unpack(x).sub(shape.kept(d.unpack(y))).exp());
           });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
