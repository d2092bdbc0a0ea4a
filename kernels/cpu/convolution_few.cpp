#include <kernels/cpu/convolution_few.h>

#include <algorithm>
#include <cstring>

#include <kernels/cpu/denormals.h>
#include <kernels/cpu/gemm_tile.h>
#include <kernels/scratch.h>
#include <kernels/parallel.h>

namespace gradus::inline v0::kernels {

namespace {

constexpr int64_t kMostTaps = 36;     // input channels x kernel elements; more are oneDNN's
constexpr int64_t kUnrolled = 32768;  // elements of an unrolled block: it stays in the second-level cache
constexpr int64_t kMostParts = 32;    // parts of the batch that sum their weight gradients apart

struct Shape {
  int64_t batch, channels, filters;
  int64_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];

  int64_t in_plane() const { return in[0] * in[1]; }
  int64_t out_plane() const { return out[0] * out[1]; }
  int64_t taps() const { return channels * kernel[0] * kernel[1]; }
  /// Output rows that are unrolled together.
  int64_t block() const { return std::clamp<int64_t>(kUnrolled / ((taps() + 1) * out[1]), 1, out[0]); }
};

Shape make_shape(const ConstView& input, const ConstView& weight, const ConstView& output,
                 const ConvolutionGeometry& g) {
  Shape s{};
  s.batch = input.sizes[0], s.channels = input.sizes[1], s.filters = output.sizes[1];
  for (int i = 0; i < 2; ++i) {
    s.in[i] = input.sizes[2 + i], s.out[i] = output.sizes[2 + i], s.kernel[i] = weight.sizes[2 + i];
    s.stride[i] = g.stride[i], s.padding[i] = g.padding[i], s.dilation[i] = g.dilation[i];
  }
  return s;
}

bool is_contiguous(const ConstView& v) {
  int64_t step = 1;
  for (int i = v.ndim - 1; i >= 0; step *= v.sizes[i], --i) {
    if (v.sizes[i] != 1 && v.strides[i] != step) return false;
  }
  return true;
}

/// One kernel element's inputs for one row of outputs; zero outside the image.
void unroll_row(const Shape& s, const float* row, int64_t shift, float* to) {
  if (s.stride[1] == 1) {
    const int64_t begin = std::clamp<int64_t>(-shift, 0, s.out[1]),
                  end = std::clamp<int64_t>(s.in[1] - shift, begin, s.out[1]);
    std::fill_n(to, begin, 0.0f);
    std::memcpy(to + begin, row + begin + shift, static_cast<size_t>(end - begin) * sizeof(float));
    std::fill_n(to + end, s.out[1] - end, 0.0f);
    return;
  }
  for (int64_t x = 0; x < s.out[1]; ++x) {
    const int64_t at = x * s.stride[1] + shift;
    to[x] = at >= 0 && at < s.in[1] ? row[at] : 0.0f;
  }
}

/// [taps + 1, rows x width] for output rows begin..end of one image; the last row is ones, which stand for the bias.
void unroll(const Shape& s, const float* image, int64_t begin, int64_t end, float* to) {
  for (int64_t c = 0; c < s.channels; ++c) {
    for (int64_t ky = 0; ky < s.kernel[0]; ++ky) {
      for (int64_t kx = 0; kx < s.kernel[1]; ++kx) {
        const int64_t shift = kx * s.dilation[1] - s.padding[1];
        for (int64_t y = begin; y < end; ++y, to += s.out[1]) {
          const int64_t at = y * s.stride[0] - s.padding[0] + ky * s.dilation[0];
          if (at < 0 || at >= s.in[0]) {
            std::fill_n(to, s.out[1], 0.0f);
          } else {
            unroll_row(s, image + c * s.in_plane() + at * s.in[1], shift, to);
          }
        }
      }
    }
  }
  std::fill_n(to, (end - begin) * s.out[1], 1.0f);
}

/// Calls f(filter, tap, strided weight) for every weight.
template <class F>
void for_weights(const Shape& s, const View& w, const F& f) {
  for (int64_t o = 0; o < s.filters; ++o) {
    int64_t tap = 0;
    for (int64_t c = 0; c < s.channels; ++c) {
      for (int64_t ky = 0; ky < s.kernel[0]; ++ky) {
        for (int64_t kx = 0; kx < s.kernel[1]; ++kx, ++tap) {
          f(o, tap, w.as<float>()[o * w.strides[0] + c * w.strides[1] + ky * w.strides[2] + kx * w.strides[3]]);
        }
      }
    }
  }
}

}  // namespace

bool few_channels(const ConstView& input, const ConstView& weight, const ConstView& output,
                  const ConvolutionGeometry& g) {
  return input.dtype == ScalarType::Float && input.ndim == 4 && g.groups == 1 &&
         input.sizes[1] * weight.sizes[2] * weight.sizes[3] <= kMostTaps && is_contiguous(input) &&
         is_contiguous(output);
}

void few_channels_forward(View output, ConstView input, ConstView weight, ConstView bias,
                          const ConvolutionGeometry& g) {
  const Shape s = make_shape(input, weight, output, g);
  const int64_t k = s.taps() + 1, block = s.block(), blocks = (s.out[0] + block - 1) / block;
  const ScratchArray<float> filters(static_cast<size_t>(s.filters * k));
  for_weights(s, View{const_cast<void*>(weight.data), weight.sizes, weight.strides, 4, weight.dtype},
              [&](int64_t o, int64_t tap, float w) { filters[static_cast<size_t>(o * k + tap)] = w; });
  for (int64_t o = 0; o < s.filters; ++o) {
    filters[static_cast<size_t>(o * k + k - 1)] = bias.data ? bias.as<float>()[o * bias.strides[0]] : 0.0f;
  }
  parallel_for(0, s.batch * blocks, 1, [&](int64_t first, int64_t last) {
    const FlushDenormals flush;
    const ScratchArray<float> unrolled(static_cast<size_t>(k * block * s.out[1]));
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = i % blocks * block, end = std::min(s.out[0], begin + block), n = (end - begin) * s.out[1];
      unroll(s, input.as<float>() + i / blocks * s.channels * s.in_plane(), begin, end, unrolled.data());
      float* c = output.as<float>() + i / blocks * s.filters * s.out_plane() + begin * s.out[1];
      tile_product(TileProduct<float>{s.filters, n, k, filters.data(), k, 1, unrolled.data(), n, 1, c, s.out_plane(),
                                      1.0f, 0.0f, nullptr});
    }
  });
}

void few_channels_backward_weight(View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                                  const ConvolutionGeometry& g) {
  const Shape s = make_shape(input, grad_weight, grad_output, g);
  const int64_t k = s.taps() + 1, block = s.block(), size = s.filters * k;
  const int64_t each = (s.batch + kMostParts - 1) / kMostParts, parts = (s.batch + each - 1) / each;
  const ScratchArray<float> sums(static_cast<size_t>(parts * size));
  parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    const FlushDenormals flush;
    const ScratchArray<float> unrolled(static_cast<size_t>(k * block * s.out[1]));
    for (int64_t p = first; p < last; ++p) {
      float beta = 0;
      for (int64_t i = p * each; i < std::min(s.batch, (p + 1) * each); ++i) {
        for (int64_t begin = 0; begin < s.out[0]; begin += block, beta = 1) {
          const int64_t end = std::min(s.out[0], begin + block), n = (end - begin) * s.out[1];
          unroll(s, input.as<float>() + i * s.channels * s.in_plane(), begin, end, unrolled.data());
          const float* grad = grad_output.as<float>() + i * s.filters * s.out_plane() + begin * s.out[1];
          tile_product(TileProduct<float>{s.filters, k, n, grad, s.out_plane(), 1, unrolled.data(), 1, n,
                                          sums.data() + p * size, k, 1.0f, beta, nullptr});
        }
      }
    }
  });
  for (int64_t p = 1; p < parts; ++p) {
    for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] += sums[static_cast<size_t>(p * size + i)];
  }
  for_weights(s, grad_weight, [&](int64_t o, int64_t tap, float& w) { w = sums[static_cast<size_t>(o * k + tap)]; });
  for (int64_t o = 0; grad_bias.data && o < s.filters; ++o) {
    grad_bias.as<float>()[o * grad_bias.strides[0]] = sums[static_cast<size_t>(o * k + k - 1)];
  }
}

}  // namespace gradus::inline v0::kernels
