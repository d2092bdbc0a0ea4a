#include "reduction_plan.h"

#include <algorithm>

#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

void check_rank(const char* op, int64_t ndim) {
  GRADUS_CHECK(ndim <= kernels::Reduction::kMaxDims, op, ": a tensor of ", ndim,
               " dimensions was given; expected at most ", kernels::Reduction::kMaxDims);
}

struct Dim {
  int64_t size, stride, out_stride;
};

// Innermost first, those of size 1 left out, neighbours merged that both sides walk as one.
int merge(Dim* dims, int n) {
  for (int i = 1; i < n; ++i) {
    for (int j = i; j > 0 && dims[j].stride < dims[j - 1].stride; --j) std::swap(dims[j], dims[j - 1]);
  }
  int last = -1;
  for (int i = 0; i < n; ++i) {
    if (last >= 0 && dims[i].stride == dims[last].stride * dims[last].size &&
        dims[i].out_stride == dims[last].out_stride * dims[last].size) {
      dims[last].size *= dims[i].size;
    } else {
      dims[++last] = dims[i];
    }
  }
  return last + 1;
}

}  // namespace

DimSet dim_of(const char* op, int64_t dim, int64_t ndim) {
  check_rank(op, ndim);
  const int64_t n = std::max<int64_t>(ndim, 1);
  return DimSet{1} << (dim >= 0 && dim < n ? dim : detail::wrap_dim_slow(dim, n, op));
}

DimSet dims_of(const char* op, OptionalIntArrayRef dim, int64_t ndim) {
  check_rank(op, ndim);
  if (!dim.has_value() || dim->empty()) return kAllDims;
  DimSet set = 0;
  for (int64_t d : *dim) {
    const DimSet bit = dim_of(op, d, ndim);
    GRADUS_CHECK(!(set & bit), op, ": dim ", d, " appears more than once in ", *dim, "; expected each dimension once");
    set |= bit;
  }
  return set;
}

void check_not_empty(const char* op, const Tensor& self, DimSet dims) {
  if (self.numel() != 0) return;
  GRADUS_CHECK_AS(IndexError, dims != kAllDims, op, ": a tensor of shape ", self.sizes(),
                  " has no elements; expected a dim to reduce that has some");
  for (int64_t d = 0; d < self.dim(); ++d) {
    GRADUS_CHECK_AS(IndexError, !holds(dims, d) || self.size(d) != 0, op, ": dim ", d, " of a tensor of shape ",
                    self.sizes(), " has no elements; expected a dim of at least one");
  }
}

Reduce::Reduce(const Dest& dest, const char* op, const Tensor& self, DimSet dims, bool keepdim, ScalarType result) {
  GRADUS_CHECK(self.defined(), op, ": an undefined tensor was given; expected one with data");
  GRADUS_CHECK_AS(NotImplementedError, self.layout() == Layout::Strided, op, ": a tensor of layout ", self.layout(),
                  " was given; expected Strided");
  const TensorImpl& in = *self.impl();
  device_ = in.device_;
  plan_.dtype = in.dtype_;
  plan_.out_dtype = result;
  plan_.in = static_cast<const char*>(in.data_);
  if (dest.is_fresh() && dims == kAllDims && !keepdim && in.has(TensorImpl::kContiguous)) [[likely]] {
    out_ = core::empty({}, result, in.device_);
    plan_.out = static_cast<char*>(out_.impl()->data_);
    plan_.outputs = 1;
    plan_.length = in.numel_;
    plan_.reduced = 1;
    plan_.reduced_sizes[0] = in.numel_;
    plan_.reduced_strides[0] = static_cast<int64_t>(element_size(in.dtype_));
    return;
  }
  check_rank(op, in.dim());
  DimVector shape;
  for (size_t d = 0; d < in.sizes().size(); ++d) {
    if (!holds(dims, static_cast<int64_t>(d))) {
      shape.push_back(in.sizes()[d]);
    } else if (keepdim) {
      shape.push_back(1);
    }
  }
  out_ = dest.result(op, shape, result, in.device_);
  const Tensor& written =
      !dest.is_fresh() && dest.shares_memory(self) ? apart_ = core::empty(shape, result, in.device_) : out_;
  arrange(in, *written.impl(), dims, keepdim);
}

void Reduce::arrange(const TensorImpl& in, const TensorImpl& out, DimSet dims, bool keepdim) {
  Dim kept[kernels::Reduction::kMaxDims], reduced[kernels::Reduction::kMaxDims];
  int kept_count = 0, reduced_count = 0;
  const auto item = static_cast<int64_t>(element_size(in.dtype_));
  size_t out_dim = 0;
  plan_.length = 1;
  for (size_t d = 0; d < in.sizes().size(); ++d) {
    const int64_t size = in.sizes()[d], stride = in.strides()[d] * item;
    if (holds(dims, static_cast<int64_t>(d))) {
      plan_.length *= size;
      if (size != 1) reduced[reduced_count++] = {size, stride, 0};
      out_dim += keepdim;
    } else {
      if (size != 1) kept[kept_count++] = {size, stride, out.strides()[out_dim]};
      ++out_dim;
    }
  }
  plan_.kept = merge(kept, kept_count);
  plan_.reduced = merge(reduced, reduced_count);
  for (int i = 0; i < plan_.kept; ++i) {
    plan_.kept_sizes[i] = kept[i].size;
    plan_.kept_strides[i] = kept[i].stride;
    plan_.out_strides[i] = kept[i].out_stride;
  }
  for (int i = 0; i < plan_.reduced; ++i) {
    plan_.reduced_sizes[i] = reduced[i].size;
    plan_.reduced_strides[i] = reduced[i].stride;
  }
  plan_.outputs = out.numel_;
  plan_.out = static_cast<char*>(out.data_);
}

Tensor Reduce::finish() {
  if (apart_.defined()) [[unlikely]]
    copy_into(out_, apart_);
  return std::move(out_);
}

Tensor Reduced::kept(const Tensor& t) const {
  if (keepdim || sizes.empty() || !t.defined()) return t;
  Tensor r = t;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    if (holds(dims, d)) r = r.unsqueeze(d);
  }
  return r;
}

Tensor Reduced::expand(const Tensor& t) const {
  if (dims == kAllDims && !keepdim) return t.expand(sizes);
  return kept(t).expand(sizes);
}

int64_t Reduced::length() const {
  int64_t n = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (holds(dims, static_cast<int64_t>(d))) n *= sizes[d];
  }
  return n;
}

}  // namespace gradus::inline v0::ops
