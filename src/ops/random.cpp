// Random numbers into tensors: in place and as new ones. The distributions are in kernels/random.h.
#include <cmath>
#include <limits>

#include <kernels/random.h>

#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_random.h"

#include "../autograd/recording.h"
#include "pointwise_plan.h"
#include "random_source.h"

namespace gradus::inline v0::ops {

namespace {

using Gen = std::optional<Generator>;

bool is_narrow_float(ScalarType t) {
  return t == kFloat || t == kDouble || t == kHalf || t == kBFloat16;
}

void check_float(const char* op, ScalarType dtype, bool complex_too) {
  GRADUS_CHECK_AS(TypeError, is_narrow_float(dtype) || (complex_too && is_complex(dtype) && dtype != kComplexHalf), op,
                  ": the dtype is ", dtype, "; expected a floating ", complex_too ? "or complex one" : "one");
}
void check_real(const char* op, ScalarType dtype) {
  GRADUS_CHECK_AS(TypeError, is_narrow_float(dtype) || is_integral(dtype, true), op, ": the dtype is ", dtype,
                  "; expected a floating, integer or bool one");
}
void check_std(const char* op, double std) {
  GRADUS_CHECK_AS(ValueError, std >= 0, op, ": std is ", std, "; expected a number >= 0");
}
void check_probability(const char* op, double p) {
  GRADUS_CHECK_AS(ValueError, p >= 0 && p <= 1, op, ": p is ", p, "; expected a probability in [0, 1]");
}

/// The gradient of an in-place draw: none of self's old values is left.
constexpr auto zero_gradient = [](const GradIn& g, GradOut& d) { d[0] = zeros_like(g[0]); };

template <class Fill>
void draw_in_place(const char* op, const char* node, const Tensor& self, const Gen& generator, Fill&& fill) {
  auto r = recording(Dest::inplace(self), self);
  begin_write(op, self);
  draw_into(op, self, generator, fill);
  if (r) r.node(node, self, zero_gradient);
}

// --- floats ---------------------------------------------------------------------------------------------------------

struct Limits {
  double greatest;
  int digits;  // of the significand: all integers up to 2^digits exist
};
Limits limits_of(ScalarType t) {
  switch (to_real(t)) {
    case ScalarType::Half:
      return {65504.0, 11};
    case ScalarType::BFloat16:
      return {0x1.fep127, 8};
    case ScalarType::Float:
      return {std::numeric_limits<float>::max(), 24};
    default:
      return {std::numeric_limits<double>::max(), 53};
  }
}

void check_uniform(const char* op, ScalarType dtype, double from, double to) {
  check_float(op, dtype, true);
  const double greatest = limits_of(dtype).greatest;
  GRADUS_CHECK_AS(ValueError, std::abs(from) <= greatest && std::abs(to) <= greatest, op, ": the range is from ", from,
                  " to ", to, "; expected bounds that ", dtype, " can hold");
  GRADUS_CHECK_AS(ValueError, from <= to, op, ": from is ", from, ", to is ", to, "; expected from <= to");
  GRADUS_CHECK_AS(ValueError, to - from <= greatest, op, ": the range is from ", from, " to ", to,
                  "; expected a width that ", dtype, " can hold");
}

auto uniform(double from, double to) {
  return [=](Device device, const kernels::View& out, GeneratorImpl& g) {
    kernels::uniform_fill(device, out, from, to, g);
  };
}

/// The parts of a complex number have half the variance each.
auto gaussian(ScalarType dtype, double mean, double std) {
  if (is_complex(dtype)) std /= std::sqrt(2.0);
  return [=](Device device, const kernels::View& out, GeneratorImpl& g) {
    kernels::normal_fill(device, out, mean, std, g);
  };
}

// --- integers -------------------------------------------------------------------------------------------------------

constexpr int64_t kLeast = std::numeric_limits<int64_t>::lowest(), kGreatest = std::numeric_limits<int64_t>::max();

int64_t greatest_integer(ScalarType t) {
  switch (t) {
    case ScalarType::Bool:
      return 1;
    case ScalarType::Byte:
      return std::numeric_limits<uint8_t>::max();
    case ScalarType::Char:
      return std::numeric_limits<int8_t>::max();
    case ScalarType::Short:
      return std::numeric_limits<int16_t>::max();
    case ScalarType::Int:
      return std::numeric_limits<int32_t>::max();
    case ScalarType::UInt16:
      return std::numeric_limits<uint16_t>::max();
    case ScalarType::UInt32:
      return std::numeric_limits<uint32_t>::max();
    default:
      return kGreatest;
  }
}
int64_t least_integer(ScalarType t) {
  switch (t) {
    case ScalarType::Char:
      return std::numeric_limits<int8_t>::lowest();
    case ScalarType::Short:
      return std::numeric_limits<int16_t>::lowest();
    case ScalarType::Int:
      return std::numeric_limits<int32_t>::lowest();
    case ScalarType::Long:
      return kLeast;
    default:
      return 0;
  }
}

/// v as a number of the floating type t.
int64_t through_float(ScalarType t, int64_t v) {
  if (t == kHalf) return static_cast<int64_t>(static_cast<float>(Half(static_cast<float>(v))));
  if (t == kBFloat16) return static_cast<int64_t>(static_cast<float>(BFloat16(static_cast<float>(v))));
  if (t == kFloat) return static_cast<int64_t>(static_cast<float>(v));
  return static_cast<int64_t>(static_cast<double>(v));
}
/// The distance of t's numbers around v.
int64_t spacing(ScalarType t, int64_t v) {
  int n = 0;
  for (uint64_t m = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); m >>= 1;) ++n;
  return int64_t{1} << std::max(0, n - limits_of(t).digits + 1);
}

/// Integers first .. last, as draws of the kernel.
struct IntegerRange {
  int64_t first, last;
  uint64_t width() const { return static_cast<uint64_t>(last) - static_cast<uint64_t>(first) + 1; }
};

/// The bounds as dtype can keep them: a float type rounds, and may not round onto `to` or below `from`.
IntegerRange integer_range(const char* op, ScalarType dtype, int64_t from, std::optional<int64_t> to) {
  check_real(op, dtype);
  const bool floating = is_floating_point(dtype);
  GRADUS_CHECK_AS(ValueError, !to || from < *to, op, ": from is ", from, ", to is ", to.value_or(0),
                  "; expected from < to");
  IntegerRange range{from, to ? *to - 1 : floating ? int64_t{1} << limits_of(dtype).digits : greatest_integer(dtype)};
  if (floating) {
    if (const int64_t rounded = through_float(dtype, from + 1); rounded < from) {
      range.first = rounded + spacing(dtype, from + 1);
    }
    if (const int64_t rounded = to ? through_float(dtype, *to - 1) : 0; to && rounded >= *to) {
      range.last = rounded - spacing(dtype, *to - 1) - 1;
    }
    const double greatest = limits_of(dtype).greatest;
    GRADUS_CHECK_AS(ValueError,
                    range.first <= range.last && std::abs(static_cast<double>(range.first)) <= greatest &&
                        std::abs(static_cast<double>(range.last)) <= greatest,
                    op, ": the range is from ", from, " to ", to.value_or(range.last), "; expected one that ", dtype,
                    " can hold");
  } else {
    GRADUS_CHECK_AS(
        ValueError,
        range.first <= range.last && range.first >= least_integer(dtype) && range.last <= greatest_integer(dtype), op,
        ": integers from ", range.first, " to ", range.last, " were asked for; expected some that ", dtype,
        " can hold");
  }
  return range;
}

auto integers(const IntegerRange& range) {
  return [range](Device device, const kernels::View& out, GeneratorImpl& g) {
    kernels::integer_range_fill(device, out, range.width(), range.first, g);
  };
}

// --- new tensors ----------------------------------------------------------------------------------------------------

template <class Fill>
Tensor draw_new(const char* op, const Dest& dest, IntArrayRef size, const TensorOptions& options, const Gen& generator,
                Fill&& fill) {
  GRADUS_CHECK_AS(NotImplementedError, options.layout() == Layout::Strided, op, ": the layout is ", options.layout(),
                  "; expected Strided");
  core::checked_numel(size, options.scalar_type(), op);
  Tensor out = dest.result(op, size, options.scalar_type(), options.device(),
                           options.memory_format_opt().value_or(MemoryFormat::Contiguous));
  draw_into(op, out, generator, fill);
  return out;
}

ScalarType dtype_like(const Tensor& self, const TensorOptions& options) {
  return options.dtype_opt().value_or(self.scalar_type());
}

template <class Fill>
Tensor draw_like(const char* op, const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> format,
                 const Gen& generator, Fill&& fill) {
  const ScalarType dtype = dtype_like(self, options);
  const Device device = options.device_opt().value_or(self.device());
  if (!format) format = options.memory_format_opt();
  Tensor out;
  if (format.value_or(MemoryFormat::Preserve) == MemoryFormat::Preserve && device == self.device()) {
    out = core::empty_like(self, dtype);
  } else {
    const bool preserve = format.value_or(MemoryFormat::Preserve) == MemoryFormat::Preserve;
    out = core::empty(self.sizes(), dtype, device, preserve ? self.suggest_memory_format() : *format);
  }
  draw_into(op, out, generator, fill);
  return out;
}

}  // namespace

Tensor rand(const Dest& dest, IntArrayRef size, const Gen& generator, const TensorOptions& options) {
  check_float("rand", options.scalar_type(), true);
  return draw_new("rand", dest, size, options, generator, uniform(0, 1));
}
Tensor rand(const Dest& dest, IntArrayRef size, const TensorOptions& options) {
  return ops::rand(dest, size, std::nullopt, options);
}
Tensor rand_like(const Tensor& self, const Gen& generator, const TensorOptions& options,
                 std::optional<MemoryFormat> format) {
  check_float("rand_like", dtype_like(self, options), true);
  return draw_like("rand_like", self, options, format, generator, uniform(0, 1));
}
Tensor rand_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return ops::rand_like(self, std::nullopt, options, format);
}

Tensor randn(const Dest& dest, IntArrayRef size, const Gen& generator, const TensorOptions& options) {
  check_float("randn", options.scalar_type(), true);
  return draw_new("randn", dest, size, options, generator, gaussian(options.scalar_type(), 0, 1));
}
Tensor randn(const Dest& dest, IntArrayRef size, const TensorOptions& options) {
  return ops::randn(dest, size, std::nullopt, options);
}
Tensor randn_like(const Tensor& self, const Gen& generator, const TensorOptions& options,
                  std::optional<MemoryFormat> format) {
  const ScalarType dtype = dtype_like(self, options);
  check_float("randn_like", dtype, true);
  return draw_like("randn_like", self, options, format, generator, gaussian(dtype, 0, 1));
}
Tensor randn_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return ops::randn_like(self, std::nullopt, options, format);
}

Tensor randint(const Dest& dest, int64_t low, int64_t high, IntArrayRef size, const Gen& generator,
               const TensorOptions& options) {
  const IntegerRange range = integer_range("randint", options.scalar_type(), low, high);
  return draw_new("randint", dest, size, options, generator, integers(range));
}
Tensor randint(const Dest& dest, int64_t low, int64_t high, IntArrayRef size, const TensorOptions& options) {
  return ops::randint(dest, low, high, size, std::nullopt, options);
}
Tensor randint(const Dest& dest, int64_t high, IntArrayRef size, const Gen& generator, const TensorOptions& options) {
  return ops::randint(dest, 0, high, size, generator, options);
}
Tensor randint(const Dest& dest, int64_t high, IntArrayRef size, const TensorOptions& options) {
  return ops::randint(dest, 0, high, size, std::nullopt, options);
}

Tensor randint_like(const Tensor& self, int64_t low, int64_t high, const Gen& generator, const TensorOptions& options,
                    std::optional<MemoryFormat> format) {
  const IntegerRange range = integer_range("randint_like", dtype_like(self, options), low, high);
  return draw_like("randint_like", self, options, format, generator, integers(range));
}
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, const TensorOptions& options,
                    std::optional<MemoryFormat> format) {
  return ops::randint_like(self, low, high, std::nullopt, options, format);
}
Tensor randint_like(const Tensor& self, int64_t high, const Gen& generator, const TensorOptions& options,
                    std::optional<MemoryFormat> format) {
  return ops::randint_like(self, 0, high, generator, options, format);
}
Tensor randint_like(const Tensor& self, int64_t high, const TensorOptions& options,
                    std::optional<MemoryFormat> format) {
  return ops::randint_like(self, 0, high, std::nullopt, options, format);
}
Tensor randint_like(const Tensor& self, const Tensor& high, const Gen& generator, const TensorOptions& options,
                    std::optional<MemoryFormat> format) {
  GRADUS_CHECK_AS(ValueError, high.numel() == 1 && high.is_cpu(), "randint_like: high has shape ", high.sizes(), " on ",
                  high.device(), "; expected one element on the cpu");
  return ops::randint_like(self, 0, high.item<int64_t>(), generator, options, format);
}
Tensor randint_like(const Tensor& self, const Tensor& high, const TensorOptions& options,
                    std::optional<MemoryFormat> format) {
  return ops::randint_like(self, high, std::nullopt, options, format);
}

Tensor randperm(const Dest& dest, int64_t n, const Gen& generator, const TensorOptions& options) {
  const ScalarType dtype = options.scalar_type();
  GRADUS_CHECK_AS(ValueError, n >= 0, "randperm: n is ", n, "; expected a number >= 0");
  check_real("randperm", dtype);
  GRADUS_CHECK_AS(TypeError, dtype != kBool, "randperm: the dtype is Bool; expected a floating or integer one");
  const int64_t most = is_floating_point(dtype) ? int64_t{1} << limits_of(dtype).digits : greatest_integer(dtype);
  GRADUS_CHECK_AS(ValueError, n - 1 <= most, "randperm: n is ", n, "; expected at most ", most, " + 1 for ", dtype);
  return draw_new(
      "randperm", dest, n, options, generator,
      [](Device device, const kernels::View& out, GeneratorImpl& g) { kernels::permutation_fill(device, out, g); });
}
Tensor randperm(const Dest& dest, int64_t n, const TensorOptions& options) {
  return ops::randperm(dest, n, std::nullopt, options);
}

// --- normal numbers around tensors ----------------------------------------------------------------------------------

Tensor normal(const Dest& dest, double mean, double std, IntArrayRef size, const Gen& generator,
              const TensorOptions& options) {
  check_float("normal", options.scalar_type(), true);
  check_std("normal", std);
  return draw_new("normal", dest, size, options, generator, gaussian(options.scalar_type(), mean, std));
}

namespace {

void check_std(const Tensor& std) {
  check_float("normal", std.scalar_type(), false);
  if (std.numel() == 0 || std.is_meta()) return;
  const double least = std.detach().min().item<double>();
  GRADUS_CHECK_AS(ValueError, least >= 0, "normal: an element of std is ", least, "; expected numbers >= 0");
}

/// Draws with standard deviation `std` into the result, then change(result); `inputs` must not be overwritten before.
template <class Change>
Tensor normal_around(const Dest& dest, IntArrayRef sizes, const Tensor& like,
                     std::initializer_list<const Tensor*> inputs, double std, const Gen& generator, Change&& change) {
  const ScalarType dtype = dest.is_out() ? dest.target().scalar_type() : like.scalar_type();
  check_float("normal", dtype, true);
  const bool aside = dest.shares_memory(inputs);
  Tensor out = (aside ? Dest() : dest).result("normal", sizes, dtype, like.device());
  draw_into("normal", out, generator, gaussian(dtype, 0, std));
  const NoGradGuard no_grad;
  change(out);
  return aside ? dest.deliver("normal", std::move(out)) : out;
}

}  // namespace

Tensor normal(const Dest& dest, const Tensor& mean, double std, const Gen& generator) {
  auto r = recording(dest, mean);
  check_std("normal", std);
  Tensor out = normal_around(dest, mean.sizes(), mean, {&mean}, std, generator, [&](Tensor& t) { t.add_(mean); });
  if (r) r.node("NormalBackward1", out, zero_gradient);
  return out;
}

Tensor normal(const Dest& dest, double mean, const Tensor& std, const Gen& generator) {
  auto r = recording(dest, std);
  check_std(std);
  Tensor out = normal_around(dest, std.sizes(), std, {&std}, 1, generator, [&](Tensor& t) { t.mul_(std).add_(mean); });
  if (r) r.node("NormalBackward2", out, zero_gradient);
  return out;
}

Tensor normal(const Dest& dest, const Tensor& mean, const Tensor& std, const Gen& generator) {
  auto r = recording(dest, mean, std);
  check_std(std);
  const DimVector sizes = broadcast_shapes("normal", mean.sizes(), std.sizes());
  Tensor out =
      normal_around(dest, sizes, mean, {&mean, &std}, 1, generator, [&](Tensor& t) { t.mul_(std).add_(mean); });
  if (r) {
    r.node("NormalBackward3", out, [](const GradIn& g, GradOut& d) {
      for (size_t i = 0; i < 2; ++i)
        if (d.needs(i)) d[i] = zeros_like(g[0]);
    });
  }
  return out;
}

Tensor normal_functional(const Tensor& self, double mean, double std, const Gen& generator) {
  check_float("normal_functional", self.scalar_type(), true);
  check_std("normal_functional", std);
  return draw_like("normal_functional", self, {}, std::nullopt, generator, gaussian(self.scalar_type(), mean, std));
}

// --- in place -------------------------------------------------------------------------------------------------------

void uniform_(const Tensor& self, double from, double to, const Gen& generator) {
  check_uniform("uniform_", self.scalar_type(), from, to);
  draw_in_place("uniform_", "UniformBackward0", self, generator, uniform(from, to));
}

void normal_(const Tensor& self, double mean, double std, const Gen& generator) {
  check_float("normal_", self.scalar_type(), true);
  check_std("normal_", std);
  draw_in_place("normal_", "NormalBackward0", self, generator, gaussian(self.scalar_type(), mean, std));
}

void log_normal_(const Tensor& self, double mean, double std, const Gen& generator) {
  check_float("log_normal_", self.scalar_type(), false);
  GRADUS_CHECK_AS(ValueError, std > 0, "log_normal_: std is ", std, "; expected a number > 0");
  draw_in_place("log_normal_", "LogNormalBackward0", self, generator,
                [=](Device device, const kernels::View& out, GeneratorImpl& g) {
                  kernels::log_normal_fill(device, out, mean, std, g);
                });
}

void cauchy_(const Tensor& self, double median, double sigma, const Gen& generator) {
  check_float("cauchy_", self.scalar_type(), false);
  GRADUS_CHECK_AS(ValueError, sigma > 0, "cauchy_: sigma is ", sigma, "; expected a number > 0");
  draw_in_place("cauchy_", "CauchyBackward0", self, generator,
                [=](Device device, const kernels::View& out, GeneratorImpl& g) {
                  kernels::cauchy_fill(device, out, median, sigma, g);
                });
}

void exponential_(const Tensor& self, double lambd, const Gen& generator) {
  check_float("exponential_", self.scalar_type(), false);
  GRADUS_CHECK_AS(ValueError, lambd > 0, "exponential_: lambd is ", lambd, "; expected a number > 0");
  draw_in_place("exponential_", "ExponentialBackward0", self, generator,
                [=](Device device, const kernels::View& out, GeneratorImpl& g) {
                  kernels::exponential_fill(device, out, lambd, g);
                });
}

void geometric_(const Tensor& self, double p, const Gen& generator) {
  check_real("geometric_", self.scalar_type());
  GRADUS_CHECK_AS(TypeError, self.scalar_type() != kBool,
                  "geometric_: the dtype is Bool; expected a floating or integer one");
  GRADUS_CHECK_AS(ValueError, p > 0 && p < 1, "geometric_: p is ", p, "; expected a probability in (0, 1)");
  draw_in_place(
      "geometric_", "GeometricBackward0", self, generator,
      [=](Device device, const kernels::View& out, GeneratorImpl& g) { kernels::geometric_fill(device, out, p, g); });
}

void random_(const Tensor& self, const Gen& generator) {
  check_real("random_", self.scalar_type());
  draw_in_place(
      "random_", "RandomBackward0", self, generator,
      [](Device device, const kernels::View& out, GeneratorImpl& g) { kernels::integer_type_fill(device, out, g); });
}

void random_(const Tensor& self, int64_t from, std::optional<int64_t> to, const Gen& generator) {
  if (from == kLeast && !to) {
    const ScalarType dtype = self.scalar_type();
    GRADUS_CHECK_AS(TypeError, dtype == kLong || dtype == kDouble || dtype == kFloat || dtype == kBFloat16,
                    "random_: all of int64 was asked for and the dtype is ", dtype,
                    "; expected Long, Double, Float or BFloat16");
    return draw_in_place(
        "random_", "RandomBackward1", self, generator,
        [](Device device, const kernels::View& out, GeneratorImpl& g) { kernels::integer_all_fill(device, out, g); });
  }
  const IntegerRange range = integer_range("random_", self.scalar_type(), from, to);
  draw_in_place("random_", "RandomBackward1", self, generator, integers(range));
}

void random_(const Tensor& self, int64_t to, const Gen& generator) {
  ops::random_(self, 0, to, generator);
}

// --- Bernoulli ------------------------------------------------------------------------------------------------------

namespace {

auto trials(double p) {
  return [p](Device device, const kernels::View& out, GeneratorImpl& g) { kernels::bernoulli_fill(device, out, p, g); };
}

/// One trial per element of `out` with the probability in `p`, broadcast.
void bernoulli_each(const char* op, const Tensor& out, const Tensor& given, const Gen& generator) {
  check_float(op, given.scalar_type(), false);
  check_real(op, out.scalar_type());
  const Tensor p = given.is_cpu() && !out.is_cpu()
                       ? copy_into(core::empty(given.sizes(), given.scalar_type(), out.device()), given)
                       : given;
  GRADUS_CHECK(p.device() == out.device(), op, ": p is on ", p.device(), ", the result on ", out.device(),
               "; expected both on the same device");
  const DimVector sizes = broadcast_shapes(op, out.sizes(), p.sizes());
  GRADUS_CHECK(IntArrayRef(sizes) == out.sizes(), op, ": p has shape ", p.sizes(), ", the result ", out.sizes(),
               "; expected a p that broadcasts to the result");
  DimVector strides(sizes.size(), 0);
  const size_t lead = sizes.size() - static_cast<size_t>(p.dim());
  for (size_t d = lead; d < sizes.size(); ++d) {
    if (p.sizes()[d - lead] != 1) strides[d] = p.strides()[d - lead];
  }
  const kernels::ConstView probabilities(p.data_ptr(), sizes.data(), strides.data(), static_cast<int>(sizes.size()),
                                         p.scalar_type(), p.device());
  bool valid = true;
  draw_into(op, out, generator, [&](Device device, const kernels::View& view, GeneratorImpl& g) {
    valid = kernels::bernoulli_each_fill(device, view, probabilities, g);
  });
  GRADUS_CHECK_AS(ValueError, valid, op, ": an element of p is no probability; expected numbers in [0, 1]");
}

}  // namespace

Tensor bernoulli(const Dest& dest, const Tensor& self, const Gen& generator) {
  auto r = recording(dest, self);
  check_float("bernoulli", self.scalar_type(), false);
  const ScalarType dtype = dest.is_out() ? dest.target().scalar_type() : self.scalar_type();
  const bool aside = dest.shares_memory(self);
  Tensor out = (aside ? Dest() : dest).result("bernoulli", self.sizes(), dtype, self.device());
  bernoulli_each("bernoulli", out, self, generator);
  if (aside) return dest.deliver("bernoulli", std::move(out));
  if (r) r.node("BernoulliBackward0", out, zero_gradient);
  return out;
}

Tensor bernoulli(const Tensor& self, double p, const Gen& generator) {
  check_real("bernoulli", self.scalar_type());
  check_probability("bernoulli", p);
  return draw_new("bernoulli", Dest(), self.sizes(), self.options(), generator, trials(p));
}

void bernoulli_(const Tensor& self, double p, const Gen& generator) {
  check_real("bernoulli_", self.scalar_type());
  check_probability("bernoulli_", p);
  draw_in_place("bernoulli_", "BernoulliBackward2", self, generator, trials(p));
}

void bernoulli_(const Tensor& self, const Tensor& p, const Gen& generator) {
  auto r = recording(Dest::inplace(self), self, p);
  begin_write("bernoulli_", self);
  const Tensor apart = p.is_alias_of(self) ? p.clone() : p;
  bernoulli_each("bernoulli_", self, apart, generator);
  if (r) {
    r.node("BernoulliBackward1", self, [](const GradIn& g, GradOut& d) {
      for (size_t i = 0; i < 2; ++i)
        if (d.needs(i)) d[i] = zeros_like(g[0]);
    });
  }
}

}  // namespace gradus::inline v0::ops
