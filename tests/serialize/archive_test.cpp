// save, load and the archives behind them.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <thread>

#include <gradus/core/ivalue.h>
#include <gradus/ops/ops.h>
#include <gradus/serialize.h>

#include "support/temporary_folder.h"

namespace {

using gradus::IValue;
using gradus::Tensor;
using gradus::serialize::InputArchive;
using gradus::serialize::OutputArchive;
using support::read_file;
using support::TemporaryFolder;
using support::write_file;

TEST(Save, TensorsThroughFilesStreamsAndFunctions) {
  const TemporaryFolder folder;
  const Tensor saved = gradus::arange(6, gradus::kDouble).view({2, 3}).t();
  Tensor loaded;
  gradus::save(saved, folder.file("a"));
  gradus::load(loaded, folder.file("a"));
  EXPECT_TRUE(gradus::equal(saved, loaded));

  std::stringstream stream;
  gradus::save(saved, stream);
  Tensor from_stream;
  gradus::load(from_stream, stream);
  EXPECT_TRUE(gradus::equal(saved, from_stream));

  std::string bytes;
  gradus::save(saved, [&bytes](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  Tensor from_memory, from_function;
  gradus::load(from_memory, bytes.data(), bytes.size());
  gradus::load(
      from_function,
      [&bytes](uint64_t position, void* to, size_t size) { return bytes.copy(static_cast<char*>(to), size, position); },
      [&bytes] { return bytes.size(); });
  EXPECT_TRUE(gradus::equal(saved, from_memory));
  EXPECT_TRUE(gradus::equal(saved, from_function));
}

TEST(Save, KeepsRequiresGradOfNewTensors) {
  const TemporaryFolder folder;
  gradus::save(gradus::ones({2}, gradus::requires_grad()), folder.file("a"));
  Tensor loaded;
  gradus::load(loaded, folder.file("a"));
  EXPECT_TRUE(loaded.requires_grad());
  EXPECT_TRUE(loaded.is_leaf());
}

TEST(Save, ADefinedTensorTakesOverTheShape) {
  const TemporaryFolder folder;
  gradus::save(gradus::arange(4), folder.file("a"));
  Tensor loaded = gradus::zeros({1}, gradus::kLong);
  const Tensor other_handle = loaded;
  gradus::load(loaded, folder.file("a"));
  EXPECT_EQ(loaded.numel(), 4);
  EXPECT_EQ(other_handle.numel(), 4);
}

TEST(Save, Vectors) {
  const TemporaryFolder folder;
  std::vector<Tensor> saved;
  for (int i = 0; i < 12; ++i) saved.push_back(gradus::full({1}, i));
  gradus::save(saved, folder.file("a"));
  std::vector<Tensor> loaded;
  gradus::load(loaded, folder.file("a"));
  ASSERT_EQ(loaded.size(), 12u);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(loaded[static_cast<size_t>(i)].item<int>(), i);
}

// Row 6 of the complaints.
TEST(Save, ASliceWritesItsOwnElements) {
  const TemporaryFolder folder;
  gradus::save(gradus::zeros({1000000}).slice(0, 0, 2), folder.file("a"));
  EXPECT_LT(read_file(folder.file("a")).size(), 400u);
}

TEST(Archive, ValuesOfEveryKind) {
  OutputArchive out;
  const double tiny = std::numeric_limits<double>::denorm_min();
  out.write("none", IValue());
  out.write("int", IValue(std::numeric_limits<int64_t>::min()));
  out.write("double", IValue(0.1));
  out.write("tiny", IValue(tiny));
  out.write("inf", IValue(-std::numeric_limits<double>::infinity()));
  out.write("nan", IValue(std::numeric_limits<double>::quiet_NaN()));
  out.write("bool", IValue(true));
  out.write("string", IValue(std::string("two\nlines, \"quoted\" ü")));
  out.write("complex", IValue(gradus::complex<double>(1.5, -0.1)));
  out.write("device", IValue(gradus::Device(gradus::kCPU)));
  out.write("ints", IValue(std::vector<int64_t>{1, -2}));
  out.write("doubles", IValue(std::vector<double>{0.1, 1e300}));
  out.write("bools", IValue(std::vector<bool>{true, false}));
  out.write("tensors", IValue(std::vector<Tensor>{gradus::ones({2}), gradus::zeros({1})}));
  out.write("empty list", IValue(std::vector<int64_t>{}));
  std::stringstream stream;
  out.save_to(stream);

  InputArchive in;
  in.load_from(stream);
  const auto value = [&in](const char* key) {
    IValue v;
    in.read(key, v);
    return v;
  };
  EXPECT_TRUE(value("none").isNone());
  EXPECT_EQ(value("int").toInt(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(value("double").toDouble(), 0.1);
  EXPECT_EQ(value("tiny").toDouble(), tiny);
  EXPECT_EQ(value("inf").toDouble(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value("nan").toDouble()));
  EXPECT_TRUE(value("bool").isBool() && value("bool").toBool());
  EXPECT_EQ(value("string").toStringRef(), "two\nlines, \"quoted\" ü");
  EXPECT_EQ(value("complex").toComplexDouble(), gradus::complex<double>(1.5, -0.1));
  EXPECT_EQ(value("device").toDevice(), gradus::Device(gradus::kCPU));
  EXPECT_EQ(value("ints").toIntVector(), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(value("doubles").toDoubleVector(), (std::vector<double>{0.1, 1e300}));
  EXPECT_EQ(value("bools").toBoolVector(), (std::vector<bool>{true, false}));
  ASSERT_EQ(value("tensors").toTensorVector().size(), 2u);
  EXPECT_TRUE(gradus::equal(value("tensors").toTensorVector()[0], gradus::ones({2})));
  EXPECT_TRUE(value("empty list").toIntVector().empty());
}

TEST(Archive, NestsAndListsKeys) {
  OutputArchive out, inner, innermost, nothing;
  innermost.write("x", gradus::ones({1}));
  inner.write("deep", innermost);
  inner.write("y", IValue(3));
  out.write("inner", inner);
  out.write("nothing", nothing);
  out.write("z", gradus::zeros({1}));
  EXPECT_THROW(out.write("z", gradus::zeros({1})), gradus::Error);
  EXPECT_THROW(out.write("inner.y", IValue(1)), gradus::Error);
  std::stringstream stream;
  out.save_to(stream);

  InputArchive in, in_inner, in_deep, in_nothing, none;
  in.load_from(stream);
  EXPECT_EQ(in.keys(), (std::vector<std::string>{"inner", "nothing", "z"}));
  in.read("inner", in_inner);
  EXPECT_EQ(in_inner.keys(), (std::vector<std::string>{"deep", "y"}));
  in_inner.read("deep", in_deep);
  Tensor x;
  in_deep.read("x", x);
  EXPECT_EQ(x.item<float>(), 1);
  EXPECT_TRUE(in.try_read("nothing", in_nothing));
  EXPECT_TRUE(in_nothing.keys().empty());
  EXPECT_FALSE(in.try_read("inn", none));
  Tensor missing;
  EXPECT_FALSE(in.try_read("w", missing));
  EXPECT_FALSE(missing.defined());
  try {
    in_inner.read("w", missing);
    FAIL();
  } catch (const gradus::Error& error) {
    EXPECT_NE(std::string(error.what()).find("has no entry inner.w; expected one of: deep, y"), std::string::npos)
        << error.what();
  }
  InputArchive never_loaded;
  EXPECT_THROW(never_loaded.read("x", x), gradus::Error);
}

TEST(Archive, ATransactionIsAllOrNothing) {
  OutputArchive out;
  out.write("a", gradus::ones({2}));
  out.write("b", gradus::ones({3}));
  std::stringstream stream;
  out.save_to(stream);
  InputArchive in;
  in.load_from(stream);
  Tensor a = gradus::zeros({2}), b = gradus::zeros({2});
  {
    gradus::serialize::LoadTransaction transaction(in);
    in.read("a", a);
    in.read("b", b);
    EXPECT_THROW(transaction.commit(), gradus::Error);
  }
  EXPECT_TRUE(gradus::equal(a, gradus::zeros({2})));
  b = gradus::zeros({3});
  {
    gradus::serialize::LoadTransaction transaction(in);
    in.read("a", a);
    in.read("b", b);
    EXPECT_TRUE(gradus::equal(a, gradus::zeros({2})));
    transaction.commit();
  }
  EXPECT_TRUE(gradus::equal(a, gradus::ones({2})));
  EXPECT_TRUE(gradus::equal(b, gradus::ones({3})));
}

TEST(Archive, DamagedFilesThrow) {
  const TemporaryFolder folder;
  OutputArchive out;
  out.write("v", IValue(std::vector<double>{1, 2}));
  out.write("l", IValue(std::vector<Tensor>{gradus::ones({1})}));
  out.write("t", gradus::ones({2}));
  out.save_to(folder.file("a"));
  const std::string whole = read_file(folder.file("a"));
  const auto read_all = [&](const std::string& bytes) {
    try {
      InputArchive in;
      in.load_from(bytes.data(), bytes.size());
      for (const auto& key : in.keys()) {
        IValue value;
        in.try_read(key, value);
      }
    } catch (const gradus::Error&) {
      return false;
    }
    return true;
  };
  EXPECT_TRUE(read_all(whole));
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_FALSE(read_all(whole.substr(0, length))) << length;
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (unsigned i = 0; i <= random() % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random() % 128);
    read_all(bytes);
  }
}

TEST(Archive, FailedWritesAreTold) {
  const Tensor t = gradus::ones({2});
  EXPECT_THROW(gradus::save(t, [](const void*, size_t) { return size_t{0}; }), gradus::Error);
  std::stringstream broken;
  broken.setstate(std::ios::badbit);
  EXPECT_THROW(gradus::save(t, broken), gradus::Error);
  EXPECT_THROW(gradus::save(t, "/no/such/folder/file"), gradus::Error);
  Tensor loaded;
  EXPECT_THROW(gradus::load(
                   loaded, [](uint64_t, void*, size_t) { return size_t{0}; }, [] { return size_t{1} << 60; }),
               gradus::Error);
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info.st_mode;
}
bool holds(const std::string& path, const Tensor& expected) {
  Tensor loaded;
  gradus::load(loaded, path);
  return gradus::equal(loaded, expected);
}

TEST(Save, SymbolicLinksStayAndLeadToTheNewFile) {
  const TemporaryFolder folder;
  const Tensor t = gradus::arange(3);
  std::filesystem::create_directory(folder.file("inner"));
  write_file(folder.file("inner/target"), "old");
  std::filesystem::create_symlink("inner/target", folder.file("relative"));
  std::filesystem::create_symlink(folder.file("relative"), folder.file("twice"));
  gradus::save(t, folder.file("twice"));
  EXPECT_TRUE(S_ISLNK(mode_of(folder.file("relative"))));
  EXPECT_TRUE(S_ISLNK(mode_of(folder.file("twice"))));
  EXPECT_TRUE(S_ISREG(mode_of(folder.file("inner/target"))));
  EXPECT_TRUE(holds(folder.file("inner/target"), t));

  std::filesystem::create_symlink("inner/new", folder.file("dangling"));
  gradus::save(t, folder.file("dangling"));
  EXPECT_TRUE(S_ISLNK(mode_of(folder.file("dangling"))));
  EXPECT_TRUE(holds(folder.file("inner/new"), t));

  std::filesystem::create_symlink("circle", folder.file("circle"));
  EXPECT_THROW(gradus::save(t, folder.file("circle")), gradus::Error);
  EXPECT_TRUE(S_ISLNK(mode_of(folder.file("circle"))));
  EXPECT_THROW(gradus::save(t, folder.file("inner")), gradus::Error);
  EXPECT_EQ(folder.file_count(), 5u);  // inner, relative, twice, dangling, circle: nothing was left behind
}

TEST(Save, KeepsTheModeOfAFile) {
  const TemporaryFolder folder;
  const Tensor t = gradus::ones({2});
  const mode_t before = umask(027);
  for (const mode_t mode : {0600, 0640, 0666, 0755}) {
    write_file(folder.file("a"), "old");
    EXPECT_EQ(chmod(folder.file("a").c_str(), mode), 0);
    gradus::save(t, folder.file("a"));
    EXPECT_EQ(mode_of(folder.file("a")) & 07777, mode);
  }
  gradus::save(t, folder.file("new"));
  EXPECT_EQ(mode_of(folder.file("new")) & 07777, mode_t{0640});
  umask(before);
}

TEST(Save, WritesIntoAPipe) {
  const TemporaryFolder folder;
  const Tensor t = gradus::arange(100000);  // more than a pipe holds
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  std::string bytes;
  std::thread reader([&] { bytes = read_file(folder.file("pipe")); });
  gradus::save(t, folder.file("pipe"));
  reader.join();
  EXPECT_TRUE(S_ISFIFO(mode_of(folder.file("pipe"))));
  write_file(folder.file("copy"), bytes);
  EXPECT_TRUE(holds(folder.file("copy"), t));
}

TEST(Save, AFullDeviceIsAnErrorAndStaysADevice) {
  const TemporaryFolder folder;
  const std::string full = folder.file("full");
  // A node of our own. The system's is used only where not even a broken save could replace it.
  if (mknod(full.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0 || !std::ofstream(full).is_open()) {
    unlink(full.c_str());
    if (access("/dev", W_OK) == 0) GTEST_SKIP() << "no device node can be made here";
    std::filesystem::create_symlink("/dev/full", full);
  }
  const mode_t before = mode_of(full);
  EXPECT_THROW(gradus::save(gradus::ones({2}), full), gradus::Error);
  EXPECT_EQ(mode_of(full), before);
  EXPECT_EQ(folder.file_count(), 1u);
}

}  // namespace
