// Batch normalisation.
//
// Note [Batch normalisation's passes]
// Two layouts: `planes`, contiguous, where a channel is a run of neighbours in each image, and `rows`, channels
// innermost, where threads lie across channels. In each, one kernel has two halves, to measure (moments of the input,
// or sums of the gradient) and to write a line of the measured, out = (x - mean) k0 + k2, for each channel:
// whole     a block has all of its channels' elements: both halves in one launch
// in parts  several blocks share a channel: they measure, a second kernel joins what they found and makes the lines, a
//           third launch writes
// write     nothing is to be measured: the lines come from the running statistics
#include <cmath>

#include <kernels/normalization.h>
#include <kernels/visit.h>

#include "kernels/cuda/row.h"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda/vector.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kPart = 8192;  // elements of a plane that are walked at once, at most

/// Threads across channels, at most: they read 128 neighbouring bytes of a row, V elements each.
template <class T, int V>
constexpr int kAcross = V * sizeof(T) <= 4 ? 32 : static_cast<int>(128 / (V * sizeof(T)));

enum class Stage { kWhole, kMeasure, kWrite };

/// [batch, channels, spatial], `last`: channels innermost.
struct Shape {
  int64_t batch, channels, spatial = 1;
  bool last;
  explicit Shape(const ConstView& v) : batch(v.sizes[0]), channels(v.sizes[1]) {
    for (int i = 2; i < v.ndim; ++i) spatial *= v.sizes[i];
    last = channels > 1 && v.strides[1] == 1;
  }
  GRADUS_HOST_DEVICE int64_t count() const { return batch * spatial; }
};

/// The inputs that are measured, the first alone or both, and what is written.
template <class T>
struct Images {
  Shape shape;
  T* out;  // or null
  const T *first, *second;

  /// Bytes from the first input to the second.
  GRADUS_HOST_DEVICE int64_t apart() const {
    return reinterpret_cast<const char*>(second) - reinterpret_cast<const char*>(first);
  }
};

/// How to write a channel: of one input, (x - mean) k0 + k2; of two, x k0 + (z - mean) k1 + k2.
template <class C>
struct alignas(16) Line {
  C mean, k0, k1, k2;

  template <class T, int N>
  __device__ void apply(Numbers<T, N, false>* n) const {
#pragma unroll
    for (int i = 0; i < N; ++i) n->x[i] = (n->x[i] - mean) * k0 + k2;
  }
  template <class T, int N>
  __device__ void apply(Numbers<T, N, true>* n) const {
#pragma unroll
    for (int i = 0; i < N; ++i) n->x[i] = n->x[i] * k0 + (n->z[i] - mean) * k1 + k2;
  }
};

template <class C>
__device__ inline C inverse_root(C variance, C eps) {
  return 1 / std::sqrt(variance + eps);
}

template <class Element>
struct Forward {
  using T = Element;
  using C = Compute<T>;
  using State = Moments<C>;
  static constexpr bool kTwo = false;

  Images<T> images;  // of the input
  FloatVector weight, bias, old_mean, old_var;
  FloatResults running_mean, running_var, save_mean, save_invstd;
  double momentum, eps;

  __device__ static State none() { return {0, 0, 0}; }
  __device__ C centre(int64_t) const { return 0; }
  template <int N>
  __device__ static State of(const Numbers<T, N, false>& n, C) {
    return moments_of(n.x);
  }

  /// The states of V channels, of which a thread sees equally many elements.
  template <int V>
  struct Columns {
    C count = 0, mean[V] = {}, squares[V] = {};
    template <int R>
    __device__ void add(const Numbers<T, R * V, false>& n, const C (&)[V]) {
      const C total = count + C(R), part = C(R) / total, both = count * part;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        C x[R];
#pragma unroll
        for (int r = 0; r < R; ++r) x[r] = n.x[r * V + v];
        const State own = moments_of(x);
        const C delta = own.mean - mean[v];
        mean[v] += delta * part;
        squares[v] += own.squares + delta * delta * both;
      }
      count = total;
    }
    __device__ State at(int v) const {
      return {count, mean[v], squares[v]};
    }
  };

  /// Writes what is known of a channel that was measured.
  __device__ Line<C> finish(int64_t c, const State& s) const {
    const double n = static_cast<double>(images.shape.count()), squares = s.squares, variance = squares / n;
    if (running_mean.data) {
      running_mean.put(c, static_cast<C>((1 - momentum) * old_mean.at(c, C(0)) + momentum * s.mean));
    }
    if (running_var.data) {
      running_var.put(c, static_cast<C>((1 - momentum) * old_var.at(c, C(1)) + momentum * squares / (n - 1)));
    }
    // As PyTorch: a channel of equal values without eps becomes its bias, not NaN.
    const C invstd = variance == 0 && eps == 0 ? C(0) : static_cast<C>(inverse_root(variance, eps));
    save_mean.put(c, s.mean);
    save_invstd.put(c, invstd);
    return {s.mean, invstd * weight.at(c, C(1)), 0, bias.at(c, C(0))};
  }
  __device__ Line<C> plain(int64_t c) const {
    const C invstd = inverse_root(old_var.at(c, C(1)), static_cast<C>(eps));
    return {old_mean.at(c, C(0)), invstd * weight.at(c, C(1)), 0, bias.at(c, C(0))};
  }
};

/// Sums of g and of g (x - mean).
template <class C>
struct GradientSums {
  C grad, grad_x;
};
template <class C>
__device__ inline GradientSums<C> join(const GradientSums<C>& a, const GradientSums<C>& b) {
  return {a.grad + b.grad, a.grad_x + b.grad_x};
}

/// Writes the input's gradient through the batch's own statistics. Where those are the running ones, it is the gradient
/// times a number, which Forward writes.
template <class Element>
struct Backward {
  using T = Element;
  using C = Compute<T>;
  using State = GradientSums<C>;
  static constexpr bool kTwo = true;

  Images<T> images;  // of the gradient and of the input
  FloatVector weight, mean, spread;
  FloatResults grad_weight, grad_bias;
  bool training;
  double eps;

  __device__ static State none() { return {0, 0}; }
  __device__ C centre(int64_t c) const { return mean.at(c, C(0)); }
  template <int N>
  __device__ static State of(const Numbers<T, N, true>& n, C mean) {
    C products[N];
#pragma unroll
    for (int i = 0; i < N; ++i) products[i] = n.x[i] * (n.z[i] - mean);
    return {fold<C>(n.x, Itself(), Plus()), fold<C>(products, Itself(), Plus())};
  }

  template <int V>
  struct Columns {
    C grad[V] = {}, grad_x[V] = {};
    template <int R>
    __device__ void add(const Numbers<T, R * V, true>& n, const C (&mean)[V]) {
#pragma unroll
      for (int i = 0; i < R * V; ++i) {
        grad[i % V] += n.x[i];
        grad_x[i % V] += n.x[i] * (n.z[i] - mean[i % V]);
      }
    }
    __device__ State at(int v) const {
      return {grad[v], grad_x[v]};
    }
  };

  __device__ C invstd(int64_t c) const {
    const C s = spread.at(c, C(1));
    return training ? s : inverse_root(s, static_cast<C>(eps));
  }
  __device__ Line<C> finish(int64_t c, const State& s) const {
    const C inv = invstd(c), slope = inv * s.grad_x;
    grad_weight.put(c, slope);
    grad_bias.put(c, s.grad);
    const C k0 = inv * weight.at(c, C(1)), n = static_cast<C>(images.shape.count());
    return {centre(c), k0, -(slope / n) * inv * k0, -(s.grad / n) * k0};
  }
  __device__ Line<C> plain(int64_t) const {
    return {};
  }  // a line is always made of sums
};

/// Where the halves of a pass meet: partial[channels][blocks], and the lines, null where there are none.
template <class Op>
struct Between {
  typename Op::State* partial;
  Line<typename Op::C>* lines;
};

/// How blocks share planes. A unit is a part of a plane; `width` threads walk it.
struct PlaneUnits {
  int64_t count, pieces, part;  // units of a channel; of a plane, each of `part` elements
  uint32_t width, blocks;       // a channel's
};

/// Calls f(offset, length, lane) for the units of this group of threads.
template <class F>
__device__ inline void for_units(const Shape& s, const PlaneUnits& units, int64_t channel, int64_t block, const F& f) {
  const uint32_t groups = kThreads / units.width;
  for (int64_t u = block * groups + threadIdx.x / units.width; u < units.count; u += int64_t{units.blocks} * groups) {
    const int64_t n = quotient(u, units.pieces), begin = (u - n * units.pieces) * units.part;
    const int64_t length = s.spatial - begin < units.part ? s.spatial - begin : units.part;
    f((n * s.channels + channel) * s.spatial + begin, static_cast<uint32_t>(length), threadIdx.x & (units.width - 1));
  }
}

template <class Op>
__global__ void __launch_bounds__(kThreads, 4)
    planes_kernel(const Op op, const Stage stage, const Between<Op> between, const PlaneUnits units) {
  using T = typename Op::T;
  using C = typename Op::C;
  using State = typename Op::State;
  GRADUS_SHARED(State, shared, [kThreads / kWarp]);
  const Images<T>& images = op.images;
  const Shape& s = images.shape;
  const int64_t channel = blockIdx.x % s.channels, block = blockIdx.x / s.channels, second = images.apart();
  State state = Op::none();
  if (stage != Stage::kWrite) {
    const C centre = op.centre(channel);
    for_units(s, units, channel, block, [&](int64_t at, uint32_t n, uint32_t lane) {
      const T* p = images.first + at;
      const uint32_t head = !Op::kTwo || second % 16 == 0 ? apart(p) : n;
      walk_row<T, 2>(n, head, lane, units.width, [&]<int V, int kLoads>(uint32_t e, uint32_t step) {
        state = join(state, Op::of(load_row<T, V, kLoads, Op::kTwo>(p + e, step, second), centre));
      });
    });
    state = group_reduce(state, kThreads, Join(), shared);
    if (stage == Stage::kMeasure) {
      if (threadIdx.x == 0) between.partial[channel * units.blocks + block] = state;
      return;
    }
  }
  Line<C> line;
  if (stage == Stage::kWhole) {
    // One thread writes statistics, and so one reads those that it replaces.
    GRADUS_SHARED(Line<C>, finished, [1]);
    if (threadIdx.x == 0) finished[0] = op.finish(channel, state);
    __syncthreads();
    line = finished[0];
  } else {
    line = between.lines ? between.lines[channel] : op.plain(channel);
  }
  if (!images.out) return;
  for_units(s, units, channel, block, [&](int64_t at, uint32_t n, uint32_t lane) {
    const T* p = images.first + at;
    T* out = images.out + at;
    const uint32_t head = apart(p) == apart(out) && (!Op::kTwo || second % 16 == 0) ? apart(p) : n;
    walk_row<T, 2>(n, head, lane, units.width, [&]<int V, int kLoads>(uint32_t e, uint32_t step) {
      auto of = load_row<T, V, kLoads, Op::kTwo>(p + e, step, second);
      line.template apply<T>(&of);
      store_row<T, V, kLoads>(out + e, step, of.x);
    });
  });
}

/// How blocks share rows: `across` threads lie across channels, kThreads / across rows.
struct RowUnits {
  uint32_t across, column_blocks, blocks;  // blocks: those of the same channels
};

/// Calls f<R>(offset, step) for R rows that are `step` elements apart, for the rows of this thread.
template <int R, class F>
__device__ inline void for_rows(const Shape& s, const RowUnits& units, int64_t channel, int64_t block, const F& f) {
  const int64_t rows = s.count(), height = kThreads / units.across, stride = units.blocks * height;
  if (channel >= s.channels) return;
  int64_t r = block * height + threadIdx.x / units.across;
#pragma unroll 1
  for (; r + (R - 1) * stride < rows; r += R * stride) {
    f.template operator()<R>(r * s.channels + channel, stride * s.channels);
  }
#pragma unroll 1
  for (; r < rows; r += stride) f.template operator()<1>(r * s.channels + channel, int64_t{0});
}

/// R rows of V channels each.
template <class T, int V, int R, bool kTwo>
__device__ inline Numbers<T, R * V, kTwo> load_rows(const T* p, int64_t step, int64_t second) {
  const int64_t bytes = step * static_cast<int64_t>(sizeof(T));
  return load_numbers<T, V, R, kTwo>(reinterpret_cast<const char*>(p), second, EvenSteps{bytes});
}

template <class T, int V, int R>
__device__ inline void store_rows(T* p, int64_t step, const Compute<T>* x) {
#pragma unroll
  for (int r = 0; r < R; ++r) store_row<T, V, 1>(p + r * step, 0, x + r * V);
}

/// V: channels of a thread.
template <class Op, int V>
__global__ void __launch_bounds__(kThreads, 3)
    rows_kernel(const Op op, const Stage stage, const Between<Op> between, const RowUnits units) {
  using T = typename Op::T;
  using C = typename Op::C;
  using State = typename Op::State;
  constexpr int R = V == 8 ? 2 : 4;
  GRADUS_SHARED(State, states, [V][kThreads]);
  constexpr int kMost = kAcross<T, V>;
  GRADUS_SHARED(Line<C>, lines, [V][kMost]);
  const Images<T>& images = op.images;
  const Shape& s = images.shape;
  const uint32_t x = threadIdx.x & (units.across - 1);
  const int64_t block = blockIdx.x / units.column_blocks, second = images.apart();
  const int64_t first = int64_t{blockIdx.x % units.column_blocks} * units.across * V, channel = first + x * V;
  if (stage != Stage::kWrite) {
    C centre[V];
    for (int v = 0; v < V; ++v) centre[v] = channel < s.channels ? op.centre(channel + v) : C(0);
    typename Op::template Columns<V> columns;
    for_rows<R>(s, units, channel, block, [&]<int kRows>(int64_t at, int64_t step) {
      columns.template add<kRows>(load_rows<T, V, kRows, Op::kTwo>(images.first + at, step, second), centre);
    });
#pragma unroll
    for (int v = 0; v < V; ++v) states[v][threadIdx.x] = columns.at(v);
    for (uint32_t half = kThreads / 2; half >= units.across; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) {
        for (int v = 0; v < V; ++v)
          states[v][threadIdx.x] = join(states[v][threadIdx.x], states[v][threadIdx.x + half]);
      }
    }
    __syncthreads();
  }
  for (uint32_t i = threadIdx.x; i < units.across * V; i += kThreads) {
    const uint32_t at = i / V, v = i % V;
    const int64_t c = first + i;
    if (c >= s.channels) break;
    if (stage == Stage::kMeasure) {
      between.partial[c * units.blocks + block] = states[v][at];
    } else {
      lines[v][at] = stage == Stage::kWhole ? op.finish(c, states[v][at])
                     : between.lines        ? between.lines[c]
                                            : op.plain(c);
    }
  }
  if (stage == Stage::kMeasure || !images.out) return;
  __syncthreads();
  if (channel >= s.channels) return;
  Line<C> line[V];
#pragma unroll
  for (int v = 0; v < V; ++v) line[v] = lines[v][x];
  for_rows<R>(s, units, channel, block, [&]<int kRows>(int64_t at, int64_t step) {
    auto of = load_rows<T, V, kRows, Op::kTwo>(images.first + at, step, second);
#pragma unroll
    for (int i = 0; i < kRows * V; ++i) {
      Numbers<T, 1, Op::kTwo> one;
      one.x[0] = of.x[i];
      one.z[0] = Op::kTwo ? of.z[Op::kTwo ? i : 0] : C(0);
      line[i % V].template apply<T>(&one);
      of.x[i] = one.x[0];
    }
    store_rows<T, V, kRows>(images.out + at, step, of.x);
  });
}

/// `group` threads join what `blocks` blocks know of a channel.
template <class Op>
__global__ void __launch_bounds__(kThreads)
    join_kernel(const Op op, const Between<Op> between, const uint32_t blocks, const uint32_t group) {
  using State = typename Op::State;
  GRADUS_SHARED(State, shared, [kThreads / kWarp]);
  const int64_t channel = int64_t{blockIdx.x} * (kThreads / group) + threadIdx.x / group;
  const uint32_t lane = threadIdx.x & (group - 1);
  const bool there = channel < op.images.shape.channels;
  State state = Op::none();
  for (uint32_t i = lane; there && i < blocks; i += group) state = join(state, between.partial[channel * blocks + i]);
  state = group_reduce(state, static_cast<int>(group), Join(), shared);
  if (!there || lane != 0) return;
  const auto line = op.finish(channel, state);
  if (between.lines) between.lines[channel] = line;
}

int power_of_two(int64_t n, int most) {
  int p = 1;
  while (p < n && p < most) p *= 2;
  return p;
}
bool on_packs(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % 16 == 0;
}
/// Blocks that share `most` at most: as many as give the device some four for each place.
int64_t blocks_of(int64_t others, int64_t most) {
  const int64_t wanted = int64_t{context().multiprocessors} * 32;
  return std::max<int64_t>(1, std::min(wanted / others, most));
}

/// Launches the halves that are asked for. launch_pass(stage, between, blocks) has its kernel use `blocks` for each
/// channel.
template <class Op, class Pass>
void run(const char* name, const Op& op, bool measure, int64_t blocks, const Pass& launch_pass) {
  using Lines = Line<typename Op::C>;
  Between<Op> between = {nullptr, nullptr};
  if (!measure) return launch_pass(Stage::kWrite, between, blocks);
  if (blocks == 1) return launch_pass(Stage::kWhole, between, blocks);
  const auto channels = static_cast<size_t>(op.images.shape.channels);
  const Scratch partial(sizeof(typename Op::State) * channels * static_cast<size_t>(blocks));
  const Scratch lines(op.images.out ? sizeof(Lines) * channels : 0);
  between = {partial.as<typename Op::State>(), lines.as<Lines>()};
  launch_pass(Stage::kMeasure, between, blocks);
  const int group = power_of_two(blocks, kThreads);
  launch(name, &join_kernel<Op>, dim3(static_cast<unsigned>(ceil_div(op.images.shape.channels, kThreads / group))),
         dim3(kThreads), 0, op, between, static_cast<uint32_t>(blocks), static_cast<uint32_t>(group));
  if (op.images.out) launch_pass(Stage::kWrite, between, blocks);
}

template <class Op>
void run_planes(const char* name, const Op& op, bool measure) {
  constexpr int V = kPackSize<typename Op::T>;
  const Shape& s = op.images.shape;
  PlaneUnits units = {};
  units.pieces = ceil_div(s.spatial, kPart);
  units.part = ceil_div(ceil_div(s.spatial, units.pieces), V) * V;
  units.pieces = ceil_div(s.spatial, units.part);
  units.count = s.batch * units.pieces;
  units.width = static_cast<uint32_t>(power_of_two(ceil_div(units.part, 2 * V), kThreads));
  // Blocks of less than 16 elements a thread are not worth two more launches.
  const int64_t most = std::min(ceil_div(units.count * units.width, kThreads), s.count() / (16 * kThreads));
  run(name, op, measure, blocks_of(s.channels, most), [&](Stage stage, const Between<Op>& between, int64_t blocks) {
    units.blocks = static_cast<uint32_t>(blocks);
    launch(name, &planes_kernel<Op>, dim3(static_cast<unsigned>(s.channels * blocks)), dim3(kThreads), 0, op, stage,
           between, units);
  });
}

template <class Op, int V>
void run_rows(const char* name, const Op& op, bool measure) {
  const Shape& s = op.images.shape;
  RowUnits units = {};
  units.across = static_cast<uint32_t>(power_of_two(ceil_div(s.channels, V), kAcross<typename Op::T, V>));
  const int64_t column_blocks = ceil_div(s.channels, int64_t{units.across} * V);
  units.column_blocks = static_cast<uint32_t>(column_blocks);
  const int64_t most = s.count() * units.across / (8 * kThreads);
  run(name, op, measure, blocks_of(column_blocks, most), [&](Stage stage, const Between<Op>& between, int64_t blocks) {
    units.blocks = static_cast<uint32_t>(blocks);
    launch(name, &rows_kernel<Op, V>, dim3(static_cast<unsigned>(column_blocks * blocks)), dim3(kThreads), 0, op, stage,
           between, units);
  });
}

template <class Op>
void run(const char* name, const Op& op, bool measure) {
  constexpr int V = kPackSize<typename Op::T>;
  const auto& images = op.images;
  if (!images.shape.last) return run_planes(name, op, measure);
  const bool packs =
      images.shape.channels % V == 0 && on_packs(images.first) && on_packs(images.second) && on_packs(images.out);
  packs ? run_rows<Op, V>(name, op, measure) : run_rows<Op, 1>(name, op, measure);
}

/// Of nothing, the statistics and the gradients are nothing too.
bool nothing(const char* name, const Shape& s, std::initializer_list<View> vectors) {
  if (s.count() > 0 && s.channels > 0) return false;
  for (const View& v : vectors) {
    if (!v.data || s.channels == 0) continue;
    check(cudaMemsetAsync(v.data, 0, static_cast<size_t>(s.channels) * element_size(v.dtype), context().stream), name);
  }
  return true;
}

void forward_cuda(View output, View save_mean, View save_invstd, ConstView input, ConstView weight, ConstView bias,
                  View running_mean, View running_var, bool training, double momentum, double eps) {
  const Shape shape(input);
  if (nothing("batch_norm", shape, {save_mean, save_invstd})) return;
  visit_floating(input.dtype, [&]<class T>() {
    const Images<T> images = {shape, output.as<T>(), input.as<T>(), nullptr};
    const Forward<T> op = {images,
                           FloatVector(weight),
                           FloatVector(bias),
                           FloatVector(running_mean),
                           FloatVector(running_var),
                           FloatResults(running_mean),
                           FloatResults(running_var),
                           FloatResults(save_mean),
                           FloatResults(save_invstd),
                           momentum,
                           eps};
    run("batch_norm", op, training);
  });
}

void backward_cuda(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                   ConstView weight, ConstView running_mean, ConstView running_var, ConstView save_mean,
                   ConstView save_invstd, bool training, double eps) {
  const char* name = "batch_norm_backward";
  const Shape shape(input);
  if (nothing(name, shape, {grad_weight, grad_bias})) return;
  const bool sums = grad_weight.data || grad_bias.data;
  if (!sums && !grad_input.data) return;
  visit_floating(input.dtype, [&]<class T>() {
    Images<T> images = {shape, grad_input.as<T>(), grad_output.as<T>(), input.as<T>()};
    const FloatVector mean(training ? save_mean : running_mean), spread(training ? save_invstd : running_var);
    if (training || sums) {
      Backward<T> op = {
          images, FloatVector(weight), mean, spread, FloatResults(grad_weight), FloatResults(grad_bias), training, eps};
      if (!training) op.images.out = nullptr;
      run(name, op, true);
    }
    if (training || !images.out) return;
    const FloatVector absent(View{});
    const FloatResults none(View{});
    images.second = nullptr;
    run(name, Forward<T>{images, FloatVector(weight), absent, absent, spread, none, none, none, none, 0, eps}, false);
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(batch_norm_forward, forward_cuda)
GRADUS_CUDA_KERNEL(batch_norm_backward, backward_cuda)

}  // namespace gradus::inline v0::kernels::cuda
