// Cross entropy of class indices beyond PyTorch's answers (tests/references, family cross_entropy): long rows and many
// of them in every dtype against loops in doubles, memory orders, memory, threads. On the CPU and, where there is one,
// on cuda:0.
#include <gradus/core/allocator.h>
#include <gradus/core/parallel.h>
#include <gradus/cuda/cuda.h>

#include "support/vectors.h"

using namespace gradus;
using namespace support;

namespace {

std::vector<Device> devices() {
  std::vector<Device> all = {Device(kCPU)};
  if (cuda::is_available()) all.push_back(Device(kCUDA, 0));
  return all;
}

struct Options {
  double smoothing = 0;
  bool weighted = false;
  int64_t reduction = Reduction::Mean;
};

// Numbers in [shift - 2 scale, shift + 2 scale], as `dtype` holds them.
Tensor waves(IntArrayRef sizes, ScalarType dtype, double phase, double scale, double shift = 0) {
  Tensor t = empty(sizes, kDouble);
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.data_ptr<double>()[i] = std::sin(static_cast<double>(i) * 1.7 + phase) * 2 * scale + shift;
  }
  return t.to(dtype);
}

/// One call's operands on the CPU. Target i is of class 5 i mod classes; class 2 does not count.
struct Sample {
  Tensor x, target, weight, cotangent;
  Options options;
  int64_t classes, inner = 1, ignored;

  Sample(const std::vector<int64_t>& sizes, ScalarType dtype, const Options& o) : options(o), classes(sizes[1]) {
    std::vector<int64_t> target_sizes = sizes;
    target_sizes.erase(target_sizes.begin() + 1);
    for (size_t i = 2; i < sizes.size(); ++i) inner *= sizes[i];
    x = waves(sizes, dtype, 0.3, 3);
    target = empty(target_sizes, kLong);
    for (int64_t i = 0; i < target.numel(); ++i) target.data_ptr<int64_t>()[i] = i * 5 % classes;
    if (o.weighted) weight = waves({classes}, dtype, 1.1, 0.3, 0.8);
    ignored = classes > 2 ? 2 : -100;
    cotangent = waves(o.reduction == Reduction::None ? IntArrayRef(target_sizes) : IntArrayRef(), dtype, 0.7, 1);
  }
};

struct Answer {
  V loss, gradient;
  double terms = 0;  // the largest of those that a gradient is the difference of
};

// By the definition; sums are longer than doubles, so that long ones are exact enough.
Answer by_definition(const Sample& s) {
  const V x = values(s.x), w = s.weight.defined() ? values(s.weight) : V(static_cast<size_t>(s.classes), 1.0),
          cotangent = values(s.cotangent);
  const auto at = [&](int64_t i, int64_t c) {
    return static_cast<size_t>((i / s.inner * s.classes + c) * s.inner + i % s.inner);
  };
  const int64_t samples = s.target.numel();
  const bool none = s.options.reduction == Reduction::None;
  long double total = 0, sum = 0;
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t t = s.target.data_ptr<int64_t>()[i];
    if (t != s.ignored) total += w[static_cast<size_t>(t)];
  }
  const double divisor = s.options.reduction == Reduction::Mean ? static_cast<double>(total) : 1;
  Answer a{{}, V(x.size()), 0};
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t t = s.target.data_ptr<int64_t>()[i];
    long double loss = 0;
    if (t != s.ignored) {
      double most = -kInf;
      long double terms = 0, shares = 0;
      for (int64_t c = 0; c < s.classes; ++c) most = std::max(most, x[at(i, c)]);
      for (int64_t c = 0; c < s.classes; ++c) terms += std::exp(x[at(i, c)] - most);
      const auto exponentials = static_cast<double>(terms);
      const auto share = [&](int64_t c) {
        const double smooth = s.options.smoothing / static_cast<double>(s.classes) * w[static_cast<size_t>(c)];
        return smooth + (c == t ? (1 - s.options.smoothing) * w[static_cast<size_t>(c)] : 0);
      };
      for (int64_t c = 0; c < s.classes; ++c) {
        loss -= share(c) * (x[at(i, c)] - most - std::log(exponentials));
        shares += share(c);
      }
      const double grad = cotangent[none ? static_cast<size_t>(i) : 0] / divisor;
      const auto all = static_cast<double>(shares);
      a.terms = std::max(a.terms, std::abs(grad * all));
      for (int64_t c = 0; c < s.classes; ++c) {
        a.gradient[at(i, c)] = grad * (all * std::exp(x[at(i, c)] - most) / exponentials - share(c));
      }
    }
    if (none) a.loss.push_back(static_cast<double>(loss));
    sum += loss;
  }
  if (!none) a.loss = {static_cast<double>(sum) / divisor};
  return a;
}

// A result rounds once to its type whatever it was computed in.
void expect_near(const Tensor& got, const V& want, double precision, const std::string& what, double largest = 0) {
  const double unit = got.scalar_type() == kHalf ? 4.9e-4 : got.scalar_type() == kBFloat16 ? 3.95e-3 : 0;
  const double smallest = got.scalar_type() == kHalf ? 3e-8 : 0;  // half a step of its subnormals
  const V have = values(got.cpu());
  ASSERT_EQ(have.size(), want.size()) << what;
  for (double v : want) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < want.size(); ++i) {
    const double bound = precision * largest + unit * std::abs(want[i]) + smallest;
    ASSERT_TRUE(std::abs(have[i] - want[i]) <= bound)
        << what << " at " << i << ": " << have[i] << ", expected " << want[i] << " within " << bound;
  }
}

Tensor loss_of(const Sample& s, const Tensor& x, Device device) {
  return cross_entropy_loss(x, s.target.to(device), s.weight.defined() ? s.weight.to(device) : Tensor(),
                            s.options.reduction, s.ignored, s.options.smoothing);
}

TEST(CrossEntropy, AgreesWithItsDefinition) {
  const std::vector<int64_t> shapes[] = {{1, 1},     {3, 2},    {3, 31},   {3, 32},       {3, 33},       {5, 1023},
                                         {5, 1024},  {5, 1025}, {2, 4097}, {2, 50021},    {700, 10},     {5011, 3},
                                         {2, 7, 33}, {3, 8, 2}, {2, 5, 1}, {3, 19, 5, 5}, {1, 300, 130}, {2, 1, 16}};
  const Options all[] = {{},
                         {0, true, Reduction::Sum},
                         {0, false, Reduction::None},
                         {0.1, true, Reduction::None},
                         {0.3, true, Reduction::Mean},
                         {0.3, false, Reduction::Sum}};
  for (const Device device : devices()) {
    for (const auto& sizes : shapes) {
      for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
        for (const Options& options : all) {
          const Sample s(sizes, dtype, options);
          const std::string what = str(device, " ", dtype, " ", IntArrayRef(sizes), " smoothing ", options.smoothing,
                                       " reduction ", options.reduction);
          const Answer want = by_definition(s);
          const Tensor x = s.x.to(device).detach().requires_grad_();
          const Tensor loss = loss_of(s, x, device);
          const Tensor gradient = autograd::grad({loss}, {x}, {s.cotangent.to(device)})[0];
          const double precision = dtype == kDouble ? 1e-14 : 4e-6;
          expect_near(loss, want.loss, precision, what);
          expect_near(gradient, want.gradient, precision, what + " gradient", want.terms);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// As good as log_softmax: the digits that 10,000 takes from a float's sum are not in it.
TEST(CrossEntropy, LargeLogitsLoseNothing) {
  for (const Device device : devices()) {
    for (const double shift : {10000.0, -30000.0}) {
      Sample s({4, 100}, kFloat, {0.1, false, Reduction::None});
      s.x = s.x.add(shift);
      const Answer want = by_definition(s);
      const Tensor x = s.x.to(device).detach().requires_grad_();
      const Tensor loss = loss_of(s, x, device);
      expect_near(loss, want.loss, 1e-6, "loss");
      expect_near(autograd::grad({loss}, {x}, {s.cotangent.to(device)})[0], want.gradient, 1e-6, "gradient",
                  want.terms);
    }
  }
}

// Classes that are innermost are read where they lie, and their gradient lies as they do.
TEST(CrossEntropy, MemoryOrders) {
  for (const Device device : devices()) {
    for (const double smoothing : {0.0, 0.2}) {
      const Sample s({2, 5, 3, 4}, kDouble, {smoothing, true, Reduction::None});
      const Answer want = by_definition(s);
      const Tensor orders[] = {s.x, s.x.contiguous(MemoryFormat::ChannelsLast),
                               s.x.permute({3, 1, 2, 0}).contiguous().permute({3, 1, 2, 0}), s.x.expand({2, 5, 3, 4}),
                               cat({s.x, s.x}, 1).narrow(1, 0, 5)};
      for (const Tensor& order : orders) {
        const Tensor x = order.to(device).detach().requires_grad_();
        const Tensor loss = loss_of(s, x, device);
        const Tensor gradient = autograd::grad({loss}, {x}, {s.cotangent.to(device)})[0];
        expect_near(loss, want.loss, 1e-14, "loss");
        expect_near(gradient, want.gradient, 1e-14, "gradient", want.terms);
      }
      const Tensor last = orders[1].to(device).detach().requires_grad_();
      const Tensor gradient = autograd::grad({loss_of(s, last, device).sum()}, {last})[0];
      EXPECT_EQ(gradient.strides(), last.strides());
      const Tensor words = waves({2, 6, 5}, kDouble, 0, 1).to(device).transpose(1, 2).detach().requires_grad_();
      const Tensor of_words = cross_entropy_loss(words, zeros({2, 6}, TensorOptions(kLong).device(device)));
      EXPECT_EQ(autograd::grad({of_words}, {words})[0].strides(), words.strides());
    }
  }
}

// No tensor of the logits' size is made on the way, and of the gradient's only the gradient.
TEST(CrossEntropy, MakesNothingOfTheLogitsSize) {
  const Tensor x = zeros({64, 4096}, kFloat).requires_grad_(), target = zeros({64}, kLong);
  const auto bytes = static_cast<int64_t>(x.nbytes());
  const auto peak_of = [&](auto&& f) {
    reset_peak_memory_stats();
    const auto before = static_cast<int64_t>(memory_allocated());
    f();
    return static_cast<int64_t>(max_memory_allocated()) - before;
  };
  Tensor loss, gradient;
  EXPECT_LT(peak_of([&] { loss = cross_entropy_loss(x, target); }), bytes / 16);
  EXPECT_LT(peak_of([&] { gradient = autograd::grad({loss}, {x})[0]; }), bytes + bytes / 16);
}

TEST(CrossEntropy, ThreadsChangeNothing) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{3000, 10}, {64, 2000}, {4, 9, 1000}}) {
    for (const double smoothing : {0.0, 0.1}) {
      const Sample s(sizes, kFloat, {smoothing, true, Reduction::Mean});
      std::vector<V> answers;
      for (const int threads : {1, 2, 3}) {
        set_num_threads(threads);
        const Tensor x = s.x.detach().requires_grad_();
        const Tensor loss = loss_of(s, x, Device(kCPU));
        answers.push_back(values(loss));
        const V gradient = values(autograd::grad({loss}, {x})[0]);
        answers.back().insert(answers.back().end(), gradient.begin(), gradient.end());
      }
      EXPECT_EQ(answers[1], answers[0]);
      EXPECT_EQ(answers[2], answers[0]);
    }
  }
  set_num_threads(1);
}

// With create_graph it is written with operators; the numbers are the same.
TEST(CrossEntropy, AGradientToBeDifferentiatedIsThePlainOne) {
  const auto expect_same = [](const Tensor& logits, const Tensor& target, const Tensor& weight, int64_t ignore) {
    const Tensor x = logits.detach().requires_grad_();
    const auto gradient = [&](bool create_graph) {
      const Tensor loss = cross_entropy_loss(x, target, weight, Reduction::Mean, ignore);
      return autograd::grad({loss}, {x}, {}, std::nullopt, create_graph)[0].detach();
    };
    const Tensor plain = gradient(false), other = gradient(true);
    EXPECT_TRUE(allclose(other, plain, 1e-2, 1e-6)) << other << plain;
    EXPECT_TRUE(plain.ne(0).any().item<bool>());
  };
  for (const Device device : devices()) {
    // -100 is 156 in bytes.
    expect_same(zeros({1, 200}, TensorOptions(device).dtype(kDouble)),
                full({1}, 156, TensorOptions(device).dtype(kByte)), {}, -100);
    expect_same(zeros({1, 200}, TensorOptions(device).dtype(kDouble)), full({1}, 3, TensorOptions(device).dtype(kByte)),
                {}, 259);
    // The total weight, 100,000, is out of half's range.
    expect_same(zeros({2000, 40}, TensorOptions(device).dtype(kHalf)),
                zeros({2000}, TensorOptions(device).dtype(kLong)), full({40}, 50, TensorOptions(device).dtype(kHalf)),
                -100);
  }
}

TEST(CrossEntropy, BadTargetsAreNamed) {
  const Tensor x = zeros({3, 4}), target = longs({0, -100, 4});
  for (const double smoothing : {0.0, 0.1}) {
    const auto call = [&](Device device) {
      const Tensor logits = x.to(device).detach().requires_grad_();
      cross_entropy_loss(logits, target.to(device), {}, Reduction::Mean, -100, smoothing).backward();
      if (device.is_cuda()) cuda::synchronize();
    };
    for (const Device device : devices()) {
      EXPECT_THROW(call(device), IndexError);
      EXPECT_ERROR(call(device), "cross_entropy_loss: ");
      EXPECT_ERROR(call(device), "4");
    }
  }
}

}  // namespace
