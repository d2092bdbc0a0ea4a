// The elementwise engine on the device: every path of it, over layouts of all kinds, by a few simple kernels.
#include "elementwise_fixture.h"

#include <kernels/dropout.h>
#include <kernels/factories.h>
#include <kernels/pointwise.h>

#include "kernels/cuda/loop_parts.h"

namespace gradus::inline v0::kernels::cuda_test {
namespace {

// ThreadSanitizer, which is a hundred times slower, sees fewer and smaller ones.
#ifdef __SANITIZE_THREAD__
constexpr bool kFewer = true;
#else
constexpr bool kFewer = false;
#endif
// Large ones for one dtype of each width; under AddressSanitizer for one.
bool takes_large_ones(ScalarType dtype) {
#ifdef __SANITIZE_ADDRESS__
  return dtype == kHalf;
#else
  return !kFewer && (dtype == kFloat || dtype == kHalf || dtype == kLong || dtype == kByte);
#endif
}
std::vector<ScalarType> numbers() {
  if (kFewer) return {kFloat, kHalf, kLong};
  return {kFloat, kDouble, kHalf, kBFloat16, kByte, kChar, kShort, kInt, kLong};
}

template <class Table, class... A>
std::function<void(const Loop&)> call(const Table& table, A... arguments) {
  return [&table, arguments...](const Loop& l) { table.get(Backend::CUDA)(l, arguments...); };
}

Layout dense(const std::vector<int64_t>& sizes, int64_t offset = 0) {
  return {dense_strides(sizes), offset};
}
// One element for the whole index space.
Layout number(size_t dims, bool on_host = false) {
  return {std::vector<int64_t>(dims, 0), 0, on_host};
}
// Dense in another order of dimensions: order[0] is the innermost.
Layout permuted(const std::vector<int64_t>& sizes, const std::vector<size_t>& order) {
  Layout l{std::vector<int64_t>(sizes.size())};
  int64_t step = 1;
  for (const size_t d : order) {
    l.strides[d] = step;
    step *= sizes[d];
  }
  return l;
}

// Geometries of an operator with `inputs` inputs. Each odd layout is tried for each operand in turn.
std::vector<Geometry> geometries(int inputs) {
  std::vector<Geometry> all;
  const auto plain = [&](std::string name, std::vector<int64_t> sizes) {
    Geometry g{std::move(name), sizes, {}};
    for (int k = 0; k <= inputs; ++k) g.layouts.push_back(dense(sizes));
    return g;
  };
  const auto with = [&](std::string name, const std::vector<int64_t>& sizes, const Layout& layout, bool output) {
    for (int k = output ? 0 : 1; k <= inputs; ++k) {
      Geometry g = plain(name + " in operand " + std::to_string(k), sizes);
      g.layouts[static_cast<size_t>(k)] = layout;
      all.push_back(g);
    }
  };
  for (const int64_t n : {0, 1, 31, 32, 33, 511, 1023, 1024, 1025, 100000})
    all.push_back(plain("dense " + std::to_string(n), {n}));
  // Neither in whole packs nor small: some blocks are full and the last is not.
  all.push_back(plain("dense 70001", {70001}));
  for (const int64_t n : {1, 33, 1025, 5000}) {
    with("unaligned " + std::to_string(n), {n}, dense({n}, 1), true);
    with("number on the device, " + std::to_string(n), {n}, number(1), false);
    with("number on the host, " + std::to_string(n), {n}, number(1, true), false);
    with("steps of 3, " + std::to_string(n), {n}, {{3}}, true);
    with("backwards " + std::to_string(n), {n}, {{-1}}, false);
  }
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {5, 7}, {3, 1000}, {1000, 3}, {64, 65}, {1024, 40}, {4100, 3}, {2, 2}, {1, 9}, {9, 1}}) {
    const std::string shape = std::to_string(sizes[0]) + " by " + std::to_string(sizes[1]);
    with("transposed " + shape, sizes, permuted(sizes, {1, 0}), true);
    with("rows repeated " + shape, sizes, {{1, 0}}, false);
    with("columns repeated " + shape, sizes, {{0, 1}}, false);
    with("rows apart " + shape, sizes, {{1, sizes[0] + 8}}, true);
    with("rows oddly apart " + shape, sizes, {{1, sizes[0] + 3}}, true);
    with("rows apart, unaligned " + shape, sizes, {{1, sizes[0] + 8}, 1}, true);
    with("number on the host " + shape, sizes, number(2, true), false);
    with("upside down " + shape, sizes, {{1, -sizes[0]}}, false);
    all.push_back(plain("to be merged " + shape, sizes));
  }
  with("channels last", {6, 5, 16, 3}, permuted({6, 5, 16, 3}, {2, 0, 1, 3}), true);
  with("one of a channel", {8, 9, 16, 3}, {{0, 0, 1, 0}}, false);
  with("sizes of one", {1, 40, 1, 5, 1}, {{7, 1, 9, 40, 3}}, true);
  // More dimensions than a kernel's arguments hold, none of which can be merged.
  std::vector<int64_t> many(14, 2);
  Layout sparse{{}};
  for (int64_t d = 0, step = 1; d < 14; ++d, step = step * 2 + 1) sparse.strides.push_back(step);
  with("14 dimensions", many, sparse, true);
  return all;
}

// Small integers, which every dtype holds, as do their sums and products.
auto small(int salt) {
  return [salt](int64_t i) {
    const int64_t v = (i * 5 + salt * 3) % 7;
    return std::pair<double, int64_t>(static_cast<double>(v), v);
  };
}

// out = f(in...) exactly, on every geometry.
void check_exactly(const std::vector<ScalarType>& dtypes, ScalarType dtype, const std::function<void(const Loop&)>& run,
                   const std::function<int64_t(const int64_t*)>& f) {
  for (const Geometry& g : geometries(static_cast<int>(dtypes.size()) - 1)) {
    if (!takes_large_ones(dtype) && g.numel() > 1100) continue;
    SCOPED_TRACE(g.name + " of " + to_string(dtype));
    Operands o(g, dtypes, dtype);
    for (size_t k = 1; k < dtypes.size(); ++k) o.fill(k, small(static_cast<int>(k)));
    o.run(run);
    for (int64_t i = 0; i < g.numel(); ++i) {
      int64_t in[3] = {};
      for (size_t k = 1; k < dtypes.size(); ++k) in[k - 1] = static_cast<int64_t>(o.at(k, i).real);
      ASSERT_EQ(o.at(0, i).real, static_cast<long double>(f(in))) << "element " << i;
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Elementwise, OneInput) {
  for (const ScalarType t : numbers()) {
    if (t == kByte) continue;
    check_exactly({t, t}, t, call(kernels::neg), [](const int64_t* in) { return -in[0]; });
  }
}
TEST(Elementwise, OneInputOfTheFewerKernels) {
  for (const ScalarType t : {kFloat, kHalf, kDouble, kInt}) {
    check_exactly({t, t}, t, call(kernels::pow_scalar, Scalar(2)), [](const int64_t* in) { return in[0] * in[0]; });
  }
}
TEST(Elementwise, TwoInputs) {
  for (const ScalarType t : numbers()) {
    check_exactly({t, t, t}, t, call(kernels::add, Scalar(3)), [](const int64_t* in) { return in[0] + 3 * in[1]; });
  }
}
TEST(Elementwise, TwoInputsAndABool) {
  for (const ScalarType t : numbers()) {
    check_exactly({kBool, t, t}, t, call(kernels::lt), [](const int64_t* in) { return in[0] < in[1] ? 1 : 0; });
  }
}
TEST(Elementwise, ThreeInputs) {
  for (const ScalarType t : numbers()) {
    check_exactly({t, t, t, t}, t, call(kernels::addcmul, Scalar(2)),
                  [](const int64_t* in) { return in[0] + 2 * in[1] * in[2]; });
  }
}
TEST(Elementwise, ThreeInputsOfTwoTypes) {
  for (const ScalarType t : {kByte, kHalf, kFloat, kLong, kComplexDouble}) {
    check_exactly({t, kBool, t, t}, t, call(kernels::where), [](const int64_t* in) { return in[0] ? in[1] : in[2]; });
  }
}
TEST(Elementwise, InPlace) {
  for (const int64_t n : {1, 33, 1025, 5000, 70001}) {
    if (kFewer && n > 1100) continue;
    const Geometry g{"in place", {n}, {dense({n}), dense({n}), dense({n})}};
    Operands o(g, {kFloat, kFloat, kFloat}, kFloat);
    o.fill(1, small(1));
    o.fill(2, small(2));
    o.run([](const Loop& l) {
      Loop self = l;
      self.data[1] = self.data[0];
      must(cudaMemcpy(l.data[0], l.data[1], static_cast<size_t>(l.numel) * 4, cudaMemcpyDeviceToDevice));
      kernels::mul.get(Backend::CUDA)(self);
    });
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(o.at(0, i).real, o.at(1, i).real * o.at(2, i).real) << i;
  }
}

// --- cutting loops, without memory ---

TEST(Elementwise, DivisorsDivide) {
  std::mt19937 random(7);
  std::vector<uint32_t> divisors, numbers = {0, 1, 2, 3, 0x7ffffffe, 0x7fffffff, 0x40000000, 0x3fffffff};
  for (uint32_t d = 1; d < 300; ++d) divisors.push_back(d);
  for (int i = 0; i < 31; ++i) {
    for (const int64_t d : {-1, 0, 1})
      divisors.push_back(static_cast<uint32_t>(std::max<int64_t>(1, (int64_t{1} << i) + d)));
  }
  for (int i = 0; i < 300; ++i) divisors.push_back((random() >> (1 + random() % 30)) + 1);
  for (int i = 0; i < 300; ++i) numbers.push_back(random() >> (1 + random() % 30));
  for (const uint32_t d : divisors) {
    if (d > 0x7fffffff) continue;
    const cuda::Divisor by(d);
    const auto check = [&](uint32_t n) { ASSERT_EQ(by.quotient(n), n / d) << n << " by " << d; };
    for (const uint32_t n : numbers) check(n);
    for (uint64_t multiple = d; multiple <= 0x7fffffff && multiple < uint64_t{d} * 4; multiple += d) {
      check(static_cast<uint32_t>(multiple));
      check(static_cast<uint32_t>(multiple - 1));
    }
    check(0x7fffffff / d * d);
  }
}

struct Parts {
  std::vector<Loop> loops;
  static void add(void* parts, const Loop& l) { static_cast<Parts*>(parts)->loops.push_back(l); }
};

TEST(Elementwise, LargeLoopsAreCut) {
  struct Large {
    std::vector<int64_t> sizes, out, in;  // strides in bytes
  };
  for (const Large& large : std::vector<Large>{{{5'000'000'000}, {4}, {4}},
                                               {{3'000'000'000}, {1}, {0}},
                                               {{3, 2'000'000'000}, {4, 12}, {4, 16}},
                                               {{70'000, 70'000}, {2, 140'000}, {140'000, 2}},
                                               {{2, 3}, {4, 5'000'000'000}, {5'000'000'000, 4}},
                                               {{4, 5}, {4, 16}, {4, -6'000'000'000}}}) {
    Loop l = {};
    l.ndim = static_cast<int>(large.sizes.size());
    l.operands = 2;
    l.numel = 1;
    for (int k = 0; k < 2; ++k) l.data[k] = reinterpret_cast<char*>(intptr_t{1} << 40);  // touched by nobody
    for (int d = 0; d < l.ndim; ++d) {
      const auto at = static_cast<size_t>(d);
      l.sizes[d] = large.sizes[at];
      l.strides[d][0] = large.out[at];
      l.strides[d][1] = large.in[at];
      l.numel *= l.sizes[d];
    }
    // The sum of all addresses of operand k, modulo 2^64: the parts must have it in common.
    const auto sum = [](const Loop& part, int k) {
      auto total = static_cast<uint64_t>(reinterpret_cast<intptr_t>(part.data[k])) * static_cast<uint64_t>(part.numel);
      for (int d = 0; d < part.ndim; ++d) {
        // stride * (0 + 1 + ... + (size - 1)) * (numel / size)
        const auto size = static_cast<uint64_t>(part.sizes[d]);
        const uint64_t triangle = size % 2 ? size * ((size - 1) / 2) : size / 2 * (size - 1);
        total += static_cast<uint64_t>(part.strides[d][k]) * triangle * (static_cast<uint64_t>(part.numel) / size);
      }
      return total;
    };
    Parts parts;
    cuda::for_parts(l, &Parts::add, &parts);
    EXPECT_GT(parts.loops.size(), 1u);
    EXPECT_LE(parts.loops.size(), 64u);
    int64_t numel = 0;
    uint64_t out = 0, in = 0;
    for (const Loop& part : parts.loops) {
      EXPECT_LT(part.numel, int64_t{1} << 31);
      int64_t reach[2] = {}, product = 1;
      for (int d = 0; d < part.ndim; ++d) {
        product *= part.sizes[d];
        for (int k = 0; k < 2; ++k) reach[k] += (part.sizes[d] - 1) * std::abs(part.strides[d][k]);
      }
      EXPECT_EQ(product, part.numel);
      for (const int64_t r : reach) EXPECT_LT(r, int64_t{1} << 31);
      numel += part.numel;
      out += sum(part, 0);
      in += sum(part, 1);
    }
    EXPECT_EQ(numel, l.numel);
    EXPECT_EQ(out, sum(l, 0));
    EXPECT_EQ(in, sum(l, 1));
  }
}

TEST(Elementwise, EmptyLoopsHaveNoParts) {
  Loop l = {};
  l.ndim = 2;
  l.operands = 1;
  l.sizes[0] = 0;
  l.sizes[1] = 5;
  Parts parts;
  cuda::for_parts(l, &Parts::add, &parts);
  EXPECT_TRUE(parts.loops.empty());
}

}  // namespace
}  // namespace gradus::inline v0::kernels::cuda_test
