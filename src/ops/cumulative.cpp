// Running sums.
#include <algorithm>

#include <gradus/ops/ops.h>
#include <kernels/elementwise.h>

#include "ops/surface/generated/ops_reduction.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"
#include "reduction_plan.h"

namespace gradus::inline v0::ops {

namespace {

enum class From : bool { kFirst, kLast };

// The places of all dimensions but `dim`.
kernels::Loop places(const TensorImpl& out, const TensorImpl& in, int64_t dim) {
  kernels::Loop l;
  const auto out_item = static_cast<int64_t>(element_size(out.dtype_)),
             in_item = static_cast<int64_t>(element_size(in.dtype_));
  l.ndim = 0;
  l.numel = 1;
  for (int64_t d = in.dim() - 1; d >= 0; --d) {
    const auto i = static_cast<size_t>(d);
    if (d == dim || in.sizes()[i] == 1) continue;
    l.sizes[l.ndim] = in.sizes()[i];
    l.strides[l.ndim][0] = out.strides()[i] * out_item;
    l.strides[l.ndim][1] = in.strides()[i] * in_item;
    l.numel *= in.sizes()[i];
    ++l.ndim;
  }
  if (l.ndim == 0) {
    l.ndim = 1;
    l.sizes[0] = 1;
    l.strides[0][0] = l.strides[0][1] = 0;
  }
  l.operands = 2;
  l.contiguous = false;
  l.dtype = in.dtype_;
  l.out_dtype = out.dtype_;
  l.data[0] = static_cast<char*>(out.data_);
  l.data[1] = static_cast<char*>(in.data_);
  return l;
}

Tensor running(const Dest& dest, const Tensor& input, int64_t dim, ScalarType dtype, From from) {
  Tensor out = dest.result_like("cumsum", input, dtype);
  if (out.numel() == 0) return out;
  Tensor in =
      !dest.is_fresh() && dest.shares_memory(input) &&
              !(out.sizes() == input.sizes() && out.strides() == input.strides() && out.data_ptr() == input.data_ptr())
          ? copy_into(core::empty_like(input, input.scalar_type()), input)
          : input;
  kernels::Loop loop = places(*out.impl(), *in.impl(), dim);
  const bool scalar = in.dim() == 0;
  const int64_t n = scalar ? 1 : in.size(dim);
  int64_t out_stride = scalar ? 0 : out.stride(dim) * out.element_size(),
          in_stride = scalar ? 0 : in.stride(dim) * in.element_size();
  if (from == From::kLast) {
    loop.data[0] += (n - 1) * out_stride;
    loop.data[1] += (n - 1) * in_stride;
    out_stride = -out_stride;
    in_stride = -in_stride;
  }
  kernels::cumsum(in.device(), loop, n, out_stride, in_stride);
  return out;
}

// The gradient of a running sum is the running sum from the other end.
Tensor cumulate(const Dest& dest, const Tensor& self, int64_t dim, ScalarType dtype, From from) {
  auto r = recording(dest, self);
  const Tensor in = dtype == ScalarType::Long && is_integral(self.scalar_type(), true) ? self : cast(self, dtype);
  Tensor out;
  if (is_integral(dtype, true) && dtype != ScalarType::Long) {
    out = dest.deliver("cumsum", cast(running(Dest(), in, dim, ScalarType::Long, from), dtype));
  } else {
    out = running(dest, in, dim, dtype, from);
  }
  if (r && is_differentiable(dtype)) {
    r.node("CumsumBackward0", out, [dim, from](const GradIn& g, GradOut& d) {
      d[0] = cumulate(Dest(), g[0], dim, g[0].scalar_type(), from == From::kFirst ? From::kLast : From::kFirst);
    });
  }
  return out;
}

}  // namespace

Tensor cumsum(const Dest& dest, const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const int64_t n = std::max<int64_t>(self.dim(), 1);
  const int64_t at = dim >= 0 && dim < n ? dim : detail::wrap_dim_slow(dim, n, "cumsum");
  const ScalarType result = dtype                                      ? *dtype
                            : dest.is_inplace()                        ? self.scalar_type()
                            : dest.is_out() && dest.target().defined() ? dest.target().scalar_type()
                            : is_integral(self.scalar_type(), true)    ? ScalarType::Long
                                                                       : self.scalar_type();
  return cumulate(dest, self, at, result, From::kFirst);
}

}  // namespace gradus::inline v0::ops
