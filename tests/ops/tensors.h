// Small tensors, and errors' texts, for tests that must not depend on the operators they test.
#pragma once

#include <string>
#include <vector>

#include <gradus/core/tensor.h>

#include "core/make_tensor.h"

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

/// The text of what `f` throws as E.
template <class E, class F>
std::string thrown(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace gradus::testing
