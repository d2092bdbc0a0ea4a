#include "ops/record_walk.h"

#include <algorithm>
#include <cmath>

#include <gradus/autograd/autograd.h>

namespace gradus::testing {

// --- making inputs --------------------------------------------------------------------------------------------------

double Make::next() {
  state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
  return static_cast<double>(state_ >> 11) * 0x1p-53;
}

Tensor Make::values(const std::vector<int64_t>& sizes, double low, double high) {
  Tensor t = empty(sizes, kDouble);
  const bool whole = isIntegralType(dtype_, false);
  for (int64_t i = 0; i < t.numel(); ++i) {
    double v = low + (high - low) * next();
    if (dtype_ == kBool) {
      v = next() < 0.5;
    } else if (whole) {
      v = dtype_ == kByte ? std::abs(std::round(v)) : std::round(v);
      if (low > 0 && v < 1) v = 1;
    } else if (std::abs(v) < 0.1 && high - low > 1) {
      v = v < 0 ? v - 0.1 : v + 0.1;  // away from the kinks of relu, abs and the like
    }
    t.data_ptr<double>()[i] = v;
  }
  return t;
}

Tensor Make::place(const Tensor& values, Geometry geometry) {
  Tensor t;
  const auto n = static_cast<int64_t>(values.sizes().size());
  if (geometry == Geometry::kExpanded && n > 0 && values.numel() > 0) {
    // Every row the same: the first dimension has stride 0.
    t = values.select(0, 0).to(dtype_).expand(values.sizes());
  } else if (geometry == Geometry::kStrided && n > 0 && values.numel() > 0) {
    std::vector<int64_t> strides(static_cast<size_t>(n));
    int64_t step = 2;
    for (int64_t d = 0; d < n; ++d) {
      strides[static_cast<size_t>(d)] = step;
      step *= values.size(d);
    }
    t = zeros({step + 1}, dtype_).as_strided(values.sizes(), strides, 1);
    t.copy_(values);
  } else {
    t = values.to(dtype_);
  }
  keep_.push_back(t);
  return t;
}

Tensor Make::in(std::vector<int64_t> sizes, double low, double high) {
  const Tensor t = other(std::move(sizes), low, high);
  inputs_.insert(t.impl());
  return t;
}
Tensor Make::dense(std::vector<int64_t> sizes, double low, double high) {
  const Tensor t = place(values(sizes, low, high), Geometry::kContiguous);
  inputs_.insert(t.impl());
  return t;
}
Tensor Make::other(std::vector<int64_t> sizes, double low, double high) {
  return place(values(sizes, low, high), geometry_);
}
Tensor Make::with_zeros(std::vector<int64_t> sizes, const std::vector<int64_t>& at, double low, double high) {
  Tensor v = values(sizes, low, high);
  for (int64_t i : at) v.data_ptr<double>()[i] = 0;
  const Tensor t = place(v, geometry_);
  inputs_.insert(t.impl());
  return t;
}
Tensor Make::index(std::vector<int64_t> sizes, int64_t limit) {
  Tensor t = empty(sizes, kLong);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data_ptr<int64_t>()[i] = static_cast<int64_t>(next() * static_cast<double>(limit));
  return t;
}
Tensor Make::mask(std::vector<int64_t> sizes) {
  Tensor t = empty(sizes, kBool);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<bool>()[i] = next() < 0.5;
  return t;
}

bool has_dtype(const Record& r, ScalarType t) {
  return (r.dtypes & (t == kBool ? kBools : isIntegralType(t, false) ? kInts : kFloats)) != 0;
}
double eps_of(ScalarType t) {
  switch (t) {
    case kHalf:
      return 0x1p-10;
    case kBFloat16:
      return 0x1p-7;
    case kFloat:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

// --- comparing ------------------------------------------------------------------------------------------------------

std::vector<Tensor> tensors_of(const std::vector<IValue>& values) {
  std::vector<Tensor> all;
  for (const IValue& v : values) {
    if (v.isTensor()) all.push_back(v.toTensor());
    if (v.isTensorList()) all.insert(all.end(), v.toTensorVector().begin(), v.toTensorVector().end());
    if (v.isScalar()) all.push_back(scalar_tensor(v.toScalar(), kDouble));
  }
  return all;
}

std::string difference(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.defined() != want.defined()) return "one is undefined";
  if (!got.defined()) return "";
  if (got.sizes() != want.sizes()) return str("sizes ", got.sizes(), " instead of ", want.sizes());
  const Tensor a = got.detach().cpu().to(kDouble).contiguous(), b = want.detach().cpu().to(kDouble).contiguous();
  double scale = 1;
  for (int64_t i = 0; i < b.numel(); ++i) {
    const double v = std::abs(b.data_ptr<double>()[i]);
    if (std::isfinite(v) && v > scale) scale = v;
  }
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.data_ptr<double>()[i], y = b.data_ptr<double>()[i];
    const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= tolerance * scale;
    if (!same) return str("element ", i, " is ", x, " instead of ", y);
  }
  return "";
}
std::string difference(const std::vector<IValue>& got, const std::vector<IValue>& want, double tolerance) {
  const std::vector<Tensor> a = tensors_of(got), b = tensors_of(want);
  if (a.size() != b.size()) return str(a.size(), " tensors instead of ", b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string d = difference(a[i], b[i], tolerance);
    if (!d.empty()) return str("result ", i, ": ", d);
  }
  return "";
}

std::vector<IValue> wrapped_as(const std::vector<IValue>& got, const std::vector<IValue>& want) {
  std::vector<IValue> result;
  const std::vector<Tensor> like = tensors_of(got), from = tensors_of(want);
  for (size_t i = 0; i < from.size(); ++i) {
    const bool integers = i < like.size() && like[i].defined() && isIntegralType(like[i].scalar_type(), false);
    result.emplace_back(integers ? from[i].to(kLong).to(like[i].scalar_type()) : from[i]);
  }
  return result;
}

// --- rewriting arguments --------------------------------------------------------------------------------------------

Args copies(const Args& args) {
  return map_tensors(args, [](const Tensor& t) {
    bool expanded = false;
    for (int64_t s : t.strides()) expanded = expanded || s == 0;
    if (expanded) return t;
    Tensor c = empty_strided(t.sizes(), t.strides(), t.options());
    c.copy_(t);
    return c;
  });
}
Args fresh(const Args& args) {
  return map_tensors(args, [](const Tensor& t) { return t.clone(MemoryFormat::Contiguous); });
}
Args on_meta(const Args& args) {
  return map_tensors(args,
                     [](const Tensor& t) { return empty_strided(t.sizes(), t.strides(), t.options().device(kMeta)); });
}

Args scaled(const OperatorHandle& op, const Args& args, int64_t factor, bool meta) {
  const auto grown = [factor](int64_t n) { return n > 1 ? n * factor : n; };
  Args result = map_tensors(args, [&](const Tensor& t) {
    std::vector<int64_t> sizes, times;
    for (int64_t n : t.sizes()) {
      sizes.push_back(grown(n));
      times.push_back(n > 1 ? factor : 1);
    }
    return meta ? empty(sizes, t.options().device(kMeta)) : t.repeat(times);
  });
  static const std::set<std::string> kSizes = {"size",      "sizes",       "normalized_shape", "input_sizes",
                                               "self_size", "split_sizes", "output_size"};
  const auto& arguments = op.schema().arguments;
  for (size_t i = 0; i < result.size() && i < arguments.size(); ++i) {
    if (!kSizes.count(arguments[i].name) || !result[i].isIntList()) continue;
    std::vector<int64_t> sizes;
    for (int64_t n : result[i].toIntVector()) sizes.push_back(grown(n));
    result[i] = sizes;
  }
  return result;
}

Args emptied(const Args& args, int64_t size) {
  return map_tensors(args, [size](const Tensor& t) {
    std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
    for (int64_t& n : sizes) n = n == size ? 0 : n;
    return t.sizes() == IntArrayRef(sizes) ? t.clone() : empty(sizes, t.options());
  });
}

std::pair<int64_t, int64_t> largest(const Args& args) {
  std::pair<int64_t, int64_t> best{0, 0};
  map_tensors(args, [&](const Tensor& t) {
    int64_t dims = 0;
    for (int64_t n : t.sizes()) dims += n > 1;
    best = std::max(best, {t.numel(), dims});
    return t;
  });
  return best;
}

// --- the operators --------------------------------------------------------------------------------------------------

bool tested_elsewhere(const OperatorHandle& op) {
  if (op.is_random()) return true;  // draws_test replays PyTorch's draws
  for (const SchemaArgument& a : op.schema().arguments) {
    if (a.type.base == SchemaType::Base::Generator) return true;
  }
  static const std::set<std::string> kReasons = {"native_dropout_backward",  // with its forward in random_test
                                                 "is_pinned",                // need CUDA: tests/cuda
                                                 "pin_memory",
                                                 "resize_",
                                                 "resize_as_",
                                                 "view.dtype",
                                                 "narrow.Tensor",  // have no reference in doubles
                                                 "linspace.Scalar_Tensor",
                                                 "linspace.Scalar_Tensor_out",
                                                 "linspace.Tensor_Scalar",
                                                 "linspace.Tensor_Scalar_out",
                                                 "linspace.Tensor_Tensor",
                                                 "linspace.Tensor_Tensor_out"};  // linspace with .item()
  return kReasons.count(op.full_name().substr(6)) != 0 || op.name() == "aten::randint_like" ||
         op.name() == "aten::normal_functional";
}

bool writes_statistics(const OperatorHandle& op) {
  return op.schema().find("running_mean") >= 0;
}

Forms forms_of(const OperatorHandle& op) {
  Forms forms;
  const FunctionSchema& s = op.schema();
  // Options are not arguments of a factory's out form.
  const auto types = [](const FunctionSchema& f) {
    static const std::set<std::string> kOptions = {"dtype", "layout", "device", "pin_memory"};
    const bool options = f.find("pin_memory") >= 0;
    std::string t;
    for (const SchemaArgument& a : f.arguments) {
      if (!(a.written && a.kwarg_only) && !(options && kOptions.count(a.name))) t += a.type.text + ",";
    }
    return t;
  };
  for (const OperatorHandle& other : all_operators()) {
    const FunctionSchema& o = other.schema();
    if (other.is_inplace() && o.name == s.name + "_" && types(o) == types(s)) forms.inplace = other;
    if (other.is_out() && o.name == s.name && types(o) == types(s)) forms.out = other;
  }
  return forms;
}

Args for_out(const OperatorHandle& op, const OperatorHandle& out, Args args) {
  const std::vector<SchemaArgument>& own = op.schema().arguments;
  Args kept;
  for (const SchemaArgument& a : out.schema().arguments) {
    if (a.written && a.kwarg_only) continue;
    const auto at = std::find_if(own.begin(), own.end(), [&](const SchemaArgument& o) { return o.name == a.name; });
    const auto i = static_cast<size_t>(at - own.begin());
    if (i >= args.size()) break;  // the schema's default
    kept.push_back(std::move(args[i]));
  }
  return kept;
}
std::vector<std::pair<std::string, IValue>> outs_for(const OperatorHandle& out, const std::vector<IValue>& results,
                                                     bool right_size) {
  std::vector<std::pair<std::string, IValue>> outs;
  for (const SchemaArgument& a : out.schema().arguments) {
    if (!(a.written && a.kwarg_only)) continue;
    const Tensor& like = results[outs.size()].toTensor();
    outs.emplace_back(a.name, right_size ? empty_like(like) : empty({0}, like.options()));
  }
  return outs;
}

const std::map<std::string, Record>& records() {
  static const std::map<std::string, Record> all = [] {
    std::map<std::string, Record> m;
    for (Record& r : all_records()) m.emplace(r.op, r);
    return m;
  }();
  return all;
}

// --- gradients ------------------------------------------------------------------------------------------------------

std::vector<IValue> plain_call(const OperatorHandle& op, Args args) {
  return call(op, std::move(args));
}

DifferentiableSample::DifferentiableSample(OperatorHandle op, Args sample, const Make& made, Caller caller)
    : op_(op), sample_(std::move(sample)), caller_(std::move(caller)) {
  map_tensors(sample_, [&](const Tensor& t) {
    is_input_.push_back(made.is_input(t) && t.scalar_type() == kDouble);
    if (is_input_.back()) inputs_.push_back(t.detach().clone().requires_grad_());
    return t;
  });
}

std::vector<IValue> DifferentiableSample::run(const OperatorHandle& which, const autograd::variable_list& given,
                                              bool writes) const {
  size_t tensor = 0, input = 0;
  Args args = map_tensors(sample_, [&](const Tensor& t) {
    // Statistics that the operator updates start anew every time.
    return is_input_[tensor++] ? given[input++] : t.detach().clone();
  });
  if (writes) args[0] = args[0].toTensor().clone();
  return caller_(which, std::move(args));
}

autograd::CheckedFunction DifferentiableSample::function_of(const OperatorHandle& which, bool writes) const {
  // Which results have gradients is known from a run that records.
  std::vector<bool> known;
  {
    AutoGradMode on(true);
    for (const Tensor& t : tensors_of(run(which, inputs_, writes)))
      known.push_back(t.defined() && t.requires_grad() && isFloatingType(t.scalar_type()));
  }
  return [this, which, writes, known](const autograd::variable_list& given) {
    autograd::variable_list outputs;
    const std::vector<Tensor> results = tensors_of(run(which, given, writes));
    for (size_t k = 0; k < results.size(); ++k) {
      if (known[k]) outputs.push_back(results[k]);
    }
    return outputs;
  };
}
autograd::CheckedFunction DifferentiableSample::function() const {
  return function_of(op_, op_.is_inplace());
}
autograd::CheckedFunction DifferentiableSample::function_in_place(const OperatorHandle& which) const {
  return function_of(which, true);
}

std::set<size_t> DifferentiableSample::without_gradient() const {
  std::set<size_t> numbers;
  const std::vector<Tensor> results = tensors_of(run(op_, inputs_, op_.is_inplace()));
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k].defined() && isFloatingType(results[k].scalar_type()) && !results[k].requires_grad())
      numbers.insert(k);
  }
  return numbers;
}

namespace {
std::string fault_of(const autograd::CheckedFunction& function, const autograd::variable_list& inputs) {
  try {
    if (function(inputs).empty()) return "no result requires a gradient";
    autograd::gradcheck(function, inputs);
    autograd::gradgradcheck(function, inputs);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
}  // namespace

std::string DifferentiableSample::fault() const {
  return fault_of(function(), inputs_);
}
std::string DifferentiableSample::fault_in_place(const OperatorHandle& which) const {
  return fault_of(function_in_place(which), inputs_);
}

}  // namespace gradus::testing
