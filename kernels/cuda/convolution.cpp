#include <kernels/convolution.h>

#include <algorithm>
#include <cstdint>

#include <gradus/core/error.h>
#include <gradus/cuda/backends.h>

#include <kernels/cuda/convolution_bias.h>
#include <kernels/cuda/convolution_limits.h>
#include <kernels/cuda/convolution_plain.h>
#include <kernels/cuda/launch.h>
#include <kernels/cuda/layout.h>
#include <kernels/cuda/scratch.h>
#include <src/backends/cudnn/convolution.h>

namespace gradus::inline v0::kernels::cuda {

int64_t convolution_most_elements = INT32_MAX;

namespace {

namespace cudnn = backends::cudnn;

constexpr int kDims = 5;

int64_t product_of(const int64_t* sizes, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= sizes[i];
  return n;
}
int64_t count_of(const ConstView& v) {
  return product_of(v.sizes, 0, v.ndim);
}

/// An image or weight with a dimension of size 1 in front of its only spatial one: 1-d convolutions are 2-d ones of
/// height 1.
struct Image {
  void* data = nullptr;
  int ndim = 0;
  int64_t sizes[kDims] = {}, strides[kDims] = {};
  ScalarType dtype = ScalarType::Float;

  Image() = default;
  explicit Image(const ConstView& v) : data(const_cast<void*>(v.data)), ndim(std::max(v.ndim, 4)), dtype(v.dtype) {
    std::copy_n(v.sizes, 2, sizes);
    std::copy_n(v.strides, 2, strides);
    const int inserted = ndim - v.ndim;
    if (inserted) sizes[2] = 1, strides[2] = v.strides[2] * v.sizes[2];
    std::copy(v.sizes + 2, v.sizes + v.ndim, sizes + 2 + inserted);
    std::copy(v.strides + 2, v.strides + v.ndim, strides + 2 + inserted);
  }

  int64_t positions() const { return product_of(sizes, 2, ndim); }
  int64_t count() const { return product_of(sizes, 0, ndim); }
  size_t nbytes() const { return static_cast<size_t>(count()) * element_size(dtype); }

  /// The strides of the dense layout with channels innermost, or contiguous.
  void dense_strides(bool channels_last, int64_t* to) const {
    int64_t step = 1;
    if (channels_last) to[1] = 1, step = sizes[1];
    for (int d = ndim - 1; d >= (channels_last ? 2 : 1); --d) to[d] = step, step *= sizes[d];
    to[0] = step;
  }
  bool is_dense(bool channels_last) const {
    int64_t dense[kDims];
    dense_strides(channels_last, dense);
    for (int d = 0; d < ndim; ++d) {
      if (sizes[d] != 1 && strides[d] != dense[d]) return false;
    }
    return true;
  }
};

/// An operand in the layout that cuDNN is given: itself, or a copy, also of one at an odd address, for which cuDNN has
/// only its slowest kernels. `finish` copies a result back.
class DenseImage {
 public:
  DenseImage(const Image& image, bool channels_last, bool is_result)
      : image_(image), data_(image.data), is_result_(is_result) {
    image.dense_strides(channels_last, strides_);
    if (image.is_dense(channels_last) && reinterpret_cast<uintptr_t>(image.data) % 16 == 0) return;
    copy_ = Scratch(image.nbytes());
    data_ = copy_.as<void>();
    if (!is_result) {
      copy_layout(element_size(image.dtype), image.ndim, image.sizes, image.data, image.strides, data_, strides_);
    }
  }
  void finish() const {
    if (!is_result_ || data_ == image_.data) return;
    copy_layout(element_size(image_.dtype), image_.ndim, image_.sizes, data_, strides_, image_.data, image_.strides);
  }
  void* data() const { return data_; }

 private:
  const Image& image_;
  void* data_;
  bool is_result_;
  int64_t strides_[kDims];
  Scratch copy_;
};

/// A convolution's operands or their gradients; the result is one of them.
struct Operands {
  Image input, weight, output;
};

cudnn::ConvolutionShape make_shape(const Operands& o, const ConvolutionGeometry& g, int dims, bool channels_last) {
  cudnn::ConvolutionShape s{};
  s.batch = o.input.sizes[0], s.in_channels = o.input.sizes[1], s.out_channels = o.output.sizes[1];
  s.groups = g.groups;
  s.spatial = o.input.ndim - 2;
  s.dtype = o.input.dtype;
  s.channels_last = channels_last;
  const int inserted = static_cast<int>(s.spatial) - dims;
  for (int i = 0; i < s.spatial; ++i) {
    s.in[i] = o.input.sizes[2 + i], s.out[i] = o.output.sizes[2 + i], s.kernel[i] = o.weight.sizes[2 + i];
    const bool given = i >= inserted;
    s.stride[i] = given ? g.stride[i - inserted] : 1;
    s.padding[i] = given ? g.padding[i - inserted] : 0;
    s.dilation[i] = given ? g.dilation[i - inserted] : 1;
  }
  return s;
}

PlainConvolution make_plain(const Operands& o, const ConvolutionGeometry& g, int dims) {
  const cudnn::ConvolutionShape s = make_shape(o, g, dims, false);
  PlainConvolution p{};
  p.dtype = s.dtype;
  p.batch = s.batch, p.in_channels = s.in_channels, p.out_channels = s.out_channels, p.groups = s.groups;
  std::fill_n(p.in, 3, 1), std::fill_n(p.out, 3, 1), std::fill_n(p.kernel, 3, 1);
  std::fill_n(p.stride, 3, 1), std::fill_n(p.dilation, 3, 1);
  const int front = 3 - static_cast<int>(s.spatial);
  std::copy_n(s.in, s.spatial, p.in + front), std::copy_n(s.out, s.spatial, p.out + front);
  std::copy_n(s.kernel, s.spatial, p.kernel + front), std::copy_n(s.stride, s.spatial, p.stride + front);
  std::copy_n(s.padding, s.spatial, p.padding + front), std::copy_n(s.dilation, s.spatial, p.dilation + front);
  const auto strides = [&](const Image& image, int64_t* to) {
    std::copy_n(image.strides, 2, to);
    std::copy_n(image.strides + 2, s.spatial, to + 2 + front);
  };
  strides(o.input, p.input_strides), strides(o.weight, p.weight_strides), strides(o.output, p.output_strides);
  return p;
}

/// Whether the output has the size that its input's makes. A transposed convolution whose output_padding reaches its
/// stride is the gradient of one with fewer outputs, which cuDNN refuses.
bool is_whole(const cudnn::ConvolutionShape& s) {
  for (int64_t i = 0; i < s.spatial; ++i) {
    const int64_t reach = s.dilation[i] * (s.kernel[i] - 1) + 1, room = s.in[i] + 2 * s.padding[i] - reach;
    if (room < 0 || room / s.stride[i] + 1 != s.out[i]) return false;
  }
  return true;
}

/// The layout that leaves less to copy; channels innermost, where the tensor cores are at their best, if that is the
/// same.
bool prefer_channels_last(const Operands& o) {
  if (o.input.dtype == ScalarType::Double) return false;  // cuDNN has f64 kernels for contiguous images
  size_t contiguous = 0, last = 0;
  for (const Image* image : {&o.input, &o.weight, &o.output}) {
    contiguous += image->is_dense(false) ? 0 : image->nbytes();
    last += image->is_dense(true) ? 0 : image->nbytes();
  }
  return last < contiguous || (last == contiguous && o.input.dtype != ScalarType::Float);
}

/// The operand that a direction computes.
const Image& result_of(cudnn::Direction direction, const Operands& o) {
  return direction == cudnn::Direction::kOutput ? o.output : direction == cudnn::Direction::kInput ? o.input : o.weight;
}

/// In parts of the batch where an image has more elements than cuDNN counts. A weight's gradient is the sum of the
/// parts'.
bool in_parts(cudnn::Direction direction, const cudnn::ConvolutionShape& shape, const cudnn::Operands& operands,
              int64_t weight_count) {
  const int64_t in = shape.in_channels * product_of(shape.in, 0, static_cast<int>(shape.spatial));
  const int64_t out = shape.out_channels * product_of(shape.out, 0, static_cast<int>(shape.spatial));
  const int64_t most = convolution_most_elements / std::max(in, out);
  if (most == 0) return false;
  if (shape.batch <= most) return cudnn::convolution(direction, shape, operands);
  const auto element = static_cast<int64_t>(element_size(shape.dtype));
  const bool sums = direction == cudnn::Direction::kWeight;
  const Scratch part(sums ? static_cast<size_t>(weight_count * element) : 0);
  for (int64_t begin = 0; begin < shape.batch; begin += most) {
    cudnn::ConvolutionShape s = shape;
    s.batch = std::min(most, shape.batch - begin);
    cudnn::Operands o = operands;
    o.input = static_cast<char*>(o.input) + begin * in * element;
    o.output = static_cast<char*>(o.output) + begin * out * element;
    if (sums && begin > 0) o.weight = part.as<void>();
    if (!cudnn::convolution(direction, s, o)) return false;  // what is there already is written again by another way
    if (sums && begin > 0) add_elements(shape.dtype, weight_count, operands.weight, part.as<void>());
  }
  return true;
}

BiasedImage biased(const Image& image, bool channels_last) {
  return {image.dtype, image.sizes[0], image.sizes[1], image.positions(), channels_last};
}

/// By cuDNN, with the bias in a second step; false where that cannot.
bool by_cudnn(cudnn::Direction direction, const Operands& o, const ConvolutionGeometry& g, int dims,
              const ConstView& bias) {
  if (o.input.dtype == ScalarType::Long || !gradus::cuda::get_cudnn_enabled()) return false;
  const bool last = prefer_channels_last(o);
  const cudnn::ConvolutionShape shape = make_shape(o, g, dims, last);
  if (!is_whole(shape)) return false;
  const Image& result = result_of(direction, o);
  const DenseImage input(o.input, last, &o.input == &result), weight(o.weight, last, &o.weight == &result);
  const DenseImage output(o.output, last, &o.output == &result);
  if (!in_parts(direction, shape, {input.data(), weight.data(), output.data()}, o.weight.count())) return false;
  if (bias.data) add_bias(biased(o.output, last), output.data(), bias.data, bias.strides[0]);
  for (const DenseImage* image : {&input, &weight, &output}) image->finish();
  return true;
}

void check_dtype(ScalarType t, bool forward) {
  GRADUS_CHECK_AS(NotImplementedError,
                  t == ScalarType::Float || t == ScalarType::Double || t == ScalarType::Half ||
                      t == ScalarType::BFloat16 || (forward && t == ScalarType::Long),
                  "convolution: dtype ", t, " was given; expected float, double, half, bfloat16 or, forwards, int64");
}

/// Zero, or each channel's bias, of a stride of its own: the answer where there is nothing to sum over.
void fill(const ConstView& v, const ConstView& bias) {
  if (!v.data || count_of(v) == 0) return;
  const size_t element = element_size(v.dtype);
  int64_t strides[kDims] = {};
  Scratch zero;
  const void* from = bias.data;
  if (bias.data) {
    strides[1] = bias.strides[0];
  } else {
    zero = Scratch(element);
    check(cudaMemsetAsync(zero.as<void>(), 0, element, context().stream), "cudaMemsetAsync");
    from = zero.as<void>();
  }
  copy_layout(element, v.ndim, v.sizes, from, strides, const_cast<void*>(v.data), v.strides);
}
ConstView none(ScalarType dtype) {
  return ConstView{nullptr, nullptr, nullptr, 0, dtype};
}

void forward_cuda(View output, ConstView input, ConstView weight, ConstView bias, const ConvolutionGeometry& g,
                  PackedSlot) {
  check_dtype(output.dtype, true);
  if (count_of(output) == 0 || count_of(input) == 0 || count_of(weight) == 0) return fill(output, bias);
  const int dims = input.ndim - 2;
  const Operands o{Image(input), Image(weight), Image(output)};
  if (by_cudnn(cudnn::Direction::kOutput, o, g, dims, bias)) return;
  plain_forward(make_plain(o, g, dims), output.data, input.data, weight.data, bias.data,
                bias.data ? bias.strides[0] : 0);
}

void backward_input_cuda(View grad_input, ConstView grad_output, ConstView weight, const ConvolutionGeometry& g,
                         PackedSlot) {
  check_dtype(grad_input.dtype, false);
  if (count_of(grad_input) == 0 || count_of(grad_output) == 0 || count_of(weight) == 0)
    return fill(grad_input, none(grad_input.dtype));
  const int dims = grad_input.ndim - 2;
  const Operands o{Image(grad_input), Image(weight), Image(grad_output)};
  if (by_cudnn(cudnn::Direction::kInput, o, g, dims, none(grad_input.dtype))) return;
  plain_backward_input(make_plain(o, g, dims), grad_input.data, grad_output.data, weight.data);
}

void grad_bias_cuda(const View& grad_bias, const ConstView& grad_output) {
  const Image image(grad_output);
  const bool last = image.is_dense(true) && !image.is_dense(false);
  const DenseImage dense(image, last, false);
  sum_channels(biased(image, last), grad_bias.data, grad_bias.strides[0], dense.data());
}

void backward_weight_cuda(View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                          const ConvolutionGeometry& g) {
  check_dtype(grad_weight.dtype, false);
  if (grad_bias.data) {
    if (count_of(grad_output) == 0) {
      fill(grad_bias, none(grad_bias.dtype));
    } else {
      grad_bias_cuda(grad_bias, grad_output);
    }
  }
  if (count_of(grad_output) == 0 || count_of(input) == 0 || count_of(grad_weight) == 0)
    return fill(grad_weight, none(grad_weight.dtype));
  const int dims = input.ndim - 2;
  const Operands o{Image(input), Image(grad_weight), Image(grad_output)};
  if (by_cudnn(cudnn::Direction::kWeight, o, g, dims, none(grad_weight.dtype))) return;
  plain_backward_weight(make_plain(o, g, dims), grad_weight.data, grad_output.data, input.data);
}

}  // namespace

GRADUS_CUDA_KERNEL(convolution_forward, forward_cuda)
GRADUS_CUDA_KERNEL(convolution_backward_input, backward_input_cuda)
GRADUS_CUDA_KERNEL(convolution_backward_weight, backward_weight_cuda)

}  // namespace gradus::inline v0::kernels::cuda
