// Small vectors, reading them back, and what an operator throws.
#pragma once

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <gradus/gradus.h>

#include "support/errors.h"

namespace support {

const double kNan = std::nan("");
const double kInf = std::numeric_limits<double>::infinity();

inline gradus::Tensor vec(std::vector<double> v) {
  gradus::Tensor t = gradus::empty({static_cast<int64_t>(v.size())}, gradus::kDouble);
  std::copy(v.begin(), v.end(), t.data_ptr<double>());
  return t;
}
template <class T>
gradus::Tensor of(std::initializer_list<T> v) {
  gradus::Tensor t = gradus::empty({static_cast<int64_t>(v.size())}, gradus::CppTypeToScalarType<T>::value);
  std::copy(v.begin(), v.end(), t.data_ptr<T>());
  return t;
}
inline gradus::Tensor longs(std::initializer_list<int64_t> v) {
  return of<int64_t>(v);
}
inline gradus::Tensor leaf(std::vector<double> v) {
  return vec(std::move(v)).requires_grad_();
}
inline std::vector<double> values(const gradus::Tensor& t) {
  if (!t.defined()) return {};
  gradus::Tensor c = t.detach().to(gradus::kDouble).contiguous();
  return std::vector<double>(c.data_ptr<double>(), c.data_ptr<double>() + c.numel());
}
using V = std::vector<double>;

/// Whatever the dtype and the shape; NaN equals NaN.
inline void expect_values(const gradus::Tensor& got, std::initializer_list<double> want, double tolerance = 1e-12) {
  const std::vector<double> have = values(got);
  ASSERT_EQ(have.size(), want.size());
  size_t i = 0;
  for (double w : want) {
    const double g = have[i];
    const bool same = std::isnan(w) ? std::isnan(g) : w == g || std::abs(g - w) <= tolerance;
    EXPECT_TRUE(same) << "element " << i << " is " << g << " instead of " << w;
    ++i;
  }
}

inline bool begins(const std::string& text, const std::string& with) {
  return text.rfind(with, 0) == 0;
}
inline bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}
#define EXPECT_ERROR(statement, part)                        \
  do {                                                       \
    const std::string text = error_of([&] { statement; });   \
    EXPECT_TRUE(has(text, part)) << "the text is: " << text; \
  } while (false)

}  // namespace support
