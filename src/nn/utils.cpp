#include <gradus/nn/utils.h>

#include <cmath>

#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>

namespace gradus::inline v0::nn::utils {

namespace {

// A p-norm that neither overflows nor underflows: values are divided by the largest one.
class ScaledNorm {
 public:
  explicit ScaledNorm(double p) : p_(p) {}
  void add(const Tensor& grad) {
    Tensor values = grad.detach().to(kDouble).contiguous().reshape({-1});
    const double* v = values.data_ptr<double>();
    for (int64_t i = 0; i < values.numel(); ++i) add_value(std::fabs(v[i]));
  }
  double value() const {
    if (nonfinite_ || std::isinf(p_)) return nonfinite_ ? bad_ : largest_;
    return largest_ * std::pow(sum_, 1 / p_);
  }

 private:
  void add_value(double a) {
    if (!std::isfinite(a)) {
      bad_ = nonfinite_ && std::isnan(bad_) ? bad_ : a;
      nonfinite_ = true;
    }
    if (a > largest_) {
      if (!std::isinf(p_) && std::isfinite(a)) sum_ = sum_ * std::pow(largest_ / a, p_) + 1;
      largest_ = a;
    } else if (largest_ > 0 && !std::isinf(p_)) {
      sum_ += p_ == 2 ? (a / largest_) * (a / largest_) : std::pow(a / largest_, p_);
    }
  }
  double p_, largest_ = 0, sum_ = 0, bad_ = 0;
  bool nonfinite_ = false;
};

}  // namespace

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  GRADUS_CHECK_AS(ValueError, max_norm >= 0, "clip_grad_norm_: max_norm is ", max_norm, "; expected at least 0");
  GRADUS_CHECK_AS(ValueError, norm_type > 0, "clip_grad_norm_: norm_type is ", norm_type,
                  "; expected a positive number, or infinity");
  NoGradGuard guard;
  ScaledNorm norm(norm_type);
  for (const Tensor& p : parameters) {
    if (p.defined() && p.grad().defined()) norm.add(p.grad());
  }
  const double total = norm.value();
  if (!std::isfinite(total)) {
    if (!error_if_nonfinite) return total;
    std::string which;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].defined() || !parameters[i].grad().defined()) continue;
      ScaledNorm one(norm_type);
      one.add(parameters[i].grad());
      if (!std::isfinite(one.value())) which += (which.empty() ? "" : ", ") + std::to_string(i);
    }
    throw Error(str("clip_grad_norm_: the gradients' total norm is ", total,
                    ", which cannot be clipped; not finite: those of parameters ", which));
  }
  const double factor = max_norm / (total + 1e-6);
  if (factor >= 1) return total;
  for (const Tensor& p : parameters) {
    if (p.defined() && p.grad().defined()) p.grad().mul_(factor);
  }
  return total;
}
double clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type, bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  GRADUS_CHECK_AS(ValueError, clip_value >= 0, "clip_grad_value_: clip_value is ", clip_value, "; expected at least 0");
  NoGradGuard guard;
  for (const Tensor& p : parameters) {
    if (p.defined() && p.grad().defined()) p.grad().clamp_(Scalar(-clip_value), Scalar(clip_value));
  }
}

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> flat;
  for (const Tensor& p : parameters) flat.push_back(p.reshape({-1}));
  return cat(flat);
}

void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters) {
  NoGradGuard guard;
  int64_t needed = 0, at = 0;
  for (const Tensor& p : parameters) needed += p.numel();
  GRADUS_CHECK_AS(ValueError, vec.dim() == 1 && vec.numel() == needed, "vector_to_parameters: the vector has shape ",
                  vec.sizes(), "; the parameters have ", needed, " elements");
  for (const Tensor& p : parameters) {
    p.copy_(vec.narrow(0, at, p.numel()).reshape(p.sizes()));
    at += p.numel();
  }
}

}  // namespace gradus::inline v0::nn::utils
