// Modules: registration, names, cloning, files, containers. Numbers in names are cases of the issue tracker's lists.
#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include <gradus/gradus.h>

#include "support/temporary_folder.h"

namespace {

using namespace gradus;

struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { NetImpl::reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(3, 4));
    second = register_module("second", nn::Linear(4, 2));
    scale = register_parameter("scale", ones({2}));
    register_buffer("count", zeros({}, kLong));
  }
  Tensor forward(const Tensor& x) { return second->forward(first->forward(x).relu()).mul(scale); }
  nn::Linear first{nullptr}, second{nullptr};
  Tensor scale;
};
GRADUS_MODULE(Net);

struct TiedImpl : nn::Cloneable<TiedImpl> {
  TiedImpl() {
    TiedImpl::reset();
    b->weight = a->weight;
  }
  void reset() override {
    a = register_module("a", nn::Linear(3, 3));
    b = register_module("b", nn::Linear(3, 3));
  }
  Tensor forward(const Tensor& x) { return b->forward(a->forward(x)); }
  nn::Linear a{nullptr}, b{nullptr};
};
GRADUS_MODULE(Tied);

TEST(Module, NamesFollowTheTree) {
  Net net;
  EXPECT_EQ(net->named_parameters().keys(),
            (std::vector<std::string>{"scale", "first.weight", "first.bias", "second.weight", "second.bias"}));
  EXPECT_EQ(net->named_buffers().keys(), std::vector<std::string>{"count"});
  EXPECT_EQ(net->parameters().size(), 5u);
  EXPECT_EQ(net->modules().size(), 3u);
  EXPECT_EQ(net->named_modules("net")[1].key(), "net.first");
  EXPECT_THROW(net->register_parameter("scale", ones({1})), Error);
  EXPECT_THROW(net->register_parameter("a.b", ones({1})), ValueError);
}

// B15 and pain 22: the tensor that forward uses and the registered one are the same after an assignment.
TEST(Module, AssigningAParameterOfALayer) {
  nn::Linear lin(nn::LinearOptions(1, 1).bias(false));
  lin->weight = full({1, 1}, 5.0);
  EXPECT_TRUE(lin->parameters()[0].is_same(lin->weight));
  EXPECT_EQ(lin->forward(ones({1, 1})).item<float>(), 5);
}

// Pain 54.
TEST(Module, CloneIsDeepAndKeepsTies) {
  Tied tied;
  EXPECT_EQ(tied->parameters().size(), 3u);
  auto copy = std::dynamic_pointer_cast<TiedImpl>(tied->clone());
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->parameters().size(), 3u);
  EXPECT_TRUE(copy->a->weight.is_same(copy->b->weight));
  EXPECT_FALSE(copy->a->weight.is_alias_of(tied->a->weight));
  EXPECT_TRUE(copy->a->weight.requires_grad());
  Tensor x = ones({2, 3});
  EXPECT_TRUE(equal(copy->forward(x), tied->forward(x)));
  {
    NoGradGuard guard;
    copy->a->weight.add_(1);
  }
  EXPECT_FALSE(equal(copy->forward(x), tied->forward(x)));
}

TEST(Module, CloneOfAPlainModuleSaysWhatToDo) {
  struct Plain : nn::Module {};
  auto plain = std::make_shared<Plain>();
  try {
    plain->clone();
    FAIL();
  } catch (const NotImplementedError& e) {
    EXPECT_NE(std::string(e.what()).find("Cloneable"), std::string::npos);
  }
}

TEST(Module, TrainEvalApplyZeroGradTo) {
  Net net;
  net->eval();
  EXPECT_FALSE(net->first->is_training());
  net->train();
  EXPECT_TRUE(net->second->is_training());
  int count = 0;
  net->apply([&](nn::Module&) { ++count; });
  EXPECT_EQ(count, 3);
  net->forward(ones({1, 3})).sum().backward();
  EXPECT_TRUE(net->scale.grad().defined());
  net->zero_grad(/*set_to_none=*/false);
  EXPECT_TRUE(equal(net->scale.grad(), zeros({2})));
  net->zero_grad();
  EXPECT_FALSE(net->scale.grad().defined());
  Tensor handle = net->first->weight;
  net->to(kDouble);
  EXPECT_EQ(net->first->weight.scalar_type(), kDouble);
  EXPECT_TRUE(handle.is_same(net->first->weight));
  EXPECT_EQ(net->named_buffers()["count"].scalar_type(), kLong);
  EXPECT_EQ(net->forward(ones({1, 3}, kDouble)).scalar_type(), kDouble);
}

TEST(Module, SaveAndLoad) {
  support::TemporaryFolder folder;
  const std::string path = folder.file("net.pt");
  manual_seed(1);
  Net net, other;
  EXPECT_FALSE(equal(net->first->weight, other->first->weight));
  save(net, path);
  load(other, path);
  for (const auto& item : net->named_parameters())
    EXPECT_TRUE(equal(item.value(), other->named_parameters()[item.key()])) << item.key();
}

// A9 and pain 5: everything that does not fit is listed, nothing is changed.
TEST(Module, LoadListsAllMismatches) {
  support::TemporaryFolder folder;
  const std::string path = folder.file("net.pt");
  Net net;
  save(net, path);
  struct OtherImpl : nn::Module {
    OtherImpl() {
      first = register_module("first", nn::Linear(3, 5));
      third = register_module("third", nn::Linear(2, 2));
    }
    nn::Linear first{nullptr}, third{nullptr};
  };
  auto other = std::make_shared<OtherImpl>();
  Tensor before = other->first->weight.clone();
  try {
    load(other, path);
    FAIL();
  } catch (const Error& e) {
    const std::string text = e.what();
    for (const char* expected : {"third", "first.weight", "(5, 3)", "(4, 3)"}) {
      EXPECT_NE(text.find(expected), std::string::npos) << expected << " in: " << text;
    }
  }
  EXPECT_TRUE(equal(before, other->first->weight));
}

TEST(Containers, SequentialRunsPrintsAndClones) {
  nn::Sequential seq(nn::Linear(3, 4), nn::ReLU(), nn::Functional(leaky_relu, 0.2), nn::Linear(4, 2));
  EXPECT_EQ(seq->forward(ones({5, 3})).sizes(), IntArrayRef({5, 2}));
  EXPECT_EQ(seq(ones({3})).sizes(), IntArrayRef({2}));
  std::ostringstream text;
  text << seq;
  EXPECT_EQ(text.str(),
            "torch::nn::Sequential(\n"
            "  (0): torch::nn::Linear(in_features=3, out_features=4, bias=true)\n"
            "  (1): torch::nn::ReLU()\n"
            "  (2): torch::nn::Functional()\n"
            "  (3): torch::nn::Linear(in_features=4, out_features=2, bias=true)\n"
            ")");
  auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(seq->clone());
  EXPECT_TRUE(equal(copy->forward(ones({3})), seq->forward(ones({3}))));
  EXPECT_FALSE(copy->parameters()[0].is_alias_of(seq->parameters()[0]));
  nn::Sequential named({{"fc", nn::Linear(3, 1)}, {"act", nn::Sigmoid()}});
  EXPECT_EQ(named->named_parameters().keys(), (std::vector<std::string>{"fc.weight", "fc.bias"}));
  nn::Sequential nested(named, nn::Identity());
  EXPECT_EQ(nested->forward(ones({2, 3})).sizes(), IntArrayRef({2, 1}));
  EXPECT_THROW(nn::Sequential()->forward(ones({1})), Error);
}

TEST(Containers, ModuleListRegisters) {
  nn::ModuleList list(nn::Linear(2, 2), nn::ReLU());
  list->push_back(nn::Linear(2, 3));
  EXPECT_EQ(list->size(), 3u);
  EXPECT_EQ(list->parameters().size(), 4u);
  EXPECT_EQ(list->at<nn::LinearImpl>(2).options.out_features(), 3);
  EXPECT_THROW(list->ptr(3), IndexError);
  list->insert(0, nn::Identity().ptr());
  EXPECT_EQ(list->named_parameters().keys()[0], "1.weight");
}

// Pain 26: sizes that cannot be throw, nothing is killed.
// A transposed convolution may add more outputs than its stride, up to its dilation: the rest stays the bias.
TEST(Layers, TransposedConvolutionWithOutputPaddingBeyondItsStride) {
  for (const ScalarType type : {kFloat, kDouble}) {
    const Tensor x = (arange(2, type) + 1).view({1, 1, 2}).requires_grad_();
    const Tensor w = (arange(2, type) * 9 + 1).view({1, 1, 2}).requires_grad_();
    const Tensor y = gradus::convolution(x, w, full({1}, 5, type), {1}, {0}, {2}, true, {1}, 1);
    // x[i] goes to y[i] times 1 and to y[i + 2] times 10.
    const int64_t wanted[] = {6, 7, 15, 25, 5};
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(y[0][0][i].item<double>(), static_cast<double>(wanted[i]));
    (y * arange(5, type)).sum().backward();
    EXPECT_EQ(x.grad()[0][0][0].item<double>(), 0 * 1 + 2 * 10);
    EXPECT_EQ(x.grad()[0][0][1].item<double>(), 1 * 1 + 3 * 10);
    EXPECT_EQ(w.grad()[0][0][0].item<double>(), 0 * 1 + 1 * 2);
    EXPECT_EQ(w.grad()[0][0][1].item<double>(), 2 * 1 + 3 * 2);
  }
}

TEST(Layers, InvalidOptionsThrow) {
  EXPECT_THROW(nn::Linear(-1, 2), ValueError);
  EXPECT_THROW(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).groups(0)), ValueError);
  EXPECT_THROW(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).groups(2)), ValueError);
  EXPECT_THROW(nn::Conv2d(nn::Conv2dOptions(3, 4, 0)), ValueError);
  EXPECT_THROW(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).stride(0)), ValueError);
  EXPECT_THROW(nn::Dropout(1.5), ValueError);
  EXPECT_THROW(nn::Embedding(nn::EmbeddingOptions(3, 2).padding_idx(3)), ValueError);
  EXPECT_THROW(nn::MaxPool2d(0)->forward(ones({1, 1, 4, 4})), ValueError);
  EXPECT_THROW(nn::BatchNorm2d(3)->forward(ones({2, 3})), ValueError);
}

// D9.
TEST(Layers, EmbeddingPadding) {
  nn::Embedding e(nn::EmbeddingOptions(3, 2).padding_idx(-1));
  EXPECT_TRUE(equal(e->weight.select(0, 2), zeros({2})));
  e->forward(tensor({0, 2, 2})).sum().backward();
  EXPECT_TRUE(equal(e->weight.grad(), tensor({{1.f, 1.f}, {0.f, 0.f}, {0.f, 0.f}})));
  Tensor rows = ones({2, 2});
  auto pretrained =
      nn::Embedding::from_pretrained(rows, nn::EmbeddingFromPretrainedOptions().padding_idx(1).freeze(false));
  EXPECT_TRUE(equal(pretrained->weight, ones({2, 2})));
  pretrained->forward(tensor({0, 1})).sum().backward();
  EXPECT_TRUE(equal(pretrained->weight.grad(), tensor({{1.f, 1.f}, {0.f, 0.f}})));
}

// Pain 50: no overflow, no NaN in the parameters, and the message says whose gradient it was.
TEST(Utils, ClipGradNorm) {
  Tensor a = ones({2}).requires_grad_(), b = ones({1}).requires_grad_();
  a.mutable_grad() = tensor({3.f, 0.f});
  b.mutable_grad() = tensor({4.f});
  EXPECT_NEAR(nn::utils::clip_grad_norm_({a, b}, 1.0), 5, 1e-12);
  EXPECT_TRUE(allclose(a.grad(), tensor({0.6f, 0.f})));
  a.mutable_grad() = tensor({1e20f, 0.f});
  b.mutable_grad().zero_();
  EXPECT_NEAR(nn::utils::clip_grad_norm_({a, b}, 1.0) / 1e20, 1, 1e-6);
  EXPECT_TRUE(allclose(a.grad(), tensor({1.f, 0.f})));
  b.mutable_grad() = tensor({static_cast<float>(NAN)});
  EXPECT_TRUE(std::isnan(nn::utils::clip_grad_norm_({a, b}, 1.0)));
  EXPECT_TRUE(allclose(a.grad(), tensor({1.f, 0.f})));
  try {
    nn::utils::clip_grad_norm_({a, b}, 1.0, 2.0, /*error_if_nonfinite=*/true);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("parameters 1"), std::string::npos) << e.what();
  }
}

}  // namespace
