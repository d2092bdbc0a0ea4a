// Cross entropy of class indices: softmax, its logarithm and the negative log likelihood in one read of the logits, and
// the gradient in one more and one write.
//
// Note [Regimes of cross entropy]
// rows     the classes are innermost: a group of 1 to 512 threads walks a sample's logits in packs. Where samples are
//          too few to fill the device several groups share one: a launch measures pieces, the next joins them.
// columns  neighbouring threads have neighbouring samples.
// The losses of the samples are then added in an order that depends on their number alone.
#include <cmath>

#include <kernels/loss.h>
#include <kernels/visit.h>

#include "kernels/cuda/class_targets.h"
#include "kernels/cuda/peak.h"
#include "kernels/cuda/row.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kRowGroup = kRowThreads / 2;  // the most threads that share a row
constexpr int64_t kLossesOfBlock = 4 * kThreads;
constexpr int64_t kMostParts = 1024;
// Loads in flight; smoothing needs the registers of half of them.
template <class T, bool kSmooth = false>
constexpr int kUnroll = kSmooth          ? (kUnroll<T> + 1) / 2
                        : sizeof(T) == 8 ? 1
                                         : static_cast<int>(sizeof(T));

template <class T>
struct Operands {
  using C = Compute<T>;
  const T *x, *weight;
  Targets targets;
  C keep, spread;  // a target's loss is keep times its own class's and spread times the sum of all classes'

  Operands(const ConstView& input, const ConstView& target, const ConstView& weights, const CrossEntropy& options)
      : x(input.as<T>()),
        weight(weights.as<T>()),
        targets(target, input, options.ignore_index),
        keep(static_cast<C>(1 - options.smoothing)),
        spread(options.smoothing > 0 ? static_cast<C>(options.smoothing / static_cast<double>(targets.classes))
                                     : C(0)) {}
  /// Where a sample's first logit lies.
  __device__ int64_t first(int64_t sample) const {
    const int64_t outer = quotient(sample, targets.spatial);
    return outer * targets.classes * targets.spatial + (sample - outer * targets.spatial);
  }
};

template <class T>
struct Forward : Operands<T> {
  using C = Compute<T>;
  C *most, *sum;  // of each sample
  T* each;        // the losses: the result, or null, and then
  C* losses;      // what is added up
  DataErrorSlot errors;
};

/// What a walk knows of logits without smoothing: their peak.
template <class C>
struct Sharp {
  using Stat = Peak<C>;
  static constexpr bool kSmooth = false;
  __device__ Stat none() const { return {lowest<C>(), 0}; }
  __device__ Stat operator()(const Stat& a, const Stat& b) const { return join(a, b); }
  template <int N>
  __device__ void take(Stat& s, const C (&x)[N], const C*) const {
    s = with(s, x);
  }
  __device__ static Peak<C> peak(const Stat& s) { return s; }
};

/// With it: the sums of w (most - x) and of the weights, too. Against 0 where the largest is -inf.
template <class C>
struct Smooth {
  struct Stat {
    Peak<C> peak;
    C below, weight;
  };
  static constexpr bool kSmooth = true;
  __device__ static C base(const Stat& s) { return s.peak.most == lowest<C>() ? C(0) : s.peak.most; }
  __device__ Stat none() const { return {{lowest<C>(), 0}, 0, 0}; }
  __device__ Stat operator()(const Stat& a, const Stat& b) const {
    Stat s = {join(a.peak, b.peak), 0, a.weight + b.weight};
    s.below = a.below + a.weight * (base(s) - base(a)) + (b.below + b.weight * (base(s) - base(b)));
    return s;
  }
  template <int N>
  __device__ void take(Stat& s, const C (&x)[N], const C* w) const {
    const C before = base(s);
    s.peak = with(s.peak, x);
    const C most = base(s);
    s.below += s.weight * (most - before);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      s.below += w[i] * (most - x[i]);
      s.weight += w[i];
    }
  }
  __device__ static Peak<C> peak(const Stat& s) {
    return s.peak;
  }
};

// A sample's loss, by one thread; x is its first logit. As most - x + log(sum), not most + log(sum) - x: a large logit
// would take the logarithm's digits.
template <class T, class Rule>
__device__ inline void finish(const Forward<T>& f, int64_t sample, const T* x, const typename Rule::Stat& stat) {
  using C = Compute<T>;
  const Peak<C> p = Rule::peak(stat);
  f.most[sample] = p.most;
  f.sum[sample] = p.sum;
  const int64_t c = f.targets.counted(sample, f.errors);
  C loss = C(0) * f.spread;  // NaN where there are no classes to smooth over
  if (c >= 0) {
    const C log_sum = std::log(p.sum);
    loss = f.keep * (weight_of(f.weight, c) * ((p.most - load(x + c * f.targets.spatial)) + log_sum));
    if constexpr (Rule::kSmooth) loss += f.spread * (stat.below + stat.weight * log_sum);
  }
  if (f.each) {
    store(f.each + sample, loss);
  } else {
    f.losses[sample] = loss;
  }
}

template <class T, class Rule>
__global__ void __launch_bounds__(kRowGroup)
    loss_rows(const Forward<T> f, const RowPieces pieces, typename Rule::Stat* partial) {
  using C = Compute<T>;
  using Stat = typename Rule::Stat;
  constexpr Rule rule;
  GRADUS_SHARED(Stat, shared, [kRowGroup / kWarp]);
  const RowPiece p(pieces);
  const T* x = f.x + p.row * pieces.n + p.begin;
  Stat stat = rule.none();
  if (pieces.stage != RowStage::kWrite) {
    const auto group = static_cast<uint32_t>(pieces.group);
    walk_row<T, kUnroll<T, Rule::kSmooth>>(
        p.n, apart(x), p.lane, group, [&]<int V, int kLoads>(uint32_t e, uint32_t step) {
          const auto a = load_row<T, V, kLoads>(x + e, step);
          C w[Rule::kSmooth ? V * kLoads : 1];
          if constexpr (Rule::kSmooth) {
#pragma unroll
            for (int i = 0; i < V * kLoads; ++i)
              w[i] = weight_of(f.weight, p.begin + e + static_cast<int64_t>(i / V) * step + i % V);
          }
          rule.take(stat, a.x, w);
        });
  }
  stat = join_row(stat, pieces, p, partial, rule, shared);
  const bool mine = p.lane == 0 && p.row < pieces.rows;
  if (mine && pieces.stage == RowStage::kMeasure) partial[p.number] = stat;
  if (mine && pieces.stage != RowStage::kMeasure && p.begin == 0) finish<T, Rule>(f, p.row, x, stat);
}

/// A block has `across` neighbouring samples, blockDim.x / across threads each.
struct Columns {
  int lane, along;
  int64_t sample;
  __device__ explicit Columns(int across)
      : lane(static_cast<int>(threadIdx.x) / across),
        along(static_cast<int>(blockDim.x) / across),
        sample(blockIdx.x * static_cast<int64_t>(across) + static_cast<int>(threadIdx.x) % across) {}
};

template <class T, class Rule>
__global__ void __launch_bounds__(kThreads) loss_columns(const Forward<T> f, const int across) {
  using C = Compute<T>;
  using Stat = typename Rule::Stat;
  constexpr Rule rule;
  constexpr int U = kUnroll<T>;
  GRADUS_SHARED(Stat, shared, [kThreads]);
  const Columns own(across);
  const bool here = own.sample < f.targets.count;
  const int64_t inner = f.targets.spatial, n = here ? f.targets.classes : 0;
  const T* x = f.x + (here ? f.first(own.sample) : 0);
  Stat stat = rule.none();
  const auto take = [&]<int N>(int64_t i) {
    C v[N], w[N];
#pragma unroll
    for (int u = 0; u < N; ++u) {
      v[u] = load(x + (i + u * own.along) * inner);
      w[u] = Rule::kSmooth ? weight_of(f.weight, i + u * own.along) : C(1);
    }
    rule.take(stat, v, w);
  };
  int64_t i = own.lane;
#pragma unroll 1
  for (; i + (U - 1) * own.along < n; i += U * own.along) take.template operator()<U>(i);
#pragma unroll 1
  for (; i < n; i += own.along) take.template operator()<1>(i);
  shared[threadIdx.x] = stat;
#pragma unroll 1
  for (int half = own.along / 2; half > 0; half /= 2) {
    __syncthreads();
    if (own.lane < half) shared[threadIdx.x] = rule(shared[threadIdx.x], shared[threadIdx.x + half * across]);
  }
  __syncthreads();
  if (own.lane == 0 && here) finish<T, Rule>(f, own.sample, x, shared[threadIdx.x]);
}

// --- the sum of the losses ---

template <class T>
struct Losses {
  const Compute<T>* losses;
  const T* weight;
  Targets targets;
  __device__ Weighed<Compute<T>> operator[](int64_t i) const {
    const int64_t c = targets.counted(i);
    return {losses[i], c < 0 ? Compute<T>(0) : weight_of(weight, c)};
  }
};
template <class C>
struct Parts {
  const Weighed<C>* parts;
  __device__ Weighed<C> operator[](int64_t i) const { return parts[i]; }
};

template <class C, class From>
__device__ inline Weighed<C> sum_of(const From& from, int64_t count, Weighed<C>* shared) {
  Weighed<C> sum = {0, 0};
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    sum = AddWeighed()(sum, from[i]);
  }
  return group_reduce(sum, kThreads, AddWeighed(), shared);
}

template <class T>
__global__ void __launch_bounds__(kThreads) parts_kernel(Weighed<Compute<T>>* parts, const Losses<T> losses) {
  using C = Compute<T>;
  GRADUS_SHARED(Weighed<C>, shared, [kThreads / kWarp]);
  const Weighed<C> sum = sum_of<C>(losses, losses.targets.count, shared);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

/// The weights of all classes, where smoothing wants them.
template <class T>
struct ClassWeights {
  const T* weight;
  int64_t classes;
  __device__ Weighed<Compute<T>> operator[](int64_t i) const { return {0, load(weight + i)}; }
};

/// One block: the result, if there is one, and what the gradient divides by.
template <class T, class From>
__global__ void __launch_bounds__(kThreads) totals_kernel(T* output, Compute<T>* totals, const From from, int64_t count,
                                                          const ClassWeights<T> classes, bool mean) {
  using C = Compute<T>;
  GRADUS_SHARED(Weighed<C>, shared, [kThreads / kWarp]);
  const Weighed<C> sum = sum_of<C>(from, count, shared);
  const Weighed<C> all = sum_of<C>(classes, classes.weight ? classes.classes : 0, shared);
  if (threadIdx.x != 0) return;
  // The mean over nothing is NaN, also where smoothing makes the sum more than 0.
  const C total = classes.weight && sum.weight == 0 ? std::numeric_limits<C>::quiet_NaN() : sum.weight;
  if (output) store(output, mean ? sum.loss / total : sum.loss);
  totals[0] = sum.weight;
  totals[1] = classes.weight ? all.weight : static_cast<C>(classes.classes);
}

// --- the gradient ---

template <class T>
struct Gradient : Operands<T> {
  using C = Compute<T>;
  T* out;
  const T* grad;
  const C *most, *sum, *totals;
  bool each, mean;
};

/// What a sample's gradient is made of: scale exp(x - most) - tail w, and at the target's class `own` less.
template <class C>
struct Slope {
  C most, scale, own, tail;
  int64_t target;
};
template <class T>
__device__ inline Slope<Compute<T>> slope_of(const Gradient<T>& g, int64_t sample) {
  using C = Compute<T>;
  Slope<C> s = {g.most[sample], 0, 0, 0, g.targets.counted(sample)};
  C all = 0;
  if (s.target >= 0) {
    C grad = load(g.grad + (g.each ? sample : 0));
    if (g.mean) grad /= g.totals[0];
    s.own = g.keep * weight_of(g.weight, s.target) * grad;
    s.tail = g.spread * grad;
    all = s.own + s.tail * g.totals[1];
  }
  s.scale = all / g.sum[sample];
  return s;
}
template <bool kSmooth, class T>
__device__ inline Compute<T> gradient_at(const Slope<Compute<T>>& s, Compute<T> x, const T* weight, int64_t c) {
  const Compute<T> each = std::exp(x - s.most) * s.scale;
  return kSmooth ? each - s.tail * weight_of(weight, c) : each;
}

template <class T, bool kSmooth>
__global__ void __launch_bounds__(kRowGroup) gradient_rows(const Gradient<T> g, const RowPieces pieces) {
  using C = Compute<T>;
  const RowPiece p(pieces);
  const T* x = g.x + p.row * pieces.n + p.begin;
  T* out = g.out + p.row * pieces.n + p.begin;
  Slope<C> s = {0, 0, 0, 0, -1};
  if (p.n > 0) s = slope_of(g, p.row);
  const int64_t within = s.target - p.begin;
  const uint32_t target = within >= 0 && within < p.n ? static_cast<uint32_t>(within) : ~0u;  // no element's number
  const uint32_t head = apart(x) == apart(out) ? apart(x) : p.n, group = static_cast<uint32_t>(pieces.group);
  walk_row<T, kUnroll<T>>(p.n, head, p.lane, group, [&]<int V, int kLoads>(uint32_t e, uint32_t step) {
    auto a = load_row<T, V, kLoads>(x + e, step);
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      const uint32_t from = e + static_cast<uint32_t>(u) * step, place = target - from;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        C& each = a.x[u * V + v];
        each = gradient_at<kSmooth>(s, each, g.weight, p.begin + from + v);
        if (place == static_cast<uint32_t>(v)) each -= s.own;
      }
    }
    store_row<T, V, kLoads>(out + e, step, a.x);
  });
}

template <class T, bool kSmooth>
__global__ void __launch_bounds__(kThreads) gradient_columns(const Gradient<T> g, const int across) {
  const Columns own(across);
  const bool here = own.sample < g.targets.count;
  Slope<Compute<T>> s = {0, 0, 0, 0, -1};
  if (here) s = slope_of(g, own.sample);
  const int64_t first = g.first(own.sample), end = here ? g.targets.classes : 0;
#pragma unroll(kSmooth ? 2 : 4)
  for (int64_t i = own.lane; i < end; i += own.along) {
    const int64_t at = first + i * g.targets.spatial;
    const Compute<T> each = gradient_at<kSmooth>(s, load(g.x + at), g.weight, i);
    store(g.out + at, i == s.target ? each - s.own : each);
  }
}

// --- launches ---

template <class Work>
void launch_columns(const char* name, void (*kernel)(Work, int), const Work& work, int unroll) {
  // Whole sectors across; along the classes as many threads as have a few elements each.
  const Targets& t = work.targets;
  const int along = next_power(ceil_div(t.classes, unroll), kThreads / next_power(t.spatial, kWarp));
  const int across = std::max(kWarp / along, next_power(t.count, kThreads / along));
  launch(name, kernel, dim3(static_cast<unsigned>(ceil_div(t.count, across))), static_cast<unsigned>(across * along), 0,
         work, across);
}

template <class T, class Rule>
void run_forward(const Forward<T>& f) {
  const Targets& t = f.targets;
  if (t.count == 0) return;
  if (t.spatial > 1) return launch_columns("cross_entropy_columns", &loss_columns<T, Rule>, f, kUnroll<T>);
  launch_rows<T>("cross_entropy_rows", &loss_rows<T, Rule>, f, t.count, t.classes, RowReads::kOnce);
}

template <class T, bool kSmooth>
void run_backward(const Gradient<T>& g) {
  const Targets& t = g.targets;
  if (t.count == 0 || t.classes == 0) return;
  if (t.spatial > 1) {
    return launch_columns("cross_entropy_backward_columns", &gradient_columns<T, kSmooth>, g, kUnroll<T>);
  }
  const RowPieces r = row_pieces<T>(t.count, t.classes);
  launch("cross_entropy_backward_rows", &gradient_rows<T, kSmooth>, row_grid(r), static_cast<unsigned>(row_threads(r)),
         0, g, r);
}

BadIndex forward(View output, View peaks, View total_weight, ConstView input, ConstView target, ConstView weight,
                 CrossEntropy options) {
  const DataErrorSlot errors = data_error_slot("cross_entropy_loss");
  visit_floating(input.dtype, [&]<class T>() {
    using C = Compute<T>;
    const Operands<T> o(input, target, weight, options);
    const int64_t count = o.targets.count;
    const bool none = options.reduction == LossReduction::None, smooth = options.smoothing > 0;
    const Scratch losses(none ? 0 : static_cast<size_t>(count) * sizeof(C));
    C* most = peaks.as<C>();
    const Forward<T> f{o, most, most + count, none ? output.as<T>() : nullptr, losses.as<C>(), errors};
    smooth ? run_forward<T, Smooth<C>>(f) : run_forward<T, Sharp<C>>(f);
    const ClassWeights<T> classes{smooth ? o.weight : nullptr, o.targets.classes};
    const auto total = [&]<class From>(const From& from, int64_t number) {
      launch("cross_entropy_totals", &totals_kernel<T, From>, dim3(1), dim3(kThreads), 0,
             none ? nullptr : output.as<T>(), total_weight.as<C>(), from, number, classes,
             options.reduction == LossReduction::Mean);
    };
    const Losses<T> each{losses.as<C>(), o.weight, o.targets};
    if (none) return total(each, 0);
    const int64_t blocks = std::min(ceil_div(count, kLossesOfBlock), kMostParts);
    if (blocks <= 1) return total(each, count);
    const Scratch parts(static_cast<size_t>(blocks) * sizeof(Weighed<C>));
    launch("cross_entropy_parts", &parts_kernel<T>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0,
           parts.as<Weighed<C>>(), each);
    total(Parts<C>{parts.as<Weighed<C>>()}, blocks);
  });
  return {};
}

void backward(View grad_input, ConstView grad_output, ConstView input, ConstView target, ConstView weight,
              ConstView peaks, ConstView total_weight, CrossEntropy options) {
  visit_floating(input.dtype, [&]<class T>() {
    using C = Compute<T>;
    const Operands<T> o(input, target, weight, options);
    const C* most = peaks.as<C>();
    const Gradient<T> g{o,
                        grad_input.as<T>(),
                        grad_output.as<T>(),
                        most,
                        most + o.targets.count,
                        total_weight.as<C>(),
                        options.reduction == LossReduction::None,
                        options.reduction == LossReduction::Mean};
    options.smoothing > 0 ? run_backward<T, true>(g) : run_backward<T, false>(g);
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(cross_entropy_forward, forward)
GRADUS_CUDA_KERNEL(cross_entropy_backward, backward)

}  // namespace gradus::inline v0::kernels::cuda
