// Loaders: batches, order, failure in workers, leaving in mid-epoch.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include <gradus/ops/ops.h>
#include <gradus/data.h>

namespace {

namespace data = gradus::data;
using data::DataLoaderOptions;
using data::samplers::RandomSampler;
using data::samplers::SequentialSampler;

// Sample i is the number i; one of them may throw, and reading takes a moment that varies.
struct Numbers : data::datasets::Dataset<Numbers, int> {
  explicit Numbers(size_t size, size_t bad = SIZE_MAX) : count(size), bad(bad) {}
  int get(size_t index) override {
    if (index == bad) throw std::out_of_range("boom at " + std::to_string(index));
    std::this_thread::sleep_for(std::chrono::microseconds(200 * (7 - index % 7)));
    return static_cast<int>(index);
  }
  std::optional<size_t> size() const override { return count; }
  size_t count, bad;
};

template <class Loader>
std::vector<size_t> batch_sizes(Loader& loader) {
  std::vector<size_t> sizes;
  for (auto& batch : *loader) sizes.push_back(batch.size());
  return sizes;
}

// Case E1 of the reports.
TEST(DataLoader, LastBatch) {
  const std::vector<size_t> full{4, 4, 2}, dropped{4, 4};
  for (const int workers : {0, 2}) {
    auto options = DataLoaderOptions().batch_size(4).workers(workers);
    for (int epoch = 0; epoch < 2; ++epoch) {
      auto ten = data::make_data_loader<SequentialSampler>(Numbers(10), options);
      EXPECT_EQ(batch_sizes(ten), full);
      EXPECT_EQ(batch_sizes(ten), full);
      auto ten_dropped =
          data::make_data_loader<SequentialSampler>(Numbers(10), DataLoaderOptions(options).drop_last(true));
      EXPECT_EQ(batch_sizes(ten_dropped), dropped);
      EXPECT_EQ(batch_sizes(ten_dropped), dropped);
      auto eight = data::make_data_loader<SequentialSampler>(Numbers(8), options);
      EXPECT_EQ(batch_sizes(eight), dropped);
      auto none = data::make_data_loader<SequentialSampler>(Numbers(0), options);
      EXPECT_TRUE(batch_sizes(none).empty());
    }
  }
}

TEST(DataLoader, KeepsTheSamplersOrder) {
  auto loader = data::make_data_loader<SequentialSampler>(Numbers(97), DataLoaderOptions(5).workers(3));
  for (int epoch = 0; epoch < 2; ++epoch) {
    int next = 0;
    for (auto& batch : *loader) {
      for (const int number : batch) EXPECT_EQ(number, next++);
    }
    EXPECT_EQ(next, 97);
  }
}

TEST(DataLoader, WithoutOrderGivesEverySampleOnce) {
  auto loader = data::make_data_loader<RandomSampler>(
      Numbers(50), DataLoaderOptions(3).workers(4).enforce_ordering(false).max_jobs(2));
  std::set<int> seen;
  for (auto& batch : *loader) seen.insert(batch.begin(), batch.end());
  EXPECT_EQ(seen.size(), 50u);
}

// Case E3 of the reports.
TEST(DataLoader, AWorkersExceptionReachesTheLoop) {
  const auto start = std::chrono::steady_clock::now();
  {
    auto loader = data::make_data_loader<SequentialSampler>(Numbers(40, 3), DataLoaderOptions(2).workers(2));
    for (int round = 0; round < 2; ++round) {  // the loader stays usable
      int batches = 0;
      try {
        for ([[maybe_unused]] auto& batch : *loader) ++batches;
        FAIL();
      } catch (const data::WorkerException& error) {
        EXPECT_NE(std::string(error.what()).find("boom at 3"), std::string::npos) << error.what();
        EXPECT_THROW(std::rethrow_exception(error.original_exception), std::out_of_range);
        EXPECT_EQ(batches, 1);
      }
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(DataLoader, WithoutWorkersTheOriginalExceptionComes) {
  auto loader = data::make_data_loader<SequentialSampler>(Numbers(10, 3), 2);
  EXPECT_THROW(batch_sizes(loader), std::out_of_range);
}

TEST(DataLoader, AnEpochMayBeLeft) {
  for (const int workers : {0, 2}) {
    auto loader = data::make_data_loader<SequentialSampler>(Numbers(100), DataLoaderOptions(5).workers(workers));
    for (int round = 0; round < 3; ++round) {
      for (auto& batch : *loader) {
        EXPECT_EQ(batch[0], 0);
        break;
      }
    }
    EXPECT_EQ(batch_sizes(loader).size(), 20u);
    auto left = data::make_data_loader<SequentialSampler>(Numbers(100), DataLoaderOptions(5).workers(workers));
    EXPECT_EQ((*left->begin()).size(), 5u);
  }
}

TEST(DataLoader, JoinEndsIt) {
  auto loader = data::make_data_loader<SequentialSampler>(Numbers(10), DataLoaderOptions(5).workers(2));
  batch_sizes(loader);
  loader->join();
  EXPECT_THROW(loader->begin(), gradus::Error);
}

struct Slow : data::datasets::Dataset<Slow, int> {
  int get(size_t) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return 0;
  }
  std::optional<size_t> size() const override { return 4; }
};

TEST(DataLoader, Timeout) {
  auto loader = data::make_data_loader<SequentialSampler>(
      Slow(), DataLoaderOptions(1).workers(1).timeout(std::chrono::milliseconds(10)));
  EXPECT_THROW(batch_sizes(loader), gradus::Error);
}

// Row 27 of the complaints: a getter's bool is no batch size.
TEST(DataLoader, AForgottenArgumentIsExplained) {
  auto options = DataLoaderOptions(4).workers(0);
  try {
    auto loader = data::make_data_loader<SequentialSampler>(Numbers(10), options.drop_last());
    FAIL();
  } catch (const gradus::ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("write drop_last(true)"), std::string::npos) << error.what();
  }
  EXPECT_THROW(data::make_data_loader<SequentialSampler>(Numbers(10), 0), gradus::ValueError);
  EXPECT_THROW(DataLoaderOptions(-1), gradus::ValueError);
  EXPECT_THROW(DataLoaderOptions().workers(-1), gradus::ValueError);
}

// Counts down from a number that the workers share.
struct Countdown : data::datasets::StatefulDataset<Countdown, std::vector<int>> {
  explicit Countdown(int from) : from(from), left(from) {}
  std::optional<std::vector<int>> get_batch(size_t size) override {
    const std::lock_guard lock(mutex);
    std::vector<int> batch;
    while (batch.size() < size && left > 0) batch.push_back(left--);
    if (batch.empty()) return std::nullopt;
    return batch;
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(from); }
  void reset() override { left = from; }
  void save(gradus::serialize::OutputArchive&) const override {}
  void load(gradus::serialize::InputArchive&) override {}
  std::mutex mutex;
  int from, left;
};

TEST(DataLoader, StatefulDataSetsEndTheirEpoch) {
  for (const int workers : {0, 3}) {
    auto dataset =
        data::datasets::make_shared_dataset<Countdown>(23).map(data::transforms::BatchLambda<std::vector<int>, int>(
            [](std::vector<int> batch) { return std::accumulate(batch.begin(), batch.end(), 0); }));
    auto loader = data::make_data_loader(std::move(dataset), DataLoaderOptions(4).workers(workers));
    for (int epoch = 0; epoch < 3; ++epoch) {
      int sum = 0;
      for (const int part : *loader) sum += part;
      EXPECT_EQ(sum, 23 * 24 / 2);
    }
  }
}

// Every worker has its own copy, which no other thread uses at the same time.
struct Private : data::datasets::Dataset<Private, int> {
  int get(size_t index) override {
    const auto here = std::this_thread::get_id();
    if (user == std::thread::id()) user = here;
    EXPECT_EQ(user, here);
    return static_cast<int>(index);
  }
  std::optional<size_t> size() const override { return 60; }
  std::thread::id user;
};

TEST(DataLoader, WorkersHaveTheirOwnCopies) {
  auto loader = data::make_data_loader<SequentialSampler>(Private(), DataLoaderOptions(4).workers(3));
  EXPECT_EQ(batch_sizes(loader).size(), 15u);
}

TEST(DataLoader, TensorsStackOnWorkers) {
  auto dataset = data::datasets::TensorDataset(gradus::arange(12, gradus::kFloat).view({6, 2}))
                     .map(data::transforms::TensorLambda<void>([](gradus::Tensor x) { return x.mul(2); }))
                     .map(data::transforms::Stack<data::TensorExample>());
  auto loader = data::make_data_loader<SequentialSampler>(std::move(dataset), DataLoaderOptions(4).workers(2));
  std::vector<gradus::Tensor> batches;
  for (auto& batch : *loader) batches.push_back(batch.data);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_TRUE(gradus::equal(gradus::cat(batches), gradus::arange(12, gradus::kFloat).view({6, 2}).mul(2)));
}

}  // namespace
