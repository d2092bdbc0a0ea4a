// Overloads that only C++ has: where a literal would pick another operator than it means.
#pragma once

#include <gradus/ops/reduction.h>

namespace gradus {
inline namespace v0 {

// One int names a dimension; it would turn into `bool unbiased`.
inline Tensor var(const Tensor& self, int dim) {
  return self.var(dim);
}
inline Tensor std(const Tensor& self, int dim) {
  return self.std(dim);
}
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int dim) {
  const int64_t d = dim;
  return var_mean(self, OptionalIntArrayRef(d));
}

}  // namespace v0
}  // namespace gradus
