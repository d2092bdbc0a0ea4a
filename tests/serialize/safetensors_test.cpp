// The safetensors format: what goes out comes back, and no file, however damaged, does more than throw.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <gradus/gradus.h>

#include "support/temporary_folder.h"

namespace {

using gradus::Tensor;
using support::read_file;
using support::TemporaryFolder;
using support::write_file;

// A file with the given header, whatever it says, and so many bytes of data.
std::string file_of(const std::string& header, size_t data_bytes) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + std::string(data_bytes, '\1');
}

std::string error_of(const std::string& path) {
  try {
    gradus::load_safetensors(path);
  } catch (const gradus::Error& error) {
    return error.what();
  }
  return "no error";
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         (a.nbytes() == 0 || std::memcmp(a.contiguous().data_ptr(), b.contiguous().data_ptr(), a.nbytes()) == 0);
}

TEST(Safetensors, RoundTripsEveryDtype) {
  const TemporaryFolder folder;
  gradus::TensorMap tensors;
  for (const auto dtype :
       {gradus::kBool, gradus::kByte, gradus::kChar, gradus::kShort, gradus::kInt, gradus::kLong, gradus::kHalf,
        gradus::kBFloat16, gradus::kFloat, gradus::kDouble, gradus::kUInt16, gradus::kUInt32, gradus::kUInt64,
        gradus::kComplexFloat, gradus::kFloat8_e4m3fn, gradus::kFloat8_e5m2}) {
    Tensor t = gradus::empty({2, 3}, dtype);
    for (size_t i = 0; i < t.nbytes(); ++i) {
      static_cast<uint8_t*>(t.data_ptr())[i] = static_cast<uint8_t>(dtype == gradus::kBool ? i & 1 : 17 * i + 3);
    }
    tensors[gradus::to_string(dtype)] = t;
  }
  tensors["scalar"] = gradus::ones({}, gradus::kDouble);
  tensors["empty"] = gradus::zeros({0, 5});
  tensors["name with \"quotes\", \n newline and ü"] = gradus::ones({1});
  gradus::save_safetensors(tensors, folder.file("a"), {{"key", "value \\ \" \t"}});
  const auto loaded = gradus::load_safetensors(folder.file("a"));
  ASSERT_EQ(loaded.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(same_bytes(loaded.at(name), tensor)) << name;
  EXPECT_EQ(gradus::load_safetensors_metadata(folder.file("a")).at("key"), "value \\ \" \t");
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(Safetensors, SavesOnlyAViewsOwnElements) {
  const TemporaryFolder folder;
  const Tensor base = gradus::arange(1000000);
  gradus::save_safetensors({{"slice", base.slice(0, 7, 9)}}, folder.file("a"));
  EXPECT_LT(read_file(folder.file("a")).size(), 200u);
  const Tensor slice = gradus::load_safetensors(folder.file("a")).at("slice");
  EXPECT_EQ(slice[0].item<int64_t>(), 7);
  EXPECT_EQ(slice[1].item<int64_t>(), 8);
  const Tensor matrix = gradus::arange(6).view({2, 3});
  gradus::save_safetensors({{"t", matrix.t()}}, folder.file("a"));
  EXPECT_TRUE(gradus::equal(gradus::load_safetensors(folder.file("a")).at("t"), matrix.t()));
}

TEST(Safetensors, DataIsAligned) {
  const TemporaryFolder folder;
  gradus::save_safetensors({{"a", gradus::ones({3}, gradus::kByte)}, {"b", gradus::ones({1}, gradus::kDouble)}},
                           folder.file("a"));
  const std::string bytes = read_file(folder.file("a"));
  EXPECT_EQ((bytes.size() - 3 - 8) % 8, 0u);
  EXPECT_NE(bytes.find("\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}"), std::string::npos) << bytes;
}

TEST(Safetensors, ReadsAFileWrittenByHand) {
  const TemporaryFolder folder;
  std::string file = file_of("{\"x\":{\"dtype\":\"I16\",\"shape\":[2,1],\"data_offsets\":[0,4]}}   ", 0);
  file += std::string("\x02\x00\xff\xff", 4);
  write_file(folder.file("a"), file);
  const Tensor x = gradus::load_safetensors(folder.file("a")).at("x");
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(x[0][0].item<int64_t>(), 2);
  EXPECT_EQ(x[1][0].item<int64_t>(), -1);
  write_file(folder.file("none"), file_of("{}", 0));
  EXPECT_TRUE(gradus::load_safetensors(folder.file("none")).empty());
}

TEST(Safetensors, BoolBytesBecomeZeroOrOne) {
  const TemporaryFolder folder;
  write_file(folder.file("a"), file_of("{\"x\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}", 0) +
                                   std::string("\x00\x7f", 2));
  const Tensor x = gradus::load_safetensors(folder.file("a")).at("x");
  EXPECT_EQ(static_cast<uint8_t*>(x.data_ptr())[0], 0);
  EXPECT_EQ(static_cast<uint8_t*>(x.data_ptr())[1], 1);
}

TEST(Safetensors, HostileHeadersAreRefused) {
  const TemporaryFolder folder;
  const struct {
    const char* header;
    size_t data;
    const char* message;
  } cases[] = {
      {"", 0, "does not begin with '{'"},
      {"[1]", 0, "does not begin with '{'"},
      {"{", 0, "not valid JSON"},
      {"{}x", 0, "not valid JSON"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}", 4, "not valid JSON"},
      {"{\"a\":1}", 0, "a number at key"},
      {"{\"a\":[[[[[[[[", 0, "an array at key"},
      {"{\"a\":{\"a\":{", 0, "has the key"},
      {"{\"a\":{\"dtype\":{", 0, "an object at key"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "lacks data_offsets"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "twice"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
       "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
       8, "twice"},
      {"{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype \"F31\""},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "a negative number"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, "a fractional or huge number"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1e400],\"data_offsets\":[0,4]}}", 4, "not valid JSON"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808],\"data_offsets\":[0,4]}}", 4, "less than 2^63"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}", 4, "overflow"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, "overflow"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "expected 8 bytes"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "expected 4 bytes"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, "more than 2 numbers"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "after a hole"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
       "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
       8, "inside another tensor"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5, "expected no more"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "truncated"},
      {"{\"__metadata__\":{\"a\":1}}", 0, "a number at key"},
      {"{\"__metadata__\":{\"a\":{}}}", 0, "an object at key"},
      {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "twice"},
      {"{\"\xff\":{}}", 0, "not valid JSON"},
  };
  for (const auto& c : cases) {
    write_file(folder.file("a"), file_of(c.header, c.data));
    const std::string error = error_of(folder.file("a"));
    EXPECT_NE(error.find(c.message), std::string::npos) << c.header << "\n  " << error;
    EXPECT_EQ(error.rfind("load_safetensors: " + folder.file("a"), 0), 0u) << error;
  }
  std::string many = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1";
  for (int i = 0; i < 2000; ++i) many += ",1";
  write_file(folder.file("a"), file_of(many + "],\"data_offsets\":[0,4]}}", 4));
  EXPECT_NE(error_of(folder.file("a")).find("more than 1024 numbers"), std::string::npos);
  write_file(folder.file("a"), "\xff\xff\xff\xff\xff\xff\xff\xff{}");
  EXPECT_NE(error_of(folder.file("a")).find("expected at most 100000000"), std::string::npos);
}

TEST(Safetensors, TruncatedAtEachByte) {
  const TemporaryFolder folder;
  gradus::save_safetensors({{"a", gradus::ones({3})}, {"b", gradus::ones({2, 2}, gradus::kLong)}}, folder.file("a"),
                           {{"k", "v"}});
  const std::string whole = read_file(folder.file("a"));
  for (size_t length = 0; length < whole.size(); ++length) {
    write_file(folder.file("b"), whole.substr(0, length));
    EXPECT_NE(error_of(folder.file("b")), "no error") << length;
  }
}

TEST(Safetensors, RandomMutationsThrowOrLoad) {
  const TemporaryFolder folder;
  gradus::save_safetensors({{"a", gradus::ones({3})}, {"b", gradus::ones({2, 2}, gradus::kBool)}}, folder.file("a"),
                           {{"k", "v"}});
  const std::string whole = read_file(folder.file("a"));
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (unsigned i = 0; i <= random() % 4; ++i) {
      const size_t place = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[place] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(place, 1 + random() % 4);
          break;
        default:
          bytes.insert(place, 1, "0123456789{}[],:\"ex"[random() % 19]);
          break;
      }
      if (bytes.empty()) bytes.push_back('x');
    }
    write_file(folder.file("b"), bytes);
    error_of(folder.file("b"));
  }
}

TEST(Safetensors, AFailedSaveLeavesTheOldFile) {
  const TemporaryFolder folder;
  gradus::save_safetensors({{"a", gradus::ones({3})}}, folder.file("a"));
  const std::string before = read_file(folder.file("a"));
  EXPECT_THROW(gradus::save_safetensors({{"a", Tensor()}}, folder.file("a")), gradus::Error);
  EXPECT_THROW(gradus::save_safetensors({{"\xff", gradus::ones({3})}}, folder.file("a")), gradus::Error);
  EXPECT_THROW(gradus::save_safetensors({{"a", gradus::ones({3}, gradus::kComplexDouble)}}, folder.file("a")),
               gradus::Error);
  EXPECT_THROW(gradus::save_safetensors({{"__metadata__", gradus::ones({3})}}, folder.file("a")), gradus::Error);
  EXPECT_EQ(read_file(folder.file("a")), before);
  EXPECT_EQ(folder.file_count(), 1u);
  try {
    gradus::save_safetensors({{"a", gradus::ones({3})}}, folder.file("no/such/folder"));
    FAIL();
  } catch (const gradus::Error& error) {
    EXPECT_NE(std::string(error.what()).find("expected a writable folder"), std::string::npos) << error.what();
  }
}

TEST(Safetensors, MissingFilesAndFolders) {
  const TemporaryFolder folder;
  EXPECT_NE(error_of(folder.file("none")).find("expected a readable file"), std::string::npos);
  EXPECT_NE(error_of(folder.path()).find("not a regular file"), std::string::npos);
}

struct TwoLayersImpl : gradus::nn::Module {
  explicit TwoLayersImpl(int64_t hidden = 4, bool second = true) {
    l1 = register_module("l1", gradus::nn::Linear(3, hidden));
    if (second) l2 = register_module("l2", gradus::nn::Linear(hidden, 2));
  }
  gradus::nn::Linear l1{nullptr}, l2{nullptr};
};
GRADUS_MODULE(TwoLayers);

std::vector<Tensor> copies(const TwoLayers& net) {
  std::vector<Tensor> out;
  for (const auto& p : net->parameters()) out.push_back(p.detach().clone());
  return out;
}

bool unchanged(const TwoLayers& net, const std::vector<Tensor>& before) {
  const auto now = net->parameters();
  for (size_t i = 0; i < now.size(); ++i) {
    if (!gradus::equal(now[i], before[i])) return false;
  }
  return true;
}

TEST(Safetensors, FillsAModuleByName) {
  const TemporaryFolder folder;
  const TwoLayers saved, loaded;
  gradus::save_safetensors(saved, folder.file("a"));
  const auto tensors = gradus::load_safetensors(folder.file("a"));
  EXPECT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors.count("l2.weight"), 1u);
  const void* memory = loaded->l1->weight.data_ptr();
  gradus::load_safetensors(loaded, folder.file("a"));
  EXPECT_TRUE(unchanged(loaded, copies(saved)));
  EXPECT_EQ(loaded->l1->weight.data_ptr(), memory);
  EXPECT_TRUE(loaded->l1->weight.requires_grad());
}

TEST(Safetensors, ListsEveryMismatchAndChangesNothing) {
  const TemporaryFolder folder;
  gradus::save_safetensors({{"l1.weight", gradus::zeros({5, 3})},
                            {"l1.bias", gradus::zeros({4}, gradus::kDouble)},
                            {"l2.weight", gradus::zeros({2, 4})},
                            {"l3.weight", gradus::zeros({1})}},
                           folder.file("a"));
  const TwoLayers net;
  const auto before = copies(net);
  try {
    gradus::load_safetensors(net, folder.file("a"));
    FAIL();
  } catch (const gradus::Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("missing in the file: l2.bias"), std::string::npos) << text;
    EXPECT_NE(text.find("unexpected in the file: l3.weight"), std::string::npos) << text;
    EXPECT_NE(text.find("wrong shape: l1.weight is (5, 3) in the file, expected (4, 3)"), std::string::npos) << text;
    EXPECT_NE(text.find("wrong dtype: l1.bias is Double in the file, expected Float"), std::string::npos) << text;
  }
  EXPECT_TRUE(unchanged(net, before));
}

TEST(Safetensors, LoadOptions) {
  const TemporaryFolder folder;
  gradus::save_safetensors({{"first.weight", gradus::ones({4, 3}, gradus::kDouble)}, {"extra", gradus::ones({1})}},
                           folder.file("a"));
  const TwoLayers net;
  gradus::LoadOptions options;
  options.strict = false;
  options.convert_dtype = true;
  options.rename["first.weight"] = "l1.weight";
  const auto report = gradus::load_safetensors(net, folder.file("a"), options);
  EXPECT_EQ(report.missing, (std::vector<std::string>{"l1.bias", "l2.weight", "l2.bias"}));
  EXPECT_EQ(report.unexpected, (std::vector<std::string>{"extra"}));
  EXPECT_TRUE(gradus::equal(net->l1->weight, gradus::ones({4, 3})));
}

// Case A9 of the reports: both directions are errors that name every key.
TEST(Save, MissingAndExtraKeysOfAModule) {
  const TemporaryFolder folder;
  const TwoLayers one(4, false), two;
  gradus::save(one, folder.file("one"));
  gradus::save(two, folder.file("two"));
  TwoLayers target;
  const auto before = copies(target);
  try {
    gradus::load(target, folder.file("one"));
    FAIL();
  } catch (const gradus::Error& error) {
    EXPECT_NE(std::string(error.what()).find("l2.weight, l2.bias"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(unchanged(target, before));
  TwoLayers small(4, false);
  EXPECT_THROW(gradus::load(small, folder.file("two")), gradus::Error);
  gradus::load(target, folder.file("two"));
  EXPECT_TRUE(unchanged(target, copies(two)));
}

// Row 5 of the complaints: another shape or dtype is refused, all at once, and nothing changes.
TEST(Save, ShapeAndDtypeOfAModuleAreChecked) {
  const TemporaryFolder folder;
  const TwoLayers wide(7);
  gradus::save(wide, folder.file("wide"));
  TwoLayers target;
  const auto before = copies(target);
  try {
    gradus::load(target, folder.file("wide"));
    FAIL();
  } catch (const gradus::Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("l1.weight is (7, 3) in the file, expected (4, 3)"), std::string::npos) << text;
    EXPECT_NE(text.find("l2.weight is (2, 7) in the file, expected (2, 4)"), std::string::npos) << text;
  }
  TwoLayers doubles;
  doubles->to(gradus::kDouble);
  gradus::save(doubles, folder.file("doubles"));
  EXPECT_THROW(gradus::load(target, folder.file("doubles")), gradus::Error);
  EXPECT_TRUE(unchanged(target, before));
}

}  // namespace
