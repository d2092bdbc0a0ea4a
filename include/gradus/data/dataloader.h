// Batches of a data set, in a sampler's order, prepared ahead by worker threads.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradus/core/error.h>
#include <gradus/data/dataloader_options.h>
#include <gradus/data/detail/worker_pool.h>
#include <gradus/data/iterator.h>
#include <gradus/data/samplers.h>
#include <gradus/data/worker_exception.h>

namespace gradus {
inline namespace v0 {
namespace data {

/// What all loaders share: `for (auto& batch : *loader)`, once per epoch.
template <class Dataset, class Batch, class BatchRequest>
class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  virtual ~DataLoaderBase() = default;
  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;

  /// Begins an epoch. What an epoch left in mid-way still had under way is dropped.
  Iterator<Batch> begin() {
    GRADUS_CHECK(!joined_, "DataLoader: begin() after join(); expected a loader whose workers still run");
    if (pool_) pool_->drain();
    exhausted_ = false;
    reset();
    return Iterator<Batch>([this] { return next(); });
  }
  Iterator<Batch> end() { return {}; }

  /// Stops the workers; the loader gives no batches afterwards.
  void join() {
    joined_ = true;
    if (pool_) pool_->join();
  }
  const FullDataLoaderOptions& options() const noexcept { return options_; }

 protected:
  explicit DataLoaderBase(const DataLoaderOptions& options) : options_(options) {}

  /// Begins an epoch in the derived loader.
  virtual void reset() = 0;
  /// What the next batch consists of; nothing at the end of the epoch.
  virtual std::optional<BatchRequest> next_request() = 0;
  /// Makes a batch on worker thread `worker`; nothing if the data set says that the epoch is over.
  virtual std::optional<Batch> load(size_t worker, BatchRequest request) = 0;

  /// To be called by derived constructors: virtual functions work only from there on.
  void start() {
    if (options_.workers == 0) return;
    pool_ = std::make_unique<detail::WorkerPool>(
        options_.workers, options_.enforce_ordering,
        [this](size_t worker, const std::shared_ptr<void>& request) -> std::shared_ptr<void> {
          return std::make_shared<std::optional<Batch>>(
              load(worker, std::move(*static_cast<BatchRequest*>(request.get()))));
        });
  }
  /// To be called by derived destructors, before what load() uses goes away.
  void stop() { pool_.reset(); }

 private:
  std::optional<Batch> next() {
    GRADUS_CHECK(!joined_, "DataLoader: a batch was asked for after join(); expected a loader whose workers still run");
    if (!pool_) {
      auto request = next_request();
      if (!request) return std::nullopt;
      return load(0, std::move(*request));
    }
    while (!exhausted_ && pool_->in_flight() < options_.max_jobs) {
      if (auto request = next_request()) {
        pool_->push(std::make_shared<BatchRequest>(std::move(*request)));
      } else {
        exhausted_ = true;
      }
    }
    while (pool_->in_flight() > 0) {
      const auto result = std::static_pointer_cast<std::optional<Batch>>(pool_->pop(options_.timeout));
      if (*result) return std::move(*result);
      exhausted_ = true;  // a stateful data set has come to its end; batches of other workers may still follow
    }
    return std::nullopt;
  }

  const FullDataLoaderOptions options_;
  std::unique_ptr<detail::WorkerPool> pool_;
  bool exhausted_ = false, joined_ = false;
};

/// A loader of a data set that is asked by index; every worker has its own copy of the data set.
template <class Dataset, class Sampler>
class StatelessDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType> {
 public:
  using Base = DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
  using typename Base::BatchRequestType;

  StatelessDataLoader(Dataset dataset, Sampler sampler, const DataLoaderOptions& options)
      : Base(options), sampler_(std::move(sampler)) {
    const size_t copies = this->options().workers < 1 ? 1 : this->options().workers;
    datasets_.reserve(copies);
    for (size_t i = 1; i < copies; ++i) datasets_.push_back(dataset);
    datasets_.push_back(std::move(dataset));
    this->start();
  }
  ~StatelessDataLoader() override { this->stop(); }

 protected:
  void reset() override { sampler_.reset(std::nullopt); }

  std::optional<BatchRequestType> next_request() override {
    auto request = sampler_.next(this->options().batch_size);
    if (request && this->options().drop_last && request->size() < this->options().batch_size) return std::nullopt;
    return request;
  }

  std::optional<typename Dataset::BatchType> load(size_t worker, BatchRequestType request) override {
    return datasets_[worker].get_batch(std::move(request));
  }

 private:
  std::vector<Dataset> datasets_;
  Sampler sampler_;
};

/// A loader of a data set that keeps its own place; the workers share it.
template <class Dataset>
class StatefulDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType> {
 public:
  using Base = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType>;
  using typename Base::BatchRequestType;

  StatefulDataLoader(Dataset dataset, const DataLoaderOptions& options) : Base(options), dataset_(std::move(dataset)) {
    this->start();
  }
  ~StatefulDataLoader() override { this->stop(); }

 protected:
  void reset() override { dataset_.reset(); }

  std::optional<BatchRequestType> next_request() override { return this->options().batch_size; }

  std::optional<typename Dataset::BatchType::value_type> load(size_t, BatchRequestType request) override {
    return dataset_.get_batch(std::move(request));
  }

 private:
  Dataset dataset_;
};

/// A loader of `dataset` in the order of `sampler`.
template <class Dataset, class Sampler>
std::enable_if_t<!Dataset::is_stateful, std::unique_ptr<StatelessDataLoader<Dataset, Sampler>>> make_data_loader(
    Dataset dataset, Sampler sampler, DataLoaderOptions options) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler), options);
}

/// A loader of `dataset` with a sampler made for its size: `make_data_loader<samplers::SequentialSampler>(dataset,
/// 64)`.
template <class Sampler = samplers::RandomSampler, class Dataset>
std::enable_if_t<!Dataset::is_stateful && std::is_constructible<Sampler, size_t>::value,
                 std::unique_ptr<StatelessDataLoader<Dataset, Sampler>>>
make_data_loader(Dataset dataset, DataLoaderOptions options = DataLoaderOptions()) {
  const std::optional<size_t> size = dataset.size();
  GRADUS_CHECK(size.has_value(),
               "make_data_loader: the data set does not know its size; expected a sampler as second argument");
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), Sampler(*size), options);
}

/// A loader of a stateful data set.
template <class Dataset>
std::enable_if_t<Dataset::is_stateful, std::unique_ptr<StatefulDataLoader<Dataset>>> make_data_loader(
    Dataset dataset, DataLoaderOptions options = DataLoaderOptions()) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), options);
}

}  // namespace data
}  // namespace v0
}  // namespace gradus
