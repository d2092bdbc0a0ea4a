// The determinism switch: what it says, what it throws, and what new memory holds under it.
#include <gradus/core/determinism.h>

#include <complex>
#include <string>
#include <vector>

#include "support/vectors.h"

using namespace gradus;
using namespace support;

namespace {

std::vector<std::string>& warnings() {
  static std::vector<std::string> all;
  return all;
}

class Determinism : public ::testing::Test {
 protected:
  void SetUp() override {
    warnings().clear();
    before_ = set_warning_handler([](const std::string& text) { warnings().push_back(text); });
  }
  void TearDown() override {
    set_warning_handler(before_);
    use_deterministic_algorithms(false);
    set_fill_uninitialized_memory(true);
  }

 private:
  WarningHandler before_ = nullptr;
};

TEST_F(Determinism, SaysWhatWasSet) {
  EXPECT_FALSE(are_deterministic_algorithms_enabled());
  EXPECT_FALSE(is_deterministic_algorithms_warn_only_enabled());
  EXPECT_TRUE(get_fill_uninitialized_memory());
  use_deterministic_algorithms(true);
  EXPECT_TRUE(are_deterministic_algorithms_enabled());
  EXPECT_FALSE(is_deterministic_algorithms_warn_only_enabled());
  use_deterministic_algorithms(true, true);
  EXPECT_TRUE(is_deterministic_algorithms_warn_only_enabled());
  use_deterministic_algorithms(false);
  EXPECT_FALSE(are_deterministic_algorithms_enabled());
  EXPECT_FALSE(is_deterministic_algorithms_warn_only_enabled());
}

TEST_F(Determinism, AnOperatorWithoutADeterministicWayThrowsOrWarnsOnce) {
  alert_not_deterministic("my::scatter");
  use_deterministic_algorithms(true);
  const std::string text = error_of([] { alert_not_deterministic("my::scatter", Device(kCUDA, 0)); });
  EXPECT_TRUE(begins(text, "my::scatter on cuda:0 has no deterministic implementation")) << text;
  EXPECT_TRUE(has(text, "use_deterministic_algorithms(false)") && has(text, "warn_only")) << text;
  EXPECT_TRUE(warnings().empty());

  use_deterministic_algorithms(true, true);
  for (int i = 0; i < 3; ++i) alert_not_deterministic("my::scatter", Device(kCUDA, 0));
  alert_not_deterministic("my::gather");
  ASSERT_EQ(warnings().size(), 2u);
  EXPECT_TRUE(begins(warnings()[0], "my::scatter on cuda:0 has no deterministic implementation")) << warnings()[0];
  EXPECT_TRUE(begins(warnings()[1], "my::gather has no")) << warnings()[1];

  use_deterministic_algorithms(true, true);
  alert_not_deterministic("my::gather");
  EXPECT_EQ(warnings().size(), 3u) << "the switch was set anew";
  use_deterministic_algorithms(false, true);
  alert_not_deterministic("my::rare");
  EXPECT_EQ(warnings().size(), 3u) << "the switch is off";
}

// --- new memory ---

template <class T>
void expect_all(const Tensor& t, T want) {
  ASSERT_GT(t.numel(), 0);
  const Tensor flat = t.contiguous().view(-1);
  for (int64_t i = 0; i < flat.numel(); ++i) ASSERT_EQ(flat.data_ptr<T>()[i], want) << "element " << i;
}
bool is_unwritten(const Tensor& t) {
  return t.numel() > 0 && isnan(t).all().item<bool>();
}

TEST_F(Determinism, NewMemoryIsFilled) {
  use_deterministic_algorithms(true);
  for (const ScalarType t : {kFloat, kDouble, kHalf, kBFloat16}) EXPECT_TRUE(is_unwritten(empty({3, 5}, t))) << t;
  const Tensor c = empty({3}, kComplexDouble);
  EXPECT_TRUE(std::isnan(c.data_ptr<complex<double>>()[2].real()));
  expect_all<uint8_t>(empty({5}, kByte), UINT8_MAX);
  expect_all<int8_t>(empty({5}, kChar), INT8_MAX);
  expect_all<int16_t>(empty({5}, kShort), INT16_MAX);
  expect_all<int32_t>(empty({5}, kInt), INT32_MAX);
  expect_all<int64_t>(empty({5}, kLong), INT64_MAX);
  expect_all<bool>(empty({5}, kBool), true);
  expect_all<uint64_t>(empty({5}, ScalarType::UInt64), UINT64_MAX);

  const Tensor x = ones({2, 3});
  EXPECT_TRUE(is_unwritten(empty_like(x)));
  EXPECT_TRUE(is_unwritten(x.new_empty({4})));
  EXPECT_TRUE(is_unwritten(empty_strided({2, 3}, {1, 2})));
  EXPECT_TRUE(is_unwritten(x.new_empty_strided({2, 3}, {1, 2})));
  Tensor out = zeros({7});
  empty_out(out, {7});
  EXPECT_TRUE(is_unwritten(out));
  EXPECT_TRUE(empty({2}, TensorOptions(kFloat).requires_grad(true)).is_leaf());
  EXPECT_EQ(empty({1 << 20, 1 << 20}, kMeta).numel(), int64_t{1} << 40);
  EXPECT_EQ(empty({0}).numel(), 0);
  // What is written anyway is not NaN.
  EXPECT_EQ(values(zeros_like(x)), V(6, 0));
  EXPECT_EQ(values(x + x), V(6, 2));
}

TEST_F(Determinism, OnlyWhatAResizeAddsIsFilled) {
  use_deterministic_algorithms(true);
  Tensor x = vec({1, 2, 3});
  x.resize_({2, 3});
  expect_values(x, {1, 2, 3, kNan, kNan, kNan});
  x.resize_({2});
  expect_values(x, {1, 2});
  Tensor none = empty({0}, kDouble);
  none.resize_({2});
  expect_values(none, {kNan, kNan});
}

TEST_F(Determinism, NothingIsFilledWhereThatIsTurnedOff) {
  // What lies in new memory is unknown, but not the marker: where memory is used again, these sevens.
  const auto leave_sevens = [] { full({400}, 7, kLong); };
  const auto element = [] { return empty({400}, kLong)[200].item<int64_t>(); };
  use_deterministic_algorithms(true);
  set_fill_uninitialized_memory(false);
  EXPECT_FALSE(get_fill_uninitialized_memory());
  leave_sevens();
  EXPECT_NE(element(), INT64_MAX);
  set_fill_uninitialized_memory(true);
  EXPECT_EQ(element(), INT64_MAX);
  use_deterministic_algorithms(false);
  leave_sevens();
  EXPECT_NE(element(), INT64_MAX);
}

}  // namespace
