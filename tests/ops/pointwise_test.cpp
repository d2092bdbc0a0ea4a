// Elementwise operators: values from mathematics, promotion, NaN, integers that would trap, in-place and out forms,
// errors.
#include "support/vectors.h"

#include <functional>

using namespace gradus;
using namespace support;

namespace {

TEST(Pointwise, MathematicalFunctions) {
  const Tensor x = vec({-2, -0.5, 0, 0.5, 2});
  expect_values(x.exp(), {std::exp(-2), std::exp(-0.5), 1, std::exp(0.5), std::exp(2)});
  expect_values(x.tanh(), {std::tanh(-2), std::tanh(-0.5), 0, std::tanh(0.5), std::tanh(2)});
  expect_values(x.sigmoid(), {1 / (1 + std::exp(2)), 1 / (1 + std::exp(0.5)), 0.5, 1 / (1 + std::exp(-0.5)),
                              1 / (1 + std::exp(-2))});
  expect_values(x.erf(), {std::erf(-2), std::erf(-0.5), 0, std::erf(0.5), std::erf(2)});
  expect_values(x.sin(), {std::sin(-2), std::sin(-0.5), 0, std::sin(0.5), std::sin(2)});
  expect_values(x.cos(), {std::cos(-2), std::cos(-0.5), 1, std::cos(0.5), std::cos(2)});
  expect_values(x.tan(), {std::tan(-2), std::tan(-0.5), 0, std::tan(0.5), std::tan(2)});
  expect_values(vec({-1, 0, 1, 8}).log(), {kNan, -kInf, 0, std::log(8)});
  expect_values(vec({1, 8, 0.25}).log2(), {0, 3, -2});
  expect_values(vec({1, 1000, 0.01}).log10(), {0, 3, -2});
  expect_values(vec({1e-20}).log1p(), {1e-20}, 1e-32);
  expect_values(vec({1e-20}).expm1(), {1e-20}, 1e-32);
  expect_values(vec({4, 0.25, -1}).rsqrt(), {0.5, 2, kNan});
  expect_values(vec({4, -0.5}).reciprocal(), {0.25, -2});
  expect_values(vec({-3, 0.5}).square(), {9, 0.25});
}

TEST(Pointwise, RoundingAndSigns) {
  const Tensor x = vec({-2.5, -1.5, -0.4, 0.5, 1.5, 2.7});
  expect_values(x.floor(), {-3, -2, -1, 0, 1, 2});
  expect_values(x.ceil(), {-2, -1, 0, 1, 2, 3});
  expect_values(x.trunc(), {-2, -1, 0, 0, 1, 2});
  expect_values(x.round(), {-2, -2, 0, 0, 2, 3});
  expect_values(vec({1.2345}).round(2), {1.23});
  expect_values(vec({1250}).round(-2), {1200});
  expect_values(x.sign(), {-1, -1, -1, 1, 1, 1});
  expect_values(x.abs(), {2.5, 1.5, 0.4, 0.5, 1.5, 2.7});
  EXPECT_EQ(longs({1}).floor().scalar_type(), kLong);
}

TEST(Pointwise, Activations) {
  const Tensor x = vec({-2, 0, 3, kNan});
  expect_values(x.relu(), {0, 0, 3, kNan});
  expect_values(gradus::leaky_relu(x, 0.1), {-0.2, 0, 3, kNan});
  expect_values(gradus::hardtanh(x), {-1, 0, 1, kNan});
  expect_values(gradus::threshold(x, 0.5, 7), {7, 7, 3, kNan});
  expect_values(gradus::silu(vec({1})), {1 / (1 + std::exp(-1))});
  expect_values(gradus::gelu(vec({1, -1})),
                {0.5 * (1 + std::erf(std::sqrt(0.5))), -0.5 * (1 - std::erf(std::sqrt(0.5)))});
  const double u = std::sqrt(2 / 3.14159265358979323846) * 1.044715;
  expect_values(gradus::gelu(vec({1}), "tanh"), {0.5 * (1 + std::tanh(u))});
  EXPECT_TRUE(begins(error_of([&] { gradus::gelu(x, "fast"); }), "gelu: "));
}

TEST(Pointwise, DtypesPromote) {
  EXPECT_EQ((longs({1}) + of<float>({1})).scalar_type(), kFloat);
  EXPECT_EQ((longs({1}) + 1.5).scalar_type(), kFloat);
  EXPECT_EQ((longs({1}) + 1).scalar_type(), kLong);
  EXPECT_EQ((of<float>({1}) + vec({1}).sum()).scalar_type(), kFloat) << "a 0-dim tensor does not raise the dtype";
  EXPECT_EQ((of<uint8_t>({1}) + of<int8_t>({1})).scalar_type(), kShort);
  EXPECT_EQ((longs({7}) / longs({2})).scalar_type(), kFloat);
  EXPECT_EQ(longs({1}).exp().scalar_type(), kFloat);
  EXPECT_EQ((longs({1}) < 1.5).scalar_type(), kBool);
  expect_values(of<uint8_t>({200}) + of<uint8_t>({100}), {44});
  EXPECT_TRUE(begins(error_of([] { longs({1}).add_(1.5); }), "add"));
  EXPECT_TRUE(begins(error_of([] { longs({1}).exp_(); }), "exp"));
  EXPECT_TRUE(begins(error_of([] { of<bool>({true}).neg(); }), "neg: "));
  EXPECT_TRUE(begins(error_of([] { of<bool>({true}).sub(of<bool>({true})); }), "sub: "));
}

// cases.md C7
TEST(Pointwise, IntegersDivideWithoutTraps) {
  const Tensor a = longs({7, -7}), b = longs({2, 2});
  expect_values(a / b, {3.5, -3.5});
  expect_values(a.div(b, "floor"), {3, -4});
  expect_values(a.div(b, "trunc"), {3, -3});
  expect_values(a.floor_divide(b), {3, -4});
  expect_values(longs({-7}).remainder(3), {2});
  expect_values(longs({-7}).fmod(3), {-1});
  expect_values(gradus::remainder(7, longs({-4})), {-1});
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(longs({least}).div(longs({-1}), "trunc").item<int64_t>(), least);
  EXPECT_EQ(longs({least}).div(longs({-1}), "floor").item<int64_t>(), least);
  EXPECT_EQ(longs({least}).remainder(longs({-1})).item<int64_t>(), 0);
  EXPECT_EQ(longs({least}).fmod(-1).item<int64_t>(), 0);
  for (const char* mode : {"floor", "trunc"}) {
    EXPECT_TRUE(begins(error_of([&] { a.div(longs({1, 0}), mode); }), "div: "));
  }
  EXPECT_TRUE(begins(error_of([&] { a.remainder(0); }), "remainder: "));
  EXPECT_TRUE(begins(error_of([&] { a.fmod(0); }), "fmod: "));
  EXPECT_TRUE(begins(error_of([&] { a.floor_divide(0); }), "floor_divide: "));
  expect_values(vec({7, -7, 1}).div(vec({2, 2, 0}), "floor"), {3, -4, kInf});
  expect_values(vec({-7}).remainder(3), {2});
  expect_values(vec({-7}).fmod(3), {-1});
}

TEST(Pointwise, NanWins) {
  const Tensor a = vec({1, kNan, 3}), b = vec({kNan, 2, 2});
  expect_values(gradus::maximum(a, b), {kNan, kNan, 3});
  expect_values(gradus::minimum(a, b), {kNan, kNan, 2});
  expect_values(a.clamp(2, 2.5), {2, kNan, 2.5});
  expect_values(a.clamp_min(kNan), {kNan, kNan, kNan});
  expect_values(a.clamp(b, vec({5, 5, 5})), {kNan, kNan, 3});
  expect_values(longs({1, 5, 9}).clamp(2, 6), {2, 5, 6});
  EXPECT_EQ(longs({1}).clamp_min(0.5).scalar_type(), kFloat);
  EXPECT_TRUE(begins(error_of([&] { a.clamp(std::optional<Scalar>(), std::optional<Scalar>()); }), "clamp: "));
}

TEST(Pointwise, HypotOverItsWholeRange) {
  expect_values(gradus::hypot(vec({3, kInf, -kInf, kNan, kNan, -0.0}), vec({-4, kNan, 1, kInf, 1, 0})),
                {5, kInf, kInf, kInf, kNan, 0});
  for (const int e : {-1074, -1000, -520, 0, 520, 1000}) {
    const double scale = std::ldexp(1, e);
    expect_values(vec({3 * scale, 5 * scale}).hypot(vec({4 * scale, 12 * scale})).div(scale), {5, 13}, 0);
  }
  for (const int e : {-149, 0, 120}) {
    const float scale = std::ldexp(1.0f, e);
    expect_values(of<float>({3 * scale}).hypot(of<float>({4 * scale})).div(scale), {5}, 0);
  }
  double worst = 0;  // in units of the last place
  for (int i = 0; i < 10000; ++i) {
    const double x = 1 + std::fmod(i * 0.6180339887, 1), y = std::ldexp(1 + std::fmod(i * 0.7548776662, 1), i % 4);
    const double got = gradus::hypot(vec({x}), vec({y})).item<double>();
    const long double error = std::abs(got - std::hypot(static_cast<long double>(x), static_cast<long double>(y)));
    worst = std::max(worst, static_cast<double>(error) / (std::nextafter(got, kInf) - got));
  }
  EXPECT_LE(worst, 1.25);
  EXPECT_EQ(gradus::hypot(longs({3}), vec({4})).scalar_type(), kDouble);
  EXPECT_EQ(error_of([] { gradus::hypot(longs({3}), longs({4})); }),
            "hypot: the operands make Long; expected a floating type");
  EXPECT_TRUE(begins(error_of([] { longs({3}).hypot_(vec({4})); }), "hypot"));
}

// cases.md B7
TEST(Pointwise, PowersAtZero) {
  Tensor x = vec({0, 2});
  x.requires_grad_();
  Tensor y = x.pow(0);
  expect_values(y.detach(), {1, 1});
  y.sum().backward();
  expect_values(x.grad(), {0, 0});
  expect_values(vec({2, -8, 4}).pow(vec({3, 1.0 / 3, 0.5})), {8, kNan, 2});
  expect_values(longs({2, -3, 0}).pow(3), {8, -27, 0});
  expect_values(longs({1, -1, 2}).pow(longs({-1, -3, -1})), {1, -1, 0});
  expect_values(gradus::pow(2, vec({3, -1})), {8, 0.5});
  EXPECT_TRUE(begins(error_of([] { longs({2}).pow(-1); }), "pow: "));
}

// cases.md B5
TEST(Pointwise, ThirdDerivative) {
  Tensor x = vec({2});
  x.requires_grad_();
  Tensor d = x.pow(3);
  for (double want : {12.0, 12.0, 6.0}) {
    d = autograd::grad({d.sum()}, {x}, {}, true, true)[0];
    expect_values(d.detach(), {want});
  }
}

TEST(Pointwise, WhereAndMaskedFill) {
  const Tensor m = of<bool>({true, false, true});
  expect_values(gradus::where(m, vec({1, 2, 3}), vec({4, 5, 6})), {1, 5, 3});
  expect_values(gradus::where(m, vec({1, 2, 3}), 0), {1, 0, 3});
  expect_values(gradus::where(m, 7, vec({4, 5, 6})), {7, 5, 7});
  EXPECT_EQ(gradus::where(m, longs({1, 2, 3}), 0.5).scalar_type(), kFloat);
  expect_values(vec({1, 2, 3}).masked_fill(m, 9), {9, 2, 9});
  EXPECT_TRUE(begins(error_of([] { vec({1}).masked_fill(longs({1}), 0); }), "masked_fill: "));
}

TEST(Pointwise, ThreeOperands) {
  const Tensor a = vec({1, 2}), b = vec({3, 4}), c = vec({2, 8});
  expect_values(a.addcmul(b, c, 0.5), {4, 18});
  expect_values(a.addcdiv(b, c, 2), {4, 3});
  expect_values(a.lerp(b, 0.25), {1.5, 2.5});
  expect_values(a.lerp(b, vec({1, 0})), {3, 2});
  EXPECT_TRUE(begins(error_of([] { longs({1}).addcdiv(longs({1}), longs({1})); }), "addcdiv: "));
}

TEST(Pointwise, ComparisonsLogicAndBits) {
  const Tensor a = vec({1, 2, kNan}), b = vec({2, 2, kNan});
  expect_values(a == b, {0, 1, 0});
  expect_values(a != b, {1, 0, 1});
  expect_values(a < b, {1, 0, 0});
  expect_values(a >= b, {0, 1, 0});
  expect_values(2 > a, {1, 0, 0});
  expect_values(a.isnan(), {0, 0, 1});
  expect_values(vec({kInf, -kInf, 1}).isinf(), {1, 1, 0});
  expect_values(vec({kInf, kNan, 1}).isfinite(), {0, 0, 1});
  expect_values(gradus::logical_xor(vec({0, 1}), longs({3, 3})), {1, 0});
  expect_values(longs({6}) & longs({3}), {2});
  expect_values(longs({6}) | 1, {7});
  expect_values(6 ^ longs({3}), {5});
  expect_values(~longs({0}), {-1});
  expect_values(~of<bool>({true, false}), {0, 1});
  EXPECT_TRUE(begins(error_of([&] { a& b; }), "bitwise_and: "));
  EXPECT_TRUE(gradus::allclose(vec({1}), vec({1 + 1e-9})));
  EXPECT_FALSE(gradus::allclose(a, a));
  EXPECT_TRUE(gradus::allclose(a, a, 1e-5, 1e-8, true));
  EXPECT_FALSE(gradus::equal(a, a));
  EXPECT_FALSE(gradus::equal(longs({1}), longs({1, 1})));
}

// cases.md C1
TEST(Pointwise, ExpandedTensorsAreNotWritten) {
  const Tensor base = gradus::ones({1}, kDouble), wide = base.expand({4});
  EXPECT_THROW(wide.add_(1), Error);
  EXPECT_THROW(wide.relu_(), Error);
  EXPECT_THROW(wide.masked_fill_(of<bool>({true, true, false, false}), 3), Error);
  expect_values(base, {1});
}

TEST(Pointwise, InPlaceAndOutForms) {
  Tensor a = vec({1, 2});
  const void* memory = a.data_ptr();
  a.add_(vec({1, 1})).mul_(2).relu_();
  expect_values(a, {4, 6});
  EXPECT_EQ(a.data_ptr(), memory);
  Tensor out = gradus::empty({0}, kDouble);
  gradus::mul_out(out, a, vec({2, 2}));
  expect_values(out, {8, 12});
  // Source and target overlap in another arrangement.
  Tensor t = gradus::arange(5, kDouble);
  t.slice(0, 1, 5).add_(t.slice(0, 0, 4));
  expect_values(t, {0, 1, 3, 5, 7});
}

TEST(Pointwise, LargeAndStridedAgreeWithTheDefinition) {
  const int64_t n = 100003;  // several threads, and a rest
  Tensor x = gradus::arange(n, kFloat), y = (x * 2 + 1).sub(x);
  bool right = true;
  for (int64_t i = 0; i < n; ++i) right &= y.data_ptr<float>()[i] == static_cast<float>(i + 1);
  EXPECT_TRUE(right);
  Tensor grid = gradus::arange(12, kDouble).reshape({3, 4});
  expect_values((grid.t() + grid.t()).contiguous().reshape({-1}), {0, 8, 16, 2, 10, 18, 4, 12, 20, 6, 14, 22});
  expect_values((grid.slice(1, 0, 4, 2) + vec({100, 200})).reshape({-1}), {100, 202, 104, 206, 108, 210});
  EXPECT_EQ((gradus::empty({0, 3}) + gradus::empty({1, 3})).sizes(), IntArrayRef({0, 3}));
  const Tensor images = gradus::empty({2, 3, 4, 5}).contiguous(MemoryFormat::ChannelsLast);
  EXPECT_TRUE(images.relu().is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(images.add(images).is_contiguous(MemoryFormat::ChannelsLast));
}

// Results of more than 32 MB are written past the caches, by way of a block of 8 KB.
TEST(Pointwise, HugeResultsAgreeWithTheDefinition) {
  const int64_t n = 8400011;
  Tensor x = gradus::arange(n + 1, kInt).slice(0, 1), out = gradus::zeros({n + 3}, kInt).slice(0, 2, n + 2);
  gradus::add_out(out, x, x);  // neither end of the result is at a vector's
  const int32_t *in = x.data_ptr<int32_t>(), *to = out.data_ptr<int32_t>();
  bool right = true;
  for (int64_t i = 0; i < n; ++i) right &= in[i] == static_cast<int32_t>(i + 1) && to[i] == 2 * in[i];
  EXPECT_TRUE(right);
  EXPECT_EQ(to[-1], 0);
  EXPECT_EQ(to[n], 0);
  const Tensor self = x.to(kFloat), before = self.clone();
  self.mul_(2);  // in place: read and written
  EXPECT_TRUE(self.equal(before + before));
  EXPECT_TRUE((before < self).all().item<bool>());
}

TEST(Pointwise, MetaTensorsComputeShapesOnly) {
  const Tensor huge = gradus::empty({1000000, 1000000}, TensorOptions(kMeta));
  EXPECT_EQ((huge * huge).relu().sizes(), huge.sizes());
  EXPECT_EQ((huge < 1).scalar_type(), kBool);
  EXPECT_EQ(gradus::where(huge < 1, huge, 0).sizes(), huge.sizes());
  EXPECT_EQ(gradus::empty({3}, TensorOptions(kMeta).dtype(kLong)).remainder(2).scalar_type(), kLong);
}

// Every operator that stores a given number, here into the first element of a tensor.
std::vector<std::pair<const char*, std::function<Tensor(ScalarType, const Scalar&)>>> stores() {
  const auto two = [](ScalarType t) { return gradus::zeros({2}, t); };
  const Tensor first = longs({0}), mask = longs({1, 0}).to(kBool);
  return {
      {"fill_", [=](ScalarType t, const Scalar& v) { return two(t).fill_(v); }},
      {"fill_ of nothing",
       [=](ScalarType t, const Scalar& v) { return two(t).slice(0, 0, 0).fill_(v), two(t).fill_(v); }},
      {"full", [=](ScalarType t, const Scalar& v) { return gradus::full({2}, v, t); }},
      {"new_full", [=](ScalarType t, const Scalar& v) { return two(t).new_full({2}, v); }},
      {"full_like", [=](ScalarType t, const Scalar& v) { return gradus::full_like(two(t), v); }},
      {"scalar_tensor", [=](ScalarType t, const Scalar& v) { return gradus::scalar_tensor(v, t).view({1}); }},
      {"masked_fill", [=](ScalarType t, const Scalar& v) { return two(t).masked_fill(mask, v); }},
      {"masked_fill_", [=](ScalarType t, const Scalar& v) { return two(t).masked_fill_(mask, v); }},
      {"index_fill", [=](ScalarType t, const Scalar& v) { return two(t).index_fill(0, first, v); }},
      {"scatter", [=](ScalarType t, const Scalar& v) { return two(t).scatter(0, first, v); }},
      {"scatter add", [=](ScalarType t, const Scalar& v) { return two(t).scatter(0, first, v, "add"); }},
      {"constant_pad_nd",
       [=](ScalarType t, const Scalar& v) {
         return gradus::constant_pad_nd(two(t), {1, 0}, v);
       }},
      {"threshold", [=](ScalarType t, const Scalar& v) { return gradus::threshold(two(t), 0, v); }},
  };
}

// As PyTorch 2.15: fractions are cut off, negative integers wrap into unsigned types once.
TEST(Pointwise, NumbersThatAnIntegerTypeCannotHoldAreRefused) {
  struct Stored {
    ScalarType dtype;
    Scalar value;
    int64_t result;
  };
  const int64_t least = INT64_MIN, most = INT64_MAX;
  const Stored good[] = {
      {kChar, 127, 127},   {kChar, -128, -128},   {kChar, 127.9, 127},     {kChar, -0.5, 0},
      {kByte, 255, 255},   {kByte, -1, 255},      {kByte, -255, 1},        {kByte, 255.9, 255},
      {kByte, -0.0, 0},    {kByte, true, 1},      {kShort, 300, 300},      {kInt, 2147483647.5, 2147483647},
      {kLong, most, most}, {kLong, least, least}, {kLong, -0x1p63, least}, {kBool, 300, 1}};
  const std::pair<ScalarType, Scalar> bad[] = {
      {kChar, 300},  {kChar, 128},  {kChar, -129}, {kChar, -128.5}, {kChar, 128.0},  {kChar, kNan}, {kChar, 1e10},
      {kByte, 256},  {kByte, -256}, {kByte, -0.5}, {kByte, least},  {kShort, 40000}, {kInt, 1e10},  {kInt, most},
      {kInt, -kInf}, {kInt, kNan},  {kLong, kNan}, {kLong, kInf},   {kLong, 0x1p63}};
  for (const auto& [name, store] : stores()) {
    for (const Stored& s : good) {
      if (s.dtype == kBool && std::string_view(name) == "threshold") continue;
      EXPECT_EQ(store(s.dtype, s.value)[0].to(kLong).item<int64_t>(), s.result)
          << name << str(" ", s.dtype, " ", s.value);
    }
    for (const auto& [dtype, value] : bad) {
      SCOPED_TRACE(name + str(" ", dtype, " ", value));
      EXPECT_ERROR(store(dtype, value), "cannot be represented as");
    }
  }
  EXPECT_ERROR(gradus::threshold(gradus::zeros({1}, kChar), 300, 0), "cannot be represented as");
  EXPECT_ERROR(gradus::where(longs({1}).to(kBool), gradus::zeros({1}, kChar), 300), "cannot be represented as");
  expect_values(gradus::full({1}, 1e300, kHalf).to(kDouble), {kInf});
}

TEST(Pointwise, BoundsBeyondAnIntegerTypesRange) {
  const Tensor x = longs({-128, 0, 127}).to(kChar), y = longs({0, 5, 255}).to(kByte);
  for (const Tensor& unchanged : {x.clamp(-300, 300), x.clamp_min(-300), x.clamp_max(300), x.clone().clamp_(-300, 300),
                                  gradus::hardtanh(x, -300, 300), gradus::hardtanh(x, -1e30, 1e30)}) {
    EXPECT_TRUE(unchanged.equal(x));
  }
  for (const Tensor& unchanged : {y.clamp(-1, 300), y.clamp_min(-1), y.clamp_max(256), gradus::hardtanh(y, -1, 300)}) {
    EXPECT_TRUE(unchanged.equal(y));
  }
  EXPECT_TRUE(gradus::hardtanh(y).equal(longs({0, 1, 1}).to(kByte)));
  EXPECT_TRUE(x.clamp(-300, 5).equal(longs({-128, 0, 5}).to(kChar)));
  const char* message = "outside the representable range of Char";
  EXPECT_ERROR(x.clamp(300, 400), message);
  EXPECT_ERROR(x.clamp(-400, -300), message);
  EXPECT_ERROR(x.clamp_min(300), message);
  EXPECT_ERROR(x.clamp_max(-300), message);
  EXPECT_ERROR(x.clone().clamp_(300), message);
  EXPECT_ERROR(gradus::hardtanh(x, 300, 400), message);
  EXPECT_ERROR(gradus::hardtanh(x, -400, -300), message);
  EXPECT_ERROR(gradus::hardtanh(x, kNan, 1), message);
  EXPECT_ERROR(y.clamp_max(-1), "outside the representable range of Byte");
  // A fractional bound makes the result floating: nothing is out of range there.
  expect_values(x.clamp(-1e10, 1e10).to(kDouble), {-128, 0, 127});
}

}  // namespace
