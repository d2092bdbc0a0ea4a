#include <kernels/convolution.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <gradus/core/error.h>

#include <kernels/cpu/convolution_few.h>
#include <kernels/cpu/convolution_plain.h>
#include <kernels/cpu/denormals.h>
#include <kernels/scratch.h>
#include <kernels/cpu/transpose.h>
#include <kernels/parallel.h>
#include <src/backends/onednn/convolution.h>

namespace gradus::inline v0::kernels {

namespace {

namespace onednn = backends::onednn;

constexpr int kMaxDims = 5;

int64_t product_of(const int64_t* sizes, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= sizes[i];
  return n;
}

/// Strides of a dense image: channels innermost, or contiguous.
struct Strides {
  int64_t of[kMaxDims];
  Strides(const int64_t* sizes, int ndim, bool channels_last) {
    int64_t step = 1;
    if (channels_last) of[1] = 1, step = sizes[1];
    for (int i = ndim - 1; i >= (channels_last ? 2 : 1); --i) of[i] = step, step *= sizes[i];
    of[0] = step;
  }
};

bool has_strides(const ConstView& v, const Strides& s) {
  for (int i = 0; i < v.ndim; ++i) {
    if (v.sizes[i] != 1 && v.strides[i] != s.of[i]) return false;
  }
  return true;
}

/// Whether the spatial dimensions are one dense block, as in a contiguous image or a slice of its channels.
bool spatially_dense(const ConstView& v) {
  int64_t step = 1;
  for (int i = v.ndim - 1; i >= 2; step *= v.sizes[i], --i) {
    if (v.sizes[i] != 1 && v.strides[i] != step) return false;
  }
  return true;
}

template <class T>
void copy_any(const T* from, const int64_t* from_strides, T* to, const int64_t* to_strides, const int64_t* sizes,
              int ndim) {
  if (ndim == 0) {
    *to = *from;
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i) {
    copy_any(from + i * from_strides[0], from_strides + 1, to + i * to_strides[0], to_strides + 1, sizes + 1, ndim - 1);
  }
}

/// Copies between two layouts of one image; transposes where both are dense.
void copy_image(const ConstView& from, const View& to) {
  const size_t element = element_size(from.dtype);
  const int64_t channels = from.sizes[1], spatial = product_of(from.sizes, 2, from.ndim);
  const Strides last(from.sizes, from.ndim, true);
  if (spatially_dense(from) && has_strides(to, last)) {
    return transpose_batch(element, from.sizes[0], channels, spatial, from.data, from.strides[0], from.strides[1],
                           to.data, last.of[0], channels);
  }
  if (has_strides(from, last) && spatially_dense(to)) {
    return transpose_batch(element, from.sizes[0], spatial, channels, from.data, last.of[0], channels, to.data,
                           to.strides[0], to.strides[1]);
  }
  parallel_for(0, from.sizes[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto copy = [&](auto zero) {
        using T = decltype(zero);
        copy_any(from.as<T>() + i * from.strides[0], from.strides + 1, to.as<T>() + i * to.strides[0], to.strides + 1,
                 from.sizes + 1, from.ndim - 1);
      };
      if (element == 2) copy(uint16_t{});
      if (element == 4) copy(uint32_t{});
      if (element == 8) copy(uint64_t{});
    }
  });
}

/// An operand in a dense layout: itself, or a copy. For outputs, `finish` copies back.
class DenseImage {
 public:
  DenseImage(const ConstView& view, bool channels_last, bool read)
      : view_(view), strides_(view.sizes, view.ndim, channels_last), data_(const_cast<void*>(view.data)) {
    if (has_strides(view, strides_)) return;
    copy_.emplace(static_cast<size_t>(product_of(view.sizes, 0, view.ndim)) * element_size(view.dtype));
    data_ = copy_->as<void>();
    if (read) copy_image(view, dense());
  }
  void finish() const {
    if (copy_)
      copy_image(dense(), View{const_cast<void*>(view_.data), view_.sizes, view_.strides, view_.ndim, view_.dtype});
  }
  View dense() const { return {data_, view_.sizes, strides_.of, view_.ndim, view_.dtype}; }
  void* data() const { return data_; }

 private:
  ConstView view_;
  Strides strides_;
  void* data_;
  std::optional<Scratch> copy_;
};

/// An operand of a 16-bit type as f32, with the same sizes, contiguous.
class FloatCopy {
 public:
  FloatCopy(const ConstView& view, bool read)
      : view_(view),
        strides_(view.sizes, view.ndim, false),
        count_(view.data ? product_of(view.sizes, 0, view.ndim) : 0),
        data_(static_cast<size_t>(count_)) {
    if (read && count_ > 0) {
      const DenseImageOrRow dense(view);
      for_each_type([&](auto zero) {
        using H = decltype(zero);
        const H* from = static_cast<const H*>(dense.data());
        convert(from, data_.data());
      });
    }
  }
  View view() const {
    return {count_ > 0 ? data_.data() : nullptr, view_.sizes, strides_.of, view_.ndim, ScalarType::Float};
  }
  /// Rounds back into the operand.
  void finish() const {
    if (count_ == 0) return;
    for_each_type([&](auto zero) {
      using H = decltype(zero);
      const ScratchArray<H> rounded(static_cast<size_t>(count_));
      convert(data_.data(), rounded.data());
      copy_any(rounded.data(), strides_.of, static_cast<H*>(const_cast<void*>(view_.data)), view_.strides, view_.sizes,
               view_.ndim);
    });
  }

 private:
  /// The elements in order; a copy where they do not lie so.
  class DenseImageOrRow {
   public:
    explicit DenseImageOrRow(const ConstView& v) : data_(v.data) {
      const Strides strides(v.sizes, v.ndim, false);
      if (has_strides(v, strides)) return;
      copy_.emplace(static_cast<size_t>(product_of(v.sizes, 0, v.ndim)) * 2);
      copy_any(v.as<uint16_t>(), v.strides, copy_->as<uint16_t>(), strides.of, v.sizes, v.ndim);
      data_ = copy_->as<void>();
    }
    const void* data() const { return data_; }

   private:
    const void* data_;
    std::optional<Scratch> copy_;
  };
  template <class F>
  void for_each_type(const F& f) const {
    if (view_.dtype == ScalarType::Half) {
      f(Half());
    } else {
      f(BFloat16());
    }
  }
  template <class From, class To>
  void convert(const From* from, To* to) const {
    parallel_for(0, count_, 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(static_cast<float>(from[i]));
    });
  }

  ConstView view_;
  Strides strides_;
  int64_t count_;
  ScratchArray<float> data_;
};

onednn::ConvolutionShape make_shape(const ConstView& input, const ConstView& weight, const ConstView& output,
                                    const ConvolutionGeometry& g, bool bias) {
  onednn::ConvolutionShape s{};
  s.batch = input.sizes[0], s.in_channels = input.sizes[1], s.out_channels = output.sizes[1], s.groups = g.groups;
  s.spatial = input.ndim - 2;
  for (int i = 0; i < input.ndim - 2; ++i) {
    s.in[i] = input.sizes[2 + i], s.out[i] = output.sizes[2 + i], s.kernel[i] = weight.sizes[2 + i];
    s.stride[i] = g.stride[i], s.padding[i] = g.padding[i], s.dilation[i] = g.dilation[i];
  }
  std::copy_n(weight.strides, weight.ndim, s.weight_strides);
  s.dtype = input.dtype;
  s.bias = bias;
  return s;
}

bool is_empty(const ConstView& v) {
  return product_of(v.sizes, 0, v.ndim) == 0;
}

template <class T>
void fill_any(T* to, const int64_t* strides, const int64_t* sizes, int ndim, const T* values, int64_t value_stride,
              int dim) {
  // `values` varies along dimension 1 of the whole view.
  if (dim == ndim) {
    *to = values ? *values : T(0);
    return;
  }
  for (int64_t i = 0; i < sizes[dim]; ++i) {
    fill_any(to + i * strides[dim], strides, sizes, ndim, values && dim == 1 ? values + i * value_stride : values,
             value_stride, dim + 1);
  }
}
/// Zero, or each channel's bias: the answer where there is nothing to sum over.
void fill(const View& v, const ConstView& bias) {
  if (!v.data || is_empty(v)) return;
  const int64_t stride = bias.data ? bias.strides[0] : 0;
  const size_t element = element_size(v.dtype);
  if (element == 2) fill_any(v.as<uint16_t>(), v.strides, v.sizes, v.ndim, bias.as<uint16_t>(), stride, 0);
  if (element == 4) fill_any(v.as<uint32_t>(), v.strides, v.sizes, v.ndim, bias.as<uint32_t>(), stride, 0);
  if (element == 8) fill_any(v.as<uint64_t>(), v.strides, v.sizes, v.ndim, bias.as<uint64_t>(), stride, 0);
}

ConstView none(ScalarType dtype) {
  return ConstView{nullptr, nullptr, nullptr, 0, dtype};
}

/// Whether the output has the size that its input's makes. A transposed convolution whose output_padding reaches its
/// stride is the gradient of one with fewer outputs; oneDNN refuses that.
bool is_whole(const ConstView& input, const ConstView& weight, const ConstView& output, const ConvolutionGeometry& g) {
  for (int i = 0; i < input.ndim - 2; ++i) {
    const int64_t reach = g.dilation[i] * (weight.sizes[2 + i] - 1) + 1;
    const int64_t room = input.sizes[2 + i] + 2 * g.padding[i] - reach;
    if (room < 0 || room / g.stride[i] + 1 != output.sizes[2 + i]) return false;
  }
  return true;
}

/// How a convolution is computed: by oneDNN, by unrolling, or rounded from f32.
enum class Way { kOneDnn, kPlain, kThroughFloat };
Way way(const ConstView& input, const ConstView& weight, const ConstView& output, const ConvolutionGeometry& g) {
  const ScalarType dtype = input.dtype;
  const bool whole = is_whole(input, weight, output, g);
  if (dtype == ScalarType::Float) return whole ? Way::kOneDnn : Way::kPlain;
  if (dtype == ScalarType::Double || dtype == ScalarType::Long) return Way::kPlain;
  GRADUS_CHECK_AS(NotImplementedError, dtype == ScalarType::Half || dtype == ScalarType::BFloat16,
                  "convolution: dtype ", dtype,
                  " was given; expected float, double, half, bfloat16 or, forwards, int64");
  // bf16 is multiplied in pairs of channels; oneDNN 2.6 gives wrong input gradients for odd numbers of them.
  const bool pairs = weight.sizes[1] % 2 == 0 && weight.sizes[0] / g.groups % 2 == 0;
  return pairs && whole && onednn::has_convolution(dtype) ? Way::kOneDnn : Way::kThroughFloat;
}

/// oneDNN takes a bias of dense memory.
class DenseBias {
 public:
  explicit DenseBias(const ConstView& bias) : data_(bias.data) {
    if (!bias.data || bias.sizes[0] == 1 || bias.strides[0] == 1) return;
    const size_t element = element_size(bias.dtype);
    copy_.emplace(static_cast<size_t>(bias.sizes[0]) * element);
    for (int64_t i = 0; i < bias.sizes[0]; ++i) {
      std::memcpy(copy_->as<char>() + static_cast<size_t>(i) * element,
                  bias.as<char>() + static_cast<size_t>(i * bias.strides[0]) * element, element);
    }
    data_ = copy_->as<void>();
  }
  const void* data() const { return data_; }

 private:
  const void* data_;
  std::optional<Scratch> copy_;
};

/// Dense values into a vector of any stride.
void spread(const void* from, const View& to) {
  const size_t element = element_size(to.dtype);
  for (int64_t i = 0; i < to.sizes[0]; ++i) {
    std::memcpy(to.as<char>() + static_cast<size_t>(i * to.strides[0]) * element,
                static_cast<const char*>(from) + static_cast<size_t>(i) * element, element);
  }
}

void forward_cpu(View output, ConstView input, ConstView weight, ConstView bias, const ConvolutionGeometry& g,
                 PackedSlot slot) {
  if (is_empty(output) || is_empty(input) || is_empty(weight)) return fill(output, bias);
  if (few_channels(input, weight, output, g)) return few_channels_forward(output, input, weight, bias, g);
  const FlushDenormals flush;
  switch (way(input, weight, output, g)) {
    case Way::kOneDnn: {
      const DenseImage in(input, true, true), out(output, true, false);
      const DenseBias b(bias);
      onednn::convolution_forward(make_shape(input, weight, output, g, bias.data != nullptr), in.data(), weight.data,
                                  b.data(), out.data(), slot);
      return out.finish();
    }
    case Way::kPlain: {
      const DenseImage in(input, false, true), out(output, false, false), w(weight, false, true);
      plain_convolution_forward(out.dense(), in.dense(), w.dense(), bias, g);
      return out.finish();
    }
    case Way::kThroughFloat: {
      const FloatCopy in(input, true), w(weight, true), b(bias, true), out(output, false);
      forward_cpu(out.view(), in.view(), w.view(), b.view(), g, PackedSlot());
      return out.finish();
    }
  }
}

void backward_input_cpu(View grad_input, ConstView grad_output, ConstView weight, const ConvolutionGeometry& g,
                        PackedSlot slot) {
  if (is_empty(grad_input) || is_empty(grad_output) || is_empty(weight))
    return fill(grad_input, none(grad_input.dtype));
  const FlushDenormals flush;
  switch (way(grad_input, weight, grad_output, g)) {
    case Way::kOneDnn: {
      const DenseImage out(grad_output, true, true), in(grad_input, true, false);
      onednn::convolution_backward_input(make_shape(grad_input, weight, grad_output, g, false), in.data(), weight.data,
                                         out.data(), slot);
      return in.finish();
    }
    case Way::kPlain: {
      const DenseImage out(grad_output, false, true), in(grad_input, false, false), w(weight, false, true);
      plain_convolution_backward_input(in.dense(), out.dense(), w.dense(), g);
      return in.finish();
    }
    case Way::kThroughFloat: {
      const FloatCopy out(grad_output, true), w(weight, true), in(grad_input, false);
      backward_input_cpu(in.view(), out.view(), w.view(), g, PackedSlot());
      return in.finish();
    }
  }
}

void backward_weight_cpu(View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                         const ConvolutionGeometry& g) {
  if (is_empty(grad_output) || is_empty(input) || is_empty(grad_weight)) {
    fill(grad_weight, none(grad_weight.dtype));
    // Without an input channel the bias still has a gradient, but no convolution has such a layer with outputs.
    if (grad_bias.data)
      fill(View{grad_bias.data, grad_bias.sizes, grad_bias.strides, 1, grad_bias.dtype}, none(grad_bias.dtype));
    return;
  }
  if (few_channels(input, grad_weight, grad_output, g)) {
    return few_channels_backward_weight(grad_weight, grad_bias, grad_output, input, g);
  }
  const FlushDenormals flush;
  switch (way(input, grad_weight, grad_output, g)) {
    case Way::kOneDnn: {
      const DenseImage in(input, true, true), out(grad_output, true, true);
      const bool bias = grad_bias.data != nullptr;
      const Scratch bias_copy(bias && grad_bias.strides[0] != 1
                                  ? static_cast<size_t>(grad_bias.sizes[0]) * element_size(grad_bias.dtype)
                                  : 0);
      void* bias_to = bias_copy.nbytes() ? bias_copy.as<void>() : grad_bias.data;
      onednn::convolution_backward_weight(make_shape(input, grad_weight, grad_output, g, bias), in.data(),
                                          grad_weight.data, bias_to, out.data());
      if (bias_copy.nbytes()) spread(bias_copy.as<void>(), grad_bias);
      return;
    }
    case Way::kPlain: {
      const DenseImage in(input, false, true), out(grad_output, false, true), w(grad_weight, false, false);
      plain_convolution_backward_weight(w.dense(), grad_bias, out.dense(), in.dense(), g);
      return w.finish();
    }
    case Way::kThroughFloat: {
      const FloatCopy in(input, true), out(grad_output, true), w(grad_weight, false), b(grad_bias, false);
      backward_weight_cpu(w.view(), b.view(), out.view(), in.view(), g);
      w.finish();
      return b.finish();
    }
  }
}

}  // namespace

constinit KernelTable<void(View, ConstView, ConstView, ConstView, const ConvolutionGeometry&, PackedSlot)>
    convolution_forward("convolution", &forward_cpu);
constinit KernelTable<void(View, ConstView, ConstView, const ConvolutionGeometry&, PackedSlot)>
    convolution_backward_input("convolution_backward_input", &backward_input_cpu);
constinit KernelTable<void(View, View, ConstView, ConstView, const ConvolutionGeometry&)> convolution_backward_weight(
    "convolution_backward_weight", &backward_weight_cpu);

}  // namespace gradus::inline v0::kernels
