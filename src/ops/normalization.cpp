// Batch and layer normalisation.
#include <gradus/ops/ops.h>

#include <kernels/normalization.h>

#include "../autograd/recording.h"
#include "dense_result.h"
#include "kernel_view.h"
#include "ops/surface/generated/ops_nn.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

void check_vector(const char* op, const char* name, const Tensor& t, int64_t size) {
  if (!t.defined()) return;
  GRADUS_CHECK(t.dim() == 1 && t.size(0) == size, op, ": ", name, " has shape ", t.sizes(), "; expected (", size, ")");
  GRADUS_CHECK_AS(TypeError, is_floating_point(t.scalar_type()), op, ": ", name, " is ", t.scalar_type(),
                  "; expected a floating type");
}

void check_batch_norm(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                      const Tensor& var, bool training) {
  GRADUS_CHECK(input.defined(), op, ": the input is an undefined tensor; expected one with data");
  GRADUS_CHECK(input.dim() >= 2, op, ": the input has ", input.dim(), " dimensions; expected (N, C, ...)");
  GRADUS_CHECK_AS(TypeError, is_floating_point(input.scalar_type()), op, ": the input is ", input.scalar_type(),
                  "; expected a floating type");
  const int64_t channels = input.size(1);
  check_vector(op, "weight", weight, channels);
  check_vector(op, "bias", bias, channels);
  check_vector(op, "running_mean", mean, channels);
  check_vector(op, "running_var", var, channels);
  GRADUS_CHECK(mean.defined() == var.defined(), op,
               ": running_mean and running_var must be given together or not at all");
  GRADUS_CHECK(training || mean.defined(), op, ": running_mean and running_var must be defined in evaluation mode");
}

// Dense in one of the two layouts that the kernels take.
Tensor dense_images(const Tensor& t) {
  autograd::GradModeOff off;
  return t.contiguous(t.suggest_memory_format());
}
Tensor dense_vector(const Tensor& t) {
  autograd::GradModeOff off;
  return t.defined() ? t.contiguous() : t;
}

// (C) as (1, C, 1, ...), to broadcast against images.
Tensor per_channel(const Tensor& t, int64_t dims) {
  DimVector shape(static_cast<size_t>(dims), 1);
  shape[1] = t.size(0);
  return t.reshape(shape);
}
DimVector all_but_channels(const Tensor& t) {
  DimVector dims{0};
  for (int64_t d = 2; d < t.dim(); ++d) dims.push_back(d);
  return dims;
}

using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

// The gradients in operators: what is differentiated again.
ThreeTensors batch_norm_backward_in_operators(const Tensor& g, const Tensor& x, const Tensor& weight,
                                              const Tensor& running_mean, const Tensor& running_var, bool training,
                                              double eps, std::array<bool, 3> mask) {
  const int64_t n = x.dim();
  const DimVector dims = all_but_channels(x);
  Tensor mean = training ? x.mean(IntArrayRef(dims), true) : per_channel(running_mean, n);
  Tensor var = training ? x.sub(mean).square().mean(IntArrayRef(dims), true) : per_channel(running_var, n);
  Tensor invstd = var.add(eps).rsqrt();
  if (training && eps == 0) {  // as the kernel: 0 where there is no spread, whose own gradient is not infinite either
    const Tensor flat = var.eq(0);
    invstd = var.masked_fill(flat, 1).rsqrt().masked_fill(flat, 0);
  }
  Tensor xhat = x.sub(mean).mul(invstd);
  Tensor gx, gw, gb;
  if (mask[0]) {
    Tensor scaled = weight.defined() ? g.mul(per_channel(weight, n)) : g;
    gx = training ? invstd.mul(scaled.sub(scaled.mean(IntArrayRef(dims), true))
                                   .sub(xhat.mul(scaled.mul(xhat).mean(IntArrayRef(dims), true))))
                  : scaled.mul(invstd);
  }
  if (mask[1]) gw = g.mul(xhat).sum(IntArrayRef(dims));
  if (mask[2]) gb = g.sum(IntArrayRef(dims));
  return {gx, gw, gb};
}

bool recorded(std::initializer_list<const Tensor*> inputs) {
  if (!grad_mode_enabled()) return false;
  for (const Tensor* t : inputs) {
    if (autograd::requires_grad(t->impl())) return true;
  }
  return false;
}

ThreeTensors batch_norm_of(const char* op, const Dest& dest, const Tensor& input, const Tensor& weight,
                           const Tensor& bias, const Tensor& running_mean, const Tensor& running_var, bool training,
                           double momentum, double eps) {
  check_batch_norm(op, input, weight, bias, running_mean, running_var, training);
  auto r = recording(dest.is_fresh() ? Dest() : dest.part(0), input, weight, bias);
  Tensor x = dense_images(input), w = dense_vector(weight), b = dense_vector(bias), out, mean, invstd;
  const Dest dest_out = dest.part(0);
  const bool direct = is_dense_target(dest_out, x.sizes(), x.scalar_type(), x.suggest_memory_format(),
                                      {&input, &weight, &bias, &running_mean, &running_var});
  {
    autograd::GradModeOff off;
    const ScalarType kind = input.scalar_type() == kDouble ? kDouble : kFloat;
    const ScalarType statistics =
        input.scalar_type() == kHalf || input.scalar_type() == kBFloat16 ? kind : input.scalar_type();
    out = (direct ? dest_out : Dest()).result(op, x.sizes(), x.scalar_type(), x.device(), x.suggest_memory_format());
    const int64_t kept[] = {training ? input.size(1) : 0};
    mean = core::empty(kept, statistics, x.device());
    invstd = core::empty(kept, statistics, x.device());
    Tensor rm = running_mean, rv = running_var;
    if (training && running_mean.defined()) {
      begin_write(op, running_mean, StorageImpl::Writer::kOther);
      begin_write(op, running_var, StorageImpl::Writer::kOther);
    }
    const bool apart = rm.defined() && !(rm.is_contiguous() && rv.is_contiguous());
    if (apart) rm = rm.contiguous(), rv = rv.contiguous();
    if (out.numel()) {
      const Tensor none;
      kernels::batch_norm_forward(x.device(), writable(out), training ? writable(mean) : kernels::View{},
                                  training ? writable(invstd) : kernels::View{}, readable(x), readable(w), readable(b),
                                  rm.defined() ? writable(rm) : kernels::View{},
                                  rv.defined() ? writable(rv) : kernels::View{}, training, momentum, eps);
      if (apart && training) running_mean.copy_(rm), running_var.copy_(rv);
    } else if (training) {
      mean.zero_();
      invstd.zero_();
    }
  }
  if (!dest.is_fresh()) {
    if (!direct) out = dest_out.deliver(op, out);
    mean = dest.part(1).deliver(op, mean);
    invstd = dest.part(2).deliver(op, invstd);
  }
  if (r) {
    r.node("NativeBatchNormBackward0", out,
           [x = r.save(0), w = r.save(1), rm = r.save_other(training ? Tensor() : running_mean),
            rv = r.save_other(training ? Tensor() : running_var), mean = r.save_other(mean),
            invstd = r.save_other(invstd), training, eps](const GradIn& g, GradOut& d) {
             auto [gx, gw, gb] = gradus::native_batch_norm_backward(
                 g[0], d.unpack(x), d.unpack(w), d.unpack(rm), d.unpack(rv), d.unpack(mean), d.unpack(invstd), training,
                 eps, {d.needs(0), d.needs(1), d.needs(2)});
             if (d.needs(0)) d[0] = gx;
             if (d.needs(1)) d[1] = gw;
             if (d.needs(2)) d[2] = gb;
           });
  }
  return {out, mean, invstd};
}

}  // namespace

ThreeTensors native_batch_norm(const Dest& dest, const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var, bool training, double momentum,
                               double eps) {
  return batch_norm_of("native_batch_norm", dest, input, weight, bias, running_mean, running_var, training, momentum,
                       eps);
}

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps, bool) {
  // PyTorch lets a batch of nothing pass whatever its dimensions.
  if (input.defined() && input.numel() == 0 && input.dim() < 2) return input.clone();
  return std::get<0>(
      batch_norm_of("batch_norm", Dest(), input, weight, bias, running_mean, running_var, training, momentum, eps));
}

ThreeTensors native_batch_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight,
                                        const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                                        const Tensor& save_invstd, bool train, double eps, std::array<bool, 3> mask) {
  const char* op = "native_batch_norm_backward";
  check_batch_norm(op, input, weight, Tensor(), running_mean, running_var, train);
  GRADUS_CHECK(grad_out.defined() && grad_out.sizes() == input.sizes() && grad_out.scalar_type() == input.scalar_type(),
               op, ": grad_out must have the input's shape ", input.sizes(), " and type ", input.scalar_type());
  if (recorded({&grad_out, &input, &weight})) {
    return batch_norm_backward_in_operators(grad_out, input, weight, running_mean, running_var, train, eps, mask);
  }
  GRADUS_CHECK(!train || (save_mean.defined() && save_invstd.defined()), op,
               ": save_mean and save_invstd must be defined in training mode");
  if (train) {
    check_vector(op, "save_mean", save_mean, input.size(1));
    check_vector(op, "save_invstd", save_invstd, input.size(1));
  }
  autograd::GradModeOff off;
  Tensor x = dense_images(input), g = grad_out.contiguous(x.suggest_memory_format()), w = dense_vector(weight), gx, gw,
         gb;
  const ScalarType type = weight.defined() ? weight.scalar_type() : input.scalar_type();
  if (mask[0]) gx = core::empty(x.sizes(), x.scalar_type(), x.device(), x.suggest_memory_format());
  if (mask[1]) gw = core::empty({input.size(1)}, type, x.device());
  if (mask[2]) gb = core::empty({input.size(1)}, type, x.device());
  if (x.numel() == 0) {
    for (Tensor* t : {&gx, &gw, &gb}) {
      if (t->defined()) t->zero_();
    }
    return {gx, gw, gb};
  }
  auto to = [](const Tensor& t) { return t.defined() ? writable(t) : kernels::View{}; };
  Tensor rm = dense_vector(running_mean), rv = dense_vector(running_var), mean = dense_vector(save_mean),
         invstd = dense_vector(save_invstd);
  kernels::batch_norm_backward(x.device(), to(gx), to(gw), to(gb), readable(g), readable(x), readable(w), readable(rm),
                               readable(rv), readable(mean), readable(invstd), train, eps);
  return {gx, gw, gb};
}

namespace {

// The product of the normalised sizes.
int64_t check_layer_norm(const char* op, const Tensor& input, IntArrayRef shape, const Tensor& weight,
                         const Tensor& bias) {
  GRADUS_CHECK(input.defined(), op, ": the input is an undefined tensor; expected one with data");
  GRADUS_CHECK_AS(TypeError, is_floating_point(input.scalar_type()), op, ": the input is ", input.scalar_type(),
                  "; expected a floating type");
  GRADUS_CHECK(!shape.empty(), op, ": normalized_shape is empty; expected the sizes of the last dimensions");
  const size_t lead = input.sizes().size() - shape.size();
  GRADUS_CHECK(input.sizes().size() >= shape.size() && input.sizes().slice(lead) == shape, op, ": the input has shape ",
               input.sizes(), "; expected its last sizes to be normalized_shape ", shape);
  for (const Tensor* t : {&weight, &bias}) {
    GRADUS_CHECK(!t->defined() || t->sizes() == shape, op, ": ", t == &weight ? "weight" : "bias", " has shape ",
                 t->defined() ? t->sizes() : IntArrayRef(), "; expected ", shape);
  }
  int64_t row = 1;
  for (int64_t s : shape) row *= s;
  return row;
}

ThreeTensors layer_norm_of(const char* op, const Tensor& input, IntArrayRef shape, const Tensor& weight,
                           const Tensor& bias, double eps) {
  const int64_t row = check_layer_norm(op, input, shape, weight, bias);
  auto r = recording(input, weight, bias);
  Tensor out, mean, rstd;
  {
    autograd::GradModeOff off;
    Tensor x = input.contiguous(), w = dense_vector(weight), b = dense_vector(bias);
    DimVector statistics(input.sizes());
    for (size_t d = statistics.size() - shape.size(); d < statistics.size(); ++d) statistics[d] = 1;
    // The parameters' type, as in PyTorch: float beside a 16-bit input says that statistics are wanted in float.
    const Tensor& parameter = weight.defined() ? weight : bias;
    const ScalarType type = parameter.defined() ? parameter.scalar_type() : input.scalar_type();
    out = core::empty(x.sizes(), x.scalar_type(), x.device());
    mean = core::empty(statistics, type, x.device());
    rstd = core::empty(statistics, type, x.device());
    if (out.numel()) {
      kernels::layer_norm_forward(x.device(), writable(out), writable(mean), writable(rstd), readable(x), readable(w),
                                  readable(b), row, eps);
    } else {
      mean.zero_();
      rstd.zero_();
    }
  }
  if (r) {
    r.node("NativeLayerNormBackward0", out,
           [x = r.save(0), w = r.save(1), mean = r.save_other(mean), rstd = r.save_other(rstd),
            b = r.save_other(bias.defined() && !weight.defined() ? bias : Tensor()),
            shape = DimVector(shape)](const GradIn& g, GradOut& d) {
             auto [gx, gw, gb] =
                 gradus::native_layer_norm_backward(g[0], d.unpack(x), shape, d.unpack(mean), d.unpack(rstd),
                                                    d.unpack(w), d.unpack(b), {d.needs(0), d.needs(1), d.needs(2)});
             if (d.needs(0)) d[0] = gx;
             if (d.needs(1)) d[1] = gw;
             if (d.needs(2)) d[2] = gb;
           });
  }
  return {out, mean, rstd};
}

}  // namespace

ThreeTensors native_layer_norm(const Tensor& input, IntArrayRef shape, const Tensor& weight, const Tensor& bias,
                               double eps) {
  return layer_norm_of("native_layer_norm", input, shape, weight, bias, eps);
}

Tensor layer_norm(const Tensor& input, IntArrayRef shape, const Tensor& weight, const Tensor& bias, double eps, bool) {
  return std::get<0>(layer_norm_of("layer_norm", input, shape, weight, bias, eps));
}

ThreeTensors native_layer_norm_backward(const Tensor& grad_out, const Tensor& input, IntArrayRef shape,
                                        const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                                        const Tensor& bias, std::array<bool, 3> mask) {
  const char* op = "native_layer_norm_backward";
  const int64_t row = check_layer_norm(op, input, shape, weight, bias);
  GRADUS_CHECK(grad_out.defined() && grad_out.sizes() == input.sizes() && grad_out.scalar_type() == input.scalar_type(),
               op, ": grad_out must have the input's shape ", input.sizes(), " and type ", input.scalar_type());
  for (const Tensor* t : {&mean, &rstd}) {
    GRADUS_CHECK(t->defined() && t->numel() * row == input.numel(), op, ": ", t == &mean ? "mean" : "rstd",
                 " has shape ", t->defined() ? t->sizes() : IntArrayRef(),
                 "; expected one number for each row of an input of shape ", input.sizes());
  }
  Tensor gx, gw, gb;
  if (recorded({&grad_out, &input, &weight})) {
    DimVector last, first;
    const size_t lead = input.sizes().size() - shape.size();
    for (size_t d = 0; d < input.sizes().size(); ++d) (d < lead ? first : last).push_back(static_cast<int64_t>(d));
    Tensor centred = input.sub(input.mean(IntArrayRef(last), true));
    // 1 / sqrt(var + eps) as a function of the input, without eps, which the schema does not pass on: rstd times
    // 1 / sqrt(1 + what var has moved by, in units of 1 / rstd^2), which is exact however small the variance is.
    Tensor constant = rstd.detach(), moved = centred.mul(constant).square().mean(IntArrayRef(last), true);
    Tensor inverse = constant.mul(moved.sub(moved.detach()).add(1).rsqrt()), xhat = centred.mul(inverse);
    auto over_rows = [&](const Tensor& t) { return first.empty() ? t : t.sum(IntArrayRef(first)); };
    if (mask[0]) {
      Tensor scaled = weight.defined() ? grad_out.mul(weight) : grad_out;
      gx = inverse.mul(scaled.sub(scaled.mean(IntArrayRef(last), true))
                           .sub(xhat.mul(scaled.mul(xhat).mean(IntArrayRef(last), true))));
    }
    if (mask[1]) gw = over_rows(grad_out.mul(xhat));
    if (mask[2]) gb = over_rows(grad_out);
    return {gx, gw, gb};
  }
  autograd::GradModeOff off;
  Tensor x = input.contiguous(), g = grad_out.contiguous(), w = dense_vector(weight), m = mean.contiguous(),
         s = rstd.contiguous();
  const ScalarType type = weight.defined() ? weight.scalar_type()
                          : bias.defined() ? bias.scalar_type()
                                           : input.scalar_type();
  if (mask[0]) gx = core::empty(x.sizes(), x.scalar_type(), x.device());
  if (mask[1]) gw = core::empty(shape, type, x.device());
  if (mask[2]) gb = core::empty(shape, type, x.device());
  if (x.numel() == 0) {
    for (Tensor* t : {&gx, &gw, &gb}) {
      if (t->defined()) t->zero_();
    }
    return {gx, gw, gb};
  }
  auto to = [](const Tensor& t) { return t.defined() ? writable(t) : kernels::View{}; };
  kernels::layer_norm_backward(x.device(), to(gx), to(gw), to(gb), readable(g), readable(x), readable(m), readable(s),
                               readable(w), row);
  return {gx, gw, gb};
}

}  // namespace gradus::inline v0::ops
