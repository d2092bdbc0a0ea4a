// Small tensors, and errors' texts, for tests that must not depend on the operators they test.
#pragma once

#include <vector>

#include <gradus/core/tensor.h>

#include "core/make_tensor.h"
#include "tests/support/errors.h"

namespace gradus::testing {

inline Tensor floats(std::vector<float> values, std::vector<int64_t> sizes = {}) {
  if (sizes.empty()) sizes = {static_cast<int64_t>(values.size())};
  Tensor t = core::empty(sizes, kFloat, kCPU);
  std::copy(values.begin(), values.end(), t.data_ptr<float>());
  return t;
}

inline std::vector<float> values(const Tensor& t) {
  std::vector<float> v(static_cast<size_t>(t.numel()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = t.data_ptr<float>()[i];
  return v;
}

using support::thrown;

}  // namespace gradus::testing
