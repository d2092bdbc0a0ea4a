// Convolutions and their gradients in every layout and dtype against plain loops in double. Operands are small
// integers: f32 and f64 results are exact, the 16-bit types' are the exact sums rounded once.
#include <kernels/convolution.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gradus::inline v0::kernels {
namespace {

struct Case {
  std::vector<int64_t> input, weight;  // [n, c, spatial], [o, c / groups, kernel]
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  int64_t fewer = 0;  // outputs left out at each dimension's end, as a large output_padding does
};

enum class Layout { kContiguous, kChannelsLast, kSpread };

/// A tensor's values in order, and a memory of them in some layout.
template <class T>
struct Stored {
  std::vector<int64_t> sizes, strides;
  std::vector<T> memory;

  Stored(std::vector<int64_t> s, Layout layout) : sizes(std::move(s)), strides(sizes.size()) {
    int64_t step = layout == Layout::kSpread ? 2 : 1;
    const bool last = layout == Layout::kChannelsLast && sizes.size() > 1;
    if (last) strides[1] = 1, step = sizes[1];
    for (size_t i = sizes.size(); i-- > 0;) {
      if (last && i == 1) continue;
      strides[i] = step;
      step *= sizes[i];
    }
    memory.resize(static_cast<size_t>(step) + 1);
  }
  int64_t numel() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }
  size_t at(int64_t flat) const {
    int64_t offset = 0;
    for (size_t i = sizes.size(); i-- > 0;) {
      offset += flat % sizes[i] * strides[i];
      flat /= sizes[i];
    }
    return static_cast<size_t>(offset);
  }
  void set(const std::vector<double>& values) {
    for (int64_t i = 0; i < numel(); ++i)
      memory[at(i)] = static_cast<T>(static_cast<float>(values[static_cast<size_t>(i)]));
  }
  View view() {
    return {memory.data(), sizes.data(), strides.data(), static_cast<int>(sizes.size()), CppTypeToScalarType<T>::value};
  }
};

std::vector<double> numbers(int64_t n, int salt) {
  std::vector<double> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>((i * 7 + static_cast<size_t>(salt) * 11) % 5) - 2;
  return v;
}

struct Reference {
  std::vector<double> output, grad_input, grad_weight, grad_bias;
};

/// Visits every (output, input, weight) triple of flat indices.
template <class F>
void visit(const Case& c, const std::vector<int64_t>& output, const F& f) {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, pad[3] = {0, 0, 0},
          dil[3] = {1, 1, 1};
  const size_t spatial = c.input.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t d = 3 - spatial + i;
    in[d] = c.input[2 + i], out[d] = output[2 + i], kernel[d] = c.weight[2 + i], stride[d] = c.stride,
    pad[d] = c.padding, dil[d] = c.dilation;
  }
  const int64_t group_in = c.weight[1], group_out = c.weight[0] / c.groups;
  for (int64_t n = 0; n < c.input[0]; ++n)
    for (int64_t o = 0; o < c.weight[0]; ++o)
      for (int64_t z = 0; z < out[0]; ++z)
        for (int64_t y = 0; y < out[1]; ++y)
          for (int64_t x = 0; x < out[2]; ++x)
            for (int64_t i = 0; i < group_in; ++i)
              for (int64_t a = 0; a < kernel[0]; ++a)
                for (int64_t b = 0; b < kernel[1]; ++b)
                  for (int64_t w = 0; w < kernel[2]; ++w) {
                    const int64_t pz = z * stride[0] - pad[0] + a * dil[0], py = y * stride[1] - pad[1] + b * dil[1],
                                  px = x * stride[2] - pad[2] + w * dil[2];
                    if (pz < 0 || pz >= in[0] || py < 0 || py >= in[1] || px < 0 || px >= in[2]) continue;
                    const int64_t channel = o / group_out * group_in + i;
                    f((((n * c.weight[0] + o) * out[0] + z) * out[1] + y) * out[2] + x,
                      (((n * c.input[1] + channel) * in[0] + pz) * in[1] + py) * in[2] + px,
                      (((o * group_in + i) * kernel[0] + a) * kernel[1] + b) * kernel[2] + w);
                  }
}

template <class T>
void expect_same(const Stored<T>& got, const std::vector<double>& want, const std::string& what) {
  for (int64_t i = 0; i < got.numel(); ++i) {
    const double w = static_cast<double>(static_cast<T>(static_cast<float>(want[static_cast<size_t>(i)])));
    ASSERT_EQ(static_cast<double>(got.memory[got.at(i)]), w) << what << " at " << i;
  }
}

template <class T>
void check(const Case& c, Layout image, Layout filter, bool with_bias) {
  std::vector<int64_t> out = {c.input[0], c.weight[0]};
  for (size_t i = 2; i < c.input.size(); ++i) {
    out.push_back((c.input[i] + 2 * c.padding - c.dilation * (c.weight[i] - 1) - 1) / c.stride + 1 - c.fewer);
  }
  Stored<T> input(c.input, image), weight(c.weight, filter), bias({c.weight[0]}, filter), output(out, image);
  const auto xi = numbers(input.numel(), 1), xw = numbers(weight.numel(), 2), xb = numbers(c.weight[0], 3),
             xg = numbers(output.numel(), 4);
  input.set(xi), weight.set(xw), bias.set(xb);
  Reference r{std::vector<double>(xg.size()), std::vector<double>(xi.size()), std::vector<double>(xw.size()),
              std::vector<double>(xb.size())};
  const int64_t out_spatial = output.numel() / std::max<int64_t>(1, out[0] * out[1]);
  for (size_t i = 0; i < r.output.size(); ++i) {
    const size_t channel = i / static_cast<size_t>(out_spatial) % static_cast<size_t>(out[1]);
    if (with_bias) r.output[i] = xb[channel];
    r.grad_bias[channel] += xg[i];
  }
  visit(c, out, [&](int64_t o, int64_t i, int64_t w) {
    const auto uo = static_cast<size_t>(o), ui = static_cast<size_t>(i), uw = static_cast<size_t>(w);
    r.output[uo] += xi[ui] * xw[uw];
    r.grad_input[ui] += xg[uo] * xw[uw];
    r.grad_weight[uw] += xg[uo] * xi[ui];
  });
  ConvolutionGeometry g;
  for (int i = 0; i < 3; ++i) g.stride[i] = c.stride, g.padding[i] = c.padding, g.dilation[i] = c.dilation;
  g.groups = c.groups;
  const ConstView no_bias{nullptr, nullptr, nullptr, 0, CppTypeToScalarType<T>::value};
  convolution_forward(DeviceType::CPU, output.view(), input.view(), weight.view(),
                      with_bias ? ConstView(bias.view()) : no_bias, g, PackedSlot());
  expect_same(output, r.output, "output");

  Stored<T> grad_output(out, image), grad_input(c.input, image), grad_weight(c.weight, filter),
      grad_bias({c.weight[0]}, filter);
  grad_output.set(xg);
  convolution_backward_input(DeviceType::CPU, grad_input.view(), grad_output.view(), weight.view(), g, PackedSlot());
  expect_same(grad_input, r.grad_input, "grad_input");
  View grad_bias_view = grad_bias.view();
  if (!with_bias) grad_bias_view = View{};
  convolution_backward_weight(DeviceType::CPU, grad_weight.view(), grad_bias_view, grad_output.view(), input.view(), g);
  expect_same(grad_weight, r.grad_weight, "grad_weight");
  if (with_bias) expect_same(grad_bias, r.grad_bias, "grad_bias");
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{2, 3, 7, 6}, {4, 3, 3, 3}, 1, 1},
      {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{2, 1, 8, 9}, {5, 1, 3, 3}, 1, 1},
      {{2, 1, 28, 28}, {32, 1, 3, 3}, 1, 1},
      {{2, 2, 19, 40}, {6, 2, 5, 5}, 1, 2},
      {{2, 3, 9, 17}, {7, 3, 3, 3}, 2, 1},
      {{2, 4, 9, 9}, {4, 4, 2, 2}, 2, 0},
      {{1, 6, 8, 9}, {4, 3, 3, 2}, 1, 1, 1, 2},
      {{2, 8, 7, 7}, {8, 1, 3, 3}, 1, 1, 1, 8},
      {{1, 3, 11, 12}, {5, 3, 3, 3}, 1, 2, 2},
      {{2, 17, 6, 5}, {33, 17, 1, 1}},
      {{2, 16, 8, 8}, {32, 16, 3, 3}, 1, 1},
      {{2, 1, 130, 70}, {3, 1, 3, 3}, 1, 1},
      {{33, 1, 5, 5}, {3, 1, 2, 2}, 2, 1},
      {{2, 18, 6, 5}, {34, 18, 1, 1}},
      {{2, 3, 13}, {4, 3, 3}, 2, 1},
      {{1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, 1, 1},
      {{2, 3, 6, 6}, {4, 3, 5, 5}, 1, 4},
      {{0, 3, 6, 6}, {4, 3, 3, 3}},
      {{3, 1, 6, 33}, {16, 1, 3, 3}, 2, 0},
      {{2, 16, 9, 8}, {6, 16, 3, 2}, 1, 1, 2, 1, 1},
      {{2, 1, 12, 11}, {3, 1, 3, 3}, 1, 1, 3, 1, 2},
      {{2, 4, 15}, {6, 2, 3}, 2, 1, 4, 2, 1},
  };
  return list;
}

template <class T>
class Convolution : public ::testing::Test {};
using Types = ::testing::Types<float, double, BFloat16, Half>;
TYPED_TEST_SUITE(Convolution, Types);

TYPED_TEST(Convolution, Cases) {
  for (size_t i = 0; i < cases().size(); ++i) {
    for (Layout image : {Layout::kContiguous, Layout::kChannelsLast, Layout::kSpread}) {
      for (Layout filter : {Layout::kContiguous, Layout::kChannelsLast, Layout::kSpread}) {
        if (image != Layout::kContiguous && filter != Layout::kContiguous && image != filter) continue;
        SCOPED_TRACE("case " + std::to_string(i) + " layouts " + std::to_string(int(image)) +
                     std::to_string(int(filter)));
        check<TypeParam>(cases()[i], image, filter, i % 3 != 0);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(PackedSlot, KeepsFormsOfOneVersion) {
  std::atomic<void*> cache{nullptr};
  void (*deleter)(void*) = nullptr;
  PackedSlot slot{&cache, &deleter, 1, 0};
  EXPECT_EQ(slot.find(7), nullptr);
  slot.store(7, std::make_shared<int>(5));
  ASSERT_NE(slot.find(7), nullptr);
  EXPECT_EQ(slot.find(8), nullptr);
  PackedSlot newer = slot, elsewhere = slot;
  newer.version = 2, elsewhere.offset = 16;
  EXPECT_EQ(newer.find(7), nullptr);
  EXPECT_EQ(elsewhere.find(7), nullptr);
  newer.store(7, std::make_shared<int>(6));
  EXPECT_EQ(slot.find(7), nullptr);
  deleter(cache.load());
}

TEST(PackedSlot, WeightsAreRepackedAfterAChange) {
  std::atomic<void*> cache{nullptr};
  void (*deleter)(void*) = nullptr;
  PackedSlot slot{&cache, &deleter, 1, 0};
  Stored<float> input({1, 16, 5, 5}, Layout::kChannelsLast), weight({16, 16, 3, 3}, Layout::kContiguous),
      output({1, 16, 3, 3}, Layout::kChannelsLast);
  input.set(std::vector<double>(16 * 25, 1.0));
  const ConstView none{nullptr, nullptr, nullptr, 0, kFloat};
  for (double w : {1.0, 2.0, 3.0}) {
    weight.set(std::vector<double>(16 * 16 * 9, w));
    slot.version++;
    for (int again = 0; again < 2; ++again) {
      convolution_forward(DeviceType::CPU, output.view(), input.view(), weight.view(), none, ConvolutionGeometry(),
                          slot);
      EXPECT_EQ(output.memory[0], static_cast<float>(16 * 9 * w));
    }
  }
  // A write through a raw pointer leaves the version as it was.
  weight.memory[7] += 1;
  convolution_forward(DeviceType::CPU, output.view(), input.view(), weight.view(), none, ConvolutionGeometry(), slot);
  EXPECT_EQ(output.memory[0], 16 * 9 * 3.0f + 1);
  if (deleter) deleter(cache.load());
}

}  // namespace
}  // namespace gradus::inline v0::kernels
