#include <kernels/cpu/convolution_plain.h>

#include <algorithm>

#include <kernels/scratch.h>
#include <kernels/gemm.h>
#include <kernels/parallel.h>

namespace gradus::inline v0::kernels {

namespace {

/// A convolution in three dimensions; fewer are padded with ones in front.
struct Shape {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t group_in() const { return in_channels / groups; }
  int64_t group_out() const { return out_channels / groups; }
  /// Rows of an unrolled image of one group.
  int64_t unrolled() const { return group_in() * kernel_size(); }
};

Shape make_shape(const ConstView& input, const ConstView& weight, const ConstView& output,
                 const ConvolutionGeometry& g) {
  Shape s{input.sizes[0], input.sizes[1], output.sizes[1], g.groups,  {1, 1, 1},
          {1, 1, 1},      {1, 1, 1},      {1, 1, 1},       {0, 0, 0}, {1, 1, 1}};
  const int spatial = input.ndim - 2;
  for (int i = 0; i < spatial; ++i) {
    const int d = 3 - spatial + i;
    s.in[d] = input.sizes[2 + i], s.out[d] = output.sizes[2 + i], s.kernel[d] = weight.sizes[2 + i];
    s.stride[d] = g.stride[i], s.padding[d] = g.padding[i], s.dilation[d] = g.dilation[i];
  }
  return s;
}

/// Calls f(input_offset, unrolled_offset) for every element of the unrolled image that is inside the image, and
/// outside(unrolled_offset) for the others. The unrolled image is [group_in, kernel..., out...].
template <class Inside, class Outside>
void unroll(const Shape& s, const Inside& inside, const Outside& outside) {
  int64_t at = 0;
  for (int64_t c = 0; c < s.group_in(); ++c) {
    for (int64_t k = 0; k < s.kernel_size(); ++k) {
      const int64_t kz = k / (s.kernel[1] * s.kernel[2]), ky = k / s.kernel[2] % s.kernel[1], kx = k % s.kernel[2];
      for (int64_t oz = 0; oz < s.out[0]; ++oz) {
        const int64_t z = oz * s.stride[0] - s.padding[0] + kz * s.dilation[0];
        for (int64_t oy = 0; oy < s.out[1]; ++oy) {
          const int64_t y = oy * s.stride[1] - s.padding[1] + ky * s.dilation[1];
          const bool row_inside = z >= 0 && z < s.in[0] && y >= 0 && y < s.in[1];
          const int64_t row = ((c * s.in[0] + z) * s.in[1] + y) * s.in[2];
          for (int64_t ox = 0; ox < s.out[2]; ++ox, ++at) {
            const int64_t x = ox * s.stride[2] - s.padding[2] + kx * s.dilation[2];
            if (row_inside && x >= 0 && x < s.in[2]) {
              inside(row + x, at);
            } else {
              outside(at);
            }
          }
        }
      }
    }
  }
}

template <class T>
void unroll_image(const Shape& s, const T* image, T* unrolled) {
  unroll(
      s, [&](int64_t from, int64_t to) { unrolled[to] = image[from]; }, [&](int64_t to) { unrolled[to] = T(0); });
}

/// c [m, n] = op(a) op(b) + beta c, all dense.
template <class T>
void product(int64_t m, int64_t n, int64_t k, const T* a, bool a_transposed, const T* b, bool b_transposed, T* c,
             double beta) {
  constexpr ScalarType kType = CppTypeToScalarType<T>::value;
  const int64_t sa[] = {m, k}, sb[] = {k, n}, sc[] = {m, n};
  const int64_t ta[] = {a_transposed ? 1 : k, a_transposed ? m : 1},
                tb[] = {b_transposed ? 1 : n, b_transposed ? k : 1};
  const int64_t tc[] = {n, 1};
  gemm(DeviceType::CPU, View{c, sc, tc, 2, kType}, ConstView{a, sa, ta, 2, kType}, ConstView{b, sb, tb, 2, kType},
       ConstView{nullptr, nullptr, nullptr, 0, kType}, Scalar(1.0), Scalar(beta));
}

template <class T>
void forward(const Shape& s, T* output, const T* input, const T* weight, const T* bias, int64_t bias_stride) {
  parallel_for(0, s.batch, 1, [&](int64_t begin, int64_t end) {
    const ScratchArray<T> unrolled(static_cast<size_t>(s.unrolled() * s.out_size()));
    for (int64_t i = begin; i < end; ++i) {
      T* image = output + i * s.out_channels * s.out_size();
      for (int64_t c = 0; c < s.out_channels; ++c) {
        std::fill_n(image + c * s.out_size(), s.out_size(), bias ? bias[c * bias_stride] : T(0));
      }
      for (int64_t g = 0; g < s.groups; ++g) {
        unroll_image(s, input + (i * s.in_channels + g * s.group_in()) * s.in_size(), unrolled.data());
        product<T>(s.group_out(), s.out_size(), s.unrolled(), weight + g * s.group_out() * s.unrolled(), false,
                   unrolled.data(), false, image + g * s.group_out() * s.out_size(), 1);
      }
    }
  });
}

template <class T>
void backward_input(const Shape& s, T* grad_input, const T* grad_output, const T* weight) {
  parallel_for(0, s.batch, 1, [&](int64_t begin, int64_t end) {
    const ScratchArray<T> unrolled(static_cast<size_t>(s.unrolled() * s.out_size()));
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t g = 0; g < s.groups; ++g) {
        product<T>(s.unrolled(), s.out_size(), s.group_out(), weight + g * s.group_out() * s.unrolled(), true,
                   grad_output + (i * s.out_channels + g * s.group_out()) * s.out_size(), false, unrolled.data(), 0);
        T* image = grad_input + (i * s.in_channels + g * s.group_in()) * s.in_size();
        std::fill_n(image, s.group_in() * s.in_size(), T(0));
        unroll(
            s, [&](int64_t to, int64_t from) { image[to] += unrolled[static_cast<size_t>(from)]; }, [](int64_t) {});
      }
    }
  });
}

template <class T>
void backward_weight(const Shape& s, T* grad_weight, T* grad_bias, int64_t bias_stride, const T* grad_output,
                     const T* input) {
  const ScratchArray<T> unrolled(static_cast<size_t>(s.unrolled() * s.out_size()));
  for (int64_t i = 0; i < s.batch; ++i) {
    for (int64_t g = 0; g < s.groups; ++g) {
      unroll_image(s, input + (i * s.in_channels + g * s.group_in()) * s.in_size(), unrolled.data());
      product<T>(s.group_out(), s.unrolled(), s.out_size(),
                 grad_output + (i * s.out_channels + g * s.group_out()) * s.out_size(), false, unrolled.data(), true,
                 grad_weight + g * s.group_out() * s.unrolled(), i == 0 ? 0 : 1);
    }
  }
  if (!grad_bias) return;
  for (int64_t c = 0; c < s.out_channels; ++c) {
    T sum = T(0);
    for (int64_t i = 0; i < s.batch; ++i) {
      const T* row = grad_output + (i * s.out_channels + c) * s.out_size();
      T part = T(0);
      for (int64_t j = 0; j < s.out_size(); ++j) part += row[j];
      sum += part;
    }
    grad_bias[c * bias_stride] = sum;
  }
}

}  // namespace

void plain_convolution_forward(View output, ConstView input, ConstView weight, ConstView bias,
                               const ConvolutionGeometry& g) {
  const Shape s = make_shape(input, weight, output, g);
  const int64_t step = bias.data ? bias.strides[0] : 0;
  const auto run = [&]<class T>(T) { forward(s, output.as<T>(), input.as<T>(), weight.as<T>(), bias.as<T>(), step); };
  if (output.dtype == ScalarType::Long) return run(int64_t{});
  if (output.dtype == ScalarType::Float) return run(0.0f);
  run(0.0);
}
void plain_convolution_backward_input(View grad_input, ConstView grad_output, ConstView weight,
                                      const ConvolutionGeometry& g) {
  const Shape s = make_shape(grad_input, weight, grad_output, g);
  const auto run = [&]<class T>(T) { backward_input(s, grad_input.as<T>(), grad_output.as<T>(), weight.as<T>()); };
  if (grad_input.dtype == ScalarType::Float) return run(0.0f);
  run(0.0);
}
void plain_convolution_backward_weight(View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                                       const ConvolutionGeometry& g) {
  const Shape s = make_shape(input, grad_weight, grad_output, g);
  const auto run = [&]<class T>(T) {
    backward_weight(s, grad_weight.as<T>(), grad_bias.as<T>(), grad_bias.data ? grad_bias.strides[0] : 0,
                    grad_output.as<T>(), input.as<T>());
  };
  if (grad_weight.dtype == ScalarType::Float) return run(0.0f);
  run(0.0);
}

}  // namespace gradus::inline v0::kernels
