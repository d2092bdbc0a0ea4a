#include <gradus/nn/init.h>

#include <algorithm>
#include <cmath>

#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>

namespace gradus::inline v0::nn::init {

namespace {

using Gen = std::optional<Generator>;

struct Fans {
  int64_t in, out;
};

Fans fans_of(const char* op, const Tensor& tensor) {
  GRADUS_CHECK_AS(ValueError, tensor.dim() >= 2, op, ": the tensor has shape ", tensor.sizes(),
                  "; expected 2 dimensions or more to tell inputs from outputs");
  int64_t positions = 1;
  for (const int64_t s : tensor.sizes().slice(2)) positions *= s;
  return {tensor.size(1) * positions, tensor.size(0) * positions};
}

/// Nothing is to be filled, and the fans below would be divided by.
bool empty(const char* op, const Tensor& tensor) {
  if (tensor.numel() != 0) return false;
  warn(str("nn::init::", op, ": the tensor of shape ", tensor.sizes(), " has no elements; nothing was done"));
  return true;
}

double xavier_std(const Fans& fans, double gain) {
  return gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
}

double kaiming_std(const Fans& fans, double a, const FanModeType& mode, const NonlinearityType& nonlinearity) {
  const int64_t fan = std::holds_alternative<enumtype::kFanIn>(mode) ? fans.in : fans.out;
  return calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(fan));
}

/// Makes the `count` vectors of `length` elements behind each other orthonormal, the first ones' directions kept:
/// Gram and Schmidt's way, twice, after which no component along earlier vectors is left in double precision.
void orthonormalize(double* vectors, int64_t count, int64_t length) {
  for (int64_t i = 0; i < count; ++i) {
    double* v = vectors + i * length;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < i; ++k) {
        const double* earlier = vectors + k * length;
        double along = 0;
        for (int64_t j = 0; j < length; ++j) along += v[j] * earlier[j];
        for (int64_t j = 0; j < length; ++j) v[j] -= along * earlier[j];
      }
    }
    double square = 0;
    for (int64_t j = 0; j < length; ++j) square += v[j] * v[j];
    const double scale = square > 0 ? 1 / std::sqrt(square) : 0;
    for (int64_t j = 0; j < length; ++j) v[j] *= scale;
  }
}

double normal_cdf(double x) {
  return (1 + std::erf(x / std::sqrt(2.0))) / 2;
}

/// Redraws whole tensors until every element has been in range once. Good where most of the distribution is.
void reject_normals(const Tensor& tensor, double mean, double std, double a, double b, const Gen& generator) {
  tensor.normal_(mean, std, generator);
  const Scalar low = gradus::full({}, a, tensor.options()).item(), high = gradus::full({}, b, tensor.options()).item();
  for (;;) {
    const Tensor outside = tensor.lt(low).logical_or(tensor.gt(high));
    if (!outside.any().item<bool>()) return;
    tensor.copy_(gradus::where(outside, gradus::empty_like(tensor).normal_(mean, std, generator), tensor));
  }
}

/// Takes uniform candidates with the density's probability there, over its peak's in [a, b].
void accept_uniforms(const Tensor& tensor, double mean, double std, double a, double b, const Gen& generator) {
  const double mode = std::max(a, std::min(mean, b)), off = (mode - mean) / std, log_peak = -0.5 * off * off;
  const Tensor threshold = gradus::empty_like(tensor);
  const auto draw = [&](const Tensor& candidates) {
    candidates.uniform_(a, b, generator);
    const Tensor distance = candidates.sub(mean).div_(std);
    const Tensor log_density = distance.mul(distance).mul_(-0.5).sub_(log_peak);
    return threshold.uniform_(0, 1, generator).log().gt(log_density);
  };
  Tensor pending = draw(tensor);
  const Tensor candidates = gradus::empty_like(tensor);
  while (pending.any().item<bool>()) {
    const Tensor still = draw(candidates);
    tensor.copy_(gradus::where(pending, candidates, tensor));
    pending = pending.logical_and(still);
  }
}

}  // namespace

double calculate_gain(NonlinearityType nonlinearity, double param) {
  if (std::holds_alternative<enumtype::kTanh>(nonlinearity)) return 5.0 / 3.0;
  if (std::holds_alternative<enumtype::kReLU>(nonlinearity)) return std::sqrt(2.0);
  if (std::holds_alternative<enumtype::kLeakyReLU>(nonlinearity)) return std::sqrt(2.0 / (1 + param * param));
  return 1.0;
}

std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor) {
  const Fans fans = fans_of("_calculate_fan_in_and_fan_out", tensor);
  return {fans.in, fans.out};
}

Tensor uniform_(Tensor tensor, double low, double high, const Gen& generator) {
  const NoGradGuard no_grad;
  return tensor.uniform_(low, high, generator);
}

Tensor normal_(Tensor tensor, double mean, double std, const Gen& generator) {
  const NoGradGuard no_grad;
  return tensor.normal_(mean, std, generator);
}

Tensor trunc_normal_(Tensor tensor, double mean, double std, double a, double b, const Gen& generator) {
  GRADUS_CHECK_AS(ValueError, std > 0 && a < b, "trunc_normal_: std is ", std, ", the range from ", a, " to ", b,
                  "; expected a number > 0 and a range that is not empty");
  if (tensor.is_meta() || tensor.numel() == 0) return tensor;
  if (mean < a - 2 * std || mean > b + 2 * std) {
    warn(str("nn::init::trunc_normal_: the mean ", mean, " is more than 2 std from [", a, ", ", b,
             "]; the distribution may not be the one meant"));
  }
  const NoGradGuard no_grad;
  const double share = normal_cdf((b - mean) / std) - normal_cdf((a - mean) / std);
  (share > 0.3 ? reject_normals : accept_uniforms)(tensor, mean, std, a, b, generator);
  return tensor;
}

Tensor constant_(Tensor tensor, Scalar value) {
  const NoGradGuard no_grad;
  return tensor.fill_(value);
}

Tensor ones_(Tensor tensor) {
  return constant_(std::move(tensor), 1);
}
Tensor zeros_(Tensor tensor) {
  return constant_(std::move(tensor), 0);
}

Tensor eye_(Tensor matrix) {
  GRADUS_CHECK_AS(ValueError, matrix.dim() == 2, "eye_: the tensor has shape ", matrix.sizes(),
                  "; expected 2 dimensions");
  const NoGradGuard no_grad;
  matrix.zero_();
  const int64_t n = std::min(matrix.size(0), matrix.size(1));
  matrix.as_strided({n}, {matrix.stride(0) + matrix.stride(1)}, matrix.storage_offset()).fill_(1);
  return matrix;
}

Tensor dirac_(Tensor tensor, int64_t groups) {
  GRADUS_CHECK_AS(ValueError, tensor.dim() >= 3 && tensor.dim() <= 5, "dirac_: the tensor has shape ", tensor.sizes(),
                  "; expected 3, 4 or 5 dimensions");
  GRADUS_CHECK_AS(ValueError, groups >= 1 && tensor.size(0) % groups == 0, "dirac_: groups is ", groups,
                  ", the tensor has shape ", tensor.sizes(), "; expected groups that divide dimension 0");
  const NoGradGuard no_grad;
  tensor.zero_();
  const int64_t per_group = tensor.size(0) / groups;
  // The middle of the kernel, for each group's square of channels.
  Tensor middle = tensor;
  while (middle.dim() > 2) {
    if (middle.size(2) == 0) return tensor;
    middle = middle.select(2, middle.size(2) / 2);
  }
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t c = 0; c < std::min(per_group, tensor.size(1)); ++c) {
      middle.select(0, g * per_group + c).select(0, c).fill_(1);
    }
  }
  return tensor;
}

Tensor xavier_uniform_(Tensor tensor, double gain, const Gen& generator) {
  const Fans fans = fans_of("xavier_uniform_", tensor);
  if (empty("xavier_uniform_", tensor)) return tensor;
  const double bound = std::sqrt(3.0) * xavier_std(fans, gain);
  return init::uniform_(std::move(tensor), -bound, bound, generator);
}

Tensor xavier_normal_(Tensor tensor, double gain, const Gen& generator) {
  const Fans fans = fans_of("xavier_normal_", tensor);
  if (empty("xavier_normal_", tensor)) return tensor;
  return init::normal_(std::move(tensor), 0, xavier_std(fans, gain), generator);
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity,
                        const Gen& generator) {
  const Fans fans = fans_of("kaiming_uniform_", tensor);
  if (empty("kaiming_uniform_", tensor)) return tensor;
  const double bound = std::sqrt(3.0) * kaiming_std(fans, a, mode, nonlinearity);
  return init::uniform_(std::move(tensor), -bound, bound, generator);
}

Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity, const Gen& generator) {
  const Fans fans = fans_of("kaiming_normal_", tensor);
  if (empty("kaiming_normal_", tensor)) return tensor;
  return init::normal_(std::move(tensor), 0, kaiming_std(fans, a, mode, nonlinearity), generator);
}

// The Q of a QR decomposition whose R has a positive diagonal: that one is unique, and uniformly distributed.
Tensor orthogonal_(Tensor tensor, double gain, const Gen& generator) {
  GRADUS_CHECK_AS(ValueError, tensor.dim() >= 2, "orthogonal_: the tensor has shape ", tensor.sizes(),
                  "; expected 2 dimensions or more");
  if (tensor.numel() == 0 || tensor.is_meta()) return tensor;
  const NoGradGuard no_grad;
  const int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  const Tensor drawn = gradus::empty({rows, columns}, tensor.options()).normal_(0, 1, generator).to(kCPU, kDouble);
  const bool by_columns = rows >= columns;
  const Tensor vectors = by_columns ? drawn.t().clone(MemoryFormat::Contiguous) : drawn.contiguous();
  orthonormalize(vectors.data_ptr<double>(), vectors.size(0), vectors.size(1));
  tensor.copy_((by_columns ? vectors.t() : vectors).reshape(tensor.sizes()));
  return tensor.mul_(gain);
}

Tensor sparse_(Tensor tensor, double sparsity, double std, const Gen& generator) {
  GRADUS_CHECK_AS(ValueError, tensor.dim() == 2, "sparse_: the tensor has shape ", tensor.sizes(),
                  "; expected 2 dimensions");
  GRADUS_CHECK_AS(ValueError, sparsity >= 0 && sparsity <= 1, "sparse_: sparsity is ", sparsity,
                  "; expected a share in [0, 1]");
  const NoGradGuard no_grad;
  tensor.normal_(0, std, generator);
  if (tensor.is_meta()) return tensor;
  const int64_t rows = tensor.size(0);
  const auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  for (int64_t c = 0; c < tensor.size(1); ++c) {
    // PyTorch draws these from the default generator even where one is given, and so are its values.
    const Tensor order = gradus::randperm(rows);
    const Tensor column = tensor.select(1, c);
    for (int64_t i = 0; i < zeros; ++i) column.select(0, order.data_ptr<int64_t>()[i]).zero_();
  }
  return tensor;
}

}  // namespace gradus::inline v0::nn::init
