// Convolutions.
#include <gradus/ops/ops.h>

#include <kernels/convolution.h>

#include "../autograd/recording.h"
#include "kernel_view.h"
#include "ops/surface/generated/ops_nn.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

struct ConvPlan {
  kernels::ConvolutionGeometry geometry;
  DimVector stride, padding, dilation, output_padding;
  int64_t spatial = 0;
};

// One number stands for all dimensions.
DimVector spread(const char* op, const char* name, IntArrayRef given, int64_t n, int64_t least) {
  GRADUS_CHECK_AS(ValueError, given.size() == 1 || static_cast<int64_t>(given.size()) == n, op, ": ", name, " has ",
                  given.size(), " numbers; expected 1 or ", n);
  DimVector r;
  for (int64_t i = 0; i < n; ++i) {
    r.push_back(given[given.size() == 1 ? 0 : static_cast<size_t>(i)]);
    GRADUS_CHECK_AS(ValueError, r.back() >= least, op, ": ", name, " is ", given, "; expected at least ", least);
  }
  return r;
}

ConvPlan make_plan(const char* op, const Tensor& weight, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                   IntArrayRef output_padding, int64_t groups) {
  ConvPlan p;
  p.spatial = weight.dim() - 2;
  GRADUS_CHECK(p.spatial >= 1 && p.spatial <= 3, op, ": the weight has ", weight.dim(), " dimensions; expected 3 to 5");
  p.stride = spread(op, "stride", stride, p.spatial, 1);
  p.padding = spread(op, "padding", padding, p.spatial, 0);
  p.dilation = spread(op, "dilation", dilation, p.spatial, 1);
  p.output_padding = spread(op, "output_padding", output_padding, p.spatial, 0);
  GRADUS_CHECK_AS(ValueError, groups >= 1, op, ": groups is ", groups, "; expected at least 1");
  for (int64_t i = 0; i < p.spatial; ++i) {
    const auto at = static_cast<size_t>(i);
    p.geometry.stride[i] = p.stride[at];
    p.geometry.padding[i] = p.padding[at];
    p.geometry.dilation[i] = p.dilation[at];
  }
  p.geometry.groups = groups;
  return p;
}

void check_types(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  GRADUS_CHECK(input.defined() && weight.defined(), op,
               ": input or weight is an undefined tensor; expected ones with data");
  GRADUS_CHECK_AS(TypeError,
                  (is_floating_point(input.scalar_type()) || input.scalar_type() == kLong) &&
                      input.scalar_type() == weight.scalar_type() &&
                      (!bias.defined() || bias.scalar_type() == input.scalar_type()),
                  op, ": input is ", input.scalar_type(), " and weight is ", weight.scalar_type(),
                  "; expected one floating type, or Long, for input, weight and bias");
  GRADUS_CHECK(input.device() == weight.device(), op, ": input on ", input.device(), " and weight on ", weight.device(),
               " were given");
}

// The output's shape. For a transposed convolution the weight is (in, out / groups, ...).
DimVector output_shape(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvPlan& p,
                       bool transposed) {
  const int64_t groups = p.geometry.groups, in = input.size(1);
  GRADUS_CHECK(input.dim() == weight.dim(), op, ": input of ", input.dim(), " and weight of ", weight.dim(),
               " dimensions were given; expected as many, or one "
               "less for a single sample");
  const int64_t wanted = transposed ? weight.size(0) : weight.size(1) * groups;
  const int64_t out = transposed ? weight.size(1) * groups : weight.size(0);
  GRADUS_CHECK(in == wanted, op, ": weight of shape ", weight.sizes(), " with groups ", groups, " expects ", wanted,
               " input channels; the input of shape ", input.sizes(), " has ", in);
  GRADUS_CHECK((transposed ? weight.size(0) : out) % groups == 0, op, ": ", transposed ? weight.size(0) : out,
               " channels are not a multiple of groups ", groups);
  GRADUS_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == out), op, ": bias of shape ",
               bias.defined() ? bias.sizes() : IntArrayRef(), " was given for ", out, " output channels");
  DimVector shape{input.size(0), out};
  for (int64_t i = 0; i < p.spatial; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t size = input.size(2 + i), kernel = weight.size(2 + i), reach = p.dilation[at] * (kernel - 1) + 1;
    GRADUS_CHECK(kernel > 0, op, ": the kernel of shape ", weight.sizes(), " has a size of 0; expected at least 1");
    int64_t o;
    if (transposed) {
      GRADUS_CHECK(p.output_padding[at] < std::max(p.stride[at], p.dilation[at]), op, ": output_padding ",
                   p.output_padding[at], " must be smaller than stride or dilation");
      o = (size - 1) * p.stride[at] - 2 * p.padding[at] + reach + p.output_padding[at];
      GRADUS_CHECK(o >= 0, op, ": the output's size would be ", o, " for an input of shape ", input.sizes());
    } else {
      const int64_t padded = size + 2 * p.padding[at];
      GRADUS_CHECK(padded >= reach, op, ": the padded input size ", padded, " at dim ", 2 + i,
                   " is smaller than the kernel's ", reach);
      o = (padded - reach) / p.stride[at] + 1;
    }
    shape.push_back(o);
  }
  return shape;
}

kernels::PackedSlot slot_of(const Tensor& weight) {
  StorageImpl* s = weight.impl()->storage_;
  if (!s) return {};
  return {&s->cache, &s->cache_deleter, s->version.load(std::memory_order_relaxed), weight.storage_offset()};
}

MemoryFormat image_format(const Tensor& input, const Tensor& weight) {
  const MemoryFormat f = input.suggest_memory_format();
  return f != MemoryFormat::Contiguous ? f
         : input.dim() == 4            ? weight.suggest_memory_format()
                                       : MemoryFormat::Contiguous;
}

Tensor forward_only(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvPlan& p,
                    const DimVector& shape, bool transposed) {
  Tensor out = core::empty(shape, input.scalar_type(), input.device(), image_format(input, weight));
  if (out.numel() == 0) return out;
  if (input.numel() == 0 || weight.numel() == 0) {
    out.zero_();
    if (bias.defined()) {
      DimVector column(shape.size(), 1);
      column[1] = bias.size(0);
      copy_into(out, bias.detach().reshape(column));
    }
    return out;
  }
  if (transposed) {
    // The gradient of a convolution whose weight this is.
    kernels::convolution_backward_input(out.device(), writable(out), readable(input), readable(weight), p.geometry,
                                        slot_of(weight));
    if (bias.defined()) {
      DimVector column(shape.size(), 1);
      column[1] = bias.size(0);
      out.add_(bias.detach().reshape(column));
    }
    return out;
  }
  kernels::convolution_forward(out.device(), writable(out), readable(input), readable(weight), readable(bias),
                               p.geometry, slot_of(weight));
  return out;
}

}  // namespace

namespace {

Tensor convolve(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                int64_t groups) {
  check_types(op, input, weight, bias);
  const ConvPlan p = make_plan(op, weight, stride, padding, dilation, output_padding, groups);
  const DimVector shape = output_shape(op, input, weight, bias, p, transposed);
  auto r = recording(input, weight, bias);
  Tensor out;
  {
    autograd::GradModeOff off;
    out = forward_only(input, weight, bias, p, shape, transposed);
  }
  if (r) {
    const bool has_bias = bias.defined();
    const int64_t channels = shape[1];
    r.node("ConvolutionBackward0", out,
           [x = r.save(0), w = r.save(1), p, transposed, groups, has_bias, channels](const GradIn& g, GradOut& d) {
             const int64_t bias_size[] = {channels};
             auto [gx, gw, gb] = gradus::convolution_backward(
                 g[0], d.unpack(x), d.unpack(w),
                 has_bias ? OptionalIntArrayRef(IntArrayRef(bias_size)) : OptionalIntArrayRef(), p.stride, p.padding,
                 p.dilation, transposed, p.output_padding, groups, {d.needs(0), d.needs(1), d.needs(2)});
             if (d.needs(0)) d[0] = gx;
             if (d.needs(1)) d[1] = gw;
             if (d.needs(2)) d[2] = gb;
           });
  }
  return out;
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   int64_t groups) {
  return convolve("convolution", input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

namespace {

// Written with forward convolutions and these same gradients, so that it can be differentiated as often as wanted.
struct ConvBackwardInputs {
  const ConvPlan& p;
  bool transposed;
  Tensor run(const Tensor& x, const Tensor& w) const {
    return gradus::convolution(x, w, std::nullopt, p.stride, p.padding, p.dilation, transposed, p.output_padding,
                               p.geometry.groups);
  }
  std::tuple<Tensor, Tensor, Tensor> back(const Tensor& g, const Tensor& x, const Tensor& w,
                                          std::array<bool, 3> mask) const {
    return gradus::convolution_backward(g, x, w, std::nullopt, p.stride, p.padding, p.dilation, transposed,
                                        p.output_padding, p.geometry.groups, mask);
  }
};

void accumulate(Tensor& sum, const Tensor& t) {
  sum = sum.defined() ? sum.add(t) : t;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output, const Tensor& input,
                                                        const Tensor& weight, OptionalIntArrayRef, IntArrayRef stride,
                                                        IntArrayRef padding, IntArrayRef dilation, bool transposed,
                                                        IntArrayRef output_padding, int64_t groups,
                                                        std::array<bool, 3> mask) {
  check_types("convolution_backward", input, weight, Tensor());
  GRADUS_CHECK_AS(TypeError, is_floating_point(input.scalar_type()), "convolution_backward: input is ",
                  input.scalar_type(), "; expected a floating type: integers have no gradient");
  const ConvPlan p = make_plan("convolution_backward", weight, stride, padding, dilation, output_padding, groups);
  const DimVector shape = output_shape("convolution_backward", input, weight, Tensor(), p, transposed);
  GRADUS_CHECK(
      grad_output.defined() && grad_output.sizes() == IntArrayRef(shape), "convolution_backward: grad_output of shape ",
      grad_output.defined() ? grad_output.sizes() : IntArrayRef(), " was given; expected ", IntArrayRef(shape));
  GRADUS_CHECK_AS(TypeError, grad_output.scalar_type() == input.scalar_type(), "convolution_backward: grad_output is ",
                  grad_output.scalar_type(), "; expected ", input.scalar_type());
  auto r = recording(grad_output, input, weight);
  Tensor gx, gw, gb;
  {
    autograd::GradModeOff off;
    const bool nothing = grad_output.numel() == 0 || input.numel() == 0 || weight.numel() == 0;
    if (mask[0]) {
      gx = core::empty(input.sizes(), input.scalar_type(), input.device(), image_format(input, weight));
      if (nothing) {
        gx.zero_();
      } else if (transposed) {
        kernels::convolution_forward(gx.device(), writable(gx), readable(grad_output), readable(weight),
                                     readable(Tensor()), p.geometry, slot_of(weight));
      } else {
        kernels::convolution_backward_input(gx.device(), writable(gx), readable(grad_output), readable(weight),
                                            p.geometry, slot_of(weight));
      }
    }
    if (mask[2]) gb = core::empty({grad_output.size(1)}, input.scalar_type(), input.device());
    bool bias_done = false;
    if (mask[1]) {
      gw = core::empty(weight.sizes(), weight.scalar_type(), weight.device(), weight.suggest_memory_format());
      if (nothing) {
        gw.zero_();
      } else if (transposed) {
        // Input and gradient change places.
        kernels::convolution_backward_weight(gw.device(), writable(gw), kernels::View{}, readable(input),
                                             readable(grad_output), p.geometry);
      } else {
        kernels::convolution_backward_weight(gw.device(), writable(gw), mask[2] ? writable(gb) : kernels::View{},
                                             readable(grad_output), readable(input), p.geometry);
        bias_done = mask[2];
      }
    }
    if (mask[2] && !bias_done) {
      DimVector dims{0};
      for (int64_t i = 0; i < p.spatial; ++i) dims.push_back(2 + i);
      gb.copy_(grad_output.sum(IntArrayRef(dims)));
    }
  }
  if (r) {
    r.node(
        "ConvolutionBackwardBackward0", {&gx, &gw, &gb},
        [g_saved = r.save(0), x_saved = r.save(1), w_saved = r.save(2), p, transposed](const GradIn& gg, GradOut& d) {
          const Tensor g = d.unpack(g_saved), x = d.unpack(x_saved), w = d.unpack(w_saved);
          const ConvBackwardInputs conv{p, transposed};
          if (d.needs(0)) {
            Tensor sum;
            if (gg.defined(0)) accumulate(sum, conv.run(gg[0], w));
            if (gg.defined(1)) accumulate(sum, conv.run(x, gg[1]));
            if (gg.defined(2)) {
              DimVector column(static_cast<size_t>(g.dim()), 1);
              column[1] = g.size(1);
              accumulate(sum, gg[2].reshape(column).expand(g.sizes()));
            }
            d[0] = sum;
          }
          if (d.needs(1) && gg.defined(1)) d[1] = std::get<0>(conv.back(g, x, gg[1], {true, false, false}));
          if (d.needs(2) && gg.defined(0)) d[2] = std::get<1>(conv.back(g, gg[0], w, {false, true, false}));
        });
  }
  return {gx, gw, gb};
}

namespace {

Tensor conv2d_padded(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                     IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  static constexpr int64_t kNone[] = {0, 0};
  GRADUS_CHECK(input.defined() && weight.defined(),
               "conv2d: input or weight is an undefined tensor; expected ones with data");
  GRADUS_CHECK(weight.dim() == 4, "conv2d: the weight has ", weight.dim(), " dimensions; expected 4");
  GRADUS_CHECK(input.dim() == 4 || input.dim() == 3, "conv2d: the input has ", input.dim(),
               " dimensions; expected 4 (or 3 for one image)");
  if (input.dim() == 3)
    return convolve("conv2d", input.unsqueeze(0), weight, bias, stride, padding, dilation, false, kNone, groups)
        .squeeze(0);
  return convolve("conv2d", input, weight, bias, stride, padding, dilation, false, kNone, groups);
}

}  // namespace

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
              IntArrayRef dilation, int64_t groups) {
  return conv2d_padded(input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
              std::string_view padding, IntArrayRef dilation, int64_t groups) {
  static constexpr int64_t kNone[] = {0, 0};
  if (padding == "valid") return conv2d_padded(input, weight, bias, stride, kNone, dilation, groups);
  GRADUS_CHECK_AS(ValueError, padding == "same", "conv2d: padding '", std::string(padding),
                  "' was given; expected 'same', 'valid' or numbers");
  GRADUS_CHECK(weight.defined() && weight.dim() == 4, "conv2d: the weight has ", weight.defined() ? weight.dim() : 0,
               " dimensions; expected 4");
  const DimVector step = spread("conv2d", "stride", stride, 2, 1), gap = spread("conv2d", "dilation", dilation, 2, 1);
  GRADUS_CHECK_AS(ValueError, step[0] == 1 && step[1] == 1, "conv2d: padding 'same' needs stride 1; got ", stride);
  const int64_t total[] = {gap[0] * (weight.size(2) - 1), gap[1] * (weight.size(3) - 1)};
  if (total[0] % 2 == 0 && total[1] % 2 == 0) {
    const int64_t half[] = {total[0] / 2, total[1] / 2};
    return conv2d_padded(input, weight, bias, stride, half, dilation, groups);
  }
  // An odd total puts the larger half behind.
  const int64_t pad[] = {total[1] / 2, total[1] - total[1] / 2, total[0] / 2, total[0] - total[0] / 2};
  return conv2d_padded(gradus::constant_pad_nd(input, pad, 0), weight, bias, stride, kNone, dilation, groups);
}

}  // namespace gradus::inline v0::ops
