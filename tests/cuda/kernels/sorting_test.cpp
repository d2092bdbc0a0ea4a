// sort on the device against std::stable_sort: all dtypes, lengths that fit shared memory and that do not, lines of any
// strides, NaN, zeros of both signs, partial results.
#include <algorithm>
#include <limits>

#include <kernels/sorting.h>

#include "device_tensor.h"

namespace gradus::inline v0::kernels {
namespace {

template <class T>
struct Numbers {
  static T make(int64_t i, uint64_t salt, bool few) {
    const uint64_t bits = mixed(i, salt);
    if constexpr (std::is_same_v<T, bool>) {
      return (bits & 1) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      return few ? static_cast<T>(bits % 5) : static_cast<T>(bits);
    } else {
      switch (bits % 19) {
        case 0:
          return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
        case 1:
          return static_cast<T>(0.0f);
        case 2:
          return static_cast<T>(-0.0f);
        case 3:
          return static_cast<T>(-std::numeric_limits<float>::infinity());
        case 4:
          return static_cast<T>(std::numeric_limits<float>::infinity());
        default: {
          const double v =
              few ? static_cast<double>(bits % 4) - 2 : std::ldexp(static_cast<double>(bits >> 20), -44) - 0.5;
          return static_cast<T>(static_cast<float>(v * (few ? 1 : 1000)));
        }
      }
    }
  }
};

template <class T>
bool less(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    const double x = static_cast<double>(a), y = static_cast<double>(b);
    return x < y || (y != y && x == x);
  }
}

template <class T>
void check_sort(DeviceTensor<T>& self, size_t dim, int64_t kept, bool descending, std::vector<size_t> out_order) {
  std::vector<int64_t> sizes = self.sizes;
  sizes[dim] = kept;
  DeviceTensor<T> values(sizes, permuted_strides(sizes, out_order));
  DeviceTensor<int64_t> indices(sizes);
  sort(the_cuda_device(), values.give(), indices.give(), self.give(), static_cast<int>(dim), descending);
  values.take(), indices.take();
  const int64_t n = self.sizes[dim], lines = n == 0 ? 0 : self.numel() / n;
  int64_t inner = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) inner *= sizes[d];
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t first = line / inner * inner * n + line % inner,
                  out_first = line / inner * inner * kept + line % inner;
    std::vector<int64_t> want(static_cast<size_t>(n));
    std::iota(want.begin(), want.end(), 0);
    std::stable_sort(want.begin(), want.end(), [&](int64_t a, int64_t b) {
      const T x = self[first + a * inner], y = self[first + b * inner];
      return descending ? less(y, x) : less(x, y);
    });
    for (int64_t i = 0; i < kept; ++i) {
      const int64_t w = want[static_cast<size_t>(i)];
      ASSERT_EQ(indices[out_first + i * inner], w) << "line " << line << " of " << n << ", rank " << i;
      ASSERT_EQ(std::memcmp(&values[out_first + i * inner], &self[first + w * inner], sizeof(T)), 0);
    }
  }
}

template <class T>
class Sorting : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, bool>;
TYPED_TEST_SUITE(Sorting, Types);

TYPED_TEST(Sorting, Lengths) {
  using T = TypeParam;
  for (int64_t n : {1, 2, 3, 31, 32, 33, 100, 1023, 1024, 1025, 2048, 4096, 4097, 9001}) {
    const int64_t lines = n > 1000 ? 2 : n > 40 ? 3 : 37;
    for (bool few : {false, true}) {
      DeviceTensor<T> self({lines, n});
      self.fill([&](int64_t i) { return Numbers<T>::make(i, static_cast<uint64_t>(n), few); });
      check_sort(self, 1, n, few, {0, 1});
      check_sort(self, 1, std::max<int64_t>(1, n / 7), !few, {0, 1});
    }
  }
}

TYPED_TEST(Sorting, Strides) {
  using T = TypeParam;
  for (size_t dim : {0, 1, 2}) {
    DeviceTensor<T> self({5, 70, 6}, permuted_strides({5, 70, 6}, {2, 0, 1}, 2), 3);
    self.fill([&](int64_t i) { return Numbers<T>::make(i, dim, true); });
    check_sort(self, dim, self.sizes[dim], false, {1, 2, 0});
    check_sort(self, dim, 3, true, {0, 1, 2});
  }
  DeviceTensor<T> self({5000, 2}, permuted_strides({5000, 2}, {0, 1}));
  self.fill([&](int64_t i) { return Numbers<T>::make(i, 5, false); });
  check_sort(self, 0, 5000, false, {1, 0});
  check_sort(self, 0, 17, true, {0, 1});
}

TYPED_TEST(Sorting, TheFirstFewOfLongLines) {
  using T = TypeParam;
  for (int64_t kept : {1, 2, 5, 33, 700, 1000}) {
    for (bool few : {false, true}) {
      DeviceTensor<T> self({2, 4500});
      self.fill([&](int64_t i) { return Numbers<T>::make(i, static_cast<uint64_t>(kept), few); });
      check_sort(self, 1, kept, few, {0, 1});
      check_sort(self, 1, kept, !few, {1, 0});
    }
  }
}

TEST(Sorting, NothingToSort) {
  DeviceTensor<float> none({0, 3}), values({0, 3}), empty_lines({3, 0}), empty_values({3, 0});
  DeviceTensor<int64_t> indices({0, 3}), empty_indices({3, 0});
  sort(the_cuda_device(), values.give(), indices.give(), none.give(), 1, false);
  sort(the_cuda_device(), empty_values.give(), empty_indices.give(), empty_lines.give(), 1, false);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Sorting, ManyEqualKeys) {
  DeviceTensor<float> self({1, 20000});
  self.fill([](int64_t i) { return i % 9999 == 0 ? 1.0f : 0.0f; });
  check_sort(self, 1, 20000, false, {0, 1});
  check_sort(self, 1, 20000, true, {0, 1});
}

}  // namespace
}  // namespace gradus::inline v0::kernels
