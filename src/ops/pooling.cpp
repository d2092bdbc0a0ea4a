// Pooling over images.
#include <gradus/ops/ops.h>

#include <kernels/pooling.h>

#include "../autograd/recording.h"
#include "dense_result.h"
#include "kernel_view.h"
#include "ops/surface/generated/ops_nn.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

using kernels::PoolingGeometry;

void pair_of(const char* op, const char* name, IntArrayRef given, int64_t least, int64_t (&to)[2]) {
  GRADUS_CHECK_AS(ValueError, given.size() == 1 || given.size() == 2, op, ": ", name, " has ", given.size(),
                  " numbers; expected 1 or 2");
  for (size_t i = 0; i < 2; ++i) {
    to[i] = given[given.size() == 1 ? 0 : i];
    GRADUS_CHECK_AS(ValueError, to[i] >= least, op, ": ", name, " is ", given, "; expected at least ", least);
  }
}

PoolingGeometry geometry_of(const char* op, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation) {
  PoolingGeometry g;
  pair_of(op, "kernel_size", kernel, 1, g.kernel);
  pair_of(op, "stride", stride.empty() ? kernel : stride, 1, g.stride);
  pair_of(op, "padding", padding, 0, g.padding);
  pair_of(op, "dilation", dilation, 1, g.dilation);
  for (int i = 0; i < 2; ++i) {
    GRADUS_CHECK_AS(ValueError, g.padding[i] <= ((g.kernel[i] - 1) * g.dilation[i] + 1) / 2, op,
                    ": pad should be at most half of effective kernel size, but got padding ", padding,
                    " and kernel_size ", kernel);
  }
  return g;
}

// The number of windows; in ceil mode the last may hang over, but must start inside the image or its left padding.
int64_t window_count(const char* op, int64_t size, const PoolingGeometry& g, int i, bool ceil_mode) {
  const int64_t reach = g.dilation[i] * (g.kernel[i] - 1) + 1, room = size + 2 * g.padding[i] - reach;
  int64_t n = (room < 0 ? -1 : (room + (ceil_mode ? g.stride[i] - 1 : 0)) / g.stride[i]) + 1;
  if (room < 0 && ceil_mode && room + g.stride[i] - 1 >= 0) n = 1;
  if (ceil_mode && (n - 1) * g.stride[i] >= size + g.padding[i]) --n;
  GRADUS_CHECK(n >= 1, op, ": a window of ", reach, " does not fit an image of size ", size, " with padding ",
               g.padding[i], ": the output would be empty");
  return n;
}

struct Images {
  Tensor dense;  // [N, C, H, W] in one of the two layouts
  DimVector shape;
  MemoryFormat format;
};

Images images_of(const char* op, const Tensor& self, const PoolingGeometry& g, bool ceil_mode) {
  GRADUS_CHECK(self.defined(), op, ": the input is an undefined tensor; expected one with data");
  GRADUS_CHECK(self.dim() == 3 || self.dim() == 4, op, ": the input has ", self.dim(),
               " dimensions; expected (N, C, H, W) or (C, H, W)");
  for (int64_t d = self.dim() - 3; d < self.dim(); ++d) {
    GRADUS_CHECK(self.size(d) > 0, op, ": the input has shape ", self.sizes(),
                 "; expected sizes above 0 in all but the batch dimension");
  }
  Images r;
  autograd::GradModeOff off;
  Tensor four = self.dim() == 3 ? self.detach().unsqueeze(0) : self.detach();
  r.format = four.suggest_memory_format();
  r.dense = four.contiguous(r.format);
  r.shape = DimVector{four.size(0), four.size(1), window_count(op, four.size(2), g, 0, ceil_mode),
                      window_count(op, four.size(3), g, 1, ceil_mode)};
  return r;
}

Tensor like_input(const Tensor& result, const Tensor& self) {
  autograd::GradModeOff off;
  return self.dim() == 3 ? core::alias(result, result.sizes().slice(1), result.strides().slice(1), 0) : result;
}
// The reverse, dense in the format wanted.
Tensor four_dims(const Tensor& t, MemoryFormat format) {
  autograd::GradModeOff off;
  return (t.dim() == 3 ? t.detach().unsqueeze(0) : t.detach()).contiguous(format);
}

void check_type(const char* op, const Tensor& t, bool integers) {
  GRADUS_CHECK_AS(TypeError,
                  is_floating_point(t.scalar_type()) || (integers && is_integral(t.scalar_type(), false)) ||
                      t.scalar_type() == kLong,
                  op, ": the input is ", t.scalar_type(), "; expected a floating type, ",
                  integers ? "or an integer" : "or Long");
}

std::tuple<Tensor, Tensor> max_pool(const char* op, const Dest& dest, const Tensor& self, IntArrayRef kernel,
                                    IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  const PoolingGeometry g = geometry_of(op, kernel, stride, padding, dilation);
  auto r = recording(dest.is_fresh() ? Dest() : dest.part(0), self);
  const Images in = images_of(op, self, g, ceil_mode);
  check_type(op, self, true);
  const Dest dest_out = dest.part(0), dest_indices = dest.part(1);
  const bool direct = self.dim() == 4 && is_dense_target(dest_out, in.shape, self.scalar_type(), in.format, {&self}) &&
                      is_dense_target(dest_indices, in.shape, kLong, in.format, {&self});
  Tensor out = (direct ? dest_out : Dest()).result(op, in.shape, self.scalar_type(), self.device(), in.format);
  Tensor indices = (direct ? dest_indices : Dest()).result(op, in.shape, kLong, self.device(), in.format);
  if (out.numel()) kernels::max_pool2d_forward(out.device(), writable(out), writable(indices), readable(in.dense), g);
  if (!direct) {
    out = dest_out.deliver(op, like_input(out, self));
    indices = dest_indices.deliver(op, like_input(indices, self));
  }
  if (r) {
    r.node("MaxPool2DWithIndicesBackward0", out,
           [x = r.save(0), i = r.save_other(indices), k = DimVector(kernel), s = DimVector(stride),
            p = DimVector(padding), l = DimVector(dilation), ceil_mode](const GradIn& g, GradOut& d) {
             d[0] = gradus::max_pool2d_with_indices_backward(g[0], d.unpack(x), k, s, p, l, ceil_mode, d.unpack(i));
           });
  }
  return {out, indices};
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Dest& dest, const Tensor& self, IntArrayRef kernel,
                                                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                                   bool ceil_mode) {
  return max_pool("max_pool2d_with_indices", dest, self, kernel, stride, padding, dilation, ceil_mode);
}

Tensor max_pool2d(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                  bool ceil_mode) {
  return std::get<0>(max_pool("max_pool2d", Dest(), self, kernel, stride, padding, dilation, ceil_mode));
}

Tensor max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel,
                                        IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                        const Tensor& indices) {
  const char* op = "max_pool2d_with_indices_backward";
  GRADUS_CHECK(grad_output.defined() && self.defined() && indices.defined(), op,
               ": an operand is an undefined tensor; expected ones with data");
  GRADUS_CHECK(grad_output.sizes() == indices.sizes(), op, ": grad_output has shape ", grad_output.sizes(),
               " and the indices ", indices.sizes(), "; expected equal shapes");
  GRADUS_CHECK_AS(TypeError, indices.scalar_type() == kLong && grad_output.scalar_type() == self.scalar_type(), op,
                  ": indices are ", indices.scalar_type(), " and grad_output is ", grad_output.scalar_type(),
                  "; expected Long and ", self.scalar_type());
  const PoolingGeometry geometry = geometry_of(op, kernel, stride, padding, dilation);
  const Images in = images_of(op, self, geometry, ceil_mode);
  const IntArrayRef shape_of_windows = IntArrayRef(in.shape).slice(self.dim() == 3 ? 1 : 0);
  GRADUS_CHECK(grad_output.sizes() == shape_of_windows, op, ": grad_output has shape ", grad_output.sizes(),
               "; expected ", shape_of_windows, " for an image of shape ", self.sizes());
  auto r = recording(grad_output, self);
  const MemoryFormat format = self.dim() == 4 ? self.suggest_memory_format() : MemoryFormat::Contiguous;
  Tensor g = four_dims(grad_output, format), i = four_dims(indices, format);
  DimVector shape(self.sizes());
  if (self.dim() == 3) shape.insert_at(0, 1);
  Tensor out = core::empty(shape, self.scalar_type(), self.device(), format);
  if (out.numel()) {
    const kernels::BadIndex bad =
        kernels::max_pool2d_backward(out.device(), writable(out), readable(g), readable(i), geometry);
    GRADUS_CHECK_AS(IndexError, !bad.found(), op, ": index ", bad.value, " at position ", bad.position,
                    " is out of range for an image of shape ", self.sizes());
  }
  out = like_input(out, self);
  if (r) {
    r.node("MaxPool2DWithIndicesBackwardBackward0", out, [i = r.save_other(indices)](const GradIn& gg, GradOut& d) {
      if (!d.needs(0)) return;
      Tensor at = d.unpack(i);
      d[0] = gg[0].contiguous().flatten(-2).gather(-1, at.contiguous().flatten(-2)).reshape(at.sizes());
    });
  }
  return out;
}

Tensor avg_pool2d(const Dest& dest, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor) {
  const char* op = "avg_pool2d";
  static constexpr int64_t kOne[] = {1};
  const PoolingGeometry g = geometry_of(op, kernel, stride, padding, kOne);
  GRADUS_CHECK_AS(ValueError, !divisor || *divisor != 0, op, ": divisor must be not zero");
  auto r = recording(dest, self);
  const Images in = images_of(op, self, g, ceil_mode);
  check_type(op, self, false);
  const bool direct = self.dim() == 4 && is_dense_target(dest, in.shape, self.scalar_type(), in.format, {&self});
  Tensor out = (direct ? dest : Dest()).result(op, in.shape, self.scalar_type(), self.device(), in.format);
  if (out.numel())
    kernels::avg_pool2d_forward(out.device(), writable(out), readable(in.dense), g,
                                {count_include_pad, divisor.value_or(0)});
  if (!direct) out = dest.deliver(op, like_input(out, self));
  if (r) {
    r.node("AvgPool2DBackward0", out,
           [x = r.save(0), k = DimVector(kernel), s = DimVector(stride), p = DimVector(padding), ceil_mode,
            count_include_pad, divisor](const GradIn& g, GradOut& d) {
             d[0] = gradus::avg_pool2d_backward(g[0], d.unpack(x), k, s, p, ceil_mode, count_include_pad, divisor);
           });
  }
  return out;
}

Tensor avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
                           IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                           std::optional<int64_t> divisor) {
  const char* op = "avg_pool2d_backward";
  static constexpr int64_t kOne[] = {1};
  const PoolingGeometry g = geometry_of(op, kernel, stride, padding, kOne);
  GRADUS_CHECK_AS(ValueError, !divisor || *divisor != 0, op, ": divisor must be not zero");
  auto r = recording(grad_output, self);
  const Images in = images_of(op, self, g, ceil_mode);
  Tensor grad = four_dims(grad_output, in.format);
  GRADUS_CHECK(grad.sizes() == IntArrayRef(in.shape) && grad.scalar_type() == self.scalar_type(), op,
               ": grad_output has shape ", grad_output.sizes(), " and type ", grad_output.scalar_type(), "; expected ",
               IntArrayRef(in.shape), " and ", self.scalar_type());
  Tensor out = core::empty(in.dense.sizes(), self.scalar_type(), self.device(), in.format);
  if (out.numel())
    kernels::avg_pool2d_backward(out.device(), writable(out), readable(grad), g,
                                 {count_include_pad, divisor.value_or(0)});
  out = like_input(out, self);
  if (r) {
    r.node("AvgPool2DBackwardBackward0", out,
           [k = DimVector(kernel), s = DimVector(stride), p = DimVector(padding), ceil_mode, count_include_pad,
            divisor](const GradIn& gg, GradOut& d) {
             if (d.needs(0)) d[0] = gradus::avg_pool2d(gg[0], k, s, p, ceil_mode, count_include_pad, divisor);
           });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
