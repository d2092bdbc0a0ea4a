// Convolutions on the device and their gradients, of every dtype, layout and number of dimensions, against plain loops
// in double. Operands are small integers, so that sums are exact in float and TF32.
#include <kernels/convolution.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gradus/cuda/backends.h>

#include "device_memory.h"

namespace gradus::inline v0::kernels {
namespace {

enum class Layout { kContiguous, kChannelsLast, kSliced };  // kSliced: a part of larger images, every second column

struct Case {
  int64_t batch = 2, in = 3, out = 4, groups = 1;
  std::vector<int64_t> size = {7, 6}, kernel = {3, 3}, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  Layout input = Layout::kContiguous, weight = Layout::kContiguous, output = Layout::kContiguous;
  bool bias = true;
  int64_t bias_stride = 1;
  int64_t fewer = 0;  // rows of outputs that are left out, as in a transposed convolution with output_padding

  std::string text() const {
    return str("batch ", batch, ", channels ", in, " -> ", out, ", groups ", groups, ", size ", size[0], ", kernel ",
               kernel[0], ", dims ", size.size(), ", stride ", stride[0], ", padding ", padding[0], ", dilation ",
               dilation[0], ", layouts ", static_cast<int>(input), static_cast<int>(weight), static_cast<int>(output),
               ", fewer ", fewer);
  }
  std::vector<int64_t> output_size() const {
    std::vector<int64_t> o;
    for (size_t i = 0; i < size.size(); ++i) {
      const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
      o.push_back((size[i] + 2 * padding[i] - reach) / stride[i] + 1 - (i == 0 ? fewer : 0));
    }
    return o;
  }
};

/// An image or weight in host memory, in the layout asked for.
template <class T>
struct Image {
  std::vector<int64_t> sizes, strides;
  std::vector<T> data;

  Image(int64_t first, int64_t second, const std::vector<int64_t>& rest, Layout layout) {
    sizes = {first, second};
    sizes.insert(sizes.end(), rest.begin(), rest.end());
    strides.resize(sizes.size());
    int64_t step = layout == Layout::kSliced ? 2 : 1;
    const bool last = layout == Layout::kChannelsLast;
    if (last) strides[1] = 1, step = second;
    for (size_t d = sizes.size() - 1; d >= (last ? 2 : 1); --d) {
      strides[d] = step;
      step *= std::max<int64_t>(sizes[d], 1) + (layout == Layout::kSliced ? 1 : 0);
    }
    strides[0] = step;
    data.resize(static_cast<size_t>(step * std::max<int64_t>(first, 1)) + 1);
  }
  int64_t count() const {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
  }
  size_t at(int64_t flat) const {
    int64_t offset = 0;
    for (size_t d = sizes.size(); d-- > 0;) offset += flat % sizes[d] * strides[d], flat /= sizes[d];
    return static_cast<size_t>(offset);
  }
  double get(int64_t flat) const { return static_cast<double>(data[at(flat)]); }
  Image& fill(int salt) {
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<T>(static_cast<float>(static_cast<int>((i * 7 + static_cast<size_t>(salt) * 5) % 9) - 4));
    }
    return *this;
  }
};

template <class T>
struct Arrays {
  Image<T> input, weight, output;
  std::vector<T> bias;
  explicit Arrays(const Case& c)
      : input(c.batch, c.in, c.size, c.input),
        weight(c.out, c.in / c.groups, c.kernel, c.weight),
        output(c.batch, c.out, c.output_size(), c.output),
        bias(static_cast<size_t>(c.out * c.bias_stride + 1)) {
    input.fill(1), weight.fill(2), output.fill(3);
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<T>(static_cast<float>(i % 5) - 2.0f);
  }
};

/// Calls f(input, weight, output), flat row-major places, for all that meet.
template <class F>
void meet(const Case& c, const F& f) {
  const auto three = [](const std::vector<int64_t>& v, int64_t front) {
    std::array<int64_t, 3> r{front, front, front};
    std::copy(v.begin(), v.end(), r.begin() + static_cast<long>(3 - v.size()));
    return r;
  };
  const auto in = three(c.size, 1), out = three(c.output_size(), 1), kernel = three(c.kernel, 1);
  const auto stride = three(c.stride, 1), padding = three(c.padding, 0), dilation = three(c.dilation, 1);
  const int64_t group_in = c.in / c.groups, group_out = c.out / c.groups;
  const int64_t taps = kernel[0] * kernel[1] * kernel[2], positions = out[0] * out[1] * out[2];
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t o = 0; o < c.out; ++o) {
      for (int64_t p = 0; p < positions; ++p) {
        for (int64_t i = 0; i < group_in; ++i) {
          for (int64_t k = 0; k < taps; ++k) {
            const int64_t z =
                p / (out[1] * out[2]) * stride[0] - padding[0] + k / (kernel[1] * kernel[2]) * dilation[0];
            const int64_t y = p / out[2] % out[1] * stride[1] - padding[1] + k / kernel[2] % kernel[1] * dilation[1];
            const int64_t x = p % out[2] * stride[2] - padding[2] + k % kernel[2] * dilation[2];
            if (z < 0 || z >= in[0] || y < 0 || y >= in[1] || x < 0 || x >= in[2]) continue;
            f((((n * c.in + o / group_out * group_in + i) * in[0] + z) * in[1] + y) * in[2] + x,
              (o * group_in + i) * taps + k, (n * c.out + o) * positions + p);
          }
        }
      }
    }
  }
}

template <class T>
ConstView view(const Image<T>& image, const OnDevice<T>& data) {
  return {data.data(),
          image.sizes.data(),
          image.strides.data(),
          static_cast<int>(image.sizes.size()),
          CppTypeToScalarType<T>::value,
          test_device()};
}
template <class T>
View writable(const Image<T>& image, const OnDevice<T>& data) {
  return {data.data(),
          image.sizes.data(),
          image.strides.data(),
          static_cast<int>(image.sizes.size()),
          CppTypeToScalarType<T>::value,
          test_device()};
}

ConvolutionGeometry geometry(const Case& c) {
  ConvolutionGeometry g;
  std::copy(c.stride.begin(), c.stride.end(), g.stride);
  std::copy(c.padding.begin(), c.padding.end(), g.padding);
  std::copy(c.dilation.begin(), c.dilation.end(), g.dilation);
  g.groups = c.groups;
  return g;
}

/// `sums` with the rounding of a T, and of a sum of float products whose absolute values add up to `sizes`.
template <class T>
void expect_sums(const Image<T>& got, const std::vector<double>& sums, const std::vector<double>& sizes,
                 const std::string& what) {
  const double unit = std::is_same_v<T, Half>       ? 4.9e-4
                      : std::is_same_v<T, BFloat16> ? 3.92e-3
                      : std::is_same_v<T, float>    ? 6e-8
                                                    : 0;
  for (int64_t i = 0; i < got.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double bound = std::abs(sums[at]) * unit + sizes[at] * (std::is_same_v<T, double> ? 1e-14 : 1e-6);
    ASSERT_TRUE(std::abs(got.get(i) - sums[at]) <= bound)
        << what << " at " << i << ": " << got.get(i) << ", expected " << sums[at] << " within " << bound;
  }
}
/// What lies between the elements must not have been written.
template <class T>
void expect_rest(const Image<T>& got, const Image<T>& before, const std::string& what) {
  std::vector<bool> element(got.data.size());
  for (int64_t i = 0; i < got.count(); ++i) element[got.at(i)] = true;
  for (size_t i = 0; i < got.data.size(); ++i) {
    if (!element[i]) {
      ASSERT_EQ(static_cast<double>(got.data[i]), static_cast<double>(before.data[i])) << what << " beside at " << i;
    }
  }
}

ConstView absent(ScalarType dtype) {
  return ConstView{nullptr, nullptr, nullptr, 0, dtype, test_device()};
}

template <class T>
void check_forward(const Case& c) {
  Arrays<T> a(c);
  std::vector<double> sums(static_cast<size_t>(a.output.count())), sizes(sums.size());
  if (c.bias) {
    const int64_t positions = a.output.count() / std::max<int64_t>(1, c.batch * c.out);
    for (int64_t i = 0; i < a.output.count(); ++i) {
      sums[static_cast<size_t>(i)] =
          static_cast<double>(a.bias[static_cast<size_t>(i / positions % c.out * c.bias_stride)]);
    }
  }
  meet(c, [&](int64_t i, int64_t w, int64_t o) {
    const double term = a.input.get(i) * a.weight.get(w);
    sums[static_cast<size_t>(o)] += term, sizes[static_cast<size_t>(o)] += std::abs(term);
  });
  const OnDevice<T> input(a.input.data), weight(a.weight.data), output(a.output.data), bias(a.bias);
  const ConstView b(bias.data(), &c.out, &c.bias_stride, 1, CppTypeToScalarType<T>::value, test_device());
  convolution_forward(test_device(), writable(a.output, output), view(a.input, input), view(a.weight, weight),
                      c.bias ? b : absent(b.dtype), geometry(c), PackedSlot());
  Image<T> got = a.output;
  got.data = output.read();
  expect_sums(got, sums, sizes, str("forward: ", c.text()));
  expect_rest(got, a.output, str("forward: ", c.text()));
}

template <class T>
void check_backward(const Case& c) {
  Arrays<T> a(c);
  std::vector<double> gx(static_cast<size_t>(a.input.count())), x_sizes(gx.size()), gb(static_cast<size_t>(c.out));
  std::vector<double> gw(static_cast<size_t>(a.weight.count())), w_sizes(gw.size());
  meet(c, [&](int64_t i, int64_t w, int64_t o) {
    const double dx = a.output.get(o) * a.weight.get(w), dw = a.output.get(o) * a.input.get(i);
    gx[static_cast<size_t>(i)] += dx, x_sizes[static_cast<size_t>(i)] += std::abs(dx);
    gw[static_cast<size_t>(w)] += dw, w_sizes[static_cast<size_t>(w)] += std::abs(dw);
  });
  const int64_t positions = a.output.count() / std::max<int64_t>(1, c.batch * c.out);
  for (int64_t i = 0; i < a.output.count(); ++i) gb[static_cast<size_t>(i / positions % c.out)] += a.output.get(i);
  const OnDevice<T> input(a.input.data), weight(a.weight.data), output(a.output.data), bias(a.bias);
  const OnDevice<T> grad_input(a.input.data), grad_weight(a.weight.data);
  convolution_backward_input(test_device(), writable(a.input, grad_input), view(a.output, output),
                             view(a.weight, weight), geometry(c), PackedSlot());
  const View b{bias.data(), &c.out, &c.bias_stride, 1, CppTypeToScalarType<T>::value, test_device()};
  convolution_backward_weight(test_device(), writable(a.weight, grad_weight), c.bias ? b : View{},
                              view(a.output, output), view(a.input, input), geometry(c));
  Image<T> got_input = a.input, got_weight = a.weight;
  got_input.data = grad_input.read(), got_weight.data = grad_weight.read();
  expect_sums(got_input, gx, x_sizes, str("input's gradient: ", c.text()));
  expect_rest(got_input, a.input, str("input's gradient: ", c.text()));
  expect_sums(got_weight, gw, w_sizes, str("weight's gradient: ", c.text()));
  expect_rest(got_weight, a.weight, str("weight's gradient: ", c.text()));
  if (!c.bias) return;
  Image<T> got_bias(c.out, 1, {}, Layout::kContiguous);
  const std::vector<T> all = bias.read();
  for (int64_t i = 0; i < c.out; ++i)
    got_bias.data[static_cast<size_t>(i)] = all[static_cast<size_t>(i * c.bias_stride)];
  expect_sums(got_bias, gb, std::vector<double>(gb.size(), 4.0 * static_cast<double>(c.batch * positions)),
              str("bias's gradient: ", c.text()));
}

template <class T>
void check(const Case& c) {
  check_forward<T>(c);
  if constexpr (!std::is_same_v<T, int64_t>) check_backward<T>(c);
}

template <class T>
class CudaConvolution : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16, int64_t>;
TYPED_TEST_SUITE(CudaConvolution, Types);

TYPED_TEST(CudaConvolution, Geometries) {
  check<TypeParam>({});
  check<TypeParam>({.kernel = {1, 1}, .bias = false});
  check<TypeParam>({.stride = {2, 3}, .padding = {1, 2}});
  check<TypeParam>({.size = {9, 11}, .padding = {2, 1}, .dilation = {2, 3}});
  check<TypeParam>({.size = {8, 8}, .kernel = {2, 3}, .stride = {3, 2}, .padding = {1, 0}, .dilation = {1, 2}});
  check<TypeParam>({.in = 4, .out = 6, .groups = 2});
  check<TypeParam>({.in = 5, .out = 5, .groups = 5, .padding = {1, 1}});  // depthwise
  check<TypeParam>({.in = 3, .out = 6, .groups = 3, .stride = {2, 2}});
  check<TypeParam>({.batch = 1, .in = 1, .out = 1, .size = {3, 3}});  // one output
  check<TypeParam>({.batch = 3, .in = 16, .out = 33, .size = {5, 5}, .padding = {1, 1}});
  check<TypeParam>({.in = 8, .out = 8, .size = {4, 4}, .padding = {1, 1}, .bias_stride = 2});
}

TYPED_TEST(CudaConvolution, Layouts) {
  for (Layout input : {Layout::kContiguous, Layout::kChannelsLast, Layout::kSliced}) {
    for (Layout weight : {Layout::kContiguous, Layout::kChannelsLast, Layout::kSliced}) {
      for (Layout output : {Layout::kContiguous, Layout::kChannelsLast, Layout::kSliced}) {
        check<TypeParam>({.in = 4,
                          .out = 8,
                          .groups = 2,
                          .size = {5, 6},
                          .padding = {1, 1},
                          .input = input,
                          .weight = weight,
                          .output = output,
                          .bias_stride = 3});
      }
    }
  }
}

TYPED_TEST(CudaConvolution, OneAndThreeDimensions) {
  for (Layout layout : {Layout::kContiguous, Layout::kChannelsLast, Layout::kSliced}) {
    check<TypeParam>({.size = {17},
                      .kernel = {4},
                      .stride = {2},
                      .padding = {3},
                      .dilation = {2},
                      .input = layout,
                      .weight = layout,
                      .output = layout});
    check<TypeParam>({.in = 6,
                      .out = 9,
                      .groups = 3,
                      .size = {8},
                      .kernel = {3},
                      .stride = {1},
                      .padding = {1},
                      .dilation = {1},
                      .input = layout});
    check<TypeParam>({.in = 4,
                      .out = 6,
                      .groups = 2,
                      .size = {5, 4, 6},
                      .kernel = {3, 2, 3},
                      .stride = {2, 1, 2},
                      .padding = {1, 0, 1},
                      .dilation = {1, 2, 1},
                      .input = layout,
                      .weight = layout,
                      .output = layout});
  }
}

TYPED_TEST(CudaConvolution, NothingToSum) {
  check<TypeParam>({.batch = 0});
  check<TypeParam>({.batch = 0, .input = Layout::kChannelsLast, .bias = false});
  check<TypeParam>({.in = 0});  // outputs are the bias
  check<TypeParam>({.out = 0});
}

// A transposed convolution whose output_padding reaches its stride: an image larger than its outputs' would make.
TYPED_TEST(CudaConvolution, OutputsThatDoNotReachTheEnd) {
  check<TypeParam>({.size = {9, 6}, .stride = {2, 1}, .dilation = {3, 1}, .fewer = 1});
  check<TypeParam>({.size = {9, 6}, .stride = {1, 1}, .bias = false, .fewer = 2});
}

TYPED_TEST(CudaConvolution, WithoutTheLibrary) {
  gradus::cuda::set_cudnn_enabled(false);
  check<TypeParam>({.in = 4, .out = 6, .groups = 2, .stride = {2, 1}, .padding = {1, 1}, .dilation = {1, 2}});
  check<TypeParam>({.in = 4,
                    .out = 6,
                    .size = {4, 4, 5},
                    .kernel = {2, 3, 2},
                    .stride = {1, 2, 1},
                    .padding = {1, 1, 0},
                    .dilation = {2, 1, 1},
                    .input = Layout::kChannelsLast,
                    .weight = Layout::kSliced,
                    .output = Layout::kChannelsLast});
  check<TypeParam>({.size = {12}, .kernel = {5}, .stride = {3}, .padding = {2}, .dilation = {1}});
  gradus::cuda::set_cudnn_enabled(true);
}

// Enough channels and images for several blocks and slices of sums.
TEST(CudaConvolution, BiasGradientsOfManyElements) {
  for (Layout layout : {Layout::kContiguous, Layout::kChannelsLast}) {
    check<float>({.batch = 40, .in = 1, .out = 70, .size = {9, 9}, .kernel = {1, 1}, .output = layout});
    check<BFloat16>({.batch = 3, .in = 1, .out = 2, .size = {60, 61}, .kernel = {1, 1}, .output = layout});
    check<double>({.batch = 2, .in = 2, .out = 33, .size = {3, 3}, .kernel = {1, 1}, .output = layout});
  }
}

TEST(CudaConvolution, OddAddresses) {
  const int64_t size[] = {1, 1, 1, 4}, strides[] = {4, 4, 4, 1}, filter[] = {1, 1, 1, 1};
  const OnDevice<Half> input({0.0f, 1.0f, 2.0f, 3.0f, 4.0f}), weight({0.0f, 0.0f, 0.0f, 2.0f}),
      output({7.0f, 7.0f, 7.0f, 7.0f, 7.0f, 7.0f});
  convolution_forward(test_device(), View{output.data() + 1, size, strides, 4, kHalf, test_device()},
                      ConstView{input.data() + 1, size, strides, 4, kHalf, test_device()},
                      ConstView{weight.data() + 3, filter, filter, 4, kHalf, test_device()}, absent(kHalf),
                      ConvolutionGeometry(), PackedSlot());
  std::vector<float> got;
  for (Half h : output.read()) got.push_back(h);
  EXPECT_EQ(got, (std::vector<float>{7, 2, 4, 6, 8, 7}));
}

TEST(CudaConvolution, ResultsRepeat) {
  gradus::cuda::set_cudnn_deterministic(true);
  const Case c{.batch = 4, .in = 8, .out = 16, .size = {12, 12}, .padding = {1, 1}};
  Arrays<float> a(c);
  for (float& v : a.input.data) v = std::sin(v * 1.3f);
  for (float& v : a.output.data) v = std::cos(v * 0.7f);
  std::vector<std::vector<float>> weights, biases;
  for (int i = 0; i < 3; ++i) {
    const OnDevice<float> input(a.input.data), weight(a.weight.data), output(a.output.data), bias(a.bias);
    convolution_backward_weight(test_device(), writable(a.weight, weight),
                                View{bias.data(), &c.out, &c.bias_stride, 1, kFloat, test_device()},
                                view(a.output, output), view(a.input, input), geometry(c));
    weights.push_back(weight.read()), biases.push_back(bias.read());
  }
  gradus::cuda::set_cudnn_deterministic(false);
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(weights[0], weights[2]);
  EXPECT_EQ(biases[0], biases[1]);
  EXPECT_EQ(biases[0], biases[2]);
}

TEST(CudaConvolution, ADtypeWithoutConvolutionsIsNamed) {
  const OnDevice<int32_t> x({1});
  const int64_t one[] = {1, 1, 1, 1};
  const View v{x.data(), one, one, 4, kInt, test_device()};
  try {
    convolution_forward(test_device(), v, v, v, absent(kInt), ConvolutionGeometry(), PackedSlot());
    FAIL();
  } catch (const NotImplementedError& e) {
    EXPECT_NE(std::string(e.what()).find("convolution: dtype Int"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
