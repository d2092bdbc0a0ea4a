#include "kernels/cuda/convolution_plain.h"

#include <algorithm>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kThreads = 256, kReducingThreads = 128;

/// An element's place: its indices in the first two dimensions and its position in the last three.
struct Place {
  int64_t first, second, at[3];
  __device__ Place(int64_t flat, int64_t seconds, const int64_t* sizes) {
    for (int d = 2; d >= 0; --d) at[d] = flat % sizes[d], flat /= sizes[d];
    second = flat % seconds, first = flat / seconds;
  }
  __device__ int64_t offset(const int64_t* strides) const {
    return first * strides[0] + second * strides[1] + at[0] * strides[2] + at[1] * strides[3] + at[2] * strides[4];
  }
};

/// Calls f(input offset, weight offset) for the kernel's positions around the output position `at` that lie in the
/// image.
template <class F>
__device__ inline void around(const PlainConvolution& p, const int64_t* at, const F& f) {
  const int64_t z0 = at[0] * p.stride[0] - p.padding[0], y0 = at[1] * p.stride[1] - p.padding[1],
                x0 = at[2] * p.stride[2] - p.padding[2];
  for (int64_t kz = 0; kz < p.kernel[0]; ++kz) {
    const int64_t z = z0 + kz * p.dilation[0];
    if (z < 0 || z >= p.in[0]) continue;
    for (int64_t ky = 0; ky < p.kernel[1]; ++ky) {
      const int64_t y = y0 + ky * p.dilation[1];
      if (y < 0 || y >= p.in[1]) continue;
#pragma unroll 1  // else the compiler runs out of registers
      for (int64_t kx = 0; kx < p.kernel[2]; ++kx) {
        const int64_t x = x0 + kx * p.dilation[2];
        if (x < 0 || x >= p.in[2]) continue;
        f(z * p.input_strides[2] + y * p.input_strides[3] + x * p.input_strides[4],
          kz * p.weight_strides[2] + ky * p.weight_strides[3] + kx * p.weight_strides[4]);
      }
    }
  }
}

template <class T>
struct MultiplyAdd {
  const T *input, *weight;
  Compute<T>* sum;
  __device__ void operator()(int64_t in, int64_t w) const { *sum += load(input + in) * load(weight + w); }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    forward(PlainConvolution p, T* output, const T* input, const T* weight, const T* bias, int64_t bias_stride) {
  const int64_t group_in = p.in_channels / p.groups, group_out = p.out_channels / p.groups;
  const int64_t count = p.batch * p.out_channels * p.out_positions();
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += int64_t{gridDim.x} * kThreads) {
    const Place to(i, p.out_channels, p.out);
    const int64_t first_channel = to.second / group_out * group_in;
    Compute<T> sum = bias ? load(bias + to.second * bias_stride) : Compute<T>(0);
    for (int64_t c = 0; c < group_in; ++c) {
      around(p, to.at,
             MultiplyAdd<T>{input + to.first * p.input_strides[0] + (first_channel + c) * p.input_strides[1],
                            weight + to.second * p.weight_strides[0] + c * p.weight_strides[1], &sum});
    }
    store(output + to.offset(p.output_strides), sum);
  }
}

/// The output position that reads the input position `at` through the kernel's position `k`, in one dimension; -1 if
/// none does.
__device__ inline int64_t reader(const PlainConvolution& p, int d, int64_t at, int64_t k) {
  const int64_t scaled = at + p.padding[d] - k * p.dilation[d];
  if (scaled < 0 || scaled % p.stride[d] != 0 || scaled / p.stride[d] >= p.out[d]) return -1;
  return scaled / p.stride[d];
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    backward_input(PlainConvolution p, T* grad_input, const T* grad_output, const T* weight) {
  const int64_t group_in = p.in_channels / p.groups, group_out = p.out_channels / p.groups;
  const int64_t count = p.batch * p.in_channels * p.in[0] * p.in[1] * p.in[2];
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += int64_t{gridDim.x} * kThreads) {
    const Place to(i, p.in_channels, p.in);
    const int64_t group = to.second / group_in;
    Compute<T> sum = 0;
    for (int64_t kz = 0; kz < p.kernel[0]; ++kz) {
      const int64_t z = reader(p, 0, to.at[0], kz);
      for (int64_t ky = 0; ky < p.kernel[1] && z >= 0; ++ky) {
        const int64_t y = reader(p, 1, to.at[1], ky);
#pragma unroll 1
        for (int64_t kx = 0; kx < p.kernel[2] && y >= 0; ++kx) {
          const int64_t x = reader(p, 2, to.at[2], kx);
          if (x < 0) continue;
          const T* from = grad_output + to.first * p.output_strides[0] + z * p.output_strides[2] +
                          y * p.output_strides[3] + x * p.output_strides[4];
          const T* w = weight + (to.second - group * group_in) * p.weight_strides[1] + kz * p.weight_strides[2] +
                       ky * p.weight_strides[3] + kx * p.weight_strides[4];
          for (int64_t c = group * group_out; c < (group + 1) * group_out; ++c) {
            sum += load(from + c * p.output_strides[1]) * load(w + c * p.weight_strides[0]);
          }
        }
      }
    }
    store(grad_input + to.offset(p.input_strides), sum);
  }
}

/// A block for each weight. Its threads sum over the outputs that it contributes to, in an order that is always the
/// same.
template <class T>
__global__ void __launch_bounds__(kReducingThreads)
    backward_weight(PlainConvolution p, T* grad_weight, const T* grad_output, const T* input) {
  GRADUS_SHARED(Compute<T>, partial, [kReducingThreads]);
  const int64_t group_in = p.in_channels / p.groups, group_out = p.out_channels / p.groups;
  const int64_t weights = p.out_channels * group_in * p.kernel[0] * p.kernel[1] * p.kernel[2];
  const int64_t terms = p.batch * p.out_positions();
  const int t = static_cast<int>(threadIdx.x);
  for (int64_t i = blockIdx.x; i < weights; i += gridDim.x) {
    const Place w(i, group_in, p.kernel);
    const int64_t channel = w.first / group_out * group_in + w.second;
    Compute<T> sum = 0;
    for (int64_t j = t; j < terms; j += kReducingThreads) {
      const Place out(j, 1, p.out);  // `first` is the image
      const int64_t z = out.at[0] * p.stride[0] - p.padding[0] + w.at[0] * p.dilation[0];
      const int64_t y = out.at[1] * p.stride[1] - p.padding[1] + w.at[1] * p.dilation[1];
      const int64_t x = out.at[2] * p.stride[2] - p.padding[2] + w.at[2] * p.dilation[2];
      if (z < 0 || z >= p.in[0] || y < 0 || y >= p.in[1] || x < 0 || x >= p.in[2]) continue;
      const int64_t from = out.first * p.input_strides[0] + channel * p.input_strides[1] + z * p.input_strides[2] +
                           y * p.input_strides[3] + x * p.input_strides[4];
      sum += load(input + from) * load(grad_output + out.offset(p.output_strides) + w.first * p.output_strides[1]);
    }
    partial[t] = sum;
    __syncthreads();
    for (int half = kReducingThreads / 2; half > 0; half /= 2) {
      if (t < half) partial[t] += partial[t + half];
      __syncthreads();
    }
    if (t == 0) store(grad_weight + w.offset(p.weight_strides), partial[0]);
    __syncthreads();
  }
}

}  // namespace

void plain_forward(const PlainConvolution& p, void* output, const void* input, const void* weight, const void* bias,
                   int64_t bias_stride) {
  const int64_t count = p.batch * p.out_channels * p.out_positions();
  const auto run = [&]<class T>() {
    launch("plain_convolution_forward", forward<T>, dim3(blocks_for(count, kThreads)), dim3(kThreads), 0, p,
           static_cast<T*>(output), static_cast<const T*>(input), static_cast<const T*>(weight),
           static_cast<const T*>(bias), bias_stride);
  };
  if (p.dtype == ScalarType::Long) return run.template operator()<uint64_t>();  // wraps
  visit_floating(p.dtype, run);
}

void plain_backward_input(const PlainConvolution& p, void* grad_input, const void* grad_output, const void* weight) {
  const int64_t count = p.batch * p.in_channels * p.in[0] * p.in[1] * p.in[2];
  visit_floating(p.dtype, [&]<class T>() {
    launch("plain_convolution_backward_input", backward_input<T>, dim3(blocks_for(count, kThreads)), dim3(kThreads), 0,
           p, static_cast<T*>(grad_input), static_cast<const T*>(grad_output), static_cast<const T*>(weight));
  });
}

void plain_backward_weight(const PlainConvolution& p, void* grad_weight, const void* grad_output, const void* input) {
  const int64_t weights = p.out_channels * (p.in_channels / p.groups) * p.kernel[0] * p.kernel[1] * p.kernel[2];
  visit_floating(p.dtype, [&]<class T>() {
    const unsigned blocks = blocks_for(weights * kReducingThreads, kReducingThreads);
    launch("plain_convolution_backward_weight", backward_weight<T>, dim3(blocks), dim3(kReducingThreads), 0, p,
           static_cast<T*>(grad_weight), static_cast<const T*>(grad_output), static_cast<const T*>(input));
  });
}

}  // namespace gradus::inline v0::kernels::cuda
