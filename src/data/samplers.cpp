#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include <gradus/data/samplers.h>
#include <gradus/core/ivalue.h>
#include <gradus/ops/ops.h>
#include <gradus/serialize/archive.h>

namespace gradus::inline v0::data::samplers {
namespace {

void save_number(serialize::OutputArchive& archive, const char* key, size_t value) {
  archive.write(key, IValue(static_cast<int64_t>(value)));
}

// A number of 0 to `most`.
size_t load_number(serialize::InputArchive& archive, const char* sampler, const char* key, size_t most) {
  IValue value;
  archive.read(key, value);
  const int64_t number = value.toInt();
  GRADUS_CHECK(number >= 0 && static_cast<uint64_t>(number) <= most, sampler, ": the saved ", key, " is ", number,
               "; expected 0 to ", most, ", as this sampler's size has it");
  return static_cast<size_t>(number);
}

// The samples `begin` to `begin + batch_size` of `count`, as `sample(i)` names them.
template <class F>
std::optional<std::vector<size_t>> take(size_t& begin, size_t batch_size, size_t count, F sample) {
  if (begin >= count) return std::nullopt;
  const size_t taken = std::min(batch_size, count - begin);
  std::vector<size_t> batch(taken);
  for (size_t i = 0; i < taken; ++i) batch[i] = sample(begin + i);
  begin += taken;
  return batch;
}

constexpr size_t kAnyEpoch = std::numeric_limits<int64_t>::max();

}  // namespace

// ---- SequentialSampler ----

void SequentialSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  index_ = 0;
}

std::optional<std::vector<size_t>> SequentialSampler::next(size_t batch_size) {
  return take(index_, batch_size, size_, [](size_t i) { return i; });
}

void SequentialSampler::save(serialize::OutputArchive& archive) const {
  save_number(archive, "index", index_);
}

void SequentialSampler::load(serialize::InputArchive& archive) {
  index_ = load_number(archive, "SequentialSampler", "index", size_);
}

// ---- RandomSampler ----

RandomSampler::RandomSampler(int64_t size, ScalarType index_dtype)
    : indices_(randperm(size, TensorOptions(index_dtype)).to(kLong)) {}

void RandomSampler::reset(std::optional<size_t> new_size) {
  // The dtype makes no difference to what is drawn, so that int64 serves every sampler.
  indices_ = randperm(new_size ? static_cast<int64_t>(*new_size) : indices_.numel(), TensorOptions(kLong));
  index_ = 0;
}

std::optional<std::vector<size_t>> RandomSampler::next(size_t batch_size) {
  const int64_t* order = indices_.const_data_ptr<int64_t>();
  size_t begin = index();
  auto batch = take(begin, batch_size, static_cast<size_t>(indices_.numel()),
                    [order](size_t i) { return static_cast<size_t>(order[i]); });
  index_ = static_cast<int64_t>(begin);
  return batch;
}

void RandomSampler::save(serialize::OutputArchive& archive) const {
  save_number(archive, "index", index());
  archive.write("indices", indices_, /*is_buffer=*/true);
}

void RandomSampler::load(serialize::InputArchive& archive) {
  Tensor indices;
  archive.read("indices", indices, /*is_buffer=*/true);
  GRADUS_CHECK(indices.dim() == 1 && indices.scalar_type() == kLong, "RandomSampler: the saved indices are ",
               indices.scalar_type(), " of shape ", indices.sizes(), "; expected one row of Long");
  index_ = static_cast<int64_t>(load_number(archive, "RandomSampler", "index", static_cast<size_t>(indices.numel())));
  indices_ = std::move(indices);
}

// ---- DistributedRandomSampler ----

DistributedRandomSampler::DistributedRandomSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {
  reset(size);
}

void DistributedRandomSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  index_ = 0;
  std::vector<size_t> all(size_);
  std::iota(all.begin(), all.end(), size_t{0});
  std::mt19937 generator(static_cast<std::mt19937::result_type>(epoch_));
  std::shuffle(all.begin(), all.end(), generator);
  const size_t count = local_sample_count(), begin = rank_ * count;
  indices_.clear();
  for (size_t i = begin; i < begin + count && !all.empty(); ++i) indices_.push_back(all[i % all.size()]);
  if (!allow_duplicates_ && rank_ + 1 == num_replicas_) {  // the rest that does not divide
    indices_.insert(indices_.end(), all.begin() + static_cast<std::ptrdiff_t>(begin + count), all.end());
  }
}

std::optional<std::vector<size_t>> DistributedRandomSampler::next(size_t batch_size) {
  return take(index_, batch_size, indices_.size(), [this](size_t i) { return indices_[i]; });
}

void DistributedRandomSampler::save(serialize::OutputArchive& archive) const {
  save_number(archive, "epoch", epoch_);
  save_number(archive, "index", index_);
}

void DistributedRandomSampler::load(serialize::InputArchive& archive) {
  const size_t epoch = load_number(archive, "DistributedRandomSampler", "epoch", kAnyEpoch);
  const size_t index = load_number(archive, "DistributedRandomSampler", "index", indices_.size());
  set_epoch(epoch);
  reset(size_);
  index_ = index;
}

// ---- DistributedSequentialSampler ----

DistributedSequentialSampler::DistributedSequentialSampler(size_t size, size_t num_replicas, size_t rank,
                                                           bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {}

void DistributedSequentialSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  index_ = 0;
}

std::optional<std::vector<size_t>> DistributedSequentialSampler::next(size_t batch_size) {
  const size_t begin = rank_ * local_sample_count();
  size_t count = size_ == 0 ? 0 : local_sample_count();
  if (!allow_duplicates_ && rank_ + 1 == num_replicas_) count = size_ - begin;
  return take(index_, batch_size, count, [this, begin](size_t i) { return (begin + i) % size_; });
}

void DistributedSequentialSampler::save(serialize::OutputArchive& archive) const {
  save_number(archive, "index", index_);
}

void DistributedSequentialSampler::load(serialize::InputArchive& archive) {
  index_ = load_number(archive, "DistributedSequentialSampler", "index", size_);
}

// ---- StreamSampler ----

void StreamSampler::reset(std::optional<size_t> new_size) {
  epoch_size_ = new_size.value_or(epoch_size_);
  examples_retrieved_so_far_ = 0;
}

std::optional<BatchSize> StreamSampler::next(size_t batch_size) {
  if (examples_retrieved_so_far_ >= epoch_size_) return std::nullopt;
  const size_t taken = std::min(batch_size, epoch_size_ - examples_retrieved_so_far_);
  examples_retrieved_so_far_ += taken;
  return BatchSize(taken);
}

void StreamSampler::save(serialize::OutputArchive& archive) const {
  save_number(archive, "examples_retrieved_so_far", examples_retrieved_so_far_);
}

void StreamSampler::load(serialize::InputArchive& archive) {
  examples_retrieved_so_far_ = load_number(archive, "StreamSampler", "examples_retrieved_so_far", epoch_size_);
}

}  // namespace gradus::inline v0::data::samplers
