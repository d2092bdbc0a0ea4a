// Every operator on cuda:0 against the CPU: dtypes, geometries, larger sizes, in-place and out forms, gradients once
// and twice. Without a GPU the kernels run on tests/cuda_emulation. An operator without a CUDA kernel fails.
#include <gtest/gtest.h>

#include <cstdlib>

#include <gradus/autograd/autograd.h>
#include <gradus/core/parallel.h>
#include <gradus/cuda/backends.h>
#include <gradus/cuda/cuda.h>

#include "ops/record_walk.h"
#include "support/device_loss.h"

namespace gradus::testing {
namespace {

constexpr ScalarType kDtypes[] = {kDouble, kFloat, kHalf, kBFloat16, kByte, kChar, kShort, kInt, kLong, kBool};
const Device kHere(kCUDA, 0);

struct CudaHere : ::testing::Environment {
  void SetUp() override {
    set_num_threads(1);
    cuda::set_cudnn_allow_tf32(false);  // results are compared as floats
    ASSERT_TRUE(cuda::is_available()) << "no CUDA device; where there is no GPU, GRADUS_CUDA_LIBRARY names the library "
                                         "that was built against tests/cuda_emulation";
  }
};
[[maybe_unused]] const auto* const cuda_here = ::testing::AddGlobalTestEnvironment(new CudaHere);
[[maybe_unused]] const bool watched = gradus_test::watch_for_device_loss();

// The tensor on the device, laid out as it is here.
Tensor moved(const Tensor& t) {
  Tensor source = t;
  bool expanded = false;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.stride(d) == 0 && t.size(d) > 1) {
      source = source.narrow(d, 0, 1);
      expanded = true;
    }
  }
  Tensor there = empty_strided(source.sizes(), source.strides(), source.options().device(kHere));
  there.copy_(source);
  return expanded ? there.expand(t.sizes()) : there;
}

Args on_cuda(const Args& args) {
  return map_tensors(args, [](const Tensor& t) { return moved(t); });
}

// A factory is told the device.
Args on_cuda(const OperatorHandle& op, const Args& args) {
  Args there = on_cuda(args);
  if (const int at = op.schema().find("device"); at >= 0) {
    if (there.size() <= static_cast<size_t>(at)) there.resize(static_cast<size_t>(at) + 1);
    there[static_cast<size_t>(at)] = IValue(kHere);
  }
  return there;
}

// Results on the device, and there alone.
std::string compare(const std::vector<IValue>& got, const std::vector<IValue>& want, double tolerance) {
  for (const Tensor& t : tensors_of(got)) {
    if (t.defined() && !t.is_cuda() && t.dim() > 0) return str("a result is on ", t.device());
  }
  return difference(got, want, tolerance);
}

class OpOnCuda : public ::testing::TestWithParam<std::string> {
 protected:
  const Record& record() const { return records().at(GetParam()); }
  OperatorHandle op() const { return get_operator(GetParam()); }
  std::vector<Args> samples(ScalarType dtype, Geometry geometry = Geometry::kContiguous) {
    makers_.push_back(std::make_unique<Make>(dtype, geometry));
    return record().samples(*makers_.back());
  }
  const Make& maker() const { return *makers_.back(); }
  double tolerance(ScalarType dtype) const { return isIntegralType(dtype, true) ? 0 : record().growth * eps_of(dtype); }

 private:
  std::vector<std::unique_ptr<Make>> makers_;
};

TEST_P(OpOnCuda, Dtypes) {
  for (const ScalarType dtype : kDtypes) {
    if (!has_dtype(record(), dtype)) continue;
    std::vector<Args> all = samples(dtype);
    for (size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(str(GetParam(), " sample ", i, " ", dtype));
      std::vector<IValue> got;
      const Args there = on_cuda(op(), copies(all[i]));
      ASSERT_NO_THROW(got = call(op(), there));
      const std::vector<IValue> want = call(op(), copies(all[i]));
      const bool floats = !tensors_of(want).empty() && tensors_of(want)[0].defined() &&
                          isFloatingType(tensors_of(want)[0].scalar_type());
      if (record().values)
        EXPECT_EQ(compare(got, want, isIntegralType(dtype, true) && floats ? tolerance(kFloat) : tolerance(dtype)), "");
      ASSERT_NO_THROW(cuda::synchronize());
    }
  }
}

TEST_P(OpOnCuda, Geometries) {
  if (!record().values) return;
  const ScalarType dtype = has_dtype(record(), kFloat) ? kFloat : kInt;
  for (const Geometry geometry : {Geometry::kStrided, Geometry::kExpanded}) {
    std::vector<Args> all = samples(dtype, geometry);
    for (size_t i = 0; i < all.size(); ++i) {
      if (geometry == Geometry::kExpanded && (op().is_inplace() || writes_statistics(op()))) continue;
      if (op().name() == "aten::detach_") continue;  // refuses the view that a strided input is
      SCOPED_TRACE(str(GetParam(), " sample ", i, geometry == Geometry::kStrided ? " strided" : " expanded"));
      const Args there = on_cuda(op(), all[i]);
      std::vector<IValue> got;
      ASSERT_NO_THROW(got = call(op(), there));
      EXPECT_EQ(compare(got, call(op(), copies(all[i])), tolerance(dtype)), "");
    }
  }
}

// Whether a sample with its sizes multiplied is the same kind of call, and small enough for the emulation.
bool can_grow(const OperatorHandle& op, const Args& args, int64_t factor) {
  constexpr int64_t kLargestInput = 60000, kLargestResult = 200000;
  try {
    const Args grown = scaled(op, args, factor, true);
    if (largest(grown).first > kLargestInput) return false;
    if (op.is_data_dependent()) return true;
    for (const Tensor& t : tensors_of(call(op, grown))) {
      if (t.defined() && t.numel() > kLargestResult) return false;
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Every size multiplied: more than a warp, more than a block, with a rest.
TEST_P(OpOnCuda, LargerSizes) {
  if (!record().values || op().schema().find("device") >= 0) return;
  // Multiplied, its indices name places outside of their windows.
  if (GetParam() == "max_pool2d_with_indices_backward") return;
  const ScalarType dtype = has_dtype(record(), kFloat) ? kFloat : kInt;
  std::vector<Args> all = samples(dtype);
  for (const int64_t factor : {11, 67, 701}) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (!can_grow(op(), all[i], factor)) continue;
      SCOPED_TRACE(str(GetParam(), " sample ", i, " times ", factor));
      const Args args = scaled(op(), all[i], factor, false);
      std::vector<IValue> want;
      try {
        want = call(op(), copies(args));
      } catch (const Error&) {
        continue;  // sizes among the arguments do not fit any more
      }
      std::vector<IValue> got;
      const Args there = on_cuda(copies(args));
      ASSERT_NO_THROW(got = call(op(), there));
      EXPECT_EQ(compare(got, want, tolerance(dtype) * 4), "");
    }
  }
}

TEST_P(OpOnCuda, ZeroSizes) {
  const ScalarType dtype = has_dtype(record(), kFloat) ? kFloat : kInt;
  std::vector<Args> all = samples(dtype);
  for (size_t i = 0; i < all.size(); ++i) {
    std::set<int64_t> sizes;
    map_tensors(all[i], [&](const Tensor& t) {
      sizes.insert(t.sizes().begin(), t.sizes().end());
      return t;
    });
    for (const int64_t size : sizes) {
      SCOPED_TRACE(str(GetParam(), " sample ", i, ", sizes of ", size, " made 0"));
      const Args args = emptied(all[i], size);
      std::vector<IValue> want;
      try {
        want = call(op(), fresh(args));
      } catch (const Error&) {
        continue;
      }
      std::vector<IValue> got;
      const Args there = on_cuda(op(), fresh(args));
      ASSERT_NO_THROW(got = call(op(), there));
      if (record().values) EXPECT_EQ(compare(got, want, tolerance(dtype)), "");
    }
  }
}

TEST_P(OpOnCuda, Forms) {
  const Forms forms = forms_of(op());
  const ScalarType dtype = has_dtype(record(), kFloat) ? kFloat : kInt;
  std::vector<Args> all = samples(dtype);
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(str(GetParam(), " sample ", i));
    const std::vector<IValue> want = call(op(), copies(all[i]));
    if (forms.inplace && !op().is_view()) {
      const Args args = on_cuda(copies(all[i]));
      const Tensor self = args[0].toTensor(), result = want[0].toTensor();
      if (self.sizes() == result.sizes() &&
          (self.scalar_type() == result.scalar_type() || op().is_nondifferentiable())) {
        ASSERT_NO_THROW(call(*forms.inplace, args));
        EXPECT_EQ(difference(self, result, tolerance(kFloat)), "") << "in place";
      }
    }
    if (!forms.out) continue;
    for (const bool right_size : {false, true}) {
      auto outs = outs_for(*forms.out, want, right_size);
      for (auto& [name, value] : outs) value = IValue(value.toTensor().to(kHere));
      std::vector<IValue> got;
      const Args there = for_out(op(), *forms.out, on_cuda(copies(all[i])));
      ASSERT_NO_THROW(got = call(*forms.out, there, outs));
      if (record().values) EXPECT_EQ(compare(got, want, tolerance(kFloat)), "") << "out";
    }
  }
}

struct Gradients {
  autograd::variable_list first, second;
};

// The gradients of all floating results under fixed cotangents, and those of the gradients.
Gradients gradients_of(const OperatorHandle& op, const Args& args, const std::vector<bool>& is_input) {
  autograd::variable_list inputs;
  size_t tensor = 0;
  Args recorded = map_tensors(args, [&](const Tensor& t) {
    if (!is_input[tensor++]) return t;
    inputs.push_back(t.detach().clone().requires_grad_());
    return inputs.back();
  });
  if (op.is_inplace()) recorded[0] = recorded[0].toTensor().clone();
  const auto weigh = [](const Tensor& t, double step) {
    const Tensor w = arange(t.numel(), TensorOptions(kDouble)).mul(step).sin().add(1.25).view(t.sizes());
    return t.mul(w.to(t.device())).sum();
  };
  Tensor loss = zeros({}, TensorOptions(kDouble).device(inputs.at(0).device()));
  for (const Tensor& t : tensors_of(call(op, recorded))) {
    if (t.defined() && t.requires_grad()) loss = loss.add(weigh(t, 0.7));
  }
  Gradients g;
  if (!loss.requires_grad()) return g;
  g.first = autograd::grad({loss}, inputs, {}, true, true, true);
  Tensor again = zeros({}, loss.options());
  for (const Tensor& t : g.first) {
    if (t.defined() && t.requires_grad()) again = again.add(weigh(t, 0.3));
  }
  if (again.requires_grad()) g.second = autograd::grad({again}, inputs, {}, false, false, true);
  return g;
}

TEST_P(OpOnCuda, Gradients) {
  if (!record().gradient || !has_dtype(record(), kDouble) || writes_statistics(op())) return;
  std::vector<Args> all = samples(kDouble);
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(str(GetParam(), " sample ", i));
    std::vector<bool> is_input;
    map_tensors(all[i], [&](const Tensor& t) {
      is_input.push_back(maker().is_input(t) && t.scalar_type() == kDouble);
      return t;
    });
    if (std::find(is_input.begin(), is_input.end(), true) == is_input.end()) continue;
    const Gradients want = gradients_of(op(), all[i], is_input);
    Gradients got;
    ASSERT_NO_THROW(got = gradients_of(op(), on_cuda(op(), all[i]), is_input));
    ASSERT_EQ(got.first.size(), want.first.size());
    ASSERT_EQ(got.second.size(), want.second.size());
    for (size_t k = 0; k < want.first.size(); ++k)
      EXPECT_EQ(difference(got.first[k], want.first[k], 256 * eps_of(kDouble)), "") << "gradient " << k;
    for (size_t k = 0; k < want.second.size(); ++k)
      EXPECT_EQ(difference(got.second[k], want.second[k], 2048 * eps_of(kDouble)), "") << "second gradient " << k;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, record] : records()) {
    if (find_operator(name)) all.push_back(name);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpOnCuda, ::testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

}  // namespace
}  // namespace gradus::testing
