// Data sets that keep their own place, and data sets that workers share.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gradus/data/datasets/base.h>

namespace gradus {
inline namespace v0 {
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize
namespace data {
namespace datasets {

/// Gives batches of a requested size until it says std::nullopt, which ends the epoch. Several workers call one object:
/// get_batch must be safe to call at the same time.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  /// Begins an epoch.
  virtual void reset() = 0;
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};

/// Copies share one data set: for what is costly to copy into every worker. The data set must be safe to use from
/// several threads.
template <class Shared>
class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<Shared>, typename Shared::BatchType, typename Shared::BatchRequestType> {
 public:
  using BatchType = typename Shared::BatchType;
  using BatchRequestType = typename Shared::BatchRequestType;

  explicit SharedBatchDataset(std::shared_ptr<Shared> dataset) : dataset_(std::move(dataset)) {}

  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  std::optional<size_t> size() const override { return dataset_->size(); }
  void reset() { dataset_->reset(); }

  Shared& operator*() { return *dataset_; }
  const Shared& operator*() const { return *dataset_; }
  Shared* operator->() { return dataset_.get(); }
  const Shared* operator->() const { return dataset_.get(); }

 private:
  std::shared_ptr<Shared> dataset_;
};

/// A SharedBatchDataset of a data set made in place.
template <class Shared, class... Args>
SharedBatchDataset<Shared> make_shared_dataset(Args&&... args) {
  return SharedBatchDataset<Shared>(std::make_shared<Shared>(std::forward<Args>(args)...));
}

}  // namespace datasets
}  // namespace data
}  // namespace v0
}  // namespace gradus
