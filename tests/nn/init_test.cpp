// nn::init and the layers' initial values: PyTorch's under the same seeds, what has no draws, errors.
#include <gradus/nn/nn.h>
#include <gradus/ops/ops.h>

#include <map>

#include <gtest/gtest.h>

#include "ops/replay_compare.h"
#include "ops/replay_file.h"

namespace {

using namespace gradus;
namespace init = gradus::nn::init;
using Json = replay::json;
using TensorMap = std::map<std::string, Tensor>;

/// PyTorch's answers.
const replay::ReferenceFile& answers() {
  static const replay::ReferenceFile file(GRADUS_TEST_DATA "/../references/data/init.safetensors");
  return file;
}

/// What differs by more than 2 ULP, or, where an absolute tolerance is given, by more than that.
std::string difference(const Tensor& got, const Tensor& want, double absolute = 0) {
  const double ulp = want.scalar_type() == kDouble ? 0x1p-52 : 0x1p-23;
  return replay::difference(got, want, {absolute == 0 ? 2 * ulp : 0, absolute});
}

init::NonlinearityType nonlinearity(const Json& kwargs) {
  const std::string name = kwargs.value("nonlinearity", "leaky_relu");
  if (name == "relu") return kReLU;
  if (name == "tanh") return kTanh;
  if (name == "linear") return kLinear;
  if (name == "sigmoid") return kSigmoid;
  EXPECT_EQ(name, "leaky_relu");
  return kLeakyReLU;
}

init::FanModeType mode(const Json& kwargs) {
  if (kwargs.value("mode", "fan_in") == "fan_out") return kFanOut;
  return kFanIn;
}

/// The call of one entry of init.safetensors; false where this test does not know the function.
bool fill(const std::string& function, const Json& kw, const Tensor& t) {
  if (function == "uniform_") {
    init::uniform_(t, kw.value("a", 0.0), kw.value("b", 1.0));
  } else if (function == "normal_") {
    init::normal_(t, kw.value("mean", 0.0), kw.value("std", 1.0));
  } else if (function == "trunc_normal_") {
    init::trunc_normal_(t, kw.value("mean", 0.0), kw.value("std", 1.0), kw.value("a", -2.0), kw.value("b", 2.0));
  } else if (function == "xavier_uniform_") {
    init::xavier_uniform_(t, kw.value("gain", 1.0));
  } else if (function == "xavier_normal_") {
    init::xavier_normal_(t, kw.value("gain", 1.0));
  } else if (function == "kaiming_uniform_") {
    init::kaiming_uniform_(t, kw.value("a", 0.0), mode(kw), nonlinearity(kw));
  } else if (function == "kaiming_normal_") {
    init::kaiming_normal_(t, kw.value("a", 0.0), mode(kw), nonlinearity(kw));
  } else {
    return false;
  }
  return true;
}

TEST(Init, GivesPyTorchsValues) {
  int count = 0;
  for (const Json& entry : answers().metadata("inits")) {
    const auto function = entry.at("function").get<std::string>();
    const auto dtype = static_cast<ScalarType>(entry.at("dtype").get<int>());
    const Tensor t = empty(entry.at("sizes").get<std::vector<int64_t>>(), dtype);
    manual_seed(entry.at("seed").get<uint64_t>());
    ASSERT_TRUE(fill(function, entry.at("kwargs"), t)) << function;
    const Tensor& want = answers().tensor(entry.at("out").get<std::string>());
    EXPECT_EQ(difference(t, want), "") << entry.dump();
    ++count;
  }
  EXPECT_GT(count, 50);
}

TEST(Init, RecordsNothing) {
  const Tensor w = empty({6, 4}, requires_grad());
  init::kaiming_uniform_(w);
  init::orthogonal_(w);
  init::ones_(w);
  EXPECT_TRUE(w.is_leaf());
  EXPECT_EQ(w.sum().item<float>(), 24);
  init::zeros_(w);
  EXPECT_EQ(w.abs().sum().item<float>(), 0);
  init::constant_(w, 2.5);
  EXPECT_EQ(w.sum().item<float>(), 60);
}

TEST(Init, OrthogonalRowsOrColumns) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{5, 5}, {8, 3}, {3, 8}, {4, 3, 2, 2}}) {
    const Tensor w = init::orthogonal_(empty(sizes, kDouble), 2.0);
    const Tensor m = w.reshape({sizes[0], w.numel() / sizes[0]});
    const Tensor product = m.size(0) <= m.size(1) ? m.matmul(m.t()) : m.t().matmul(m);
    EXPECT_LE(product.sub(eye(product.size(0), kDouble), 4).abs().max().item<double>(), 1e-13);
  }
}

TEST(Init, EyeAndDirac) {
  EXPECT_EQ(difference(init::eye_(rand({3, 5})), eye(3, 5)), "");
  const Tensor w = init::dirac_(rand({4, 2, 3}), 2);
  EXPECT_EQ(w.sum().item<float>(), 4);
  for (int64_t g = 0; g < 2; ++g) {
    for (int64_t c = 0; c < 2; ++c) EXPECT_EQ(w.select(0, g * 2 + c).select(0, c).select(0, 1).item<float>(), 1);
  }
}

TEST(Init, SparseColumns) {
  const Tensor w = init::sparse_(empty({10, 7}), 0.3);
  const Tensor zeros_per_column = w.eq(0).sum(0);
  EXPECT_TRUE(zeros_per_column.eq(3).all().item<bool>());
}

TEST(Init, GainsAndFans) {
  EXPECT_EQ(init::calculate_gain(kLinear), 1);
  EXPECT_EQ(init::calculate_gain(kConvTranspose3D), 1);
  EXPECT_EQ(init::calculate_gain(kSigmoid), 1);
  EXPECT_EQ(init::calculate_gain(kTanh), 5.0 / 3);
  EXPECT_EQ(init::calculate_gain(kReLU), std::sqrt(2.0));
  EXPECT_EQ(init::calculate_gain(kLeakyReLU, 0.2), std::sqrt(2 / 1.04));
  EXPECT_EQ(init::_calculate_fan_in_and_fan_out(empty({6, 4, 3, 5})), std::make_tuple(int64_t{60}, int64_t{90}));
  EXPECT_EQ(enumtype::get_enum_name(init::NonlinearityType(kReLU)), "kReLU");
}

TEST(Init, RefusesWhatHasNoFans) {
  for (const auto& throws : std::vector<std::function<void()>>{
           [] { init::xavier_uniform_(empty({3})); }, [] { init::kaiming_normal_(empty({})); },
           [] { init::eye_(empty({3})); },
           [] {
             init::dirac_(empty({3, 3}));
           },
           [] { init::orthogonal_(empty({3})); }, [] { init::trunc_normal_(empty({3}), 0, 1, 2, -2); },
           [] { init::sparse_(empty({3}), 0.5); },
           [] {
             init::sparse_(empty({3, 3}), 1.5);
           },
           [] { init::_calculate_fan_in_and_fan_out(empty({2})); }}) {
    EXPECT_THROW(throws(), Error);
  }
}

// --- layers
// -----------------------------------------------------------------------------------------------------------

std::vector<int64_t> numbers(const Json& v) {
  return v.is_array() ? v.get<std::vector<int64_t>>() : std::vector<int64_t>{v.get<int64_t>()};
}

/// The parameters and buffers of a module made as the entry says.
template <class Layer>
TensorMap state_of(const Layer& layer) {
  TensorMap state;
  for (const auto& item : layer->named_parameters()) state.emplace(item.key(), item.value());
  for (const auto& item : layer->named_buffers()) state.emplace(item.key(), item.value());
  return state;
}

TensorMap made(const Json& entry) {
  const Json& args = entry.at("args");
  const Json& kw = entry.at("kwargs");
  const auto name = entry.at("module").get<std::string>();
  const auto at = [&](size_t i) { return args.at(i).get<int64_t>(); };
  if (name == "Linear") return state_of(nn::Linear(nn::LinearOptions(at(0), at(1)).bias(kw.value("bias", true))));
  if (name == "Conv2d") {
    const std::vector<int64_t> k = numbers(args.at(2));
    return state_of(nn::Conv2d(nn::Conv2dOptions(at(0), at(1), {k.front(), k.back()})
                                   .bias(kw.value("bias", true))
                                   .groups(kw.value("groups", int64_t{1}))));
  }
  if (name == "Embedding") {
    nn::EmbeddingOptions options(at(0), at(1));
    if (kw.contains("padding_idx")) options.padding_idx(kw.at("padding_idx").get<int64_t>());
    return state_of(nn::Embedding(options));
  }
  if (name == "BatchNorm1d") return state_of(nn::BatchNorm1d(nn::BatchNorm1dOptions(at(0))));
  if (name == "BatchNorm2d") {
    return state_of(nn::BatchNorm2d(nn::BatchNorm2dOptions(at(0)).affine(kw.value("affine", true))));
  }
  EXPECT_EQ(name, "LayerNorm");
  return state_of(nn::LayerNorm(nn::LayerNormOptions(numbers(args.at(0)))));
}

/// Every tensor of `want` (name to key), and no other.
void expect_state(const TensorMap& got, const Json& want, const std::string& what) {
  size_t count = 0;
  for (const auto& [name, key] : want.items()) {
    const auto it = got.find(name);
    ASSERT_NE(it, got.end()) << what << " " << name;
    EXPECT_EQ(difference(it->second, answers().tensor(key.get<std::string>())), "") << what << " " << name;
    ++count;
  }
  EXPECT_EQ(got.size(), count) << what;
}

TEST(InitialValues, OfEachLayerArePyTorchs) {
  const ScalarType before = get_default_dtype();
  for (const Json& entry : answers().metadata("modules")) {
    set_default_dtype(static_cast<ScalarType>(entry.at("dtype").get<int>()));
    manual_seed(entry.at("seed").get<uint64_t>());
    Json want = entry.at("parameters");
    want.update(entry.at("buffers"));
    expect_state(made(entry), want, entry.dump());
  }
  set_default_dtype(before);
}

TEST(InitialValues, OfANetworkArePyTorchs) {
  const Json network = answers().metadata("network");
  manual_seed(network.at("seed").get<uint64_t>());
  for (const Json& entry : network.at("modules")) {
    TensorMap parameters = made(entry);
    for (auto it = parameters.begin(); it != parameters.end();) {
      it = entry.at("parameters").contains(it->first) ? std::next(it) : parameters.erase(it);
    }
    expect_state(parameters, entry.at("parameters"), entry.dump());
  }
}

}  // namespace
