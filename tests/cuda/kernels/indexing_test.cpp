// index, index_put, gather, scatter and nonzero on the device against plain loops on the host.
#include <algorithm>
#include <map>
#include <optional>

#include <gradus/core/scalar_type.h>

#include <kernels/indexing.h>

#include "device_tensor.h"

namespace gradus::inline v0::kernels {
namespace {

using Index = std::vector<int64_t>;

// Small integers, which every type holds and sums of which are exact.
template <class T>
T small(int64_t i, uint64_t salt, int64_t range = 7) {
  const auto v = static_cast<float>(below(range, i, salt));
  if constexpr (std::is_same_v<T, bool>) {
    return v > 2;
  } else if constexpr (std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>) {
    return T(static_cast<typename T::value_type>(v), static_cast<typename T::value_type>(below(range, i, salt + 9)));
  } else {
    return static_cast<T>(v);
  }
}
template <class T>
T combined(T a, T b, bool multiply) {
  if constexpr (std::is_same_v<T, bool>) {
    return multiply ? a && b : a || b;
  } else if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(multiply ? x * y : x + y);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    const auto x = static_cast<float>(a), y = static_cast<float>(b);
    return T(multiply ? x * y : x + y);
  } else {
    return multiply ? a * b : a + b;
  }
}
template <class T>
bool same(T a, T b) {
  return a == b;  // none is NaN; products' zeros may differ in sign
}

/// A tensor indexed along some neighbouring dimensions: values are [before][positions][after].
template <class T>
struct Indexed {
  DeviceTensor<T> self;
  std::vector<size_t> dims;
  std::vector<std::unique_ptr<DeviceTensor<int64_t>>> index;
  int64_t positions = 0;
  bool negative_allowed = true;

  Indexed(Index sizes, std::vector<size_t> d, int64_t n, std::vector<size_t> order = {}, int64_t gap = 1)
      : self(sizes, order.empty() ? Index() : permuted_strides(sizes, order, gap), gap - 1),
        dims(std::move(d)),
        positions(n) {
    for (size_t k = 0; k < dims.size(); ++k) {
      index.push_back(std::make_unique<DeviceTensor<int64_t>>(Index{n}));
      const int64_t size = self.sizes[dims[k]];
      index[k]->fill([&](int64_t i) { return below(2 * size, i, k + 3) - size; });
    }
  }
  Index value_sizes() const {
    Index r(self.sizes.begin(), self.sizes.begin() + static_cast<int64_t>(dims[0]));
    r.push_back(positions);
    r.insert(r.end(), self.sizes.begin() + static_cast<int64_t>(dims.back()) + 1, self.sizes.end());
    return r;
  }
  /// `one`: a single value serves everywhere.
  IndexPlan plan(const View& v, bool one = false) {
    IndexPlan p;
    const View s = self.give();
    const auto item = static_cast<int64_t>(sizeof(T));
    p.indexed = static_cast<char*>(s.data), p.values = static_cast<char*>(v.data), p.dtype = s.dtype;
    p.positions = positions, p.negative_allowed = negative_allowed;
    p.values_position_stride = one ? 0 : v.strides[dims[0]] * item;
    for (size_t d = 0; d < self.sizes.size(); ++d) {
      const int64_t size = self.sizes[d], stride = self.strides[d] * item;
      if (d < dims[0]) {
        p.before_size[p.before] = size, p.before_stride[p.before] = stride;
        p.before_values_stride[p.before++] = one ? 0 : v.strides[d] * item;
      } else if (d > dims.back()) {
        p.after_size[p.after] = size, p.after_stride[p.after] = stride;
        p.after_values_stride[p.after++] = one ? 0 : v.strides[d - dims.size() + 1] * item;
      } else {
        const auto k = static_cast<size_t>(p.index_count);
        p.index[p.index_count] = static_cast<int64_t*>(index[k]->give().data);
        p.index_size[p.index_count] = size, p.index_stride[p.index_count++] = stride;
      }
    }
    return p;
  }
  /// The element of self that value number `v` stands for; -1 where its index is bad.
  int64_t element(int64_t v) const {
    int64_t inner = 1, outer_size = 1;
    for (size_t d = dims.back() + 1; d < self.sizes.size(); ++d) inner *= self.sizes[d];
    for (size_t d : dims) outer_size *= self.sizes[d];
    const int64_t position = v / inner % positions, before = v / inner / positions;
    int64_t at = 0;
    for (size_t k = 0; k < dims.size(); ++k) {
      int64_t i = (*index[k])[position];
      const int64_t size = self.sizes[dims[k]];
      if (i < (negative_allowed ? -size : 0) || i >= size) return -1;
      at = at * size + (i < 0 ? i + size : i);
    }
    return (before * outer_size + at) * inner + v % inner;
  }
};

struct Geometry {
  Index sizes;
  std::vector<size_t> dims;
  int64_t positions;
  std::vector<size_t> order;
  int64_t gap = 1;
};
const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> list = {
      {{9}, {0}, 1, {}},
      {{33}, {0}, 1025, {}},
      {{100000}, {0}, 700, {}},
      {{7, 5}, {0, 1}, 200, {}},
      {{300, 400}, {0, 1}, 300, {1, 0}, 2},
      {{40, 16}, {0}, 33, {}},
      {{40, 3}, {0}, 100, {}},
      {{6, 11, 8}, {1}, 31, {}},
      {{6, 11, 8}, {1}, 32, {2, 0, 1}},
      {{4, 5, 3, 7}, {1, 2}, 65, {0, 3, 1, 2}, 3},
      {{3, 4, 50}, {2}, 90, {}},
      {{2, 3, 4, 2, 3}, {2}, 20, {4, 3, 2, 1, 0}},
      {{5, 0, 3}, {2}, 4, {}},
      {{5, 3}, {0}, 0, {}},
  };
  return list;
}

template <class T>
class Indexing : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, bool,
                               complex<float>, complex<double>>;
TYPED_TEST_SUITE(Indexing, Types);

// Elements are moved by their width alone.
template <class T>
class Moving : public ::testing::Test {};
using Widths = ::testing::Types<uint8_t, BFloat16, float, double, complex<double>>;
TYPED_TEST_SUITE(Moving, Widths);

TYPED_TEST(Moving, Get) {
  using T = TypeParam;
  for (const Geometry& g : geometries()) {
    for (int layout : {0, 1}) {
      Indexed<T> x(g.sizes, g.dims, g.positions, g.order, g.gap);
      x.self.fill([](int64_t i) { return small<T>(i, 1, 100); });
      const Index sizes = x.value_sizes();
      std::vector<size_t> order(sizes.size());
      for (size_t d = 0; d < order.size(); ++d) order[d] = layout ? order.size() - 1 - d : d;
      DeviceTensor<T> values(sizes, permuted_strides(sizes, order));
      EXPECT_FALSE(index_get(the_cuda_device(), x.plan(values.give())).bad.found());
      values.take();
      for (int64_t v = 0; v < values.numel(); ++v) ASSERT_TRUE(same(values[v], x.self[x.element(v)])) << v;
      EXPECT_FALSE(take_report().any);
    }
  }
}

TYPED_TEST(Indexing, Put) {
  using T = TypeParam;
  for (const Geometry& g : geometries()) {
    for (bool accumulate : {false, true}) {
      for (bool one : {false, true}) {
        Indexed<T> x(g.sizes, g.dims, g.positions, g.order, g.gap);
        x.self.fill([](int64_t i) { return small<T>(i, 1); });
        DeviceTensor<T> values(one ? Index(x.value_sizes().size(), 1) : x.value_sizes());
        values.fill([](int64_t i) { return small<T>(i, 2, 3); });
        const auto want = x.self.copy();
        int64_t count = 1;
        for (int64_t s : x.value_sizes()) count *= s;
        for (int64_t v = 0; v < count; ++v) {
          const auto at = static_cast<size_t>(x.element(v));
          const T value = values[one ? 0 : v];
          want[at] = accumulate ? combined<T>(want[at], value, false) : value;
        }
        EXPECT_FALSE(index_put(the_cuda_device(), x.plan(values.give(), one), accumulate).bad.found());
        x.self.take();
        for (int64_t i = 0; i < x.self.numel(); ++i) ASSERT_TRUE(same<T>(x.self[i], want[static_cast<size_t>(i)])) << i;
        EXPECT_FALSE(take_report().any);
      }
    }
  }
}

TEST(Indexing, BadIndicesAreReportedAndTouchNothing) {
  for (bool negative : {false, true}) {
    for (int64_t bad :
         {int64_t{5}, int64_t{-6}, int64_t{1} << 40, -(int64_t{1} << 62), negative ? int64_t{7} : int64_t{-1}}) {
      Indexed<float> x({5, 4}, {0}, 6);
      x.negative_allowed = negative;
      x.index[0]->fill([](int64_t i) { return i % 5; });
      (*x.index[0])[3] = bad;
      x.self.fill([](int64_t i) { return i; });
      DeviceTensor<float> values(x.value_sizes());
      values.fill([](int64_t i) { return 100 + i; });
      index_get(the_cuda_device(), x.plan(values.give()));
      values.take();
      for (int64_t v = 0; v < values.numel(); ++v) ASSERT_TRUE(x.element(v) < 0 || values[v] == x.self[x.element(v)]);
      const Reported r = take_report();
      EXPECT_TRUE(r.any);
      EXPECT_EQ(r.what, cuda::kIndexOutOfRange);
      EXPECT_EQ(r.position, 3);
      EXPECT_EQ(r.value, bad);
      EXPECT_EQ(r.limit, 5);
      EXPECT_EQ(r.operation, "index");
      for (bool accumulate : {false, true}) {
        values.fill([](int64_t i) { return 100 + i; });
        x.self.fill([](int64_t i) { return i; });
        index_put(the_cuda_device(), x.plan(values.give()), accumulate);
        x.self.take();
        // Position 5 follows position 0 on row 0; position 3 leads nowhere.
        for (int64_t c = 0; c < 4; ++c) {
          EXPECT_EQ(x.self[c], accumulate ? static_cast<float>(c + 100 + c + 120 + c) : static_cast<float>(120 + c));
          EXPECT_EQ(x.self[3 * 4 + c], static_cast<float>(12 + c));
          EXPECT_EQ(x.self[4 * 4 + c], static_cast<float>(116 + c + (accumulate ? 16 + c : 0)));
        }
        EXPECT_EQ(take_report().operation, "index_put_");
      }
    }
  }
}

TEST(Indexing, SumsOfManyDuplicatesAreTheSameAlways) {
  std::vector<float> first;
  for (int round = 0; round < 3; ++round) {
    Indexed<float> x({3, 5}, {0}, 3000);
    x.index[0]->fill([](int64_t i) { return i % 10 == 0 ? i / 10 % 3 : 1; });
    x.self.fill([](int64_t i) { return 0.1 * static_cast<double>(i); });
    DeviceTensor<float> values(x.value_sizes());
    values.fill([](int64_t i) { return std::ldexp(static_cast<double>(mixed(i) >> 11), -53) - 0.4; });
    std::vector<double> want(15);
    for (int64_t i = 0; i < 15; ++i) want[static_cast<size_t>(i)] = x.self.real(i);
    for (int64_t v = 0; v < values.numel(); ++v) want[static_cast<size_t>(x.element(v))] += values.real(v);
    index_put(the_cuda_device(), x.plan(values.give()), true);
    x.self.take();
    for (int64_t i = 0; i < 15; ++i) {
      ASSERT_NEAR(x.self.real(i), want[static_cast<size_t>(i)], 1e-4);
      if (round == 0) first.push_back(x.self[i]);
      ASSERT_EQ(x.self[i], first[static_cast<size_t>(i)]);
    }
  }
}

// --- along one dimension ---

struct LineCase {
  Index self, index;
  int dim;
  std::vector<size_t> order;  // of self's dimensions in memory
};
const std::vector<LineCase>& line_cases() {
  static const std::vector<LineCase> list = {
      {{10}, {1}, 0, {0}},
      {{1}, {33}, 0, {0}},
      {{31}, {1025}, 0, {0}},
      {{9, 6}, {4, 6}, 0, {0, 1}},
      {{9, 6}, {9, 1}, 1, {1, 0}},
      {{9, 6}, {7, 100}, 1, {0, 1}},
      {{4, 50, 3}, {2, 70, 3}, 1, {2, 1, 0}},
      {{300, 7}, {1200, 5}, 0, {0, 1}},
      {{8200, 5}, {8200, 40}, 1, {0, 1}},
      {{3, 100000}, {2, 40}, 1, {0, 1}},
      {{5, 0, 2}, {5, 0, 2}, 0, {0, 1, 2}},
  };
  return list;
}

template <class T>
struct Lines {
  DeviceTensor<T> self;
  DeviceTensor<int64_t> index;
  size_t dim;
  explicit Lines(const LineCase& c, std::vector<size_t> index_order = {})
      : self(c.self, permuted_strides(c.self, c.order)),
        index(c.index, index_order.empty() ? Index() : permuted_strides(c.index, index_order)),
        dim(static_cast<size_t>(c.dim)) {
    index.fill([&](int64_t i) { return below(self.sizes[dim], i, 5); });
  }
  /// The element of self at the place of the index's element i, which names it along the dimension.
  int64_t element(int64_t i) const {
    int64_t at = 0;
    for (size_t d = 0; d < self.sizes.size(); ++d) at = at * self.sizes[d] + (d == dim ? index[i] : index.index(i, d));
    return at;
  }
};
std::vector<size_t> reversed(size_t n) {
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = n - 1 - i;
  return order;
}

TYPED_TEST(Moving, Gather) {
  using T = TypeParam;
  for (const LineCase& c : line_cases()) {
    for (bool reverse : {false, true}) {
      Lines<T> x(c, reverse ? reversed(c.index.size()) : std::vector<size_t>());
      x.self.fill([](int64_t i) { return small<T>(i, 3, 100); });
      DeviceTensor<T> out(c.index);
      gather(the_cuda_device(), out.give(), x.self.give(), x.index.give(), c.dim);
      out.take();
      for (int64_t i = 0; i < out.numel(); ++i) ASSERT_TRUE(same(out[i], x.self[x.element(i)])) << i;
      EXPECT_FALSE(take_report().any);
    }
  }
}

TYPED_TEST(Indexing, Scatter) {
  using T = TypeParam;
  for (const LineCase& c : line_cases()) {
    for (Scatter how : {Scatter::kAssign, Scatter::kAdd, Scatter::kMultiply}) {
      for (bool one : {false, true}) {
        Lines<T> x(c, one ? reversed(c.index.size()) : std::vector<size_t>());
        // Products of many threes leave floats: mostly ones, then.
        const int64_t range = how == Scatter::kMultiply ? 2 : 4;
        x.self.fill([](int64_t i) { return small<T>(i, 3); });
        DeviceTensor<T> src(one ? Index(c.index.size(), 1) : c.index);
        src.fill([&](int64_t i) { return small<T>(i, 8, range); });
        const auto want = x.self.copy();
        for (int64_t i = 0; i < x.index.numel(); ++i) {
          T& to = want[static_cast<size_t>(x.element(i))];
          const T v = src[one ? 0 : i];
          to = how == Scatter::kAssign ? v : combined<T>(to, v, how == Scatter::kMultiply);
        }
        View source = src.give();
        const Index zeros(c.index.size(), 0);
        if (one) source.sizes = c.index.data(), source.strides = zeros.data();
        scatter(the_cuda_device(), x.self.give(), x.index.give(), source, c.dim, how);
        x.self.take();
        for (int64_t i = 0; i < x.self.numel(); ++i) ASSERT_TRUE(same<T>(x.self[i], want[static_cast<size_t>(i)])) << i;
        EXPECT_FALSE(take_report().any);
      }
    }
  }
}

TEST(Indexing, BadPlacesOnALine) {
  for (int64_t length : {3, 2000}) {
    LineCase c{{4, 8}, {3, length}, 1, {0, 1}};
    Lines<float> x(c);
    const int64_t at = length + 2;
    x.index[at] = 8;
    x.self.fill([](int64_t i) { return i; });
    DeviceTensor<float> out(c.index), src(c.index);
    out.fill([](int64_t) { return -1; }), src.fill([](int64_t) { return 1000; });
    gather(the_cuda_device(), out.give(), x.self.give(), x.index.give(), 1);
    out.take();
    for (int64_t i = 0; i < out.numel(); ++i) ASSERT_TRUE(i == at || out[i] == x.self[x.element(i)]);
    Reported r = take_report();
    EXPECT_EQ(r.operation, "gather");
    EXPECT_EQ(r.position, at);
    EXPECT_EQ(r.value, 8);
    EXPECT_EQ(r.limit, 8);
    for (Scatter how : {Scatter::kAssign, Scatter::kAdd}) {
      x.self.fill([](int64_t i) { return i; });
      std::vector<float> want(32);
      for (size_t i = 0; i < 32; ++i) want[i] = static_cast<float>(i);
      for (int64_t i = 0; i < x.index.numel(); ++i) {
        if (i == at) continue;
        float& to = want[static_cast<size_t>(x.element(i))];
        to = how == Scatter::kAdd ? to + 1000 : 1000;
      }
      scatter(the_cuda_device(), x.self.give(), x.index.give(), src.give(), 1, how);
      x.self.take();
      for (int64_t i = 0; i < 32; ++i) ASSERT_EQ(x.self[i], want[static_cast<size_t>(i)]);
      r = take_report();
      EXPECT_EQ(r.operation, "scatter_");
      EXPECT_EQ(r.position, at);
    }
  }
}

// --- what is not zero ---

TYPED_TEST(Indexing, Nonzero) {
  using T = TypeParam;
  struct Case {
    Index sizes;
    std::vector<size_t> order;
    int64_t modulus;
  };
  for (const Case& c : std::vector<Case>{{{}, {}, 2},
                                         {{1}, {0}, 1},
                                         {{33}, {0}, 3},
                                         {{4097}, {0}, 2},
                                         {{7, 11}, {1, 0}, 2},
                                         {{40, 3, 171}, {1, 0, 2}, 7},
                                         {{64, 512}, {0, 1}, 1},
                                         {{20000}, {0}, 1000000},
                                         {{0, 4}, {0, 1}, 2}}) {
    DeviceTensor<T> self(c.sizes, c.sizes.empty() ? Index() : permuted_strides(c.sizes, c.order, 2));
    self.fill([&](int64_t i) {
      if (below(c.modulus, i) != 0) return std::is_same_v<T, float> && i % 2 ? small<T>(0, 0, 1) : T();
      return small<T>(i, 4, 5);
    });
    std::vector<int64_t> want;
    for (int64_t i = 0; i < self.numel(); ++i) {
      if (!(self[i] == T())) want.push_back(i);
    }
    const auto n = static_cast<int64_t>(want.size()), dims = static_cast<int64_t>(c.sizes.size());
    ASSERT_EQ(count_nonzero(the_cuda_device(), self.give()), n);
    DeviceTensor<int64_t> to({dims, n});
    to.give();
    nonzero(the_cuda_device(), self.view(), to.data(), n);
    to.take();
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t d = 0; d < dims; ++d)
        ASSERT_EQ(to[d * n + k], self.index(want[static_cast<size_t>(k)], static_cast<size_t>(d)));
    }
  }
}

TEST(Indexing, NegativeZeroIsZeroAndNanIsNot) {
  DeviceTensor<double> d({4});
  d[0] = -0.0, d[1] = NAN, d[2] = 0.0, d[3] = 5e-324;
  EXPECT_EQ(count_nonzero(the_cuda_device(), d.give()), 2);
  DeviceTensor<Half> h({3});
  h[0] = Half(-0.0f), h[1] = Half(NAN), h[2] = Half(6e-8f);
  EXPECT_EQ(count_nonzero(the_cuda_device(), h.give()), 2);
  DeviceTensor<complex<float>> z({3});
  z[0] = {-0.0f, -0.0f}, z[1] = {-0.0f, 1}, z[2] = {1, 0};
  EXPECT_EQ(count_nonzero(the_cuda_device(), z.give()), 2);
}

}  // namespace
}  // namespace gradus::inline v0::kernels
