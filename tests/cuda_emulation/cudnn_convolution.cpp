#include "cudnn_convolution.h"

#include <functional>
#include <numeric>

#include <gradus/core/scalar_type.h>

#include "library_support.h"

namespace gradus_emulation::cudnn {

namespace {

double load(cudnnDataType_t type, const void* data, int64_t i) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      return static_cast<const double*>(data)[i];
    case CUDNN_DATA_HALF:
      return static_cast<const gradus::Half*>(data)[i];
    case CUDNN_DATA_BFLOAT16:
      return static_cast<const gradus::BFloat16*>(data)[i];
    default:
      return static_cast<const float*>(data)[i];
  }
}
void store(cudnnDataType_t type, void* data, int64_t i, double v) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      static_cast<double*>(data)[i] = v;
      break;
    case CUDNN_DATA_HALF:
      static_cast<gradus::Half*>(data)[i] = gradus::Half(static_cast<float>(v));
      break;
    case CUDNN_DATA_BFLOAT16:
      static_cast<gradus::BFloat16*>(data)[i] = gradus::BFloat16(static_cast<float>(v));
      break;
    default:
      static_cast<float*>(data)[i] = static_cast<float>(v);
  }
}

double to_half(double v) {
  return gradus::Half(static_cast<float>(v));
}

/// Calls f(place in row-major order, offset) for every element.
template <class F>
void for_each(const Tensor& t, const F& f) {
  std::vector<int64_t> at(t.sizes.size());
  const int64_t count = t.count();
  for (int64_t i = 0, offset = 0; i < count; ++i) {
    f(i, offset);
    for (size_t d = at.size(); d-- > 0;) {
      offset += t.strides[d];
      if (++at[d] < t.sizes[d]) break;
      offset -= t.strides[d] * t.sizes[d];
      at[d] = 0;
    }
  }
}

/// A tensor's elements in row-major order, in double. A result's begin as zeros and its memory is not read.
std::vector<double> gather(const Tensor& t, const void* data, Precision precision, bool is_result) {
  std::vector<double> r(static_cast<size_t>(t.count()));
  if (is_result) return r;
  for_each(t, [&](int64_t i, int64_t offset) {
    double v = load(t.type, data, offset);
    if (precision == Precision::kTf32) v = to_tf32(static_cast<float>(v));
    if (precision == Precision::kHalfOperands) v = to_half(v);
    r[static_cast<size_t>(i)] = v;
  });
  return r;
}

/// The sizes in three dimensions, and how the output's positions meet the input's.
struct Loops {
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0},
      dilation{1, 1, 1};
  explicit Loops(const Convolution& c) {
    const size_t spatial = c.stride.size(), front = 3 - spatial;
    for (size_t i = 0; i < spatial; ++i) {
      in[front + i] = c.input.sizes[2 + i], out[front + i] = c.output.sizes[2 + i];
      kernel[front + i] = c.weight.sizes[2 + i], stride[front + i] = c.stride[i];
      padding[front + i] = c.padding[i], dilation[front + i] = c.dilation[i];
    }
  }
  int64_t positions(const std::array<int64_t, 3>& s) const { return s[0] * s[1] * s[2]; }

  /// Calls f(output position, input position, kernel position) for all that meet inside of the image.
  template <class F>
  void meet(bool flipped, const F& f) const {
    const int64_t kernels = positions(kernel);
    for (int64_t o = 0; o < positions(out); ++o) {
      const std::array<int64_t, 3> at{o / (out[1] * out[2]), o / out[2] % out[1], o % out[2]};
      for (int64_t k = 0; k < kernels; ++k) {
        const std::array<int64_t, 3> tap{k / (kernel[1] * kernel[2]), k / kernel[2] % kernel[1], k % kernel[2]};
        int64_t position = 0;
        bool inside = true;
        for (size_t d = 0; d < 3; ++d) {
          const int64_t i = at[d] * stride[d] - padding[d] + tap[d] * dilation[d];
          inside = inside && i >= 0 && i < in[d];
          position = position * in[d] + i;
        }
        if (inside) f(o, position, flipped ? kernels - 1 - k : k);
      }
    }
  }
};

}  // namespace

int64_t Tensor::count() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

const Tensor& Convolution::result() const {
  return direction == Direction::kOutput ? output : direction == Direction::kInput ? input : weight;
}

cudnnStatus_t Convolution::check() const {
  const size_t ndim = stride.size() + 2;
  if (input.sizes.size() != ndim || weight.sizes.size() != ndim || output.sizes.size() != ndim)
    return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  if (input.id == weight.id || input.id == output.id || weight.id == output.id)
    return CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES;
  const bool channels = input.sizes[1] % weight.sizes[1] == 0 && weight.sizes[0] % groups() == 0 &&
                        output.sizes[1] == weight.sizes[0] && input.sizes[0] == output.sizes[0];
  if (!channels) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  for (size_t i = 0; i + 2 < ndim; ++i) {
    const int64_t reach = dilation[i] * (weight.sizes[2 + i] - 1) + 1;
    const int64_t room = input.sizes[2 + i] + padding[i] + padding_after[i] - reach;
    if (room < 0 || room / stride[i] + 1 != output.sizes[2 + i]) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  if (input.type != weight.type || input.type != output.type) return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
  if ((compute == CUDNN_DATA_DOUBLE) != (input.type == CUDNN_DATA_DOUBLE)) return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
  if (compute != CUDNN_DATA_DOUBLE && compute != CUDNN_DATA_FLOAT) return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
  return CUDNN_STATUS_SUCCESS;
}

void compute(const Convolution& c, const Pointers& p, Precision precision) {
  const Loops loops(c);
  const Tensor& to = c.result();
  std::vector<double> input = gather(c.input, p.input, precision, &to == &c.input);
  std::vector<double> weight = gather(c.weight, p.weight, precision, &to == &c.weight);
  std::vector<double> output = gather(c.output, p.output, precision, &to == &c.output);
  const int64_t groups = c.groups(), group_in = c.weight.sizes[1], group_out = c.weight.sizes[0] / groups;
  const int64_t in = loops.positions(loops.in), out = loops.positions(loops.out), taps = loops.positions(loops.kernel);
  const bool half_sums = precision == Precision::kHalfSums;
  for (int64_t n = 0; n < c.input.sizes[0]; ++n) {
    for (int64_t o = 0; o < c.weight.sizes[0]; ++o) {
      for (int64_t i = 0; i < group_in; ++i) {
        double* const x = input.data() + (n * c.input.sizes[1] + o / group_out * group_in + i) * in;
        double* const w = weight.data() + (o * group_in + i) * taps;
        double* const y = output.data() + (n * c.output.sizes[1] + o) * out;
        loops.meet(c.flipped, [&](int64_t at_y, int64_t at_x, int64_t at_w) {
          double& sum = c.direction == Direction::kOutput  ? y[at_y]
                        : c.direction == Direction::kInput ? x[at_x]
                                                           : w[at_w];
          sum += c.direction == Direction::kOutput  ? x[at_x] * w[at_w]
                 : c.direction == Direction::kInput ? y[at_y] * w[at_w]
                                                    : x[at_x] * y[at_y];
          if (half_sums) sum = to_half(sum);
        });
      }
    }
  }
  const std::vector<double>& sums = c.direction == Direction::kOutput  ? output
                                    : c.direction == Direction::kInput ? input
                                                                       : weight;
  void* const data = c.direction == Direction::kOutput  ? p.output
                     : c.direction == Direction::kInput ? p.input
                                                        : p.weight;
  for_each(to, [&](int64_t i, int64_t offset) {
    double v = c.alpha * sums[static_cast<size_t>(i)];
    if (c.beta != 0) v += c.beta * load(to.type, data, offset);
    store(to.type, data, offset, v);
  });
}

}  // namespace gradus_emulation::cudnn
