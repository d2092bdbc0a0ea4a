// Dropout in its variants.
#include <cmath>

#include <kernels/dropout.h>

#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_pointwise.h"
#include "ops/surface/generated/ops_random.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"
#include "random_source.h"

namespace gradus::inline v0::ops {

namespace {

void check_dropout(const char* op, const Tensor& input, double p) {
  GRADUS_CHECK(input.defined(), op, ": the input is an undefined tensor; expected one with data");
  GRADUS_CHECK_AS(ValueError, p >= 0 && p <= 1, op, ": p is ", p, "; expected a probability in [0, 1]");
}
void check_floating(const char* op, const Tensor& input) {
  const ScalarType t = input.scalar_type();
  GRADUS_CHECK_AS(TypeError, t == kFloat || t == kDouble || t == kHalf || t == kBFloat16, op, ": the input is ", t,
                  "; expected a floating dtype");
}

/// What is kept, one draw per element of the mask.
void draw_mask(const char* op, const Tensor& mask, double keep) {
  draw_into(op, mask, std::nullopt, [keep](Device device, const kernels::View& out, GeneratorImpl& g) {
    kernels::bernoulli_fill(device, out, keep, g);
  });
}

/// One draw for all elements of a channel.
Tensor channel_mask(const char* op, const Tensor& input, ScalarType dtype) {
  GRADUS_CHECK(input.dim() >= 2, op, ": the input has shape ", input.sizes(), "; expected 2 dimensions or more");
  DimVector sizes(static_cast<size_t>(input.dim()), 1);
  sizes[0] = input.sizes()[0];
  sizes[1] = input.sizes()[1];
  return core::empty(sizes, dtype, input.device());
}

Tensor scale_masked(const Dest& dest, const char* op, const Tensor& a, const Tensor& mask, double scale) {
  Pointwise p(dest, op, Promote::kNone, a, mask);
  kernels::masked_scale(p.device(), p.loop(), scale);
  return p.finish();
}

/// 1 / (1 - p) as PyTorch rounds it: in the dtype, a double division for double only.
double dropout_scale(ScalarType dtype, double p) {
  if (dtype == kDouble) return 1 / (1 - p);
  const float scale = 1 / static_cast<float>(1 - p);
  if (dtype == kHalf) return Half(scale);
  return dtype == kBFloat16 ? static_cast<float>(BFloat16(scale)) : scale;
}

Tensor drop(const Dest& dest, const char* op, const Tensor& input, double p, bool train, bool by_channel) {
  check_dropout(op, input, p);
  if (p == 0 || !train || input.numel() == 0) return input;
  check_floating(op, input);
  if (p == 1) return mul(dest, input, Scalar(0.0));
  auto r = recording(dest, input);
  const Tensor mask = by_channel ? channel_mask(op, input, kBool) : core::empty_like(input, kBool);
  draw_mask(op, mask, 1 - p);
  const double scale = dropout_scale(input.scalar_type(), p);
  Tensor out = scale_masked(dest, op, input, mask, scale);
  if (r) {
    r.node("DropoutBackward0", out, [mask = r.save_other(mask), scale](const GradIn& g, GradOut& d) {
      d[0] = gradus::native_dropout_backward(g[0], d.unpack(mask), scale);
    });
  }
  return out;
}

/// Dropped elements become SELU's limit; a and b bring mean and variance back to what they were.
Tensor alpha_drop(const Dest& dest, const char* op, const Tensor& input, double p, bool train, bool by_channel) {
  check_dropout(op, input, p);
  if (p == 0 || !train || input.numel() == 0) return input;
  check_floating(op, input);
  if (p == 1) return mul(dest, input, Scalar(0.0));
  constexpr double alpha = 1.7580993408473766;  // SELU's scale times its alpha
  const double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  const Tensor noise =
      by_channel ? channel_mask(op, input, input.scalar_type()) : core::empty_like(input, input.scalar_type());
  draw_mask(op, noise, 1 - p);
  const Tensor b = noise.add(-1).mul_(alpha * a).add_(alpha * a * p);
  noise.mul_(a);
  if (!dest.is_inplace()) return input.mul(noise).add(b);
  input.mul_(noise).add_(b);
  return input;
}

}  // namespace

Tensor dropout(const Dest& dest, const Tensor& input, double p, bool train) {
  return drop(dest, "dropout", input, p, train, false);
}
Tensor feature_dropout(const Dest& dest, const Tensor& input, double p, bool train) {
  return drop(dest, "feature_dropout", input, p, train, true);
}
Tensor alpha_dropout(const Dest& dest, const Tensor& input, double p, bool train) {
  return alpha_drop(dest, "alpha_dropout", input, p, train, false);
}
Tensor feature_alpha_dropout(const Dest& dest, const Tensor& input, double p, bool train) {
  return alpha_drop(dest, "feature_alpha_dropout", input, p, train, true);
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, std::optional<bool> train) {
  check_dropout("native_dropout", input, p);
  check_floating("native_dropout", input);
  if (!train.value_or(true)) return {input.clone(), ones_like(input, kBool)};
  auto r = recording(input);
  Tensor mask = core::empty_like(input, kBool);
  draw_mask("native_dropout", mask, 1 - p);
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  Tensor out = scale_masked(Dest(), "native_dropout", input, mask, scale);
  if (r) {
    r.node("NativeDropoutBackward0", out, [mask = r.save_other(mask), scale](const GradIn& g, GradOut& d) {
      d[0] = gradus::native_dropout_backward(g[0], d.unpack(mask), scale);
    });
  }
  return {std::move(out), std::move(mask)};
}

Tensor native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale) {
  auto r = recording(grad_output);
  check_floating("native_dropout_backward", grad_output);
  GRADUS_CHECK_AS(TypeError, mask.scalar_type() == kBool, "native_dropout_backward: the mask is ", mask.scalar_type(),
                  "; expected Bool");
  Tensor out = scale_masked(Dest(), "native_dropout_backward", grad_output, mask, scale);
  if (r) {
    r.node("NativeDropoutDoubleBackward0", out, [mask = r.save_other(mask), scale](const GradIn& g, GradOut& d) {
      d[0] = gradus::native_dropout_backward(g[0], d.unpack(mask), scale);
    });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
