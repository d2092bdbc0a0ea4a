// What a data set is. Yours derives from Dataset and says get(index) and size().
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradus/core/array_ref.h>
#include <gradus/data/example.h>

namespace gradus {
inline namespace v0 {
namespace data {
namespace datasets {

template <class Source, class Transform>
class MapDataset;
template <class Source, class Transform>
MapDataset<Source, Transform> map(Source dataset, Transform transform);

namespace detail {
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
}  // namespace detail

/// Gives whole batches on request. `Self` is the deriving class.
template <class Self, class Batch, class BatchRequest = ArrayRef<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  /// A stateful data set decides itself when an epoch ends: its batches are optional.
  static constexpr bool is_stateful = detail::is_optional<Batch>::value;

  virtual ~BatchDataset() = default;

  virtual Batch get_batch(BatchRequest request) = 0;
  /// The number of samples, where known.
  virtual std::optional<size_t> size() const = 0;

  /// This data set with every batch passed through `transform`.
  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) & {
    return datasets::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

/// Gives single samples by index; a batch is a vector of them.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;

  virtual ExampleType get(size_t index) = 0;

  std::vector<ExampleType> get_batch(ArrayRef<size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (const size_t index : indices) batch.push_back(get(index));
    return batch;
  }
};

/// Gives batches of a requested size, with no index.
template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, size_t>;

}  // namespace datasets
}  // namespace data
}  // namespace v0
}  // namespace gradus
