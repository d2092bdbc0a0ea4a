// Activation functions and their backward operators, which can be differentiated again.
#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_activation.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"
#include "scalar_range.h"

namespace gradus::inline v0::ops {

namespace {

void check_float(const char* op, const Tensor& self) {
  GRADUS_CHECK_AS(TypeError, is_floating_point(self.scalar_type()), op, ": a tensor of type ", self.scalar_type(),
                  " was given; expected a floating one");
}

enum class GeluForm : bool { kErf, kTanh };
GeluForm gelu_form(std::string_view approximate) {
  GRADUS_CHECK(approximate == "none" || approximate == "tanh", "gelu: approximate is \"", approximate,
               "\"; expected \"none\" or \"tanh\"");
  return approximate == "tanh" ? GeluForm::kTanh : GeluForm::kErf;
}
const char* name_of(GeluForm f) {
  return f == GeluForm::kTanh ? "tanh" : "none";
}

// gelu'' for the second derivative, out of differentiable operators.
Tensor gelu_curvature(const Tensor& x, GeluForm form) {
  if (form == GeluForm::kErf) {
    return x.mul(x).mul(-0.5).exp().mul(0.39894228040143267794).mul(x.mul(x).neg().add(2));
  }
  constexpr double k = 0.79788456080286535588, c = 0.044715;
  Tensor square = x.mul(x);
  Tensor t = x.mul(square.mul(c).add(1)).mul(k).tanh();
  Tensor slope = square.mul(3 * c).add(1).mul(k);
  Tensor bend = x.mul(6 * k * c);
  return t.mul(t).neg().add(1).mul(slope.add(x.mul(0.5).mul(bend.sub(t.mul(slope).mul(slope).mul(2)))));
}

Tensor silu_curvature(const Tensor& x) {
  Tensor s = x.sigmoid();
  Tensor slope = s.mul(s.neg().add(1));
  return slope.mul(x.mul(s.mul(-2).add(1)).add(2));
}

}  // namespace

Tensor relu(const Dest& dest, const Tensor& self) {
  GRADUS_CHECK_AS(TypeError, self.scalar_type() != ScalarType::Bool, "relu: a bool tensor was given; expected numbers");
  auto r = recording(dest, self);
  Tensor out = unary(dest, "relu", Promote::kArithmetic, kernels::relu, self);
  if (r) {
    r.node("ReluBackward0", out, [y = r.save_output(out)](const GradIn& g, GradOut& d) {
      d[0] = gradus::threshold_backward(g[0], d.unpack(y), 0);
    });
  }
  return out;
}

Tensor leaky_relu(const Dest& dest, const Tensor& self, const Scalar& negative_slope) {
  check_float("leaky_relu", self);
  // With a positive slope the result tells on which side the input was: nothing needs to be kept of an overwritten one.
  const bool from_result = dest.is_inplace();
  auto r = recording(dest, self);
  GRADUS_CHECK(!r || !from_result || negative_slope.as_double() >= 0, "leaky_relu_: negative_slope is ", negative_slope,
               "; the gradient of the in-place form needs one that is not negative: use leaky_relu");
  Pointwise p(dest, "leaky_relu", Promote::kArithmetic, self);
  kernels::leaky_relu(p.device(), p.loop(), negative_slope);
  Tensor out = p.finish();
  if (r) {
    r.node(
        "LeakyReluBackward0", out,
        [x = from_result ? r.save_output(out) : r.save(0), negative_slope, from_result](const GradIn& g, GradOut& d) {
          d[0] = gradus::leaky_relu_backward(g[0], d.unpack(x), negative_slope, from_result);
        });
  }
  return out;
}

Tensor leaky_relu_backward(const Tensor& grad_output, const Tensor& self, const Scalar& negative_slope,
                           bool self_is_result) {
  check_float("leaky_relu_backward", grad_output);
  auto r = recording(grad_output, self);
  Pointwise p(Dest(), "leaky_relu_backward", Promote::kArithmetic, grad_output, self);
  kernels::leaky_relu_backward(p.device(), p.loop(), negative_slope);
  Tensor out = p.finish();
  if (r) {
    r.node("LeakyReluBackwardBackward0", out,
           [x = r.save(1), negative_slope, self_is_result](const GradIn& g, GradOut& d) {
             if (d.needs(0)) d[0] = gradus::leaky_relu_backward(g[0], d.unpack(x), negative_slope, self_is_result);
             if (d.needs(1)) d[1] = gradus::zeros_like(g[0]);
           });
  }
  return out;
}

Tensor threshold(const Dest& dest, const Tensor& self, const Scalar& threshold, const Scalar& value) {
  GRADUS_CHECK_AS(TypeError, self.scalar_type() != ScalarType::Bool,
                  "threshold: a bool tensor was given; expected numbers");
  check_storable("threshold", threshold, self.scalar_type());
  check_storable("threshold", value, self.scalar_type());
  auto r = recording(dest, self);
  r.keep_self();
  Pointwise p(dest, "threshold", Promote::kArithmetic, self);
  kernels::threshold(p.device(), p.loop(), threshold, value);
  Tensor out = p.finish();
  if (r) {
    r.node("ThresholdBackward0", out, [x = r.save(0), threshold](const GradIn& g, GradOut& d) {
      d[0] = gradus::threshold_backward(g[0], d.unpack(x), threshold);
    });
  }
  return out;
}

Tensor threshold_backward(const Tensor& grad_output, const Tensor& self, const Scalar& threshold) {
  auto r = recording(grad_output, self);
  Pointwise p(Dest(), "threshold_backward", Promote::kArithmetic, grad_output, self);
  kernels::threshold_backward(p.device(), p.loop(), threshold);
  Tensor out = p.finish();
  if (r) {
    r.node("ThresholdBackwardBackward0", out, [x = r.save(1), threshold](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = gradus::threshold_backward(g[0], d.unpack(x), threshold);
      if (d.needs(1)) d[1] = gradus::zeros_like(g[0]);
    });
  }
  return out;
}

Tensor hardtanh(const Dest& dest, const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  GRADUS_CHECK_AS(TypeError, self.scalar_type() != ScalarType::Bool,
                  "hardtanh: a bool tensor was given; expected numbers");
  const Scalar low = lower_bound("hardtanh", min_val, self.scalar_type());
  const Scalar high = upper_bound("hardtanh", max_val, self.scalar_type());
  auto r = recording(dest, self);
  r.keep_self();
  Pointwise p(dest, "hardtanh", Promote::kArithmetic, self);
  kernels::clamp_scalar(p.device(), p.loop(), low, high);
  Tensor out = p.finish();
  if (r) {
    r.node("HardtanhBackward0", out, [x = r.save(0), min_val, max_val](const GradIn& g, GradOut& d) {
      Tensor v = d.unpack(x);
      d[0] = gradus::where(v.gt(min_val).logical_and(v.lt(max_val)), g[0], 0);
    });
  }
  return out;
}

Tensor tanh_backward(const Tensor& grad_output, const Tensor& output) {
  auto r = recording(grad_output, output);
  Tensor out = binary(Dest(), "tanh_backward", Promote::kFloat, kernels::tanh_backward, grad_output, output);
  if (r) {
    r.node("TanhBackwardBackward0", out, [grad = r.save_if(1, 0), y = r.save(1)](const GradIn& g, GradOut& d) {
      Tensor result = d.unpack(y);
      if (d.needs(0)) d[0] = gradus::tanh_backward(g[0], result);
      if (d.needs(1)) d[1] = g[0].mul(d.unpack(grad)).mul(result).mul(-2);
    });
  }
  return out;
}

Tensor sigmoid_backward(const Tensor& grad_output, const Tensor& output) {
  auto r = recording(grad_output, output);
  Tensor out = binary(Dest(), "sigmoid_backward", Promote::kFloat, kernels::sigmoid_backward, grad_output, output);
  if (r) {
    r.node("SigmoidBackwardBackward0", out, [grad = r.save_if(1, 0), y = r.save(1)](const GradIn& g, GradOut& d) {
      Tensor result = d.unpack(y);
      if (d.needs(0)) d[0] = gradus::sigmoid_backward(g[0], result);
      if (d.needs(1)) d[1] = g[0].mul(d.unpack(grad)).mul(result.mul(-2).add(1));
    });
  }
  return out;
}

Tensor gelu(const Dest& dest, const Tensor& self, std::string_view approximate) {
  check_float("gelu", self);
  const GeluForm form = gelu_form(approximate);
  auto r = recording(dest, self);
  r.keep_self();
  Tensor out =
      unary(dest, "gelu", Promote::kArithmetic, form == GeluForm::kTanh ? kernels::gelu_tanh : kernels::gelu_erf, self);
  if (r) {
    r.node("GeluBackward0", out, [x = r.save(0), form](const GradIn& g, GradOut& d) {
      d[0] = gradus::gelu_backward(g[0], d.unpack(x), name_of(form));
    });
  }
  return out;
}

Tensor gelu_backward(const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  check_float("gelu_backward", self);
  const GeluForm form = gelu_form(approximate);
  auto r = recording(grad_output, self);
  Tensor out =
      binary(Dest(), "gelu_backward", Promote::kArithmetic,
             form == GeluForm::kTanh ? kernels::gelu_tanh_backward : kernels::gelu_erf_backward, grad_output, self);
  if (r) {
    r.node("GeluBackwardBackward0", out, [grad = r.save_if(1, 0), x = r.save(1), form](const GradIn& g, GradOut& d) {
      Tensor input = d.unpack(x);
      if (d.needs(0)) d[0] = gradus::gelu_backward(g[0], input, name_of(form));
      if (d.needs(1)) d[1] = g[0].mul(d.unpack(grad)).mul(gelu_curvature(input, form));
    });
  }
  return out;
}

Tensor silu(const Dest& dest, const Tensor& self) {
  check_float("silu", self);
  auto r = recording(dest, self);
  r.keep_self();
  Tensor out = unary(dest, "silu", Promote::kArithmetic, kernels::silu, self);
  if (r) {
    r.node("SiluBackward0", out,
           [x = r.save(0)](const GradIn& g, GradOut& d) { d[0] = gradus::silu_backward(g[0], d.unpack(x)); });
  }
  return out;
}

Tensor silu_backward(const Tensor& grad_output, const Tensor& self) {
  check_float("silu_backward", self);
  auto r = recording(grad_output, self);
  Tensor out = binary(Dest(), "silu_backward", Promote::kArithmetic, kernels::silu_backward, grad_output, self);
  if (r) {
    r.node("SiluBackwardBackward0", out, [grad = r.save_if(1, 0), x = r.save(1)](const GradIn& g, GradOut& d) {
      Tensor input = d.unpack(x);
      if (d.needs(0)) d[0] = gradus::silu_backward(g[0], input);
      if (d.needs(1)) d[1] = g[0].mul(d.unpack(grad)).mul(silu_curvature(input));
    });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
