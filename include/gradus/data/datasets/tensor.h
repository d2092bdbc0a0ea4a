// The rows of one tensor as a data set.
#pragma once

#include <optional>
#include <vector>

#include <gradus/data/datasets/base.h>

namespace gradus {
inline namespace v0 {
namespace data {
namespace datasets {

/// Sample i is `tensor[i]`.
struct GRADUS_API TensorDataset : public Dataset<TensorDataset, TensorExample> {
  /// Stacks equally shaped tensors.
  explicit TensorDataset(const std::vector<Tensor>& tensors);
  /// Throws ValueError for an undefined or 0-dimensional tensor.
  explicit TensorDataset(Tensor tensor);

  TensorExample get(size_t index) override;
  std::optional<size_t> size() const override;

  Tensor tensor;
};

}  // namespace datasets
}  // namespace data
}  // namespace v0
}  // namespace gradus
