// A data set seen through a transform.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <gradus/data/datasets/base.h>

namespace gradus {
inline namespace v0 {
namespace data {
namespace datasets {

namespace detail {
template <bool stateful, class T>
using optional_if = std::conditional_t<stateful, std::optional<T>, T>;
template <class T>
struct without_optional {
  using type = T;
};
template <class T>
struct without_optional<std::optional<T>> {
  using type = T;
};
}  // namespace detail

/// The batches of `Source`, each passed through `Transform::apply_batch`.
template <class Source, class Transform>
class MapDataset : public BatchDataset<MapDataset<Source, Transform>,
                                       detail::optional_if<Source::is_stateful, typename Transform::OutputBatchType>,
                                       typename Source::BatchRequestType> {
 public:
  using DatasetType = Source;
  using TransformType = Transform;
  using BatchRequestType = typename Source::BatchRequestType;
  using OutputBatchType = detail::optional_if<Source::is_stateful, typename Transform::OutputBatchType>;

  MapDataset(DatasetType dataset, TransformType transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (Source::is_stateful) {
      auto batch = dataset_.get_batch(std::move(request));
      if (!batch) return std::nullopt;
      return transform_.apply_batch(std::move(*batch));
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }

  std::optional<size_t> size() const override { return dataset_.size(); }

  /// For stateful sources: begins an epoch.
  void reset() { dataset_.reset(); }

  const DatasetType& dataset() const { return dataset_; }
  const TransformType& transform() const { return transform_; }

 private:
  DatasetType dataset_;
  TransformType transform_;
};

/// `dataset.map(transform)` as a function.
template <class Source, class Transform>
MapDataset<Source, Transform> map(Source dataset, Transform transform) {
  using Batch = typename detail::without_optional<typename Source::BatchType>::type;
  static_assert(std::is_same<Batch, typename Transform::InputBatchType>::value,
                "map: the data set's batches are not what the transform takes; compare Dataset::BatchType with "
                "Transform::InputBatchType");
  return {std::move(dataset), std::move(transform)};
}

}  // namespace datasets
}  // namespace data
}  // namespace v0
}  // namespace gradus
