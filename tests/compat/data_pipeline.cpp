// Datasets, transforms, samplers and data loaders, with and without workers.
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace data = torch::data;

// Sample i is the pair (tensor {i, i * i}, label i % 3).
class Squares : public data::datasets::Dataset<Squares> {
 public:
  explicit Squares(size_t size) : size_(size) {}
  data::Example<> get(size_t index) override {
    const auto i = static_cast<float>(index);
    return {torch::tensor({i, i * i}), torch::tensor(static_cast<int64_t>(index % 3))};
  }
  torch::optional<size_t> size() const override { return size_; }

 private:
  size_t size_;
};

// A dataset that makes whole batches.
struct Counter : data::datasets::BatchDataset<Counter, std::vector<int>> {
  std::vector<int> get_batch(torch::ArrayRef<size_t> indices) override {
    std::vector<int> batch;
    for (size_t i : indices) batch.push_back(static_cast<int>(i) * 10);
    return batch;
  }
  torch::optional<size_t> size() const override { return 7; }
};

struct Faulty : data::datasets::Dataset<Faulty, int> {
  int get(size_t index) override {
    if (index == 3) throw std::runtime_error("boom at 3");
    return static_cast<int>(index);
  }
  torch::optional<size_t> size() const override { return 6; }
};

static std::vector<float> firsts(const torch::Tensor& batch) {
  std::vector<float> values;
  for (int64_t i = 0; i < batch.size(0); ++i) values.push_back(batch[i][0].item<float>());
  return values;
}

template <typename Values>
static void print(const Values& values) {
  for (const auto& value : values) std::cout << " " << value;
}

static void sequential_batches(size_t workers, bool drop_last) {
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      Squares(10).map(data::transforms::Stack<>()),
      data::DataLoaderOptions().batch_size(4).workers(workers).drop_last(drop_last));
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::cout << "workers " << workers << " drop_last " << drop_last << ":";
    for (auto& batch : *loader) {
      std::cout << " " << batch.data.sizes() << batch.target.sizes() << " (";
      print(firsts(batch.data));
      std::cout << " )";
    }
    std::cout << "\n";
  }
}

static void random_batches() {
  torch::manual_seed(7);
  auto loader = data::make_data_loader(Squares(20).map(data::transforms::Stack<>()),
                                       data::DataLoaderOptions().batch_size(6).workers(2));
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<float> seen;
    std::vector<int64_t> sizes;
    bool labels_match = true;
    for (auto& batch : *loader) {
      sizes.push_back(batch.data.size(0));
      for (int64_t i = 0; i < batch.data.size(0); ++i) {
        const float value = batch.data[i][0].item<float>();
        seen.push_back(value);
        labels_match = labels_match && batch.target[i].item<int64_t>() == static_cast<int64_t>(value) % 3 &&
                       batch.data[i][1].item<float>() == value * value;
      }
    }
    std::sort(sizes.rbegin(), sizes.rend());
    std::sort(seen.begin(), seen.end());
    std::cout << "random epoch " << epoch << ":";
    print(sizes);
    std::cout << " samples " << seen.size() << " distinct "
              << std::distance(seen.begin(), std::unique(seen.begin(), seen.end())) << " labels match " << labels_match
              << "\n";
  }
}

static void samplers() {
  data::samplers::SequentialSampler sequential(5);
  std::cout << "sequential:";
  while (auto indices = sequential.next(2)) {
    print(*indices);
    std::cout << " |";
  }
  std::cout << " index " << sequential.index() << "\n";
  sequential.reset(3);
  std::cout << "after reset:";
  print(*sequential.next(10));
  std::cout << " then " << sequential.next(10).has_value() << "\n";
  torch::manual_seed(0);
  data::samplers::RandomSampler random(6);
  std::vector<size_t> order;
  while (auto indices = random.next(4)) order.insert(order.end(), indices->begin(), indices->end());
  std::sort(order.begin(), order.end());
  std::cout << "random, sorted:";
  print(order);
  std::cout << "\n";
}

static void transforms() {
  auto dataset = Squares(4)
                     .map(data::transforms::Lambda<data::Example<>>([](data::Example<> example) {
                       example.target = example.target + 100;
                       return example;
                     }))
                     .map(data::transforms::Normalize<>(1.0, 2.0))
                     .map(data::transforms::TensorLambda<>([](torch::Tensor t) { return t * 4; }))
                     .map(data::transforms::Stack<>());
  std::cout << "mapped size " << *dataset.size() << "\n";
  std::vector<size_t> indices{3, 1};
  auto batch = dataset.get_batch(indices);
  std::cout << batch.data << "\n" << batch.target << "\n";

  const auto image = torch::arange(8, torch::kFloat).reshape({2, 2, 2});
  data::transforms::Normalize<> normalize({1.0, 2.0}, {2.0, 4.0});
  std::cout << normalize(image) << "\n";
}

static void tensor_dataset() {
  auto dataset = data::datasets::TensorDataset(torch::arange(6, torch::kFloat).reshape({3, 2}));
  std::cout << "tensor dataset " << *dataset.size() << " " << dataset.get(1).data << "\n";
  auto loader = data::make_data_loader(
      data::datasets::TensorDataset(std::vector<torch::Tensor>{torch::tensor({1, 2}), torch::tensor({3, 4})})
          .map(data::transforms::Stack<data::TensorExample>()),
      /*batch_size=*/2);
  for (auto& batch : *loader) std::cout << batch.data.sum(0) << "\n";
}

static void batch_dataset() {
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(Counter(), data::DataLoaderOptions(3));
  std::cout << "counter:";
  for (const auto& batch : *loader) {
    print(batch);
    std::cout << " |";
  }
  std::cout << "\n";
}

static void exceptions() {
  for (size_t workers : {0, 2}) {
    auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
        Faulty(), data::DataLoaderOptions().batch_size(1).workers(workers));
    int good = 0;
    try {
      for (auto& batch : *loader) good += static_cast<int>(batch.size());
      std::cout << "no exception\n";
    } catch (const std::exception& error) {
      std::cout << "workers " << workers << ": " << good << " good, "
                << (std::string(error.what()).find("boom at 3") != std::string::npos ? "boom at 3" : error.what())
                << "\n";
    }
  }
}

static void write_big_endian(std::ofstream& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(value >> shift));
}

static void mnist() {
  const auto folder = std::filesystem::temp_directory_path() / "compat_data_pipeline_mnist";
  std::filesystem::create_directories(folder);
  {
    // libtorch wants the real file sizes, so the whole test set is written: image i is full of (i * 7) % 256.
    std::ofstream images(folder / "t10k-images-idx3-ubyte", std::ios::binary);
    write_big_endian(images, 2051);
    write_big_endian(images, 10000);
    write_big_endian(images, 28);
    write_big_endian(images, 28);
    std::ofstream labels(folder / "t10k-labels-idx1-ubyte", std::ios::binary);
    write_big_endian(labels, 2049);
    write_big_endian(labels, 10000);
    for (int i = 0; i < 10000; ++i) {
      images << std::string(28 * 28, static_cast<char>((i * 7) % 256));
      labels.put(static_cast<char>(i % 10));
    }
  }
  data::datasets::MNIST set(folder.string(), data::datasets::MNIST::Mode::kTest);
  std::cout << "mnist " << *set.size() << " train " << set.is_train() << " " << set.images().sizes() << " "
            << set.images().dtype() << " " << set.targets().dtype() << "\n";
  auto example = set.get(30);
  std::cout << example.data.sizes() << " " << static_cast<int>(example.data[0][5][5].item<float>() * 255 + 0.5f) << " "
            << example.target.item<int64_t>() << "\n";
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      std::move(set).map(data::transforms::Normalize<>(0.1307, 0.3081)).map(data::transforms::Stack<>()),
      data::DataLoaderOptions().batch_size(64).workers(1));
  auto first = *loader->begin();
  std::cout << first.data.sizes() << " " << first.target.sizes() << " " << first.target[13].item<int64_t>() << "\n";
  std::filesystem::remove_all(folder);
  try {
    data::datasets::MNIST missing((folder / "nowhere").string());
    std::cout << "no error\n";
  } catch (const std::exception&) {
    std::cout << "missing folder refused\n";
  }
}

int main() {
  for (size_t workers : {0, 2})
    for (bool drop_last : {false, true}) sequential_batches(workers, drop_last);
  random_batches();
  samplers();
  transforms();
  tensor_dataset();
  batch_dataset();
  exceptions();
  mnist();
  return 0;
}
