#include <src/backends/onednn/convolution.h>

#include <cstring>
#include <vector>

#include <src/backends/onednn/onednn.h>

namespace gradus::inline v0::backends::onednn {

namespace {

using dnnl::memory;
using Dims = memory::dims;
using Args = std::unordered_map<int, memory>;

enum class Direction : int { kForward, kInput, kWeight };

/// A prepared convolution. `weight` is the layout it wants weights in (or gives their gradient in).
struct Prepared {
  dnnl::primitive primitive;
  dnnl::reorder reorder;  // between the caller's weights and `weight`
  memory::desc input, weight, bias, output, plain_weight, scratchpad;
  uint64_t weight_key = 0;
};

/// The bytes that tell prepared convolutions apart. Threads count: oneDNN divides the work when it prepares.
struct Key {
  ConvolutionShape shape;
  int64_t direction, threads;
};

Dims dims(int64_t first, int64_t second, const int64_t* rest, int64_t count) {
  Dims d{first, second};
  d.insert(d.end(), rest, rest + count);
  return d;
}

/// Dense, channels innermost.
memory::desc image(const ConvolutionShape& s, int64_t channels, const int64_t* sizes) {
  const Dims d = dims(s.batch, channels, sizes, s.spatial);
  Dims strides(d.size());
  int64_t step = channels;
  strides[1] = 1;
  for (size_t i = d.size() - 1; i >= 2; --i) strides[i] = step, step *= d[i];
  strides[0] = step;
  return memory::desc(d, data_type(s.dtype), strides);
}

Dims weight_dims(const ConvolutionShape& s) {
  Dims d = dims(s.out_channels / s.groups, s.in_channels / s.groups, s.kernel, s.spatial);
  if (s.groups > 1) d.insert(d.begin(), s.groups);
  return d;
}
memory::desc plain_weight(const ConvolutionShape& s) {
  Dims strides(s.weight_strides, s.weight_strides + 2 + s.spatial);
  if (s.groups > 1) strides.insert(strides.begin(), s.weight_strides[0] * (s.out_channels / s.groups));
  return memory::desc(weight_dims(s), data_type(s.dtype), strides);
}
memory::desc any_weight(const ConvolutionShape& s) {
  return memory::desc(weight_dims(s), data_type(s.dtype), memory::format_tag::any);
}

uint64_t hash(const void* data, size_t n) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < n; ++i) h = (h ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  return h;
}

#if DNNL_VERSION_MAJOR >= 3
template <class Pd, class... Args>
Pd describe(const dnnl::primitive_attr& attr, Args&&... args) {
  return Pd(engine(), std::forward<Args>(args)..., attr);
}
#endif

Prepared prepare(const ConvolutionShape& s, Direction direction) {
  const memory::desc input = image(s, s.in_channels, s.in), output = image(s, s.out_channels, s.out);
  const memory::desc bias =
      s.bias ? memory::desc({s.out_channels}, data_type(s.dtype), memory::format_tag::x) : memory::desc();
  const memory::desc weight = any_weight(s);
  const auto count = static_cast<size_t>(s.spatial);
  const Dims strides(s.stride, s.stride + count), padding(s.padding, s.padding + count);
  const Dims& after = padding;
  Dims dilation(count);
  for (size_t i = 0; i < count; ++i) dilation[i] = s.dilation[i] - 1;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  const auto forward = describe<dnnl::convolution_forward::primitive_desc>(attr, kKind, kAlgorithm, input, weight, bias,
                                                                           output, strides, dilation, padding, after);
#else
  const dnnl::convolution_forward::primitive_desc forward(
      {kKind, kAlgorithm, input, weight, bias, output, strides, dilation, padding, after}, attr, engine());
#endif
  Prepared p;
  const auto finish = [&](const auto& pd, memory::desc weight_desc) {
    p.input = input, p.output = output, p.bias = bias;
    p.plain_weight = plain_weight(s);
    p.weight = weight_desc;
    p.scratchpad = pd.scratchpad_desc();
    if (p.weight != p.plain_weight) {
      p.reorder = direction == Direction::kWeight
                      ? dnnl::reorder(dnnl::reorder::primitive_desc(engine(), p.weight, engine(), p.plain_weight))
                      : dnnl::reorder(dnnl::reorder::primitive_desc(engine(), p.plain_weight, engine(), p.weight));
    }
  };
  if (direction == Direction::kForward) {
    p.primitive = dnnl::convolution_forward(forward);
    finish(forward, forward.weights_desc());
  } else if (direction == Direction::kInput) {
#if DNNL_VERSION_MAJOR >= 3
    const auto pd = describe<dnnl::convolution_backward_data::primitive_desc>(
        attr, kAlgorithm, input, weight, output, strides, dilation, padding, after, forward);
#else
    const dnnl::convolution_backward_data::primitive_desc pd(
        {kAlgorithm, input, weight, output, strides, dilation, padding, after}, attr, engine(), forward);
#endif
    p.primitive = dnnl::convolution_backward_data(pd);
    finish(pd, pd.weights_desc());
  } else {
#if DNNL_VERSION_MAJOR >= 3
    const auto pd = describe<dnnl::convolution_backward_weights::primitive_desc>(
        attr, kAlgorithm, input, weight, bias, output, strides, dilation, padding, after, forward);
#else
    const dnnl::convolution_backward_weights::primitive_desc pd(
        {kAlgorithm, input, weight, bias, output, strides, dilation, padding, after}, attr, engine(), forward);
#endif
    p.primitive = dnnl::convolution_backward_weights(pd);
    finish(pd, pd.diff_weights_desc());
  }
  return p;
}

std::shared_ptr<const Prepared> prepared(const ConvolutionShape& s, Direction direction) {
  static auto& cache = *new PrimitiveCache<Prepared>;
  Key key;
  std::memset(static_cast<void*>(&key), 0, sizeof key);  // padding bytes are compared too
  std::memcpy(static_cast<void*>(&key.shape), &s, offsetof(ConvolutionShape, dtype));
  key.shape.dtype = s.dtype;
  key.shape.bias = s.bias;
  key.direction = static_cast<int64_t>(direction);
  key.threads = in_parallel_region() ? 1 : get_num_threads();
  const std::string_view bytes(reinterpret_cast<const char*>(&key), sizeof key);
  return cache.get(bytes, [&] {
    Prepared p = prepare(s, direction);
    p.weight_key = hash(&key, sizeof key);
    return p;
  });
}

void execute(const Prepared& p, Args args) {
  const kernels::Scratch scratchpad(p.scratchpad.get_size());
  if (scratchpad.nbytes()) args.emplace(DNNL_ARG_SCRATCHPAD, wrap(p.scratchpad, scratchpad.as<void>()));
  p.primitive.execute(stream(), args);
  stream().wait();
}

/// A hash of the weights themselves, 28 GB/s: a program may have written them through data_ptr(), which no version
/// counts. 0 where they are not one dense block.
uint64_t content_hash(const ConvolutionShape& s, const void* weight, size_t element) {
  int64_t count = s.out_channels * (s.in_channels / s.groups), reach = (s.out_channels - 1) * s.weight_strides[0];
  reach += (s.in_channels / s.groups - 1) * s.weight_strides[1];
  for (int64_t i = 0; i < s.spatial; ++i) count *= s.kernel[i], reach += (s.kernel[i] - 1) * s.weight_strides[2 + i];
  if (reach + 1 != count) return 0;
  const auto* bytes = static_cast<const unsigned char*>(weight);
  const size_t n = static_cast<size_t>(count) * element;
  constexpr uint64_t kPrime = 0x9e3779b97f4a7c15u;
  uint64_t lanes[8] = {1, 2, 3, 4, 5, 6, 7, 8};  // independent, so that the multiplications overlap
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    uint64_t words[8];
    std::memcpy(words, bytes + i, 64);
    for (int k = 0; k < 8; ++k) {
      lanes[k] = (lanes[k] ^ words[k]) * kPrime;
      lanes[k] ^= lanes[k] >> 32;
    }
  }
  uint64_t h = hash(bytes + i, n - i);
  for (uint64_t lane : lanes) h = (h ^ lane) * kPrime;
  return h | 1;
}

/// The weights as the primitive wants them: the caller's own, the slot's copy, or a new copy.
class PackedWeight {
 public:
  PackedWeight(const Prepared& p, const ConvolutionShape& shape, const void* weight, const kernels::PackedSlot& slot)
      : data_(weight) {
    if (p.weight == p.plain_weight) return;
    const uint64_t content = slot.cache ? content_hash(shape, weight, element_size(shape.dtype)) : 0;
    const uint64_t key = p.weight_key ^ content;
    if (content) kept_ = slot.find(key);
    if (!kept_) {
      const auto block = std::make_shared<kernels::Scratch>(p.weight.get_size());
      p.reorder.execute(
          stream(), {{DNNL_ARG_FROM, wrap(p.plain_weight, weight)}, {DNNL_ARG_TO, wrap(p.weight, block->as<void>())}});
      stream().wait();
      kept_ = std::shared_ptr<const void>(block, block->as<void>());
      if (content) slot.store(key, kept_);
    }
    data_ = kept_.get();
  }
  const void* data() const { return data_; }

 private:
  const void* data_;
  std::shared_ptr<const void> kept_;
};

}  // namespace

bool has_convolution(ScalarType dtype) {
  if (dtype == ScalarType::Float) return true;
#if defined(__x86_64__)
  if (dtype == ScalarType::BFloat16) {
    static const bool fast = [] {
      const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
      const auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
      return (isa & needed) == needed;
    }();
    return fast;
  }
#endif
  return false;
}

void convolution_forward(const ConvolutionShape& shape, const void* input, const void* weight, const void* bias,
                         void* output, const kernels::PackedSlot& slot) {
  translating_errors("convolution", [&] {
    const auto p = prepared(shape, Direction::kForward);
    const PackedWeight packed(*p, shape, weight, slot);
    Args args{{DNNL_ARG_SRC, wrap(p->input, input)},
              {DNNL_ARG_WEIGHTS, wrap(p->weight, packed.data())},
              {DNNL_ARG_DST, wrap(p->output, output)}};
    if (shape.bias) args.emplace(DNNL_ARG_BIAS, wrap(p->bias, bias));
    execute(*p, std::move(args));
  });
}

void convolution_backward_input(const ConvolutionShape& shape, void* grad_input, const void* weight,
                                const void* grad_output, const kernels::PackedSlot& slot) {
  translating_errors("convolution", [&] {
    ConvolutionShape plain = shape;
    plain.bias = false;
    const auto p = prepared(plain, Direction::kInput);
    const PackedWeight packed(*p, shape, weight, slot);
    execute(*p, {{DNNL_ARG_DIFF_SRC, wrap(p->input, grad_input)},
                 {DNNL_ARG_WEIGHTS, wrap(p->weight, packed.data())},
                 {DNNL_ARG_DIFF_DST, wrap(p->output, grad_output)}});
  });
}

void convolution_backward_weight(const ConvolutionShape& shape, const void* input, void* grad_weight, void* grad_bias,
                                 const void* grad_output) {
  translating_errors("convolution", [&] {
    const auto p = prepared(shape, Direction::kWeight);
    const bool direct = p->weight == p->plain_weight;
    const kernels::Scratch packed(direct ? 0 : p->weight.get_size());
    void* gradient = direct ? grad_weight : packed.as<void>();
    Args args{{DNNL_ARG_SRC, wrap(p->input, input)},
              {DNNL_ARG_DIFF_WEIGHTS, wrap(p->weight, gradient)},
              {DNNL_ARG_DIFF_DST, wrap(p->output, grad_output)}};
    if (shape.bias) args.emplace(DNNL_ARG_DIFF_BIAS, wrap(p->bias, grad_bias));
    execute(*p, std::move(args));
    if (direct) return;
    p->reorder.execute(stream(),
                       {{DNNL_ARG_FROM, wrap(p->weight, gradient)}, {DNNL_ARG_TO, wrap(p->plain_weight, grad_weight)}});
    stream().wait();
  });
}

}  // namespace gradus::inline v0::backends::onednn
