// What operators must not do: allocate where they are told where to write, or run kernels on meta tensors. For every
// operator that has a record.
#include <gtest/gtest.h>

#include <cmath>

#include <gradus/core/allocator.h>

#include "kernel_tables.h"
#include "ops/record_walk.h"

namespace gradus::testing {
namespace {

// --- allocations ----------------------------------------------------------------------------------------------------

constexpr int64_t kElements = 1 << 13;  // 32 KB of floats: counted exactly, where blocks below 2 KB are not

// What the call allocates at its highest, in bytes.
template <class F>
int64_t peak_of(F&& call) {
  call();  // packed weights and the like are made once
  reset_peak_memory_stats();
  const size_t before = memory_allocated();
  call();
  return static_cast<int64_t>(max_memory_allocated()) - static_cast<int64_t>(before);
}

std::string join(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += "\n  " + line;
  return all;
}

int64_t bytes_of(const std::vector<IValue>& results) {
  int64_t bytes = 0;
  for (const Tensor& t : tensors_of(results)) bytes += t.numel() * static_cast<int64_t>(t.element_size());
  return bytes;
}

// Samples large enough to be seen by the allocator's statistics.
std::vector<Args> large_samples(const OperatorHandle& op, const Record& record, Make& make) {
  std::vector<Args> all;
  for (const Args& args : record.samples(make)) {
    const auto [numel, dims] = largest(args);
    if (dims == 0 || numel == 0) continue;
    double factor =
        std::pow(static_cast<double>(kElements) / static_cast<double>(numel), 1.0 / static_cast<double>(dims));
    try {
      // Operands that broadcast against each other make a larger result than either.
      if (!op.is_data_dependent()) {
        const int64_t result = bytes_of(call(op, scaled(op, args, static_cast<int64_t>(std::ceil(factor)), true)));
        if (result > 64 * kElements) factor /= std::sqrt(static_cast<double>(result) / (64 * kElements));
      }
      Args big = scaled(op, args, static_cast<int64_t>(std::ceil(factor)), false);
      if (bytes_of(call(op, fresh(big))) >= kElements) all.push_back(std::move(big));
    } catch (const Error&) {
      // The sample's numbers do not fit larger tensors.
    }
  }
  return all;
}

// Operators whose out or in-place form needs memory of the result's size, and why.
const std::map<std::string, const char*>& may_allocate() {
  static const std::map<std::string, const char*> all = {
      {"argsort.stable", "the sorted values"},
      {"sort", "the sorter's scratch"},
      {"sort.stable", "the sorter's scratch"},
      {"nonzero", "its size is known after counting"},
      {"masked_select", "its size is known after counting"},
      {"index.Tensor", "masks become places, whose number is known after counting"},
      {"linear", "the product's packed weight, as large as the weight"},
      {"matmul", "batches that broadcast are spread out first"},
      {"take", "indices counted from the end are made ones from the front"},
  };
  return all;
}

TEST(Allocations, NoneWhereTheResultIsGiven) {
  size_t in_place = 0, out = 0;
  for (const auto& [name, record] : records()) {
    const OperatorHandle op = get_operator(name);
    const Forms forms = forms_of(op);
    if ((!forms.inplace && !forms.out) || op.is_view()) continue;
    Make make(has_dtype(record, kFloat) ? kFloat : kInt);
    std::vector<std::string> seen;
    for (const Args& args : large_samples(op, record, make)) {
      const std::vector<IValue> results = call(op, fresh(args));
      const int64_t limit = bytes_of(results) / 2;
      if (forms.out) {
        const auto outs = outs_for(*forms.out, results, true);
        Args given = for_out(op, *forms.out, fresh(args));
        const int64_t peak = peak_of([&] { call(*forms.out, given, outs); });
        ++out;
        if (peak > limit)
          seen.push_back(
              str(forms.out->full_name(), " into ", results[0].toTensor().sizes(), ": ", peak, " of ", 2 * limit));
      }
      const Tensor self = args[0].isTensor() ? args[0].toTensor() : Tensor();
      const Tensor result = results[0].toTensor();
      if (forms.inplace && self.sizes() == result.sizes() && self.scalar_type() == result.scalar_type()) {
        const Args given = fresh(args);
        const int64_t peak = peak_of([&] { call(*forms.inplace, given); });
        ++in_place;
        if (peak > limit) seen.push_back(str(forms.inplace->full_name(), ": ", peak, " of ", 2 * limit));
      }
    }
    EXPECT_EQ(may_allocate().count(name) != 0, !seen.empty())
        << name << (seen.empty() ? " does not allocate: take it off the list" : " allocates: " + join(seen));
  }
  std::cout << in_place << " in-place and " << out << " out calls allocate nothing\n";
  EXPECT_GT(in_place, 100u);
  EXPECT_GT(out, 150u);
}

// The measure itself: a fresh result is seen.
TEST(Allocations, AreSeen) {
  const Tensor a = zeros({kElements}, kFloat);
  EXPECT_GE(peak_of([&] { a.add(a); }), kElements * 4);
  EXPECT_LT(peak_of([&] { a.add_(a); }), kElements);
}

// --- kernel calls ---------------------------------------------------------------------------------------------------

int64_t kernel_calls = 0;

// Counts every CPU kernel instead of running it, for as long as it lives.
class CountedKernels {
 public:
  CountedKernels() {
#define GRADUS_COUNT(table) count(kernels::table);
    GRADUS_KERNEL_TABLES(GRADUS_COUNT)
#undef GRADUS_COUNT
    kernel_calls = 0;
  }
  ~CountedKernels() {
    for (const auto& restore : restore_) restore();
  }
  size_t tables() const {
    return restore_.size();
  }

 private:
  template <class R, class... A>
  struct Stub {
    static R call(A...) {
      ++kernel_calls;
      return R();
    }
  };
  template <class R, class... A>
  void count(kernels::KernelTable<R(A...)>& table) {
    auto* const before = table.get(kernels::Backend::CPU);
    restore_.push_back([&table, before] { table.set(kernels::Backend::CPU, before); });
    table.set(kernels::Backend::CPU, &Stub<R, A...>::call);
  }
  std::vector<std::function<void()>> restore_;
};

TEST(KernelCalls, AreCounted) {
  const Tensor a = zeros({3}), b = zeros({3});
  CountedKernels counted;
  EXPECT_GT(counted.tables(), 100u);
  a.add(b);
  EXPECT_EQ(kernel_calls, 1);
  a.matmul(b);
  EXPECT_GT(kernel_calls, 1);
}

// A meta tensor of 10^12 elements costs nothing.
TEST(KernelCalls, NoneOnMetaTensors) {
  constexpr double kHuge = 1e12;
  struct Call {
    OperatorHandle op;
    Args args;
    bool huge;
  };
  std::vector<Call> calls;
  for (const auto& [name, record] : records()) {
    const OperatorHandle op = get_operator(name);
    if (op.is_data_dependent() || op.schema().find("device") >= 0) continue;
    Make make(has_dtype(record, kFloat) ? kFloat : kInt);
    for (const Args& args : record.samples(make)) {
      const auto [numel, dims] = largest(args);
      if (dims == 0 || numel == 0) continue;
      const double factor = std::pow(kHuge / static_cast<double>(numel), 1.0 / static_cast<double>(dims));
      calls.push_back({op, on_meta(args), false});
      try {
        calls.push_back({op, scaled(op, args, static_cast<int64_t>(std::ceil(factor)), true), true});
      } catch (const Error&) {
        // Another operand is larger than 63 bits.
      }
    }
  }
  std::set<std::string> ran;
  {
    CountedKernels counted;
    for (const Call& c : calls) {
      kernel_calls = 0;
      try {
        call(c.op, c.args);
        if (c.huge) ran.insert(c.op.full_name());
      } catch (const Error& e) {
        // The sample's numbers do not fit larger tensors; on the sample's own sizes there is no excuse.
        EXPECT_TRUE(c.huge) << c.op.full_name() << ": " << e.what();
      }
      EXPECT_EQ(kernel_calls, 0) << c.op.full_name() << (c.huge ? " on huge tensors" : "");
    }
  }
  std::cout << ran.size() << " operators took 10^12 elements\n";
  for (const auto& [name, record] : records()) {
    const OperatorHandle op = get_operator(name);
    if (op.name() == "aten::equal") continue;  // its result is data
    EXPECT_TRUE(ran.count(op.full_name()) || !(op.is_pointwise() || op.is_reduction())) << name << " did not run";
  }
  EXPECT_GT(ran.size(), 200u);
}

}  // namespace
}  // namespace gradus::testing
