// Sums, means, products, variances, truth over dimensions, running sums.
#include <algorithm>

#include <gradus/ops/ops.h>
#include <kernels/elementwise.h>

#include "ops/surface/generated/ops_reduction.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"
#include "reduction_plan.h"

namespace gradus::inline v0::ops {

namespace {

Tensor reduce(const Dest& dest, const char* op, const kernels::ReductionTable& kernel, const Tensor& self, DimSet dims,
              bool keepdim, ScalarType result) {
  Reduce p(dest, op, self, dims, keepdim, result);
  kernel(p.device(), p.plan());
  return p.finish();
}

// The dtype that sums and products are made in: asked for, else out's, else int64 for integers.
ScalarType sum_dtype(const Dest& dest, const Tensor& self, std::optional<ScalarType> asked) {
  if (asked) return *asked;
  if (dest.is_out() && dest.target().defined()) return dest.target().scalar_type();
  return is_integral(self.scalar_type(), true) ? ScalarType::Long : self.scalar_type();
}

// What a kernel that sums reads for a result of `dtype`: integers come as they are, the rest cast.
Tensor summable(const Tensor& self, ScalarType dtype) {
  return dtype == ScalarType::Long && is_integral(self.scalar_type(), true) ? self : cast(self, dtype);
}

// A kernel that gives int64 for integers, its result stored in any integer dtype that was asked for.
Tensor accumulate(const Dest& dest, const char* op, const kernels::ReductionTable& kernel, const Tensor& self,
                  DimSet dims, bool keepdim, ScalarType dtype) {
  if (dtype == self.scalar_type() && is_floating_point(dtype)) [[likely]]
    return reduce(dest, op, kernel, self, dims, keepdim, dtype);
  const Tensor in = summable(self, dtype);
  if (!is_integral(dtype, true) || dtype == ScalarType::Long) return reduce(dest, op, kernel, in, dims, keepdim, dtype);
  return dest.deliver(op, cast(reduce(Dest(), op, kernel, in, dims, keepdim, ScalarType::Long), dtype));
}

Tensor sum_of(const Dest& dest, const Tensor& self, DimSet dims, bool keepdim, std::optional<ScalarType> asked) {
  auto r = recording(dest, self);
  Tensor out = accumulate(dest, "sum", kernels::sum, self, dims, keepdim, sum_dtype(dest, self, asked));
  if (r && is_differentiable(out.scalar_type())) {
    if (dims == kAllDims && !keepdim) {
      r.node("SumBackward0", out,
             [sizes = DimVector(self.sizes())](const GradIn& g, GradOut& d) { d[0] = g[0].expand(sizes); });
    } else {
      r.node("SumBackward1", out,
             [shape = Reduced(self, dims, keepdim)](const GradIn& g, GradOut& d) { d[0] = shape.expand(g[0]); });
    }
  }
  return out;
}

Tensor mean_of(const Dest& dest, const Tensor& self, DimSet dims, bool keepdim, std::optional<ScalarType> asked) {
  const ScalarType dtype = asked                                      ? *asked
                           : dest.is_out() && dest.target().defined() ? dest.target().scalar_type()
                                                                      : self.scalar_type();
  GRADUS_CHECK_AS(TypeError, is_floating_point(dtype), "mean: the result would be of type ", dtype,
                  "; expected a floating input, or a floating dtype");
  auto r = recording(dest, self);
  Tensor out = reduce(dest, "mean", kernels::mean, cast(self, dtype), dims, keepdim, dtype);
  if (r) {
    r.node(dims == kAllDims && !keepdim ? "MeanBackward0" : "MeanBackward1", out,
           [shape = Reduced(self, dims, keepdim)](const GradIn& g, GradOut& d) {
             d[0] = shape.expand(g[0].div(shape.length()));
           });
  }
  return out;
}

// Along the last dimension, the product of all elements but one, without dividing: pairs are multiplied, what is left
// out of the pairs' products is found the same way, and an element's partner joins it.
Tensor product_of_others(const Tensor& x) {
  const int64_t n = x.size(-1);
  if (n < 2) return gradus::ones_like(x);
  Tensor even = x.slice(-1, 0, std::nullopt, 2), odd = x.slice(-1, 1, std::nullopt, 2);
  if (n % 2) odd = gradus::cat({odd, gradus::ones_like(x.narrow(-1, 0, 1))}, -1);
  Tensor outside = product_of_others(even.mul(odd));
  return gradus::stack({outside.mul(odd), outside.mul(even)}, -1).flatten(-2).narrow(-1, 0, n);
}

// The result over the element, where no element is zero. A zero's partners have a gradient of zero whose own gradient
// is not: they need the products themselves.
Tensor prod_gradient(const Tensor& g, const Tensor& x, const Tensor& result, const Reduced& shape) {
  if (x.is_meta() || !x.eq(0).any().item<bool>()) return shape.expand(g.mul(result)).div(x);
  if (shape.dims == kAllDims || x.dim() == 0) return g.mul(product_of_others(x.reshape({-1})).reshape(x.sizes()));
  int64_t dim = 0;
  while (!holds(shape.dims, dim)) ++dim;
  return shape.expand(g).mul(product_of_others(x.transpose(dim, -1)).transpose(dim, -1));
}

Tensor prod_of(const Dest& dest, const Tensor& self, DimSet dims, bool keepdim, std::optional<ScalarType> asked) {
  auto r = recording(dest, self);
  const ScalarType dtype = sum_dtype(dest, self, asked);
  const Tensor in = cast(self, is_integral(dtype, true) ? self.scalar_type() : dtype);
  Tensor out = accumulate(dest, "prod", kernels::prod, in, dims, keepdim, dtype);
  if (r && is_differentiable(dtype)) {
    r.node(dims == kAllDims ? "ProdBackward0" : "ProdBackward1", out,
           [x = r.save(0), y = r.save_output(out), shape = Reduced(self, dims, keepdim)](const GradIn& g, GradOut& d) {
             d[0] = prod_gradient(g[0], d.unpack(x), d.unpack(y), shape);
           });
  }
  return out;
}

double correction_of(const std::optional<Scalar>& correction) {
  return correction ? correction->as_double() : 1;
}

// var and std. The gradient of a mean that is subtracted sums to zero and is left out.
Tensor spread_of(const Dest& dest, const char* op, bool root, const Tensor& self, DimSet dims, bool keepdim,
                 double correction) {
  GRADUS_CHECK_AS(TypeError, is_floating_point(self.scalar_type()), op, ": a tensor of type ", self.scalar_type(),
                  " was given; expected a floating one");
  auto r = recording(dest, self);
  Tensor out;
  {
    Reduce p(dest, op, self, dims, keepdim, self.scalar_type());
    kernels::var(p.device(), p.plan(), correction, root);
    out = p.finish();
  }
  if (r) {
    r.node(root ? "StdBackward0" : "VarBackward0", out,
           [x = r.save(0), y = root ? r.save_output(out) : SavedTensor(), shape = Reduced(self, dims, keepdim),
            correction, root](const GradIn& g, GradOut& d) {
             Tensor input = d.unpack(x), grad = g[0];
             if (root) {
               Tensor result = d.unpack(y);
               grad = grad.div(result.mul(2)).masked_fill(result.eq(0), 0);
             }
             DimVector over;
             for (int64_t i = 0; i < input.dim(); ++i) {
               if (holds(shape.dims, i)) over.push_back(i);
             }
             Tensor centered =
                 input.dim() == 0 ? input.sub(input.mean()) : input.sub(input.mean(IntArrayRef(over), true));
             const double divisor = static_cast<double>(shape.length()) - correction;
             d[0] = shape.expand(grad).mul(centered).mul(2 / divisor);
           });
  }
  return out;
}

Tensor truth(const Dest& dest, const char* op, const kernels::ReductionTable& kernel, const Tensor& self, DimSet dims,
             bool keepdim) {
  return reduce(dest, op, kernel, self, dims, keepdim,
                self.scalar_type() == ScalarType::Byte ? ScalarType::Byte : ScalarType::Bool);
}

// An empty list reduces nothing here, unlike for sums.
DimSet truth_dims(const char* op, OptionalIntArrayRef dim, int64_t ndim) {
  return dim.has_value() && dim->empty() ? 0 : dims_of(op, dim, ndim);
}

}  // namespace

Tensor sum(const Tensor& self, std::optional<ScalarType> dtype) {
  return sum_of(Dest(), self, kAllDims, false, dtype);
}
Tensor sum(const Dest& dest, const Tensor& self, OptionalIntArrayRef dim, bool keepdim,
           std::optional<ScalarType> dtype) {
  return sum_of(dest, self, dims_of("sum", dim, self.dim()), keepdim, dtype);
}

Tensor mean(const Dest& dest, const Tensor& self, std::optional<ScalarType> dtype) {
  return mean_of(dest, self, kAllDims, false, dtype);
}
Tensor mean(const Dest& dest, const Tensor& self, OptionalIntArrayRef dim, bool keepdim,
            std::optional<ScalarType> dtype) {
  return mean_of(dest, self, dims_of("mean", dim, self.dim()), keepdim, dtype);
}

Tensor prod(const Tensor& self, std::optional<ScalarType> dtype) {
  return prod_of(Dest(), self, kAllDims, false, dtype);
}
Tensor prod(const Dest& dest, const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype) {
  return prod_of(dest, self, dim_of("prod", dim, self.dim()), keepdim, dtype);
}

Tensor var(const Tensor& self, bool unbiased) {
  return spread_of(Dest(), "var", false, self, kAllDims, false, unbiased);
}
Tensor var(const Dest& dest, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
           bool keepdim) {
  return spread_of(dest, "var", false, self, dims_of("var", dim, self.dim()), keepdim, correction_of(correction));
}
Tensor var(const Dest& dest, const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return spread_of(dest, "var", false, self, dims_of("var", dim, self.dim()), keepdim, unbiased);
}

Tensor std(const Tensor& self, bool unbiased) {
  return spread_of(Dest(), "std", true, self, kAllDims, false, unbiased);
}
Tensor std(const Dest& dest, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
           bool keepdim) {
  return spread_of(dest, "std", true, self, dims_of("std", dim, self.dim()), keepdim, correction_of(correction));
}
Tensor std(const Dest& dest, const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return spread_of(dest, "std", true, self, dims_of("std", dim, self.dim()), keepdim, unbiased);
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased) {
  return {gradus::var(self, unbiased), gradus::mean(self)};
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, OptionalIntArrayRef dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  return {gradus::var(self, dim, correction, keepdim), gradus::mean(self, dim, keepdim)};
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return {gradus::var(self, dim, unbiased, keepdim), gradus::mean(self, dim, keepdim)};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased) {
  return {gradus::std(self, unbiased), gradus::mean(self)};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, OptionalIntArrayRef dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  return {gradus::std(self, dim, correction, keepdim), gradus::mean(self, dim, keepdim)};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return {gradus::std(self, dim, unbiased, keepdim), gradus::mean(self, dim, keepdim)};
}

Tensor any(const Dest& dest, const Tensor& self) {
  return truth(dest, "any", kernels::any, self, kAllDims, false);
}
Tensor any(const Dest& dest, const Tensor& self, int64_t dim, bool keepdim) {
  return truth(dest, "any", kernels::any, self, dim_of("any", dim, self.dim()), keepdim);
}
Tensor any(const Dest& dest, const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return truth(dest, "any", kernels::any, self, truth_dims("any", dim, self.dim()), keepdim);
}
Tensor all(const Dest& dest, const Tensor& self) {
  return truth(dest, "all", kernels::all, self, kAllDims, false);
}
Tensor all(const Dest& dest, const Tensor& self, int64_t dim, bool keepdim) {
  return truth(dest, "all", kernels::all, self, dim_of("all", dim, self.dim()), keepdim);
}
Tensor all(const Dest& dest, const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return truth(dest, "all", kernels::all, self, truth_dims("all", dim, self.dim()), keepdim);
}

Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  Tensor there = self.ne(0);
  return dim ? there.sum(IntArrayRef(*dim)) : there.sum();
}
Tensor count_nonzero(const Tensor& self, IntArrayRef dim) {
  return self.ne(0).sum(dim);
}

Tensor sum_to_size(const Tensor& self, IntArrayRef size) {
  if (size.empty()) return self.sum();
  const auto lead = self.dim() - static_cast<int64_t>(size.size());
  bool fits = lead >= 0;
  DimVector over;
  for (int64_t d = 0; fits && d < self.dim(); ++d) {
    if (d < lead) {
      over.push_back(d);
    } else if (size[static_cast<size_t>(d - lead)] != self.size(d)) {
      fits = size[static_cast<size_t>(d - lead)] == 1;
      over.push_back(d);
    }
  }
  GRADUS_CHECK(fits, "sum_to_size: shape ", self.sizes(), " was given and ", size,
               " asked for; expected one that broadcasts to the first");
  if (size.empty()) return self.sum();
  if (over.empty()) return self;
  Tensor kept = self.sum(IntArrayRef(over), true);
  return lead > 0 ? kept.reshape(size) : kept;
}

}  // namespace gradus::inline v0::ops
