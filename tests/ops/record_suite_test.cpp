// Walks the registry with the operators' records: dtypes, geometries, gradients once and twice, in-place and out forms,
// meta tensors; everything a second time with each call going through its boxed form.
#include <gtest/gtest.h>

#include <map>

#include <gradus/autograd/autograd.h>
#include <gradus/autograd/gradcheck.h>
#include <gradus/core/parallel.h>
#include <gradus/ops/interposer.h>

#include "autograd/node_factory.h"
#include "ops/record_walk.h"

namespace gradus::testing {
namespace {

constexpr ScalarType kDtypes[] = {kDouble, kFloat, kHalf, kBFloat16, kByte, kChar, kShort, kInt, kLong, kBool};

// The samples are small: threads would spend their time waiting for one another.
struct OneThread : ::testing::Environment {
  void SetUp() override { set_num_threads(1); }
};
[[maybe_unused]] const auto* const one_thread = ::testing::AddGlobalTestEnvironment(new OneThread);

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
  if (!record().gradient || !has_dtype(record(), kDouble)) return;
  std::vector<Args> all = samples(kDouble);
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(str(GetParam().op, " sample ", i));
    const DifferentiableSample sample(op(), all[i], maker());
    if (sample.inputs().empty()) continue;
    EXPECT_EQ(sample.without_gradient(), record().constant_results) << "results that require no gradient";
    EXPECT_EQ(sample.fault(), "");
    const auto inplace = forms_of(op()).inplace;
    if (!inplace || all[i][0].toTensor().numel() == 0) continue;
    if (call(op(), all[i])[0].toTensor().sizes() == all[i][0].toTensor().sizes()) {
      EXPECT_EQ(sample.fault_in_place(*inplace), "") << "in place";
    }
  }
}

// The same call on nothing: every size that a sample has, made 0. Where that is refused it is refused with an error;
// else meta tensors give the shapes, and gradients come back in the inputs' shapes.
TEST_P(OpRecord, ZeroSizes) {
  const bool doubles = has_dtype(record(), kDouble);
  std::vector<Args> all = samples(doubles ? kDouble : kInt);
  for (size_t i = 0; i < all.size(); ++i) {
    std::set<int64_t> sizes;
    map_tensors(all[i], [&](const Tensor& t) {
      sizes.insert(t.sizes().begin(), t.sizes().end());
      return t;
    });
    for (const int64_t size : sizes) {
      SCOPED_TRACE(str(GetParam().op, " sample ", i, ", sizes of ", size, " made 0"));
      const Args args = emptied(all[i], size);
      std::vector<Tensor> got;
      try {
        got = tensors_of(call(op(), fresh(args)));
      } catch (const Error&) {
        continue;
      }
      if (!op().is_data_dependent() && op().schema().find("device") < 0) {
        std::vector<Tensor> meta;
        ASSERT_NO_THROW(meta = tensors_of(call(op(), on_meta(args))));
        ASSERT_EQ(meta.size(), got.size());
        for (size_t k = 0; k < got.size(); ++k) {
          if (!got[k].defined()) continue;
          EXPECT_EQ(meta[k].sizes(), got[k].sizes());
        }
      }
      if (!doubles || !record().gradient || op().is_inplace()) continue;
      autograd::variable_list inputs, roots;
      const Args recorded = map_tensors(args, [&](const Tensor& t) {
        if (t.scalar_type() != kDouble) return t;
        inputs.push_back(t.detach().clone().requires_grad_());
        return inputs.back();
      });
      if (writes_statistics(op())) continue;
      for (const Tensor& t : tensors_of(call(op(), recorded))) {
        if (t.defined() && t.requires_grad()) roots.push_back(t.sum());
      }
      if (roots.empty()) continue;
      autograd::variable_list grads;
      try {
        grads = autograd::grad(roots, inputs, {}, false, false, true);
      } catch (const IndexError&) {
        continue;  // an index into what is empty now
      }
      for (size_t k = 0; k < grads.size(); ++k) {
        if (!grads[k].defined()) continue;
        EXPECT_EQ(grads[k].sizes(), inputs[k].sizes());
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
    if (forms.inplace && !op().is_view()) {
      const Args args = copies(all[i]);
      const Tensor self = args[0].toTensor(), result = want[0].toTensor();
      if (self.sizes() != result.sizes()) {
        EXPECT_THROW(call(*forms.inplace, args), Error) << "self may not be broadcast";
      } else if (self.scalar_type() == result.scalar_type() || op().is_nondifferentiable()) {
        std::vector<IValue> got;
        const int64_t version = self._version();
        ASSERT_NO_THROW(got = call(*forms.inplace, args));
        EXPECT_TRUE(got[0].toTensor().is_same(self));
        EXPECT_GT(self._version(), version) << "an in-place write must be counted";
        EXPECT_EQ("aten::" + autograd::last_writer(*self.impl()->storage_), forms.inplace->name());
        EXPECT_EQ(difference(self, result, record().growth * eps_of(kFloat)), "") << "in place";
      }
    }
    if (forms.out) {
      for (const bool right_size : {false, true}) {
        const auto outs = outs_for(*forms.out, want, right_size);
        std::vector<IValue> got;
        ASSERT_NO_THROW(got = call(*forms.out, for_out(op(), *forms.out, copies(all[i])), outs));
        ASSERT_EQ(got.size(), outs.size());
        for (size_t k = 0; k < got.size(); ++k) {
          EXPECT_TRUE(got[k].toTensor().is_same(outs[k].second.toTensor()));
          EXPECT_GT(got[k].toTensor()._version(), 0) << "a write into an out tensor must be counted";
          // A composite's parts write, and an alias' original.
          if (op().is_composite() || op().name().substr(0, 12) == "aten::concat") continue;
          EXPECT_EQ("aten::" + autograd::last_writer(*got[k].toTensor().impl()->storage_),
                    str(forms.out->name(), "_out"));
        }
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
    if (largest(all[i]) == std::pair<int64_t, int64_t>{0, 0} || op().schema().find("device") >= 0) continue;
    const Args meta = on_meta(all[i]);
    if (op().is_data_dependent()) {
      // Some samples' shapes do not depend on data (index with index tensors, one_hot with a number of classes).
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
      EXPECT_EQ(got[k].strides(), want[k].strides());
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
    if (op.name().substr(0, 6) != "aten::" || derived.count(op.full_name())) continue;
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

// An operator that is differentiable by the index has its gradient checked, or its record says why not.
TEST(Records, DifferentiableOperatorsHaveTheirGradientsChecked) {
  for (const auto& [name, record] : records()) {
    const auto op = find_operator(name);
    if (!op || !record.no_gradient.empty() || op->is_nondifferentiable()) continue;
    Make make(has_dtype(record, kDouble) ? kDouble : kInt);
    bool any = false;
    for (const Args& args : record.samples(make)) {
      map_tensors(args, [&](const Tensor& t) {
        any |= make.is_input(t);
        return t;
      });
    }
    EXPECT_TRUE(record.gradient || !any) << name << ": the record says neither gradient nor no_gradient";
    EXPECT_TRUE(any || !record.gradient) << name << ": no sample has an input that takes a gradient";
  }
}

}  // namespace
}  // namespace gradus::testing
