// The order in which a loader asks for samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize
namespace data {
namespace samplers {

/// Gives requests for batches until the epoch ends. Its place can be saved and loaded.
template <class BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;

  virtual ~Sampler() = default;
  /// Begins an epoch, over `new_size` samples where given.
  virtual void reset(std::optional<size_t> new_size) = 0;
  void reset() { reset(std::nullopt); }
  /// The next request of at most `batch_size` samples; nothing at the end of the epoch.
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
  virtual void save(serialize::OutputArchive& archive) const = 0;
  /// Throws Error where the archive does not hold a place of this kind of sampler.
  virtual void load(serialize::InputArchive& archive) = 0;
};

/// 0, 1, 2, ...
class GRADUS_API SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}
  using Sampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Samples given so far.
  size_t index() const noexcept { return index_; }

 private:
  size_t size_, index_ = 0;
};

/// A new permutation every epoch, drawn with randperm from the default generator.
class GRADUS_API RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(int64_t size, ScalarType index_dtype = kLong);
  using Sampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  /// Samples given so far.
  size_t index() const noexcept { return static_cast<size_t>(index_); }

 private:
  Tensor indices_;
  int64_t index_ = 0;
};

/// The part of the samples that one of several processes handles.
template <class BatchRequest = std::vector<size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
 public:
  /// With `allow_duplicates` every process gets equally many samples, some of them twice; without, the last may get
  /// fewer.
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
    GRADUS_CHECK_AS(ValueError, num_replicas > 0 && rank < num_replicas, "DistributedSampler: rank ", rank, " of ",
                    num_replicas, " replicas; expected a rank below the number of replicas");
  }

  /// Seeds the shuffle: give every process the same number, a new one each epoch.
  void set_epoch(size_t epoch) { epoch_ = epoch; }
  size_t epoch() const { return epoch_; }

 protected:
  size_t local_sample_count() const {
    return allow_duplicates_ ? (size_ + num_replicas_ - 1) / num_replicas_ : size_ / num_replicas_;
  }

  size_t size_, num_replicas_, rank_, epoch_ = 0;
  bool allow_duplicates_;
};

/// Every process shuffles alike by the epoch's number and takes its own part.
class GRADUS_API DistributedRandomSampler : public DistributedSampler<> {
 public:
  explicit DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                                    bool allow_duplicates = true);
  using Sampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  size_t index() const noexcept { return index_; }

 private:
  std::vector<size_t> indices_;  // of this process, for this epoch
  size_t index_ = 0;
};

/// Every process takes its own range, in order.
class GRADUS_API DistributedSequentialSampler : public DistributedSampler<> {
 public:
  explicit DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                                        bool allow_duplicates = true);
  using Sampler<>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  size_t index() const noexcept { return index_; }

 private:
  size_t index_ = 0;  // samples given so far
};

/// A request for a stream data set: only a number of samples.
struct BatchSize {
  explicit BatchSize(size_t size = 0) : size_(size) {}
  size_t size() const noexcept { return size_; }
  operator size_t() const noexcept { return size_; }  // NOLINT: implicit, as in libtorch

 private:
  size_t size_;
};

/// Batch sizes that add up to the epoch's size.
class GRADUS_API StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}
  using Sampler<BatchSize>::reset;
  void reset(std::optional<size_t> new_size) override;
  std::optional<BatchSize> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  size_t examples_retrieved_so_far_ = 0, epoch_size_;
};

}  // namespace samplers
}  // namespace data
}  // namespace v0
}  // namespace gradus
