// What operator<< prints for tensors, scalars, types, sizes and modules, character by character.
#include <torch/torch.h>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <limits>
#include <sstream>

static void show(const std::string& what, const torch::Tensor& t) {
  std::cout << "-- " << what << "\n" << t << "\n";
}

static void print_integers() {
  show("ints", torch::tensor({{1, -20, 300}, {4000, 5, -6}}, torch::kInt));
  show("one int", torch::tensor({7}));
  show("longs", torch::tensor({int64_t(1), int64_t(-9007199254740993), int64_t(1234567890123456789)}, torch::kLong));
  show("bytes", torch::tensor({0, 127, 255}, torch::kByte));
  show("chars", torch::tensor({-128, 0, 65}, torch::kChar));
  show("shorts", torch::tensor({-32768, 1}, torch::kShort));
  show("bools", torch::tensor({{true, false}, {false, false}}));
  show("wide ints", torch::arange(40).reshape({2, 20}) * 1001);
  show("int scalar", torch::tensor(-42));
  show("bool scalar", torch::tensor(true));
  show("zeros", torch::zeros({2, 2}, torch::kLong));
}

static void print_floats() {
  show("whole numbers", torch::tensor({1.0f, -2.0f, 3.0f}));
  show("whole numbers, large", torch::tensor({1.0, 100000.0, -12345678.0}));
  show("whole numbers, large negative first", torch::tensor({-12345678.0, 1.0}));
  show("large negative first", torch::tensor({-123456.5, 1.5, -2.25}));
  show("large negative last", torch::tensor({1.5, -123456.5}));
  show("whole numbers, too large", torch::tensor({1e15, 1.0}));
  show("whole numbers, huge", torch::tensor({1e20, 1.0}));
  show("fractions", torch::tensor({0.5f, 1.25f, -3.0625f}));
  show("two digits", torch::tensor({10.5, 99.25}));
  show("scale factor up", torch::tensor({{1000.5f, 2.25f}, {-3.125f, 40000.75f}}));
  show("scale factor down", torch::tensor({0.001, 0.0025, -0.00375}));
  show("tiny", torch::tensor({1e-6, 2e-6}));
  show("wide range", torch::tensor({1e-8, 1.0, 123456.0}, torch::kDouble));
  show("wider range", torch::tensor({1e-20f, 1.5f, 1e20f}));
  show("rounding", torch::tensor({0.99999, 9.99999, 0.00001}));
  show("rounding up a digit", torch::tensor({9.99996, 1.5}));
  show("tenths", torch::arange(1, 8, torch::kFloat) / 10);
  show("thirds", torch::arange(6, torch::kDouble).reshape({2, 3}) / 3);
  show("same", torch::full({3}, 0.1));
  show("negative zero", torch::tensor({-0.0, 0.0, 1.5}));
  show("all zero", torch::zeros({2, 2}));
  show("hundreds", torch::tensor({100.125, -250.5}));
  show("thousands", torch::tensor({1234.5678, 1.0}));
  show("ten thousands", torch::tensor({12345.678, 1.0}, torch::kDouble));
  show("float max", torch::tensor({std::numeric_limits<float>::max(), 0.5f}));
  show("double min", torch::tensor({std::numeric_limits<double>::min(), 0.0}, torch::kDouble));
  show("denormal", torch::tensor({5e-324, 1.0}, torch::kDouble));
}

static void print_special() {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  show("nan", torch::tensor({nan, 1.0, 2.0}));
  show("nan and fractions", torch::tensor({nan, 1.5, -2.25}));
  show("inf", torch::tensor({inf, -inf, 1.0}));
  show("inf and fractions", torch::tensor({{inf, 0.125}, {-inf, nan}}));
  show("inf and large", torch::tensor({inf, 12345.5, -0.25}));
  show("only nan", torch::tensor({nan, nan}));
  show("only inf", torch::tensor({inf, -inf}));
  show("nan scalar", torch::tensor(nan));
  show("inf scalar", torch::tensor(-inf));
}

static void print_dtypes() {
  const auto x = torch::tensor({{1.5, -2.25}, {0.125, 100.0}});
  show("float", x);
  show("double", x.to(torch::kDouble));
  show("half", x.to(torch::kHalf));
  show("bfloat16", x.to(torch::kBFloat16));
  show("long from double", x.to(torch::kLong));
  show("half, not exact", torch::tensor({0.1, 0.2}).to(torch::kHalf));
  show("bool from double", x.to(torch::kBool));
}

static void print_shapes() {
  show("0-dim float", torch::tensor(2.5f));
  show("0-dim double", torch::tensor(1.0 / 3, torch::kDouble));
  show("0-dim whole", torch::tensor(4.0));
  show("0-dim large", torch::tensor(1234567.0));
  show("0-dim tiny", torch::tensor(1e-9));
  show("empty", torch::empty({0}));
  show("empty 2-d", torch::empty({0, 3}, torch::kLong));
  show("empty 3-d", torch::empty({2, 0, 4}));
  show("1x1", torch::ones({1, 1}));
  show("column", torch::arange(3, torch::kFloat).reshape({3, 1}));
  show("3-d", torch::arange(12, torch::kFloat).reshape({2, 2, 3}));
  show("3-d fractions", torch::arange(12, torch::kDouble).reshape({3, 2, 2}) / 8 - 0.5);
  show("3-d, one factor per slice", torch::tensor({{{1.5, 2.5}}, {{1000.5, 2e6}}}));
  show("2-d with a factor", torch::tensor({{1.5e6, 2.5}, {3.25e6, 4e6}, {1234567.5, 5e6}}));
  show("3-d with factors", torch::tensor({{{1.5e6, 2.5e6}, {3.25e6, 4e6}}, {{0.001, 0.002}, {0.003, 0.0045}}}));
  show("3-d, fractions then large whole numbers", torch::tensor({{{0.5, 1.25}}, {{123456.0, 7.0}}}));
  show("4-d", torch::arange(16).reshape({2, 2, 2, 2}));
  show("5-d", torch::zeros({1, 2, 1, 1, 2}));
  show("transposed", torch::arange(6, torch::kFloat).reshape({2, 3}).t());
  show("strided", torch::arange(10).slice(0, 1, 10, 3));
  show("expanded", torch::tensor({1.5}).expand({2, 3}));
}

static void print_columns() {
  show("20 floats in a row", torch::arange(20, torch::kFloat).reshape({1, 20}) / 4);
  show("30 columns", torch::arange(60, torch::kFloat).reshape({2, 30}));
  show("30 columns, negative fractions", torch::arange(60, torch::kDouble).reshape({2, 30}) / 7 - 4);
  show("17 columns with a factor", torch::arange(34, torch::kDouble).reshape({2, 17}) * 1000.5);
  show("wide with a factor", (torch::arange(40, torch::kDouble).reshape({2, 20}) + 1234) * 1000.5);
  show("wide 3-d with a factor", (torch::arange(80, torch::kDouble).reshape({2, 2, 20}) + 1234) * 1000.5);
  show("wide 3-d", torch::arange(2 * 2 * 25).reshape({2, 2, 25}));
  show("long columns", torch::arange(6).reshape({2, 3}) * int64_t(1000000000000000));
}

static void print_with_stream_state() {
  std::ostringstream out;
  out.precision(2);
  out << std::scientific << 1234.5 << " " << torch::tensor({1.5, 2.25}) << " " << 1234.5;
  std::cout << out.str() << "\n";
  std::cout << "inline " << torch::tensor({1, 2}) << " and " << torch::tensor(3) << "\n";
  {
    std::ostringstream narrow;
    narrow.precision(3);
    narrow << std::showpos << torch::tensor(1.0 / 3) << "\n"
           << torch::tensor({1, 2}) << "\n"
           << torch::tensor({1.5, 1e9});
    narrow << std::setfill('.') << std::noshowpos << "\n" << torch::tensor({{1, 20}, {300, 4}}) << "\n" << 1.0 / 3;
    std::cout << narrow.str() << "\n";
  }
  torch::print(std::cout, torch::arange(12).reshape({1, 12}) * 100, 40);
  std::cout << "\n";
  std::cout << torch::Tensor() << "\n";
  std::cout << torch::tensor({1.5, 2.5}).requires_grad_() << "\n";
  std::cout << torch::tensor({1.5}).toString() << " " << torch::tensor({1}).toString() << " "
            << torch::Tensor().toString() << "\n";
}

static void print_values() {
  std::cout << torch::kFloat << " " << torch::kBool << " " << torch::kBFloat16 << " " << torch::kComplexDouble << "\n";
  std::cout << torch::Device("cuda:1") << " " << torch::kCPU << " " << torch::kStrided << "\n";
  std::cout << torch::ones({2, 0, 1}).sizes() << torch::tensor(1).sizes() << torch::ones({2, 3}).strides() << "\n";
  std::cout << torch::ones({1}).dtype() << " " << torch::Scalar(1.25) << " " << torch::Scalar(4) << " "
            << torch::Scalar(2.0) << " " << torch::Scalar(true) << "\n";
  std::cout << torch::MemoryFormat::ChannelsLast << " " << torch::MemoryFormat::Contiguous << "\n";
  std::vector<torch::Tensor> list{torch::ones({1}), torch::tensor({2})};
  std::cout << at::TensorList(list) << "\n";
  std::cout << at::ArrayRef<double>({1.5, 2}) << "\n";
  std::cout << torch::indexing::Slice(1, torch::indexing::None, 2) << " " << torch::indexing::TensorIndex(3) << " "
            << torch::indexing::TensorIndex("...") << " " << torch::indexing::TensorIndex(torch::indexing::None) << " "
            << torch::indexing::TensorIndex(true) << "\n";
}

struct BlockImpl : torch::nn::Module {
  BlockImpl() : conv(torch::nn::Conv2dOptions(3, 8, {3, 5}).stride(2).padding(1).bias(false)), norm(8) {
    register_module("conv", conv);
    register_module("norm", norm);
    scale = register_parameter("scale", torch::ones({1}));
  }
  torch::Tensor forward(torch::Tensor x) { return norm(conv(x)) * scale; }
  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
  torch::Tensor scale;
};
TORCH_MODULE(Block);

struct Quiet : torch::nn::Module {
  void pretty_print(std::ostream& stream) const override { stream << "Quiet(volume=0)"; }
};

struct Plain : torch::nn::Module {};

static void print_modules() {
  namespace nn = torch::nn;
  std::cout << nn::Linear(3, 4) << "\n" << nn::Linear(nn::LinearOptions(3, 4).bias(false)) << "\n";
  std::cout << nn::Conv2d(1, 10, 5) << "\n"
            << nn::Conv2d(
                   nn::Conv2dOptions(4, 8, {3, 5}).stride({2, 1}).padding({1, 2}).dilation(2).groups(2).bias(false))
            << "\n"
            << nn::Conv2d(nn::Conv2dOptions(4, 8, 3).padding(torch::kSame).padding_mode(torch::kReflect)) << "\n";
  std::cout << nn::BatchNorm2d(8) << "\n"
            << nn::BatchNorm2d(
                   nn::BatchNorm2dOptions(8).eps(0.001).momentum(0.25).affine(false).track_running_stats(false))
            << "\n";
  std::cout << nn::LayerNorm(nn::LayerNormOptions({4, 5})) << "\n"
            << nn::LayerNorm(nn::LayerNormOptions({4}).eps(2e-5).elementwise_affine(false)) << "\n";
  std::cout << nn::MaxPool2d(2) << "\n"
            << nn::MaxPool2d(nn::MaxPool2dOptions({3, 2}).stride(1).padding(1).ceil_mode(true)) << "\n";
  std::cout << nn::AvgPool2d(3) << "\n" << nn::AvgPool2d(nn::AvgPool2dOptions({3, 2}).stride({2, 1})) << "\n";
  std::cout << nn::ReLU() << " " << nn::ReLU(true) << " " << nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2))
            << " " << nn::GELU() << " " << nn::SiLU() << " " << nn::Tanh() << " " << nn::Sigmoid() << " "
            << nn::Softmax(1) << " " << nn::LogSoftmax(1) << "\n";
  std::cout << nn::Dropout(0.25) << " " << nn::Dropout(nn::DropoutOptions(0.5).inplace(true)) << " " << nn::Flatten()
            << " " << nn::Flatten(nn::FlattenOptions().start_dim(0).end_dim(2)) << " " << nn::Embedding(10, 3) << " "
            << nn::Embedding(nn::EmbeddingOptions(10, 3).padding_idx(1)) << " " << nn::Identity() << "\n";
  std::cout << nn::MSELoss() << " " << nn::CrossEntropyLoss() << " " << nn::NLLLoss() << " " << nn::BCEWithLogitsLoss()
            << "\n";
  std::cout << nn::Functional(torch::relu) << "\n";
  std::cout << nn::Sequential(nn::Linear(2, 3), nn::ReLU(), nn::Functional(torch::leaky_relu, 0.2), nn::Linear(3, 1))
            << "\n";
  nn::Sequential named({{"first", nn::Linear(2, 3)}, {"act", nn::Tanh()}});
  named->push_back("block", Block());
  std::cout << named << "\n" << *named << "\n";
  std::cout << nn::Sequential() << "\n"
            << nn::ModuleList(nn::Linear(1, 1), nn::ReLU()) << "\n"
            << nn::ModuleList() << "\n";
  std::cout << Block() << "\n" << Quiet() << "\n" << Plain() << "\n";
  std::cout << Block()->name() << " " << nn::Linear(1, 1)->name() << " " << Plain().name() << "\n";
  nn::ModuleList blocks;
  blocks->push_back(Block());
  blocks->push_back(std::make_shared<Quiet>());
  std::cout << blocks << "\n";
}

int main() {
  print_integers();
  print_floats();
  print_special();
  print_dtypes();
  print_shapes();
  print_columns();
  print_with_stream_state();
  print_values();
  print_modules();
  return 0;
}
