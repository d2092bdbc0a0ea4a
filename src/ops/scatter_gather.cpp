// Reading and writing along one dimension: gather, scatter, index_select and their relatives.
#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_indexing.h"

#include "indexing_plan.h"
#include "scalar_range.h"

namespace gradus::inline v0::ops {

// --- whole slices ---

namespace {

kernels::IndexPlan plan_along(const Tensor& self, int64_t dim, const Tensor& index) {
  kernels::IndexPlan p;
  const auto item = static_cast<int64_t>(self.itemsize());
  p.indexed = static_cast<char*>(self.data_ptr());
  p.dtype = self.scalar_type();
  p.positions = index.numel();
  p.index_count = 1;
  p.index[0] = static_cast<const int64_t*>(index.data_ptr());
  for (int64_t d = 0; d < self.dim(); ++d) {
    const int64_t size = self.sizes()[static_cast<size_t>(d)], stride = self.strides()[static_cast<size_t>(d)] * item;
    if (d == dim) {
      p.index_size[0] = size;
      p.index_stride[0] = stride;
    } else if (d < dim) {
      p.before_size[p.before] = size;
      p.before_stride[p.before++] = stride;
    } else {
      p.after_size[p.after] = size;
      p.after_stride[p.after++] = stride;
    }
  }
  return p;
}

// `values` has the same dimensions; `one`: a single element.
void attach(kernels::IndexPlan& p, int64_t dim, const Tensor& values, bool one) {
  const auto item = static_cast<int64_t>(values.itemsize());
  p.values = static_cast<char*>(values.data_ptr());
  auto stride = [&](int64_t d) { return one ? 0 : values.strides()[static_cast<size_t>(d)] * item; };
  for (int d = 0; d < p.before; ++d) p.before_values_stride[d] = stride(d);
  p.values_position_stride = stride(dim);
  for (int d = 0; d < p.after; ++d) p.after_values_stride[d] = stride(dim + 1 + d);
}

void check(const char* op, int64_t dim, const kernels::IndexPlan& p, const kernels::BadPosition& b) {
  GRADUS_CHECK_AS(IndexError, !b.bad.found(), op, ": index ", b.bad.value, " at position ", b.bad.position,
                  " is out of bounds for dimension ", dim, " with size ", p.index_size[0]);
}

// The dimension, wrapped, and the index, a vector, dense.
Tensor index_vector(const char* op, const Tensor& self, int64_t& dim, const Tensor& index) {
  dim = wrap_dim(dim, defined(self, op).dim(), op);
  defined(index, op);
  check_devices(op, self, index);
  GRADUS_CHECK_AS(IndexError, index.dim() <= 1, op, ": index is supposed to be a vector; got one of shape ",
                  index.sizes());
  return dense_index(op, index);
}

}  // namespace

void get_along(const char* op, const Tensor& out, const Tensor& self, int64_t dim, const Tensor& index) {
  const Tensor from = at_least_1d(self);
  kernels::IndexPlan p = plan_along(from, dim, index);
  p.negative_allowed = false;
  attach(p, dim, at_least_1d(out), false);
  const kernels::OperationName name(op);
  check(op, dim, p, kernels::index_get(self.device(), p));
}

void put_along(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               bool accumulate, bool negative_allowed) {
  const Tensor to = at_least_1d(self);
  kernels::IndexPlan p = plan_along(to, dim, index);
  p.negative_allowed = negative_allowed;
  Tensor from = source.is_alias_of(self) ? raw_copy(source) : source;
  const bool one = source.numel() == 1;
  if (!one) from = at_least_1d(from);
  attach(p, dim, from, one);
  const kernels::OperationName name(op);
  check(op, dim, p, kernels::index_put(self.device(), p, accumulate));
}

Tensor index_select(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index) {
  const char* op = "index_select";
  auto r = recording(dest, self);
  const Tensor where = index_vector(op, self, dim, index);
  DimVector sizes(self.sizes());
  if (!sizes.empty()) {
    sizes[static_cast<size_t>(dim)] = where.numel();
  } else {
    GRADUS_CHECK(where.numel() == 1, op, ": an index of ", where.numel(),
                 " elements was given for a 0-dim tensor; expected one element");
  }
  refuse_overlap(dest, op, {&self, &index});
  Tensor out = dest.result(op, sizes, self.scalar_type(), self.device());
  get_along(op, out, self, dim, where);
  if (r) {
    r.node("IndexSelectBackward0", out,
           [i = r.save_other(index), dim, sizes = DimVector(self.sizes())](const GradIn& g, GradOut& d) {
             d[0] = g[0].new_zeros(sizes).index_add_(dim, d.unpack(i), g[0]);
           });
  }
  return out;
}

namespace {

// The source of index_add and index_copy: self's shape but for the indexed dimension.
void check_source(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  defined(source, op);
  check_devices(op, self, source);
  GRADUS_CHECK_AS(TypeError, self.scalar_type() == source.scalar_type(), op, ": self is ", self.dtype(), " and source ",
                  source.dtype(), "; expected the same dtype");
  DimVector expected(self.sizes());
  if (!expected.empty()) expected[static_cast<size_t>(dim)] = index.numel();
  const bool numbers =
      source.numel() == 1 && index.numel() == 1 && (self.dim() == 0 || source.dim() == 0) && self.dim() <= 1;
  GRADUS_CHECK(numbers || source.sizes() == IntArrayRef(expected), op, ": source has shape ", source.sizes(),
               "; expected ", IntArrayRef(expected), " for a tensor of shape ", self.sizes(), " and ", index.numel(),
               " indices along dimension ", dim);
}

}  // namespace

Tensor index_add(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha) {
  const char* op = dest.is_inplace() ? "index_add_" : "index_add";
  auto r = recording(dest, self, source);
  const Tensor where = index_vector(op, self, dim, index);
  check_source(op, self, dim, where, source);
  const Tensor from =
      source.is_alias_of(dest.is_fresh() ? self : dest.target()) && !dest.is_fresh() ? raw_copy(source) : source;
  Tensor scaled = from;
  if (!alpha.equal(1)) {
    autograd::GradModeOff off;
    scaled = from.mul(alpha);
  }
  Tensor out = written_copy(dest, op, self);
  if (where.numel()) put_along(op, out, dim, where, scaled, true);
  if (r) {
    r.node("IndexAddBackward0", out,
           [i = r.save_other(index), dim, alpha, sizes = DimVector(source.sizes())](const GradIn& g, GradOut& d) {
             d[0] = g[0];
             if (!d.needs(1)) return;
             Tensor picked = g[0].index_select(dim, d.unpack(i)).reshape(sizes);
             d[1] = alpha.equal(1) ? picked : picked.mul(alpha);
           });
  }
  return out;
}

Tensor index_copy(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const char* op = dest.is_inplace() ? "index_copy_" : "index_copy";
  auto r = recording(dest, self, source);
  const Tensor where = index_vector(op, self, dim, index);
  check_source(op, self, dim, where, source);
  const Tensor from = !dest.is_fresh() && source.is_alias_of(dest.target()) ? raw_copy(source) : source;
  Tensor out = written_copy(dest, op, self);
  if (where.numel()) put_along(op, out, dim, where, from, false);
  if (r) {
    r.node("IndexCopyBackward0", out,
           [i = r.save_other(index), dim, sizes = DimVector(source.sizes())](const GradIn& g, GradOut& d) {
             const Tensor where = d.unpack(i);
             if (d.needs(0)) d[0] = g[0].index_fill(dim, where, 0);
             if (d.needs(1)) d[1] = g[0].index_select(dim, where).reshape(sizes);
           });
  }
  return out;
}

namespace {
Tensor fill_along(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  const char* op = dest.is_inplace() ? "index_fill_" : "index_fill";
  const Tensor where = index_vector(op, self, dim, index);
  const Tensor one = cast(number_beside(self, value), self.scalar_type());
  check_devices(op, self, one);
  Tensor out = written_copy(dest, op, self);
  if (where.numel()) put_along(op, out, dim, where, one, false, true);
  return out;
}
}  // namespace

Tensor index_fill(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  auto r = recording(dest, self);
  check_storable("index_fill", value, defined(self, "index_fill").dtype_);
  Tensor out = fill_along(dest, self, dim, index, core::scalar_tensor(value, self.scalar_type(), self.device(), false));
  if (r) {
    r.node("IndexFillBackward0", out, [i = r.save_other(index), dim](const GradIn& g, GradOut& d) {
      d[0] = g[0].index_fill(dim, d.unpack(i), 0);
    });
  }
  return out;
}

Tensor index_fill(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  auto r = recording(dest, self, value);
  defined(self, "index_fill");
  GRADUS_CHECK(defined(value, "index_fill").dim() == 0, "index_fill: the value has ", value.dim(),
               " dimensions; expected a 0-dim tensor");
  Tensor out = fill_along(dest, self, dim, index, value);
  if (r) {
    r.node("IndexFillBackward1", out, [i = r.save_other(index), dim](const GradIn& g, GradOut& d) {
      const Tensor where = d.unpack(i);
      if (d.needs(0)) d[0] = g[0].index_fill(dim, where, 0);
      if (d.needs(1))
        d[1] = g[0].index_select(dim, where.remainder(std::max<int64_t>(1, g[0].dim() ? g[0].size(dim) : 1))).sum();
    });
  }
  return out;
}

// --- element by element ---

namespace {

// The dimension, wrapped, and the index, of as many dimensions as self and no larger but along `dim`.
Tensor line_index(const char* op, const Tensor& self, int64_t& dim, const Tensor& index, bool reads) {
  dim = wrap_dim(dim, defined(self, op).dim(), op);
  defined(index, op);
  check_devices(op, self, index);
  const bool integers = index.scalar_type() == kLong || index.scalar_type() == kInt || index.scalar_type() == kByte;
  GRADUS_CHECK(integers, op, ": expected dtype int64 for index; got ", index.dtype());
  if (index.numel() == 0)
    return index.scalar_type() == kLong ? index : copy_into(core::empty(index.sizes(), kLong, index.device()), index);
  const Tensor s = at_least_1d(self), i = at_least_1d(index);
  GRADUS_CHECK(s.dim() == i.dim(), op, ": index tensor must have the same number of dimensions as ",
               reads ? "input" : "self", " tensor: index has shape ", index.sizes(), ", self ", self.sizes());
  for (int64_t d = 0; d < s.dim(); ++d) {
    GRADUS_CHECK(d == dim || i.size(d) <= s.size(d), op, ": size does not match at dimension ", d, ": expected index ",
                 index.sizes(), " to be no larger than self ", self.sizes(), " apart from dimension ", dim);
  }
  return index.scalar_type() == kLong ? index : copy_into(core::empty(index.sizes(), kLong, index.device()), index);
}

void check(const char* op, int64_t dim, const Tensor& self, const kernels::BadIndex& bad) {
  GRADUS_CHECK_AS(IndexError, !bad.found(), op, ": index ", bad.value, " at position ", bad.position,
                  " is out of bounds for dimension ", dim, " with size ", self.dim() ? self.size(dim) : 1);
}

struct Scattered {
  const char* op;
  int64_t dim;
  kernels::Scatter how;
};

Tensor scatter_into(const Dest& dest, Scattered s, const Tensor& self, const Tensor& index, const Tensor& src) {
  const Tensor where = line_index(s.op, self, s.dim, index, false);
  check_devices(s.op, self, src);
  const bool one = src.dim() == 0 && index.dim() != 0;
  GRADUS_CHECK(self.scalar_type() == src.scalar_type(), s.op, ": expected self.dtype to be equal to src.dtype; got ",
               self.dtype(), " and ", src.dtype());
  const Tensor i = at_least_1d(where);
  if (!one && where.numel()) {
    const Tensor v = at_least_1d(src);
    GRADUS_CHECK(v.dim() == i.dim(), s.op,
                 ": index tensor must have the same number of dimensions as src tensor: index has shape ",
                 index.sizes(), ", src ", src.sizes());
    for (int64_t d = 0; d < i.dim(); ++d) {
      GRADUS_CHECK(i.size(d) <= v.size(d), s.op, ": expected index ", index.sizes(), " to be no larger than src ",
                   src.sizes(), " in every dimension");
    }
  }
  const Tensor* target = dest.is_fresh() ? nullptr : &dest.target();
  Tensor from = target && src.is_alias_of(*target) ? raw_copy(src) : src;
  Tensor places = target && i.is_alias_of(*target) ? raw_copy(i) : i;
  Tensor out = written_copy(dest, s.op, self);
  if (where.numel() == 0) return out;
  from = one ? core::alias(from, i.sizes(), DimVector(i.sizes().size(), 0), from.storage_offset()) : at_least_1d(from);
  const kernels::OperationName name(s.op);
  check(s.op, s.dim, self,
        kernels::scatter(out.device(), writable(at_least_1d(out)), readable(places), readable(from),
                         static_cast<int>(s.dim), s.how));
  return out;
}

// The gradient of a src that may be larger than the index: nothing for what was not used.
Tensor gradient_of_src(const Tensor& g, int64_t dim, const Tensor& index, IntArrayRef sizes) {
  Tensor picked = g.gather(dim, index);
  if (picked.sizes() == sizes) return picked;
  Tensor whole = g.new_zeros(sizes), part = whole;
  if (picked.numel() == 0) return whole;
  for (int64_t d = 0; d < picked.dim(); ++d) part = part.narrow(d, 0, picked.size(d));
  part.copy_(picked);
  return whole;
}

kernels::Scatter reduction_of(const char* op, std::string_view reduce) {
  if (reduce == "add") return kernels::Scatter::kAdd;
  GRADUS_CHECK(reduce == "multiply", op, ": reduce is \"", reduce, "\"; expected \"add\" or \"multiply\"");
  return kernels::Scatter::kMultiply;
}

}  // namespace

Tensor gather(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad) {
  const char* op = "gather";
  auto r = recording(dest, self);
  GRADUS_CHECK_AS(NotImplementedError, !sparse_grad,
                  "gather: sparse gradients are not supported yet; pass sparse_grad=false");
  const Tensor where = line_index(op, self, dim, index, true);
  refuse_overlap(dest, op, {&self, &index});
  Tensor out = dest.result(op, index.sizes(), self.scalar_type(), self.device());
  refuse_overlap(dest, op, {&self, &index});  // as it is after a resize
  if (where.numel()) {
    check(op, dim, self,
          kernels::gather(self.device(), writable(at_least_1d(out)), readable(at_least_1d(self)),
                          readable(at_least_1d(where)), static_cast<int>(dim)));
  }
  if (r) {
    r.node("GatherBackward0", out,
           [i = r.save_other(index), dim, sizes = DimVector(self.sizes())](const GradIn& g, GradOut& d) {
             d[0] = g[0].new_zeros(sizes).scatter_add_(dim, d.unpack(i), g[0]);
           });
  }
  return out;
}

Tensor scatter_add(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const char* op = dest.is_inplace() ? "scatter_add_" : "scatter_add";
  auto r = recording(dest, self, src);
  defined(src, op);
  Tensor out = scatter_into(dest, {op, dim, kernels::Scatter::kAdd}, self, index, src);
  if (r) {
    r.node("ScatterAddBackward0", out,
           [i = r.save_other(index), dim, sizes = DimVector(src.sizes())](const GradIn& g, GradOut& d) {
             d[0] = g[0];
             if (d.needs(1)) d[1] = gradient_of_src(g[0], dim, d.unpack(i), sizes);
           });
  }
  return out;
}

Tensor scatter(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const char* op = dest.is_inplace() ? "scatter_" : "scatter";
  auto r = recording(dest, self, src);
  defined(src, op);
  Tensor out = scatter_into(dest, {op, dim, kernels::Scatter::kAssign}, self, index, src);
  if (r) {
    r.node("ScatterBackward0", out,
           [i = r.save_other(index), dim, sizes = DimVector(src.sizes())](const GradIn& g, GradOut& d) {
             const Tensor where = d.unpack(i);
             if (d.needs(0)) d[0] = g[0].scatter(dim, where, 0);
             if (d.needs(1)) d[1] = gradient_of_src(g[0], dim, where, sizes);
           });
  }
  return out;
}

Tensor scatter(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  const char* op = dest.is_inplace() ? "scatter_" : "scatter";
  auto r = recording(dest, self);
  check_storable(op, value, defined(self, op).dtype_);
  Tensor out = scatter_into(dest, {op, dim, kernels::Scatter::kAssign}, self, index,
                            core::scalar_tensor(value, self.scalar_type(), self.device(), false));
  if (r) {
    r.node("ScatterBackward1", out,
           [i = r.save_other(index), dim](const GradIn& g, GradOut& d) { d[0] = g[0].scatter(dim, d.unpack(i), 0); });
  }
  return out;
}

Tensor scatter(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
               std::string_view reduce) {
  const char* op = dest.is_inplace() ? "scatter_" : "scatter";
  auto r = recording(dest, self, src);
  defined(src, op);
  const kernels::Scatter how = reduction_of(op, reduce);
  Tensor out = scatter_into(dest, {op, dim, how}, self, index, src);
  if (r) {
    r.node("ScatterBackward2", out,
           [i = r.save_other(index), dim, how, sizes = DimVector(src.sizes())](const GradIn& g, GradOut& d) {
             GRADUS_CHECK_AS(NotImplementedError, how == kernels::Scatter::kAdd,
                             "scatter: multiplying by a tensor has no gradient; gather, multiply and scatter instead");
             d[0] = g[0];
             if (d.needs(1)) d[1] = gradient_of_src(g[0], dim, d.unpack(i), sizes);
           });
  }
  return out;
}

Tensor scatter(const Dest& dest, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
               std::string_view reduce) {
  const char* op = dest.is_inplace() ? "scatter_" : "scatter";
  auto r = recording(dest, self);
  check_storable(op, value, defined(self, op).dtype_);
  const kernels::Scatter how = reduction_of(op, reduce);
  Tensor out = scatter_into(dest, {op, dim, how}, self, index,
                            core::scalar_tensor(value, self.scalar_type(), self.device(), false));
  if (r) {
    r.node("ScatterBackward3", out, [i = r.save_other(index), dim, how, value](const GradIn& g, GradOut& d) {
      d[0] = how == kernels::Scatter::kAdd ? g[0] : g[0].scatter(dim, d.unpack(i), value, "multiply");
    });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
