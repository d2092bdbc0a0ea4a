// Largest and smallest elements, over all or over dimensions, with or without their places.
#include <algorithm>

#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_reduction.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"
#include "reduction_plan.h"

namespace gradus::inline v0::ops {

namespace {

const kernels::ReductionTable& largest = kernels::amax;
const kernels::ReductionTable& smallest = kernels::amin;

// All that are equal to the result share its gradient.
Tensor shared(const Tensor& g, const Tensor& x, const Tensor& result, const Reduced& shape) {
  Tensor value = shape.kept(result);
  Tensor mask = x.eq(value).logical_or(x.isnan().logical_and(value.isnan()));
  DimVector over;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (holds(shape.dims, d)) over.push_back(d);
  }
  Tensor count = over.empty() ? mask.to(x.scalar_type()) : mask.sum(IntArrayRef(over), true);
  return gradus::where(mask, shape.kept(g).div(count), 0);
}

Tensor extreme(const Dest& dest, const char* op, const char* node, const kernels::ReductionTable& kernel,
               const Tensor& self, DimSet dims, bool keepdim) {
  check_not_empty(op, self, dims);
  auto r = recording(dest, self);
  Tensor out;
  {
    Reduce p(dest, op, self, dims, keepdim, self.scalar_type());
    kernel(p.device(), p.plan());
    out = p.finish();
  }
  if (r) {
    r.node(node, out,
           [x = r.save(0), y = r.save_output(out), shape = Reduced(self, dims, keepdim)](const GradIn& g, GradOut& d) {
             d[0] = shared(g[0], d.unpack(x), d.unpack(y), shape);
           });
  }
  return out;
}

struct Found {
  Tensor values, indices;
};
// Both fresh and laid out alike.
Found find(const char* op, const kernels::ReductionTable& kernel, const Tensor& self, DimSet dims, bool keepdim) {
  check_not_empty(op, self, dims);
  Reduce p(Dest(), op, self, dims, keepdim, self.scalar_type());
  kernel(p.device(), p.plan());
  Found f;
  const kernels::Reduction& plan = p.plan();
  f.values = p.finish();
  f.indices = core::empty(f.values.sizes(), ScalarType::Long, self.device());
  kernels::index_of(p.device(), plan, static_cast<int64_t*>(f.indices.data_ptr()));
  return f;
}

std::tuple<Tensor, Tensor> with_places(const Dest& dest, const char* op, const char* node,
                                       const kernels::ReductionTable& kernel, const Tensor& self, int64_t dim,
                                       bool keepdim) {
  auto r = recording(dest, self);
  const DimSet dims = dim_of(op, dim, self.dim());
  const int64_t at = dim < 0 ? dim + std::max<int64_t>(self.dim(), 1) : dim;
  Found f = find(op, kernel, self, dims, keepdim);
  Tensor values = dest.part(0).deliver(op, std::move(f.values));
  Tensor indices = dest.part(1).deliver(op, std::move(f.indices));
  if (r) {
    r.node(node, {&values, &indices},
           [i = r.save_other(indices), at, sizes = DimVector(self.sizes()), keepdim](const GradIn& g, GradOut& d) {
             if (g.defined(0)) d[0] = gradus::value_selecting_reduction_backward(g[0], at, d.unpack(i), sizes, keepdim);
           });
  }
  return {values, indices};
}

Tensor place(const Dest& dest, const char* op, const kernels::ReductionTable& kernel, const Tensor& self,
             std::optional<int64_t> dim, bool keepdim) {
  Tensor indices;
  if (dim) {
    indices = find(op, kernel, self, dim_of(op, *dim, self.dim()), keepdim).indices;
  } else {
    // The place in the flattened tensor: of one dense row.
    const Tensor dense =
        self.is_contiguous() ? self : copy_into(core::empty(self.sizes(), self.scalar_type(), self.device()), self);
    indices = find(op, kernel, dense, kAllDims, false).indices;
    if (keepdim) indices = indices.reshape(DimVector(static_cast<size_t>(self.dim()), 1));
  }
  return dest.deliver(op, std::move(indices));
}

}  // namespace

Tensor amax(const Dest& dest, const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extreme(dest, "amax", "AmaxBackward0", largest, self, dims_of("amax", dim, self.dim()), keepdim);
}
Tensor amin(const Dest& dest, const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extreme(dest, "amin", "AminBackward0", smallest, self, dims_of("amin", dim, self.dim()), keepdim);
}
Tensor max(const Dest& dest, const Tensor& self) {
  return extreme(dest, "max", "MaxBackward1", largest, self, kAllDims, false);
}
Tensor min(const Dest& dest, const Tensor& self) {
  return extreme(dest, "min", "MinBackward1", smallest, self, kAllDims, false);
}

std::tuple<Tensor, Tensor> max(const Dest& dest, const Tensor& self, int64_t dim, bool keepdim) {
  return with_places(dest, "max", "MaxBackward0", largest, self, dim, keepdim);
}
std::tuple<Tensor, Tensor> min(const Dest& dest, const Tensor& self, int64_t dim, bool keepdim) {
  return with_places(dest, "min", "MinBackward0", smallest, self, dim, keepdim);
}

Tensor argmax(const Dest& dest, const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place(dest, "argmax", largest, self, dim, keepdim);
}
Tensor argmin(const Dest& dest, const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return place(dest, "argmin", smallest, self, dim, keepdim);
}

Tensor value_selecting_reduction_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntArrayRef sizes,
                                          bool keepdim) {
  Tensor zeros = gradus::zeros(sizes, grad.options());
  if (keepdim || sizes.empty()) return zeros.scatter_add(dim, indices, grad);
  return zeros.scatter_add(dim, indices.unsqueeze(dim), grad.unsqueeze(dim));
}

}  // namespace gradus::inline v0::ops
