// Data sets and transforms; IDX files, whole and damaged.
#include <gtest/gtest.h>

#include <random>

#include <gradus/ops/ops.h>
#include <gradus/data.h>
#include <zlib.h>

#include "support/temporary_folder.h"

namespace {

namespace data = gradus::data;
using data::datasets::MNIST;
using gradus::Tensor;
using support::TemporaryFolder;
using support::write_file;

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string idx(const std::vector<uint32_t>& sizes, const std::string& bytes) {
  std::string out{0, 0, 8, static_cast<char>(sizes.size())};
  for (const uint32_t size : sizes) out += big_endian(size);
  return out + bytes;
}

void write_gzip(const std::string& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

const std::string kImages = idx({3, 2, 2}, std::string("\x00\xff\x33\x01\x02\x03\x04\x05\x06\x07\x08\x09", 12));

void write_test_set(const TemporaryFolder& folder, const std::string& images, const std::string& labels) {
  write_file(folder.file("t10k-images-idx3-ubyte"), images);
  write_file(folder.file("t10k-labels-idx1-ubyte"), labels);
}

std::string error_of(const std::string& root) {
  try {
    MNIST(root, MNIST::Mode::kTest);
  } catch (const gradus::Error& error) {
    return error.what();
  }
  return "no error";
}

const std::string kLabelBytes("\x05\x00\x09", 3);

TEST(Mnist, PlainAndGzip) {
  const TemporaryFolder folder;
  write_test_set(folder, kImages, idx({3}, kLabelBytes));
  write_gzip(folder.file("train-images-idx3-ubyte.gz"), kImages);
  write_gzip(folder.file("train-labels-idx1-ubyte.gz"), idx({3}, kLabelBytes));
  for (const auto mode : {MNIST::Mode::kTrain, MNIST::Mode::kTest}) {
    MNIST set(folder.path(), mode);
    EXPECT_EQ(*set.size(), 3u);
    EXPECT_EQ(set.is_train(), mode == MNIST::Mode::kTrain);
    EXPECT_EQ(set.images().sizes(), (std::vector<int64_t>{3, 1, 2, 2}));
    EXPECT_EQ(set.images().scalar_type(), gradus::kFloat);
    EXPECT_EQ(set.targets().scalar_type(), gradus::kLong);
    const auto sample = set.get(0);
    EXPECT_EQ(sample.data.sizes(), (std::vector<int64_t>{1, 2, 2}));
    EXPECT_EQ(sample.data[0][0][1].item<float>(), 1.0f);
    EXPECT_EQ(sample.data[0][1][0].item<float>(), 51.0f / 255.0f);
    EXPECT_EQ(sample.target.item<int64_t>(), 5);
    EXPECT_THROW(set.get(3), gradus::IndexError);
  }
}

TEST(Mnist, MissingFolderAndFiles) {
  EXPECT_NE(error_of("/no/such/folder").find("does not exist"), std::string::npos);
  EXPECT_NE(error_of("/no/such/folder").find("dataset-fashion-mnist"), std::string::npos);
  const TemporaryFolder folder;
  EXPECT_NE(error_of(folder.path()).find("has no file t10k-images-idx3-ubyte"), std::string::npos);
}

TEST(Mnist, HostileFilesAreRefused) {
  const TemporaryFolder folder;
  const std::string labels = idx({3}, kLabelBytes);
  const struct {
    std::string images, labels;
    const char* message;
  } cases[] = {
      {"", labels, "has 0 bytes"},
      {"no idx file", labels, "this is not an IDX file"},
      {std::string("\0\0\x0d\3", 4) + kImages.substr(4), labels, "element type 13"},
      {labels, labels, "has 1 dimensions; expected 3"},
      {kImages.substr(0, 9), labels, "ends inside its header"},
      {kImages.substr(0, 20), labels, "expected 12, which its header promises"},
      {idx({0xffffffff, 0xffffffff, 0xffffffff}, "abc"), labels, "overflow"},
      {idx({0xffffffff, 28, 28}, "abc"), labels, "can hold at most"},
      {kImages + "x", labels, "has more data"},
      {kImages, idx({2}, "ab"), "3 images and"},
  };
  for (const auto& c : cases) {
    write_test_set(folder, c.images, c.labels);
    EXPECT_NE(error_of(folder.path()).find(c.message), std::string::npos) << error_of(folder.path());
  }
}

TEST(Mnist, TruncatedAndMutatedGzip) {
  const TemporaryFolder folder;
  write_file(folder.file("t10k-labels-idx1-ubyte"), idx({3}, kLabelBytes));
  const std::string path = folder.file("t10k-images-idx3-ubyte.gz");
  write_gzip(path, kImages);
  EXPECT_EQ(error_of(folder.path()), "no error");
  const std::string whole = support::read_file(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    write_file(path, whole.substr(0, length));
    EXPECT_NE(error_of(folder.path()), "no error") << length;
  }
  std::mt19937 random(5);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = whole;
    for (unsigned i = 0; i <= random() % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    write_file(path, bytes);
    error_of(folder.path());
  }
}

TEST(TensorDataset, RowsAreSamples) {
  data::datasets::TensorDataset rows(gradus::arange(6).view({3, 2}));
  EXPECT_EQ(*rows.size(), 3u);
  EXPECT_TRUE(gradus::equal(rows.get(1).data, gradus::arange(2, 4)));
  data::datasets::TensorDataset stacked(std::vector<Tensor>{gradus::ones({2}), gradus::zeros({2})});
  EXPECT_EQ(*stacked.size(), 2u);
  EXPECT_THROW(data::datasets::TensorDataset(gradus::ones({})), gradus::ValueError);
  EXPECT_THROW(data::datasets::TensorDataset{Tensor()}, gradus::ValueError);
  EXPECT_THROW(data::datasets::TensorDataset(std::vector<Tensor>{}), gradus::ValueError);
}

TEST(Transforms, NormalizeWorksPerChannel) {
  const Tensor image = gradus::ones({2, 2, 2});
  const double means[] = {0.5, 1}, deviations[] = {0.25, 2};
  data::transforms::Normalize<> normalize(means, deviations);
  const Tensor out = normalize(image);
  EXPECT_EQ(out[0][1][1].item<float>(), 2);
  EXPECT_EQ(out[1][0][0].item<float>(), 0);
  EXPECT_THROW(data::transforms::Normalize<>(0.5, 0.0), gradus::ValueError);
  EXPECT_THROW(data::transforms::Normalize<>(std::vector<double>{}, 1.0), gradus::ValueError);
}

TEST(Transforms, MapStackAndLambda) {
  struct Pairs : data::datasets::Dataset<Pairs> {
    data::Example<> get(size_t index) override {
      const auto i = static_cast<int64_t>(index);
      return {gradus::full({2}, i), gradus::full({}, i, gradus::kLong)};
    }
    std::optional<size_t> size() const override { return 4; }
  };
  auto set = Pairs()
                 .map(data::transforms::Lambda<data::Example<>>([](data::Example<> e) {
                   return data::Example<>{e.data.mul(10), e.target};
                 }))
                 .map(data::transforms::Stack<>());
  const std::vector<size_t> indices{2, 0};
  const auto batch = set.get_batch(indices);
  EXPECT_EQ(batch.data.sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(batch.data[0][0].item<float>(), 20);
  EXPECT_EQ(batch.target[1].item<int64_t>(), 0);
  EXPECT_THROW(set.get_batch({}), gradus::ValueError);
}

}  // namespace
