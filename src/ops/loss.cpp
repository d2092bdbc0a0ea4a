// Losses.
#include <gradus/ops/ops.h>

#include <kernels/loss.h>

#include "../autograd/recording.h"
#include "dense_result.h"
#include "kernel_view.h"
#include "ops/surface/generated/ops_loss.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

using kernels::LossReduction;

LossReduction checked_reduction(const char* op, int64_t reduction) {
  GRADUS_CHECK_AS(ValueError, reduction >= 0 && reduction <= 2, op, ": reduction is ", reduction,
                  "; expected 0 (none), 1 (mean) or 2 (sum)");
  return static_cast<LossReduction>(reduction);
}

Tensor reduce(const Tensor& loss, int64_t reduction) {
  return reduction == 0 ? loss : reduction == 1 ? loss.mean() : loss.sum();
}

void check_nll(const char* op, const Tensor& self, const Tensor& target, const Tensor& weight) {
  GRADUS_CHECK(self.defined() && target.defined(), op,
               ": input or target is an undefined tensor; expected ones with data");
  GRADUS_CHECK_AS(TypeError, is_floating_point(self.scalar_type()), op, ": the input is ", self.scalar_type(),
                  "; expected a floating type");
  GRADUS_CHECK_AS(TypeError,
                  target.scalar_type() == kLong || target.scalar_type() == kInt || target.scalar_type() == kByte, op,
                  ": the target is ", target.scalar_type(), "; expected class indices (Long)");
  GRADUS_CHECK(self.dim() >= 1, op, ": the input has no dimensions; expected the classes in dimension ",
               self.dim() == 1 ? 0 : 1);
  const bool one = self.dim() == 1;
  GRADUS_CHECK(one ? target.dim() <= 1 : target.dim() == self.dim() - 1, op, ": the input has shape ", self.sizes(),
               " and the target ", target.sizes(),
               "; expected the target to have the input's shape without the classes");
  if (!one) {
    for (int64_t i = 0; i < target.dim(); ++i) {
      GRADUS_CHECK(target.size(i) == self.size(i == 0 ? 0 : i + 1), op, ": the input has shape ", self.sizes(),
                   " and the target ", target.sizes(),
                   "; expected the target to have the input's shape without the classes");
    }
  } else {
    GRADUS_CHECK(target.numel() == 1, op, ": one sample of shape ", self.sizes(), " and a target of shape ",
                 target.sizes(), " were given; expected one index");
  }
  const int64_t classes = self.size(one ? 0 : 1);
  GRADUS_CHECK(!weight.defined() ||
                   (weight.dim() == 1 && weight.size(0) == classes && weight.scalar_type() == self.scalar_type()),
               op, ": weight of shape ", weight.defined() ? weight.sizes() : IntArrayRef(),
               " was given; expected one number of type ", self.scalar_type(), " for each of ", classes, " classes");
}

// The views that the kernels take: a single sample becomes a batch of one.
struct NllShapes {
  DimVector input_sizes, input_strides, target_sizes, target_strides;
  NllShapes(const Tensor& self, const Tensor& target) : input_sizes(self.sizes()), target_sizes(target.sizes()) {
    if (self.dim() == 1) {
      input_sizes = DimVector{1, self.size(0)};
      target_sizes = DimVector{1};
    }
    input_strides.resize(input_sizes.size());
    target_strides.resize(target_sizes.size());
    core::dense_strides(input_sizes, MemoryFormat::Contiguous, input_strides.data());
    core::dense_strides(target_sizes, MemoryFormat::Contiguous, target_strides.data());
  }
  kernels::ConstView input(const Tensor& t) const {
    return {t.data_ptr(),    input_sizes.data(), input_strides.data(), static_cast<int>(input_sizes.size()),
            t.scalar_type(), t.device()};
  }
  kernels::View input_gradient(const Tensor& t) const {
    return {t.data_ptr(),    input_sizes.data(), input_strides.data(), static_cast<int>(input_sizes.size()),
            t.scalar_type(), t.device()};
  }
  kernels::View per_target(const Tensor& t) const {
    return {t.data_ptr(),    target_sizes.data(), target_strides.data(), static_cast<int>(target_sizes.size()),
            t.scalar_type(), t.device()};
  }
};

std::tuple<Tensor, Tensor> nll_forward_only(const char* op, const Tensor& self, const Tensor& target,
                                            const Tensor& weight, LossReduction reduction, int64_t ignore_index) {
  check_nll(op, self, target, weight);
  autograd::GradModeOff off;
  Tensor x = self.contiguous(), t = target.contiguous(), w = weight.defined() ? weight.contiguous() : Tensor();
  const NllShapes shapes(x, t);
  Tensor out = reduction == LossReduction::None ? core::empty(target.sizes(), self.scalar_type(), self.device())
                                                : core::empty({}, self.scalar_type(), self.device());
  Tensor total = core::empty({}, self.scalar_type(), self.device());
  const kernels::OperationName name(kernels::launch_operation ? kernels::launch_operation : op);
  const kernels::BadIndex bad = kernels::nll_loss_forward(
      x.device(), reduction == LossReduction::None ? shapes.per_target(out) : writable(out), writable(total),
      shapes.input(x), shapes.per_target(t), readable(w), reduction, ignore_index);
  GRADUS_CHECK_AS(IndexError, !bad.found(), op, ": target ", bad.value, " at position ", bad.position,
                  " is out of range; expected 0..", self.size(self.dim() == 1 ? 0 : 1) - 1, " or ignore_index ",
                  ignore_index);
  return {out, total};
}

}  // namespace

Tensor nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Tensor& weight,
                         int64_t reduction, int64_t ignore_index, const Tensor& total_weight) {
  const LossReduction kind = checked_reduction("nll_loss_backward", reduction);
  check_nll("nll_loss_backward", self, target, weight);
  const bool each = kind == LossReduction::None;
  GRADUS_CHECK(grad_output.defined() && grad_output.scalar_type() == self.scalar_type() &&
                   (each ? grad_output.sizes() == target.sizes() : grad_output.numel() == 1),
               "nll_loss_backward: grad_output is not what the loss would be; expected ",
               each ? str("shape ", target.sizes()) : std::string("one element"), " of type ", self.scalar_type());
  GRADUS_CHECK(total_weight.defined() && total_weight.numel() == 1 && total_weight.scalar_type() == self.scalar_type(),
               "nll_loss_backward: total_weight is not what nll_loss_forward returns; expected one element of type ",
               self.scalar_type());
  auto r = recording(grad_output, self);
  Tensor result;
  {
    autograd::GradModeOff off;
    Tensor g = grad_output.contiguous(), t = target.contiguous(), w = weight.defined() ? weight.contiguous() : Tensor();
    result = core::empty(self.sizes(), self.scalar_type(), self.device());
    const NllShapes shapes(result, t);
    if (result.numel()) {
      const kernels::BadIndex bad = kernels::nll_loss_backward(
          g.device(), shapes.input_gradient(result), each ? kernels::ConstView(shapes.per_target(g)) : readable(g),
          shapes.per_target(t), readable(w), readable(total_weight), kind, ignore_index);
      GRADUS_CHECK_AS(IndexError, !bad.found(), "nll_loss_backward: target ", bad.value, " at position ", bad.position,
                      " is out of range; expected 0..", self.size(self.dim() == 1 ? 0 : 1) - 1, " or ignore_index ",
                      ignore_index);
    }
  }
  if (r) {
    // Linear in grad_output, and without self.
    r.node("NllLossBackwardBackward0", result,
           [t = r.save_other(target), w = r.save_other(weight), reduction, ignore_index](const GradIn& gg, GradOut& d) {
             if (d.needs(0)) d[0] = gradus::nll_loss_nd(gg[0], d.unpack(t), d.unpack(w), reduction, ignore_index);
           });
  }
  return result;
}

std::tuple<Tensor, Tensor> nll_loss_forward(const Dest& dest, const Tensor& self, const Tensor& target,
                                            const Tensor& weight, int64_t reduction, int64_t ignore_index) {
  auto r = recording(dest.is_fresh() ? Dest() : dest.part(0), self);
  auto [out, total] = nll_forward_only("nll_loss_forward", self, target, weight,
                                       checked_reduction("nll_loss_forward", reduction), ignore_index);
  if (!dest.is_fresh()) {
    out = dest.part(0).deliver("nll_loss_forward", out);
    total = dest.part(1).deliver("nll_loss_forward", total);
  }
  if (r) {
    r.node("NllLossBackward0", out,
           [x = r.save(0), t = r.save_other(target), w = r.save_other(weight), total = r.save_other(total), reduction,
            ignore_index](const GradIn& g, GradOut& d) {
             d[0] = gradus::nll_loss_backward(g[0], d.unpack(x), d.unpack(t), d.unpack(w), reduction, ignore_index,
                                              d.unpack(total));
           });
  }
  return {out, total};
}

namespace {
Tensor nll_as(const Dest& dest, const char* op, const Tensor& self, const Tensor& target, const Tensor& weight,
              int64_t reduction, int64_t ignore_index) {
  checked_reduction(op, reduction);
  check_nll(op, self, target, weight);
  auto [out, total] = gradus::nll_loss_forward(self, target, weight, reduction, ignore_index);
  return dest.deliver(op, out);
}
}  // namespace

Tensor nll_loss(const Dest& dest, const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore_index) {
  return nll_as(dest, "nll_loss", self, target, weight, reduction, ignore_index);
}
Tensor nll_loss2d(const Dest& dest, const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                  int64_t ignore_index) {
  return nll_as(dest, "nll_loss2d", self, target, weight, reduction, ignore_index);
}
Tensor nll_loss_nd(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                   int64_t ignore_index) {
  return nll_as(Dest(), "nll_loss_nd", self, target, weight, reduction, ignore_index);
}

namespace {

// An error of an operator within `op` is reported as op's own.
template <class F>
Tensor in_the_name_of(const char* op, const F& f) {
  try {
    return f();
  } catch (const IndexError& e) {
    const std::string_view text = e.what();
    const size_t colon = text.find(": ");
    throw IndexError(str(op, text.substr(colon == std::string_view::npos ? 0 : colon)));
  }
}

// Targets are a probability for every class.
Tensor cross_entropy_of_probabilities(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                                      double smoothing) {
  const int64_t class_dim = self.dim() == 1 ? 0 : 1, classes = self.size(class_dim);
  Tensor log_p = gradus::log_softmax(self, class_dim);
  Tensor t = smoothing > 0 ? target.mul(1 - smoothing).add(smoothing / static_cast<double>(classes)) : target;
  Tensor weighed = log_p.mul(t);
  if (weight.defined()) {
    DimVector column(static_cast<size_t>(self.dim()), 1);
    column[static_cast<size_t>(class_dim)] = classes;
    weighed = weighed.mul(weight.reshape(column));
  }
  if (reduction == 0) return weighed.sum(class_dim).neg();
  if (reduction == 2) return weighed.sum().neg();
  const int64_t samples = self.numel() / std::max<int64_t>(classes, 1);
  return weighed.sum().div(static_cast<double>(samples)).neg();
}

/// Logits as the kernels take them, [outer, classes, inner]: as they are where the classes are innermost
/// (channels_last, a transposed [N, T, C]), else contiguous.
class Logits {
 public:
  explicit Logits(const Tensor& self) : tensor_(classes_innermost(self) ? self : self.contiguous()) {
    if (self.dim() == 1) {
      sizes_[1] = self.size(0);
    } else if (tensor_.is_contiguous()) {
      sizes_[0] = self.size(0), sizes_[1] = self.size(1);
      for (int64_t i = 2; i < self.dim(); ++i) sizes_[2] *= self.size(i);
    } else {
      sizes_[0] = self.numel() / self.size(1), sizes_[1] = self.size(1);
    }
    strides_[0] = sizes_[1] * sizes_[2], strides_[1] = sizes_[2];
  }
  kernels::ConstView view() const { return view_of(tensor_); }
  /// A new tensor in the same memory order, and how the kernels take that.
  Tensor like() const {
    return core::empty_strided(tensor_.sizes(), tensor_.strides(), tensor_.scalar_type(), tensor_.device());
  }
  kernels::View view_of(const Tensor& t) const {
    return {t.data_ptr(), sizes_, strides_, 3, t.scalar_type(), t.device()};
  }

 private:
  static bool classes_innermost(const Tensor& t) {
    if (t.dim() < 3 || t.numel() == 0) return false;
    int64_t expected = 1;
    const auto follows = [&](int64_t d) {
      const bool good = t.size(d) == 1 || t.stride(d) == expected;
      expected *= t.size(d);
      return good;
    };
    bool good = follows(1);
    for (int64_t d = t.dim() - 1; d >= 2; --d) good &= follows(d);
    return good && follows(0);
  }
  Tensor tensor_;
  int64_t sizes_[3] = {1, 1, 1}, strides_[3] = {1, 1, 1};
};

struct CrossEntropyInputs {
  const Tensor &self, &target, &weight, &peaks, &total_weight;
};

// For each sample and class, what -log_softmax counts with in the loss: all that a gradient needs besides softmax.
Tensor class_shares(const CrossEntropyInputs& in, const kernels::CrossEntropy& options) {
  autograd::GradModeOff off;
  const Tensor& x = in.self;
  const int64_t class_dim = x.dim() == 1 ? 0 : 1, classes = x.size(class_dim);
  const Tensor own = gradus::full(in.target.sizes(), options.smoothing - 1, x.options());
  Tensor shares =
      gradus::nll_loss_backward(own, x, in.target, in.weight, 0, options.ignore_index, gradus::zeros({}, x.options()));
  if (options.smoothing > 0) {
    const double spread = options.smoothing / static_cast<double>(std::max<int64_t>(1, classes));
    DimVector column(static_cast<size_t>(x.dim()), 1);
    column[static_cast<size_t>(class_dim)] = classes;
    shares = in.weight.defined() ? shares.add(in.weight.reshape(column), spread) : shares.add(spread);
  }
  if (options.reduction == LossReduction::Mean) {
    // A total weight may be out of half's range.
    shares = shares.to(in.total_weight.scalar_type()).div(in.total_weight[0]).to(x.scalar_type());
  }
  const Tensor ignored = in.target.to(kLong).eq(options.ignore_index);  // -100 is another number in bytes
  return shares.masked_fill(x.dim() == 1 ? ignored.reshape({1}) : ignored.unsqueeze(1), 0.0);
}

// A plain backward runs the fused kernel; one that is differentiated itself is written with operators.
Tensor cross_entropy_gradient(const Tensor& grad, const CrossEntropyInputs& in, const kernels::CrossEntropy& options) {
  const Tensor& x = in.self;
  if (grad_mode_enabled()) {
    const int64_t class_dim = x.dim() == 1 ? 0 : 1;
    const Tensor shares = class_shares(in, options);
    const Tensor scale = options.reduction != LossReduction::None ? grad
                         : x.dim() == 1                           ? grad.reshape({1})
                                                                  : grad.unsqueeze(1);
    return gradus::softmax(x, class_dim).mul(shares.sum(class_dim, true)).sub(shares).mul(scale);
  }
  const Logits logits(x);
  const Tensor g = grad.contiguous(), t = in.target.contiguous(),
               w = in.weight.defined() ? in.weight.contiguous() : Tensor();
  Tensor result = logits.like();
  if (result.numel()) {
    kernels::cross_entropy_backward(x.device(), logits.view_of(result), readable(g), logits.view(), readable(t),
                                    readable(w), readable(in.peaks), readable(in.total_weight), options);
  }
  return result;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                                                  int64_t reduction, int64_t ignore_index, double label_smoothing) {
  const char* op = "_cross_entropy";
  const kernels::CrossEntropy options{checked_reduction(op, reduction), ignore_index, label_smoothing};
  check_nll(op, self, target, weight);
  GRADUS_CHECK_AS(ValueError, label_smoothing >= 0 && label_smoothing <= 1, op, ": label_smoothing is ",
                  label_smoothing, "; expected 0..1");
  auto r = recording(self);
  const ScalarType type = self.scalar_type(), wide = type == kDouble ? kDouble : kFloat;
  const bool none = options.reduction == LossReduction::None;
  Tensor out = core::empty(none ? target.sizes() : IntArrayRef(), type, self.device());
  Tensor peaks = core::empty({2, target.numel()}, wide, self.device());
  Tensor total = core::empty({2}, wide, self.device());
  {
    autograd::GradModeOff off;
    const Logits logits(self);
    const Tensor t = target.contiguous(), w = weight.defined() ? weight.contiguous() : Tensor();
    const kernels::OperationName name(kernels::launch_operation ? kernels::launch_operation : op);
    const kernels::BadIndex bad =
        kernels::cross_entropy_forward(self.device(), writable(out), writable(peaks), writable(total), logits.view(),
                                       readable(t), readable(w), options);
    GRADUS_CHECK_AS(IndexError, !bad.found(), op, ": target ", bad.value, " at position ", bad.position,
                    " is out of range; expected 0..", self.size(self.dim() == 1 ? 0 : 1) - 1, " or ignore_index ",
                    ignore_index);
  }
  if (r) {
    r.node("CrossEntropyBackward0", out,
           [x = r.save(0), t = r.save_other(target), w = r.save_other(weight), p = r.save_other(peaks),
            total = r.save_other(total), options](const GradIn& g, GradOut& d) {
             const Tensor self = d.unpack(x), target = d.unpack(t), weight = d.unpack(w), peaks = d.unpack(p),
                          sums = d.unpack(total);
             d[0] = cross_entropy_gradient(g[0], {self, target, weight, peaks, sums}, options);
           });
  }
  return {out, peaks, total};
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                          int64_t ignore_index, double label_smoothing) {
  checked_reduction("cross_entropy_loss", reduction);
  GRADUS_CHECK(self.defined() && target.defined(),
               "cross_entropy_loss: input or target is an undefined tensor; expected ones with data");
  GRADUS_CHECK(self.dim() >= 1, "cross_entropy_loss: the input has no dimensions; expected the classes in one");
  GRADUS_CHECK_AS(ValueError, label_smoothing >= 0 && label_smoothing <= 1, "cross_entropy_loss: label_smoothing is ",
                  label_smoothing, "; expected 0..1");
  if (target.is_floating_point() && target.sizes() == self.sizes()) {
    GRADUS_CHECK(ignore_index < 0, "cross_entropy_loss: ignore_index ", ignore_index,
                 " was given with probabilities as target; it is for class indices");
    return cross_entropy_of_probabilities(self, target, weight, reduction, label_smoothing);
  }
  check_nll("cross_entropy_loss", self, target, weight);
  const kernels::OperationName name("cross_entropy_loss");  // where a device finds a bad target
  return in_the_name_of("cross_entropy_loss", [&] {
    return std::get<0>(gradus::_cross_entropy(self, target, weight, reduction, ignore_index, label_smoothing));
  });
}

Tensor mse_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction) {
  checked_reduction("mse_loss_backward", reduction);
  Tensor difference = self.sub(target);
  const double factor = reduction == 1 ? 2.0 / static_cast<double>(difference.numel()) : 2.0;
  return difference.mul_(factor).mul(grad_output);
}

Tensor mse_loss(const Dest& dest, const Tensor& self, const Tensor& target, int64_t reduction) {
  checked_reduction("mse_loss", reduction);
  GRADUS_CHECK(self.defined() && target.defined(),
               "mse_loss: input or target is an undefined tensor; expected ones with data");
  GRADUS_CHECK_AS(TypeError, is_floating_point(result_type({self, target})) || is_complex(result_type({self, target})),
                  "mse_loss: input is ", self.scalar_type(), " and target is ", target.scalar_type(),
                  "; expected floating types");
  broadcast_shapes("mse_loss", self.sizes(), target.sizes());
  auto r = recording(dest, self, target);
  Tensor out;
  {
    autograd::GradModeOff off;
    if (dest.is_out() && reduction == 0) {
      Tensor difference = dest.target();
      gradus::sub_out(difference, self, target);
      out = difference.mul_(difference);
      name_writer(dest, "mse_loss");
    } else {
      Tensor difference = self.sub(target);
      difference.mul_(difference);
      out = dest.deliver("mse_loss", reduce(difference, reduction));
    }
  }
  if (r) {
    r.node("MseLossBackward0", out, [x = r.save(0), t = r.save(1), reduction](const GradIn& g, GradOut& d) {
      Tensor grad = gradus::mse_loss_backward(g[0], d.unpack(x), d.unpack(t), reduction);
      if (d.needs(0)) d[0] = grad;
      if (d.needs(1)) d[1] = grad.neg();
    });
  }
  return out;
}

namespace {

// log(1 + exp(-x)), with the gradient that its pieces do not have at 0.
Tensor softplus_of_negative(const Tensor& x) {
  auto r = recording(x);
  Tensor out;
  {
    autograd::GradModeOff off;
    out = x.abs().neg_().exp_().log1p_().add_(x.neg().clamp_min_(0));
  }
  if (r) {
    r.node("LogSigmoidBackward0", out,
           [x = r.save(0)](const GradIn& g, GradOut& d) { d[0] = g[0].mul(d.unpack(x).sigmoid().sub(1)); });
  }
  return out;
}

}  // namespace

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, int64_t reduction) {
  const char* op = "binary_cross_entropy_with_logits";
  checked_reduction(op, reduction);
  GRADUS_CHECK(self.defined() && target.defined(), op,
               ": input or target is an undefined tensor; expected ones with data");
  GRADUS_CHECK_AS(ValueError, self.sizes() == target.sizes(), op, ": target size ", target.sizes(),
                  " must be the same as input size ", self.sizes());
  GRADUS_CHECK_AS(TypeError, is_floating_point(self.scalar_type()), op, ": the input is ", self.scalar_type(),
                  "; expected a floating type");
  // (1 - t) x + (1 + (p - 1) t) log(1 + exp(-x))
  Tensor softplus = softplus_of_negative(self);
  if (pos_weight.defined()) softplus = softplus.mul(pos_weight.sub(1).mul(target).add(1));
  Tensor loss = target.neg().add(1).mul(self).add(softplus);
  if (weight.defined()) loss = loss.mul(weight);
  return reduce(loss, reduction);
}

}  // namespace gradus::inline v0::ops
