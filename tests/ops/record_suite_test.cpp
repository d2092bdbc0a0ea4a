// Walks the registry with the operators' records: dtypes, geometries, gradients once and twice, in-place and out forms,
// meta tensors; everything a second time with each call going through its boxed form.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include <gradus/autograd/autograd.h>
#include <gradus/autograd/gradcheck.h>
#include <gradus/ops/interposer.h>

#include "ops/records.h"

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

namespace {

constexpr ScalarType kDtypes[] = {kDouble, kFloat, kHalf, kBFloat16, kByte, kChar, kShort, kInt, kLong, kBool};

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

// An empty text, or what is different.
std::string difference(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.defined() != want.defined()) return "one is undefined";
  if (!got.defined()) return "";
  if (got.sizes() != want.sizes()) return str("sizes ", got.sizes(), " instead of ", want.sizes());
  const Tensor a = got.detach().to(kDouble).contiguous(), b = want.detach().to(kDouble).contiguous();
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

// The reference as the integers it was to become: they wrap and truncate.
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

template <class F>
Args map_tensors(const Args& args, F f) {
  Args result;
  for (const IValue& v : args) {
    if (v.isTensor()) {
      result.emplace_back(f(v.toTensor()));
    } else if (v.isTensorList()) {
      std::vector<Tensor> list;
      for (const Tensor& t : v.toTensorVector()) list.push_back(f(t));
      result.emplace_back(std::move(list));
    } else if (v.isOptionalTensorList()) {
      IValue::OptionalTensors list;
      for (const auto& t : v.toOptionalTensorVector()) list.push_back(t ? std::optional<Tensor>(f(*t)) : std::nullopt);
      result.emplace_back(std::move(list));
    } else {
      result.push_back(v);
    }
  }
  return result;
}
Args copies(const Args& args) {
  // What lies in memory as it did: an operator may write into its arguments.
  return map_tensors(args, [](const Tensor& t) {
    Tensor c = empty_strided(t.sizes(), t.strides(), t.options());
    bool expanded = false;
    for (int64_t s : t.strides()) expanded = expanded || s == 0;
    if (expanded) return t;
    c.copy_(t);
    return c;
  });
}

// --- the operators --------------------------------------------------------------------------------------------------

// Operators whose results are drawn or that have a suite of their own.
bool tested_elsewhere(const OperatorHandle& op) {
  if (op.is_random()) return true;  // draws_test replays PyTorch's draws
  for (const SchemaArgument& a : op.schema().arguments) {
    if (a.type.base == SchemaType::Base::Generator) return true;
  }
  static const std::set<std::string> kReasons = {"native_dropout_backward",  // with its forward in random_test
                                                 "resize_",
                                                 "resize_as_",
                                                 "view.dtype",
                                                 "narrow.Tensor",  // have no reference in doubles
                                                 "linspace.Scalar_Tensor",
                                                 "linspace.Tensor_Scalar",
                                                 "linspace.Tensor_Tensor"};  // linspace with .item()
  return kReasons.count(op.full_name().substr(6)) != 0 || op.name() == "aten::randint_like" ||
         op.name() == "aten::normal_functional";
}

// Running statistics are written: they may not be expanded.
bool writes_statistics(const OperatorHandle& op) {
  return op.schema().find("running_mean") >= 0;
}

struct Forms {
  std::optional<OperatorHandle> inplace, out;
};
// The in-place and out operators of a functional one: same arguments after the first, before the outs.
Forms forms_of(const OperatorHandle& op) {
  Forms forms;
  const FunctionSchema& s = op.schema();
  std::vector<std::string> names, plain;
  for (const SchemaArgument& a : s.arguments) {
    names.push_back(a.name);
    if (a.name != "dtype" && a.name != "layout" && a.name != "device" && a.name != "pin_memory")
      plain.push_back(a.name);
  }
  const auto types = [](const FunctionSchema& f) {
    std::string t;
    for (const SchemaArgument& a : f.arguments) {
      if (!(a.written && a.kwarg_only)) t += a.type.text + ",";
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

std::map<std::string, Record>& records() {
  static std::map<std::string, Record> all = [] {
    std::map<std::string, Record> m;
    for (Record& r : all_records()) m.emplace(r.op, r);
    return m;
  }();
  return all;
}

struct Case {
  std::string op;
  bool boxed;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.op;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool boxed : {false, true}) {
    for (const auto& [name, record] : records()) {
      if (find_operator(name)) all.push_back({name, boxed});
    }
  }
  return all;
}

class OpRecord : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().boxed) guard_.emplace(boxer_);
  }
  const Record& record() const { return records().at(GetParam().op); }
  OperatorHandle op() const { return get_operator(GetParam().op); }
  std::vector<Args> samples(ScalarType dtype, Geometry geometry = Geometry::kContiguous) {
    makers_.push_back(std::make_unique<Make>(dtype, geometry));
    return record().samples(*makers_.back());
  }
  const Make& maker() const { return *makers_.back(); }
  bool only_in_place() const { return op().is_inplace(); }

 private:
  IdentityBoxer boxer_;
  std::optional<InterposerGuard> guard_;
  std::vector<std::unique_ptr<Make>> makers_;
};

// Every dtype the operator has gives what the same numbers give as doubles.
TEST_P(OpRecord, Dtypes) {
  for (const ScalarType dtype : kDtypes) {
    if (!has_dtype(record(), dtype)) continue;
    std::vector<Args> all = samples(dtype);
    for (size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(str(GetParam().op, " sample ", i, " ", dtype));
      // Operators of integers alone are compared with themselves on 64-bit ones.
      const ScalarType wide = has_dtype(record(), kDouble) ? kDouble : kLong;
      const Args as_double = map_tensors(all[i], [&](const Tensor& t) {
        return t.scalar_type() == dtype && dtype != kLong && dtype != kBool ? t.to(wide) : t.clone();
      });
      std::vector<IValue> got;
      ASSERT_NO_THROW(got = call(op(), copies(all[i])));
      if (!record().values || !record().values_by_dtype || dtype == kLong || dtype == kBool) continue;
      const double tolerance = isIntegralType(dtype, true) ? 1e-6 : record().growth * eps_of(dtype);
      std::vector<IValue> want;
      Args reference = as_double;
      if (const int at = op().schema().find("dtype"); at >= 0 && static_cast<size_t>(at) < reference.size() &&
                                                      reference[at].isInt() &&
                                                      reference[at].toInt() == static_cast<int64_t>(dtype)) {
        reference[at] = kDouble;
      }
      ASSERT_NO_THROW(want = call(op(), reference));
      if (isIntegralType(dtype, true) && !tensors_of(got).empty() && isFloatingType(tensors_of(got)[0].scalar_type())) {
        EXPECT_EQ(difference(got, want, record().growth * eps_of(kFloat)), "");
      } else {
        EXPECT_EQ(difference(got, isIntegralType(dtype, true) ? wrapped_as(got, want) : want, tolerance), "");
      }
    }
  }
}

// Strided and expanded inputs give what contiguous ones give.
TEST_P(OpRecord, Geometries) {
  if (!record().values) return;
  const ScalarType dtype = has_dtype(record(), kFloat) ? kFloat : kInt;
  for (const Geometry geometry : {Geometry::kStrided, Geometry::kExpanded}) {
    std::vector<Args> all = samples(dtype, geometry);
    for (size_t i = 0; i < all.size(); ++i) {
      if (geometry == Geometry::kExpanded && (only_in_place() || writes_statistics(op()))) continue;
      if (op().name() == "aten::detach_") continue;  // refuses the view that a strided input is
      SCOPED_TRACE(str(GetParam().op, " sample ", i, geometry == Geometry::kStrided ? " strided" : " expanded"));
      const Args contiguous = map_tensors(all[i], [](const Tensor& t) { return t.clone(MemoryFormat::Contiguous); });
      std::vector<IValue> got, want;
      ASSERT_NO_THROW(got = call(op(), all[i]));
      ASSERT_NO_THROW(want = call(op(), contiguous));
      EXPECT_EQ(difference(got, want, record().growth * eps_of(kFloat)), "");
    }
  }
}

// Gradients and gradients of gradients against differences.
TEST_P(OpRecord, Gradients) {
  if (!record().gradient || op().is_nondifferentiable() || !has_dtype(record(), kDouble)) return;
  std::vector<Args> all = samples(kDouble);
  const Make& made = maker();
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(str(GetParam().op, " sample ", i));
    std::vector<Tensor> inputs;
    map_tensors(all[i], [&](const Tensor& t) {
      if (made.is_input(t)) inputs.push_back(t.detach().clone().requires_grad_());
      return t;
    });
    if (inputs.empty()) continue;
    // Which results have a gradient is known from a run that records.
    std::map<bool, std::vector<bool>> differentiable;
    const auto run = [&](const OperatorHandle& which, const autograd::variable_list& given, bool fresh) {
      size_t at = 0;
      Args args = map_tensors(all[i], [&](const Tensor& t) { return made.is_input(t) ? given[at++] : t.detach(); });
      if (fresh) args[0] = args[0].toTensor().clone();
      // Statistics that the operator updates start anew every time.
      for (size_t k = 0; k < args.size(); ++k) {
        if (args[k].isTensor() && !made.is_input(all[i][k].toTensor())) args[k] = args[k].toTensor().clone();
      }
      autograd::variable_list outputs;
      const std::vector<Tensor> results = tensors_of(call(which, std::move(args)));
      std::vector<bool>& known = differentiable[which.full_name() == op().full_name()];
      if (known.empty()) {
        for (const Tensor& t : results) known.push_back(t.requires_grad() && isFloatingType(t.scalar_type()));
      }
      for (size_t k = 0; k < results.size(); ++k) {
        if (known[k]) outputs.push_back(results[k]);
      }
      return outputs;
    };
    const bool in_place = only_in_place();
    const auto function = [&](const autograd::variable_list& given) { return run(op(), given, in_place); };
    EXPECT_NO_THROW(autograd::gradcheck(function, inputs));
    EXPECT_NO_THROW(autograd::gradgradcheck(function, inputs));
    if (const auto inplace = forms_of(op()).inplace; inplace && all[i][0].toTensor().numel() > 0) {
      const auto whole = call(op(), all[i]);
      if (whole[0].toTensor().sizes() == all[i][0].toTensor().sizes()) {
        const auto written = [&](const autograd::variable_list& given) { return run(*inplace, given, true); };
        EXPECT_NO_THROW(autograd::gradcheck(written, inputs)) << "in place";
      }
    }
  }
}

// In-place and out forms give the functional form's values, in the tensors they were given.
TEST_P(OpRecord, Forms) {
  const Forms forms = forms_of(op());
  const ScalarType dtype = has_dtype(record(), kFloat) ? kFloat : kInt;
  std::vector<Args> all = samples(dtype);
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(str(GetParam().op, " sample ", i));
    const std::vector<IValue> want = call(op(), copies(all[i]));
    if (forms.inplace) {
      const Args args = copies(all[i]);
      const Tensor self = args[0].toTensor(), result = want[0].toTensor();
      const bool fits =
          self.sizes() == result.sizes() && (self.scalar_type() == result.scalar_type() || op().is_nondifferentiable());
      if (fits && !op().is_view()) {
        std::vector<IValue> got;
        const int64_t version = self._version();
        ASSERT_NO_THROW(got = call(*forms.inplace, args));
        EXPECT_TRUE(got[0].toTensor().is_same(self));
        EXPECT_GT(self._version(), version) << "an in-place write must be counted";
        EXPECT_EQ(difference(self, result, record().growth * eps_of(kFloat)), "") << "in place";
      } else if (self.sizes() != result.sizes() && !op().is_view()) {
        EXPECT_THROW(call(*forms.inplace, args), Error) << "self may not be broadcast";
      }
    }
    if (forms.out) {
      for (const bool right_size : {false, true}) {
        Args args = copies(all[i]);
        const FunctionSchema& s = forms.out->schema();
        std::vector<std::pair<std::string, IValue>> outs;
        size_t n = 0;
        for (const SchemaArgument& a : s.arguments) {
          if (!(a.written && a.kwarg_only)) continue;
          const Tensor& like = want[n++].toTensor();
          outs.emplace_back(a.name, right_size ? empty_like(like) : empty({0}, like.options()));
        }
        std::vector<IValue> got;
        ASSERT_NO_THROW(got = call(*forms.out, args, outs));
        ASSERT_EQ(got.size(), outs.size());
        for (size_t k = 0; k < got.size(); ++k) EXPECT_TRUE(got[k].toTensor().is_same(outs[k].second.toTensor()));
        if (record().values) {
          EXPECT_EQ(difference(got, want, record().growth * eps_of(kFloat)), "") << "out";
        }
      }
    }
  }
}

// On meta tensors the shapes and dtypes come out as on the CPU, and nothing is computed.
TEST_P(OpRecord, Meta) {
  const ScalarType dtype = has_dtype(record(), kFloat) ? kFloat : kInt;
  std::vector<Args> all = samples(dtype);
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(str(GetParam().op, " sample ", i));
    bool any = false;
    const Args meta = map_tensors(all[i], [&](const Tensor& t) {
      any = true;
      return empty_strided(t.sizes(), t.strides(), t.options().device(kMeta));
    });
    if (!any || op().schema().find("device") >= 0) continue;
    if (op().is_data_dependent()) {
      // Where the shape depends on data; some samples' do not (index with index tensors, one_hot with a number of
      // classes).
      try {
        call(op(), meta);
      } catch (const NotImplementedError&) {
      }
      continue;
    }
    const std::vector<Tensor> want = tensors_of(call(op(), copies(all[i])));
    std::vector<Tensor> got;
    ASSERT_NO_THROW(got = tensors_of(call(op(), meta)));
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < got.size(); ++k) {
      EXPECT_EQ(got[k].defined(), want[k].defined());
      if (!got[k].defined()) continue;
      EXPECT_TRUE(got[k].is_meta());
      EXPECT_EQ(got[k].sizes(), want[k].sizes());
      EXPECT_EQ(got[k].scalar_type(), want[k].scalar_type());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpRecord, ::testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.op + (info.param.boxed ? "_boxed" : "");
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

TEST(Records, EveryOperatorHasOne) {
  std::set<std::string> derived;
  for (const auto& [name, record] : records()) {
    const auto op = find_operator(name);
    EXPECT_TRUE(op.has_value()) << "the record of " << name << " is of no operator";
    if (!op) continue;
    const Forms forms = forms_of(*op);
    if (forms.inplace) derived.insert(forms.inplace->full_name());
    if (forms.out) derived.insert(forms.out->full_name());
  }
  size_t without = 0, elsewhere = 0;
  for (const OperatorHandle& op : all_operators()) {
    if (op.name().substr(0, 6) != "aten::" || op.is_out() || derived.count(op.full_name())) continue;
    if (records().count(op.full_name().substr(6))) continue;
    if (tested_elsewhere(op)) {
      ++elsewhere;
      continue;
    }
    ++without;
    ADD_FAILURE() << op.full_name() << " has no record: add one to tests/ops/records_*.cpp";
  }
  std::cout << records().size() << " records; " << elsewhere << " operators are tested elsewhere; " << without
            << " have no test\n";
}

}  // namespace
}  // namespace gradus::testing
