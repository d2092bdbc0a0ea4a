// Shared by the kernel tests: contiguous arrays with views, smooth pseudo-random numbers, comparisons that NaN cannot
// pass.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <kernels/view.h>

namespace gradus::inline v0::kernels {

template <class T>
struct Array {
  std::vector<int64_t> sizes, strides;
  std::vector<T> data;

  explicit Array(std::vector<int64_t> s, bool channels_last = false) : sizes(std::move(s)), strides(sizes.size()) {
    int64_t step = 1;
    const bool last = channels_last && sizes.size() > 2;
    if (last) strides[1] = 1, step = sizes[1];
    for (size_t i = sizes.size(); i-- > 0;) {
      if (last && i == 1) continue;
      strides[i] = step;
      step *= sizes[i];
    }
    data.resize(static_cast<size_t>(step));
  }
  int64_t numel() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }
  /// Where element `flat`, counted in row-major order, lies.
  size_t at(int64_t flat) const {
    int64_t offset = 0;
    for (size_t i = sizes.size(); i-- > 0;) {
      offset += flat % sizes[i] * strides[i];
      flat /= sizes[i];
    }
    return static_cast<size_t>(offset);
  }
  double get(int64_t flat) const { return static_cast<double>(data[at(flat)]); }
  /// Numbers in about [-2, 2] * scale + shift.
  Array& fill(int salt, double scale = 1, double shift = 0) {
    for (int64_t i = 0; i < numel(); ++i) {
      const double v = std::sin(static_cast<double>(i) * 1.7 + salt * 0.9) * 2 * scale + shift;
      data[at(i)] = static_cast<T>(static_cast<double>(static_cast<T>(v)));
    }
    return *this;
  }
  View view() {
    return {data.data(), sizes.data(), strides.data(), static_cast<int>(sizes.size()), CppTypeToScalarType<T>::value};
  }
};

inline ConstView no_view() {
  return ConstView{nullptr, nullptr, nullptr, 0, kFloat};
}

/// Half a unit in the last place of 1 in T.
template <class T>
double unit() {
  if (std::is_same_v<T, double>) return 1.2e-16;
  if (std::is_same_v<T, float>) return 6e-8;
  return std::is_same_v<T, Half> ? 4.9e-4 : 3.9e-3;
}

template <class T>
void expect_near(Array<T>& got, const std::vector<double>& want, double tolerance, const std::string& what) {
  ASSERT_EQ(static_cast<size_t>(got.numel()), want.size()) << what;
  for (int64_t i = 0; i < got.numel(); ++i) {
    const double w = want[static_cast<size_t>(i)], g = got.get(i);
    if (std::isnan(w) || std::isinf(w)) {
      ASSERT_TRUE(std::isnan(w) ? std::isnan(g) : g == w) << what << " at " << i << ": " << g << ", expected " << w;
    } else {
      // A result rounds to its own type whatever the computation's error.
      const double bound = tolerance + std::abs(w) * unit<T>() * 1.01;
      ASSERT_TRUE(std::abs(g - w) <= bound)
          << what << " at " << i << ": " << g << ", expected " << w << " within " << bound;
    }
  }
}

/// The error of a few dozen roundings in the type that T is computed in.
template <class T>
double rounding() {
  return std::is_same_v<T, double> ? 1e-14 : 4e-6;
}

}  // namespace gradus::inline v0::kernels
