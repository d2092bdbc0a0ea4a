#include "ops/replay_compare.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

namespace replay {
namespace {

using gradus::ScalarType;
using gradus::Tensor;

const std::set<std::string_view> kPointwise = {
    "exp",    "exp2",       "erfc",      "hypot",     "log",        "log1p",       "expm1",      "sqrt",
    "rsqrt",  "reciprocal", "square",    "tanh",      "sigmoid",    "silu",        "leaky_relu", "erf",
    "sin",    "cos",        "add",       "sub",       "rsub",       "mul",         "div",        "pow",
    "round",  "rand",       "randn",     "rand_like", "randn_like", "dropout",     "to",         "_to_copy",
    "arange", "full",       "full_like", "uniform_",  "normal_",    "exponential_"};
const std::set<std::string_view> kSums = {"sum",
                                          "mean",
                                          "var",
                                          "std",
                                          "var_mean",
                                          "norm",
                                          "linalg_vector_norm",
                                          "prod",
                                          "softmax",
                                          "log_softmax",
                                          "layer_norm",
                                          "native_layer_norm",
                                          "batch_norm",
                                          "avg_pool2d",
                                          "nll_loss",
                                          "nll_loss_nd",
                                          "cross_entropy_loss",
                                          "mse_loss",
                                          "binary_cross_entropy_with_logits",
                                          "index_put",
                                          "index_add",
                                          "scatter_add",
                                          "sum_to_size",
                                          "lerp",
                                          "addcmul",
                                          "addcdiv",
                                          "linspace",
                                          "gelu"};
const std::set<std::string_view> kProducts = {"mm", "bmm", "matmul", "addmm", "conv2d", "dot", "mv", "linear"};

bool is_half(ScalarType t) {
  return t == gradus::kHalf || t == gradus::kBFloat16;
}

double epsilon(ScalarType t) {
  switch (t) {
    case gradus::kDouble:
      return std::numeric_limits<double>::epsilon();
    case gradus::kFloat:
      return std::numeric_limits<float>::epsilon();
    case gradus::kHalf:
      return std::ldexp(1.0, -10);
    case gradus::kBFloat16:
      return std::ldexp(1.0, -7);
    default:
      return 0;
  }
}

// The smallest step that the type knows: a result may lose it to underflow.
double smallest(ScalarType t) {
  switch (t) {
    case gradus::kDouble:
      return std::numeric_limits<double>::denorm_min();
    case gradus::kFloat:
      return std::numeric_limits<float>::denorm_min();
    case gradus::kHalf:
      return std::ldexp(1.0, -24);
    case gradus::kBFloat16:
      return std::ldexp(1.0, -133);
    default:
      return 0;
  }
}

// The largest finite magnitude.
double largest(const Tensor& t) {
  double result = 0;
  for (const long double v : elements(t)) {
    if (std::isfinite(v)) result = std::max(result, static_cast<double>(std::fabs(v)));
  }
  return result;
}

double term_count(const std::vector<Tensor>& tensors) {
  int64_t result = 1;
  for (const Tensor& t : tensors) result = std::max(result, t.numel());
  return static_cast<double>(result);
}

template <class T>
void read(const Tensor& t, std::vector<long double>& out) {
  const T* data = static_cast<const T*>(t.const_data_ptr());
  const std::vector<int64_t> sizes = t.sizes().vec(), strides = t.strides().vec();
  std::vector<int64_t> at(sizes.size(), 0);
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < sizes.size(); ++d) offset += at[d] * strides[d];
    out[i] = static_cast<long double>(data[offset]);
    for (size_t d = sizes.size(); d-- > 0 && ++at[d] == sizes[d];) at[d] = 0;
  }
}

}  // namespace

std::vector<long double> elements(const Tensor& t) {
  std::vector<long double> out(static_cast<size_t>(t.numel()));
  switch (t.scalar_type()) {
    case gradus::kBool:
    case gradus::kByte:
      read<uint8_t>(t, out);
      break;
    case gradus::kChar:
      read<int8_t>(t, out);
      break;
    case gradus::kShort:
      read<int16_t>(t, out);
      break;
    case gradus::kInt:
      read<int32_t>(t, out);
      break;
    case gradus::kLong:
      read<int64_t>(t, out);
      break;
    case gradus::kHalf:
      read<gradus::Half>(t, out);
      break;
    case gradus::kBFloat16:
      read<gradus::BFloat16>(t, out);
      break;
    case gradus::kFloat:
      read<float>(t, out);
      break;
    case gradus::kDouble:
      read<double>(t, out);
      break;
    default:
      GRADUS_CHECK(false, "the replay cannot read elements of type ", t.scalar_type());
  }
  return out;
}

Tolerance forward_tolerance(std::string_view op, const Tensor& want, const std::vector<Tensor>& inputs) {
  const ScalarType type = want.scalar_type();
  if (!gradus::is_floating_point(type)) return {};
  const double unit = epsilon(type), step = 2 * smallest(type);
  if (kPointwise.count(op)) return {(is_half(type) ? 1 : 4) * unit, step};
  const bool products = kProducts.count(op) > 0;
  if (!products && !kSums.count(op)) return {};
  double scale = products ? 1 : largest(want);
  for (const Tensor& t : inputs) {
    if (!gradus::is_floating_point(t.scalar_type())) continue;
    scale = products ? scale * std::max(1.0, largest(t)) : std::max(scale, largest(t));
  }
  // Half types are added up in float and rounded once.
  const double accumulated = is_half(type) ? epsilon(gradus::kFloat) : unit;
  return {2 * unit, step + 4 * accumulated * std::sqrt(term_count(inputs)) * scale};
}

Tolerance gradient_tolerance(const Tensor& want, const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& cotangents) {
  double scale = largest(want);
  for (const Tensor& t : cotangents) scale = std::max(scale, largest(t));
  const double unit = epsilon(want.scalar_type());
  return {16 * unit, 16 * unit * std::sqrt(term_count(inputs)) * scale};
}

std::string difference(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  if (!got.defined()) return "undefined tensor";
  if (got.scalar_type() != want.scalar_type()) {
    return gradus::str("dtype ", got.scalar_type(), " instead of ", want.scalar_type());
  }
  if (got.sizes().vec() != want.sizes().vec()) return gradus::str("sizes ", got.sizes(), " instead of ", want.sizes());
  const std::vector<long double> a = elements(got), b = elements(want);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = std::isnan(b[i]) ? std::isnan(a[i])
                      : std::isinf(b[i])
                          ? a[i] == b[i]
                          : std::fabs(a[i] - b[i]) <= tolerance.relative * std::fabs(b[i]) + tolerance.absolute;
    if (!same) {
      return gradus::str("element ", i, " of ", a.size(), " is ", static_cast<double>(a[i]), " instead of ",
                         static_cast<double>(b[i]), " (off by ", static_cast<double>(std::fabs(a[i] - b[i])),
                         ", allowed ", tolerance.relative * static_cast<double>(std::fabs(b[i])) + tolerance.absolute,
                         ")");
    }
  }
  return "";
}

}  // namespace replay
