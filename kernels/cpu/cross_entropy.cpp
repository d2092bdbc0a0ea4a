#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cpp"
#include <kernels/cpu/simd.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include <kernels/cpu/class_targets.h>
#include <kernels/cpu/math-inl.h>
#include <kernels/cpu/widen.h>
#include <kernels/loss.h>
#include <kernels/parallel.h>
#include <kernels/scratch.h>
#include <kernels/visit.h>

#include <hwy/cache_control.h>

// Note [One read of the logits]
// A sample's logits are taken in blocks that stay in the first cache: a block's largest first, then its exponentials
// against the largest so far, whose sum is rescaled once a block. What is kept of a sample is the largest and the sum,
// and not the logarithm of both together, which large logits would round: the gradient is as good as that of a
// composed log_softmax.

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kRowBlock = 2048;     // elements of a row
constexpr int64_t kColumnBlock = 32;    // classes, each a cache line away from the next
constexpr int64_t kColumnsOfTask = 64;  // columns that a thread takes at once
constexpr int64_t kMostLanes = 64;      // of any target's vector, in floats
constexpr int64_t kSumBlock = 256;      // losses that are added in a row

template <class D>
using VecOf = hn::Vec<D>;
template <class D>
using NumberOf = hn::TFromD<D>;

/// A whole vector, or the first lanes of one.
template <class D>
struct AllLanes {
  HWY_INLINE VecOf<D> load(D d, const NumberOf<D>* p, VecOf<D>) const { return hn::LoadU(d, p); }
  HWY_INLINE VecOf<D> only(VecOf<D> v) const { return v; }
  HWY_INLINE void store(D d, VecOf<D> v, NumberOf<D>* p) const { hn::StoreU(v, d, p); }
};
template <class D>
struct FirstLanes {
  hn::Mask<D> mask;
  HWY_INLINE VecOf<D> load(D d, const NumberOf<D>* p, VecOf<D> absent) const {
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, p), absent);
  }
  HWY_INLINE VecOf<D> only(VecOf<D> v) const { return hn::IfThenElseZero(mask, v); }
  HWY_INLINE void store(D d, VecOf<D> v, NumberOf<D>* p) const { hn::BlendedStore(v, mask, d, p); }
};

/// n classes of one sample, side by side: a vector holds several of them. each() calls f(class, its place, lanes).
/// What a block's exponentials leave of the memory's time fetches the next block, which begins at `next`.
template <class D>
struct Along {
  int64_t n;
  const char* next;
  int64_t item;
  HWY_INLINE void fetch(int64_t i) const { hwy::Prefetch(next + i * item); }
  template <class F>
  HWY_INLINE void each(D d, const F& f) const {
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) f(i, i, AllLanes<D>());
    if (i < n) f(i, i, FirstLanes<D>{hn::FirstN(d, static_cast<size_t>(n - i))});
  }
  template <class L>
  HWY_INLINE VecOf<D> weights(D d, const NumberOf<D>* w, int64_t i, const L& lanes) const {
    return lanes.load(d, w + i, hn::Zero(d));
  }
  HWY_INLINE VecOf<D> largest(D d, VecOf<D> v) const { return hn::MaxOfLanes(d, v); }
};
template <class D, class T>
HWY_INLINE Along<D> along(const T* from, int64_t n) {
  return {n, reinterpret_cast<const char*>(from + n), static_cast<int64_t>(sizeof(T))};
}
/// n classes of the samples of a vector, `step` elements apart: a vector holds one class.
template <class D, class L>
struct Across {
  int64_t n, step;
  L lanes;
  HWY_INLINE void fetch(int64_t) const {}
  template <class F>
  HWY_INLINE void each(D, const F& f) const {
    for (int64_t i = 0; i < n; ++i) f(i, i * step, lanes);
  }
  HWY_INLINE VecOf<D> weights(D d, const NumberOf<D>* w, int64_t i, const L&) const { return hn::Set(d, w[i]); }
  HWY_INLINE VecOf<D> largest(D, VecOf<D> v) const { return v; }
};

/// What is known of the logits so far: the largest, the sum of exp(x - largest); with weights the sums of
/// w (largest - x) and of w.
template <class D>
struct Gathered {
  VecOf<D> most, sum, below, weight;
  explicit HWY_INLINE Gathered(D d)
      : most(hn::Set(d, -std::numeric_limits<NumberOf<D>>::infinity())),
        sum(hn::Zero(d)),
        below(hn::Zero(d)),
        weight(hn::Zero(d)) {}
};

// What exponentials are taken against: the largest, or 0 where that is -inf, so that exp(-inf - base) is 0.
template <class D>
HWY_INLINE VecOf<D> base_of(D d, VecOf<D> most) {
  const auto lowest = hn::Set(d, -std::numeric_limits<NumberOf<D>>::infinity());
  return hn::IfThenElse(hn::Eq(most, lowest), hn::Zero(d), most);
}

/// Takes a block of logits in. A NaN may not be the largest; the sum takes it up.
template <class D, class Walk>
HWY_INLINE void gather(D d, const Walk& walk, const NumberOf<D>* x, const NumberOf<D>* w, bool first, Gathered<D>& g) {
  const auto lowest = hn::Set(d, -std::numeric_limits<NumberOf<D>>::infinity());
  auto most = lowest;
  walk.each(d, [&](int64_t, int64_t at, auto lanes) HWY_ATTR { most = hn::Max(most, lanes.load(d, x + at, lowest)); });
  most = hn::Max(g.most, walk.largest(d, most));
  const auto base = base_of(d, most);
  if (!first) {
    g.sum = hn::Mul(g.sum, math::exp(d, hn::Sub(g.most, base)));
    if (w) g.below = hn::MulAdd(g.weight, hn::Sub(base, base_of(d, g.most)), g.below);
  }
  g.most = most;
  auto part = hn::Zero(d);
  walk.each(d, [&](int64_t, int64_t at, auto lanes)
                   HWY_ATTR { part = hn::Add(part, math::exp(d, hn::Sub(lanes.load(d, x + at, lowest), base))); });
  g.sum = hn::Add(g.sum, part);
  if (!w) return;
  auto below = hn::Zero(d), weight = hn::Zero(d);
  walk.each(d, [&](int64_t i, int64_t at, auto lanes) HWY_ATTR {
    const auto each = walk.weights(d, w, i, lanes);
    below = hn::Add(below, lanes.only(hn::Mul(each, hn::Sub(base, lanes.load(d, x + at, lowest)))));
    weight = hn::Add(weight, lanes.only(each));
  });
  g.below = hn::Add(g.below, below);
  g.weight = hn::Add(g.weight, weight);
}

/// y = scale exp(x - most) - tail w.
template <class D, class Walk>
HWY_INLINE void write(D d, const Walk& walk, const NumberOf<D>* x, NumberOf<D>* y, VecOf<D> most, VecOf<D> scale,
                      VecOf<D> tail, const NumberOf<D>* w) {
  if (w) {
    walk.each(d, [&](int64_t i, int64_t at, auto lanes) HWY_ATTR {
      walk.fetch(i);
      const auto e = hn::Mul(math::exp(d, hn::Sub(lanes.load(d, x + at, most), most)), scale);
      lanes.store(d, hn::NegMulAdd(tail, walk.weights(d, w, i, lanes), e), y + at);
    });
  } else {
    walk.each(d, [&](int64_t i, int64_t at, auto lanes) HWY_ATTR {
      walk.fetch(i);
      lanes.store(d, hn::Mul(math::exp(d, hn::Sub(lanes.load(d, x + at, most), most)), scale), y + at);
    });
  }
}

/// `count` runs of `width` neighbours, `step` apart, as wide numbers: where they are, or in `buffer`, whose runs are
/// `buffer_step` apart.
template <class T>
HWY_INLINE const Wide<T>* wide_runs(const T* x, int64_t count, int64_t width, int64_t step, Wide<T>* buffer,
                                    int64_t buffer_step) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    return x;
  } else {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < width; ++k) buffer[i * buffer_step + k] = static_cast<Wide<T>>(x[i * step + k]);
    }
    return buffer;
  }
}
/// The way back, of results that were computed in `buffer`.
template <class T>
HWY_INLINE void narrow_runs(const Wide<T>* buffer, int64_t count, int64_t width, int64_t buffer_step, T* y,
                            int64_t step) {
  if constexpr (!std::is_same_v<T, Wide<T>>) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < width; ++k) y[i * step + k] = static_cast<T>(buffer[i * buffer_step + k]);
    }
  }
}

/// One call's operands. W is what is computed in.
template <class T>
struct Operands {
  using W = Wide<T>;
  ClassExtent extent;
  const T *x, *weight;
  ConstView target;
  CrossEntropy options;
  W keep, spread, classes_weight;  // of a target's own weight and of each class's; the sum of all classes'
  ScratchArray<W> weights;         // of all classes, where smoothing needs them

  Operands(const ConstView& input, const ConstView& targets, const ConstView& weight_view, const CrossEntropy& o)
      : extent(input),
        x(input.as<T>()),
        weight(weight_view.as<T>()),
        target(targets),
        options(o),
        keep(static_cast<W>(1 - o.smoothing)),
        spread(o.smoothing > 0 ? static_cast<W>(o.smoothing / static_cast<double>(extent.classes)) : W(0)),
        classes_weight(static_cast<W>(extent.classes)) {
    if (o.smoothing > 0) weights = read_vector<W>(weight_view, extent.classes, W(1));
  }
  bool smooth() const { return options.smoothing > 0; }
  W weight_of(int64_t c) const { return weight ? static_cast<W>(weight[c]) : W(1); }
  /// The class of target i, or -1 where it counts nothing.
  int64_t counted(int64_t i) const {
    const int64_t c = index_at(target, i);
    return c == options.ignore_index || c < 0 || c >= extent.classes ? -1 : c;
  }
  /// Where the weights of the classes from `c` on are; null without smoothing.
  const W* weights_from(int64_t c) const { return smooth() ? weights.data() + c : nullptr; }
  int64_t grain() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, extent.classes)); }
  /// Calls f(outer, first column, columns) in threads; columns are samples that lie side by side.
  template <class F>
  void in_columns(const F& f) const {
    const int64_t parts = (extent.spatial + kColumnsOfTask - 1) / kColumnsOfTask;
    const int64_t grain_of_parts =
        std::max<int64_t>(1, grain() / std::clamp<int64_t>(extent.spatial, 1, kColumnsOfTask));
    parallel_for(0, extent.batch * parts, grain_of_parts, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t j = p % parts * kColumnsOfTask;
        f(p / parts, j, std::min(kColumnsOfTask, extent.spatial - j));
      }
    });
  }
};

/// Where the measures of each sample go; `below` is null without smoothing.
template <class W>
struct Measures {
  W *most, *sum, *below;
};

template <class T>
void measure_rows(const Operands<T>& o, const Measures<Wide<T>>& to) {
  using W = Wide<T>;
  const int64_t n = o.extent.classes;
  parallel_for(0, o.extent.batch, o.grain(), [&](int64_t begin, int64_t end) HWY_ATTR {
    const hn::ScalableTag<W> d;
    using D = std::remove_const_t<decltype(d)>;
    const ScratchArray<W> buffer(wide_size<T>(kRowBlock));
    for (int64_t i = begin; i < end; ++i) {
      Gathered<D> g(d);
      for (int64_t b = 0; b < n; b += kRowBlock) {
        const int64_t count = std::min(kRowBlock, n - b);
        const T* from = o.x + i * n + b;
        const W* x = wide_runs(from, 1, count, 0, buffer.data(), 0);
        gather(d, along<D>(from, count), x, o.weights_from(b), b == 0, g);
      }
      to.most[i] = hn::GetLane(g.most);
      to.sum[i] = hn::GetLane(hn::SumOfLanes(d, g.sum));
      if (to.below) to.below[i] = hn::GetLane(hn::SumOfLanes(d, g.below));
    }
  });
}

/// The samples of one vector, `width` of them, from `first` on; their first logits lie at x.
template <class T, class D, class L>
HWY_INLINE void measure_vector(D d, const L& lanes, const Operands<T>& o, const T* x, int64_t first, int64_t width,
                               const Measures<Wide<T>>& to, Wide<T>* buffer) {
  constexpr bool kInPlace = std::is_same_v<T, Wide<T>>;
  const int64_t n = o.extent.classes, step = o.extent.spatial, all = static_cast<int64_t>(hn::Lanes(d));
  Gathered<D> g(d);
  for (int64_t b = 0; b < n; b += kColumnBlock) {
    const int64_t count = std::min(kColumnBlock, n - b);
    const Wide<T>* from = wide_runs(x + b * step, count, width, step, buffer, all);
    gather(d, Across<D, L>{count, kInPlace ? step : all, lanes}, from, o.weights_from(b), b == 0, g);
  }
  lanes.store(d, g.most, to.most + first);
  lanes.store(d, g.sum, to.sum + first);
  if (to.below) lanes.store(d, g.below, to.below + first);
}

template <class T>
void measure_columns(const Operands<T>& o, const Measures<Wide<T>>& to) {
  using W = Wide<T>;
  o.in_columns([&](int64_t outer, int64_t begin, int64_t columns) HWY_ATTR {
    const hn::ScalableTag<W> d;
    using D = std::remove_const_t<decltype(d)>;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const ScratchArray<W> buffer(wide_size<T>(kColumnBlock * lanes));
    for (int64_t j = begin; j < begin + columns; j += lanes) {
      const int64_t width = std::min(lanes, begin + columns - j), first = outer * o.extent.spatial + j;
      const T* x = o.x + outer * o.extent.classes * o.extent.spatial + j;
      if (width == lanes) {
        measure_vector(d, AllLanes<D>(), o, x, first, width, to, buffer.data());
      } else {
        const FirstLanes<D> part{hn::FirstN(d, static_cast<size_t>(width))};
        measure_vector(d, part, o, x, first, width, to, buffer.data());
      }
    }
  });
}

/// Turns a sample's measures into its loss, which takes the place of `below`.
template <class T>
void finish_losses(const Operands<T>& o, const Measures<Wide<T>>& m, Wide<T>* loss) {
  using W = Wide<T>;
  parallel_for(0, o.extent.targets(), 4096, [&](int64_t begin, int64_t end) HWY_ATTR {
    const hn::ScalableTag<W> d;
    W logs[kSumBlock];
    for (int64_t b = begin; b < end; b += kSumBlock) {
      const int64_t count = std::min(kSumBlock, end - b);
      along<std::remove_const_t<decltype(d)>>(m.sum + b, count).each(d, [&](int64_t, int64_t at, auto lanes) HWY_ATTR {
        lanes.store(d, math::log(d, lanes.load(d, m.sum + b + at, hn::Zero(d))), logs + at);
      });
      for (int64_t i = b; i < b + count; ++i) {
        const int64_t c = o.counted(i);
        const W log_sum = logs[i - b], below = o.smooth() ? loss[i] : W(0);
        loss[i] = W(0) * o.spread;  // NaN where there are no classes to smooth over
        if (c < 0) continue;
        // As x - largest - log(sum), not x - (largest + log(sum)): a large largest would take the logarithm's digits.
        loss[i] = o.keep * (o.weight_of(c) * ((m.most[i] - static_cast<W>(o.x[o.extent.at(i, c)])) + log_sum));
        if (o.smooth()) loss[i] += o.spread * (below + o.classes_weight * log_sum);
      }
    }
  });
}

// In blocks, then their sums: no long chain of roundings, and the same result whatever the threads.
template <class W, class F>
W sum_in_blocks(int64_t n, const F& f) {
  W sum = 0;
  for (int64_t b = 0; b < n; b += kSumBlock) {
    W part = 0;
    for (int64_t i = b; i < std::min(n, b + kSumBlock); ++i) part += f(i);
    sum += part;
  }
  return sum;
}

template <class T>
void forward(View output, View peaks, View total_weight, const ConstView& input, const ConstView& target,
             const ConstView& weight, const CrossEntropy& options) {
  using W = Wide<T>;
  Operands<T> o(input, target, weight, options);
  const int64_t samples = o.extent.targets();
  if (o.smooth()) {
    o.classes_weight = sum_in_blocks<W>(o.extent.classes, [&](int64_t c) { return o.weight_of(c); });
  }
  const ScratchArray<W> loss(static_cast<size_t>(samples));
  const Measures<W> m{peaks.as<W>(), peaks.as<W>() + samples, o.smooth() ? loss.data() : nullptr};
  o.extent.spatial == 1 ? measure_rows(o, m) : measure_columns(o, m);
  finish_losses(o, m, loss.data());
  W* totals = total_weight.as<W>();
  totals[0] = 0, totals[1] = o.classes_weight;
  if (options.reduction == LossReduction::None) {
    for (int64_t i = 0; i < samples; ++i) output.as<T>()[i] = static_cast<T>(loss[static_cast<size_t>(i)]);
    return;
  }
  W sum = sum_in_blocks<W>(samples, [&](int64_t i) { return loss[static_cast<size_t>(i)]; });
  totals[0] = sum_in_blocks<W>(samples, [&](int64_t i) {
    const int64_t c = o.counted(i);
    return c < 0 ? W(0) : o.weight_of(c);
  });
  if (options.reduction == LossReduction::Mean) {
    // Over nothing it is NaN, also where smoothing makes the sum more than 0.
    sum = o.smooth() && totals[0] == 0 ? std::numeric_limits<W>::quiet_NaN() : sum / totals[0];
  }
  *output.as<T>() = static_cast<T>(sum);
}

/// What a sample's gradient is made of: all softmax(x) - tail w, and at the target's class `own` less.
template <class W>
struct Slope {
  W all = 0, own = 0, tail = 0;
  int64_t target = -1;
};

template <class T>
struct Slopes {
  using W = Wide<T>;
  const Operands<T>& o;
  const T* grad;  // of the loss: one for each sample, or one
  bool each;
  W scale = 1;
  Slopes(const Operands<T>& operands, const ConstView& grad_output, const ConstView& total_weight)
      : o(operands), grad(grad_output.as<T>()), each(o.options.reduction == LossReduction::None) {
    if (!each) scale = static_cast<W>(*grad);
    if (o.options.reduction == LossReduction::Mean) scale /= *total_weight.as<W>();
  }
  Slope<W> at(int64_t i) const {
    Slope<W> s;
    s.target = o.counted(i);
    if (s.target < 0) return s;
    const W g = each ? static_cast<W>(grad[i]) : scale;
    s.own = o.keep * o.weight_of(s.target) * g;
    s.all = s.own;
    if (!o.smooth()) return s;
    s.tail = o.spread * g;
    s.all += s.tail * o.classes_weight;
    return s;
  }
};

template <class T>
void write_rows(const Operands<T>& o, const Slopes<T>& slopes, const Wide<T>* most, const Wide<T>* sum, T* out) {
  using W = Wide<T>;
  constexpr bool kInPlace = std::is_same_v<T, W>;
  const int64_t n = o.extent.classes;
  parallel_for(0, o.extent.batch, o.grain(), [&](int64_t begin, int64_t end) HWY_ATTR {
    const hn::ScalableTag<W> d;
    using D = std::remove_const_t<decltype(d)>;
    const ScratchArray<W> buffer(wide_size<T>(kRowBlock));
    for (int64_t i = begin; i < end; ++i) {
      const Slope<W> s = slopes.at(i);
      const auto peak = hn::Set(d, most[i]), scale = hn::Set(d, s.all / sum[i]), tail = hn::Set(d, s.tail);
      for (int64_t b = 0; b < n; b += kRowBlock) {
        const int64_t count = std::min(kRowBlock, n - b);
        T* to = out + i * n + b;
        const T* from = o.x + i * n + b;
        const W* x = wide_runs(from, 1, count, 0, buffer.data(), 0);
        W* y = buffer.data();
        if constexpr (kInPlace) y = to;
        write(d, along<D>(from, count), x, y, peak, scale, tail, o.weights_from(b));
        if (s.target >= b && s.target < b + count) y[s.target - b] -= s.own;
        narrow_runs(y, 1, count, 0, to, 0);
      }
    }
  });
}

/// The samples of one vector, as in measure_vector.
template <class T, class D, class L>
HWY_INLINE void write_vector(D d, const L& lanes, const Slopes<T>& slopes, const T* x, int64_t first, int64_t width,
                             const Wide<T>* most, const Wide<T>* sum, T* out, Wide<T>* buffer) {
  using W = Wide<T>;
  constexpr bool kInPlace = std::is_same_v<T, W>;
  const Operands<T>& o = slopes.o;
  const int64_t n = o.extent.classes, step = o.extent.spatial, all = static_cast<int64_t>(hn::Lanes(d));
  const int64_t apart = kInPlace ? step : all;
  HWY_ALIGN W scales[kMostLanes] = {}, tails[kMostLanes] = {}, own[kMostLanes];
  int64_t targets[kMostLanes];
  for (int64_t k = 0; k < width; ++k) {
    const Slope<W> s = slopes.at(first + k);
    scales[k] = s.all / sum[first + k], tails[k] = s.tail, own[k] = s.own, targets[k] = s.target;
  }
  const auto peak = lanes.load(d, most + first, hn::Zero(d)), scale = hn::Load(d, scales), tail = hn::Load(d, tails);
  for (int64_t b = 0; b < n; b += kColumnBlock) {
    const int64_t count = std::min(kColumnBlock, n - b);
    const W* from = wide_runs(x + b * step, count, width, step, buffer, all);
    W* y = buffer;
    if constexpr (kInPlace) y = out + b * step;
    write(d, Across<D, L>{count, apart, lanes}, from, y, peak, scale, tail, o.weights_from(b));
    for (int64_t k = 0; k < width; ++k) {
      if (targets[k] >= b && targets[k] < b + count) y[(targets[k] - b) * apart + k] -= own[k];
    }
    narrow_runs(y, count, width, all, out + b * step, step);
  }
}

template <class T>
void write_columns(const Operands<T>& o, const Slopes<T>& slopes, const Wide<T>* most, const Wide<T>* sum, T* out) {
  using W = Wide<T>;
  o.in_columns([&](int64_t outer, int64_t begin, int64_t columns) HWY_ATTR {
    const hn::ScalableTag<W> d;
    using D = std::remove_const_t<decltype(d)>;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const ScratchArray<W> buffer(wide_size<T>(kColumnBlock * lanes));
    for (int64_t j = begin; j < begin + columns; j += lanes) {
      const int64_t width = std::min(lanes, begin + columns - j), first = outer * o.extent.spatial + j;
      const int64_t at = outer * o.extent.classes * o.extent.spatial + j;
      if (width == lanes) {
        write_vector(d, AllLanes<D>(), slopes, o.x + at, first, width, most, sum, out + at, buffer.data());
      } else {
        const FirstLanes<D> part{hn::FirstN(d, static_cast<size_t>(width))};
        write_vector(d, part, slopes, o.x + at, first, width, most, sum, out + at, buffer.data());
      }
    }
  });
}

void cross_entropy_forward(View output, View peaks, View total_weight, ConstView input, ConstView target,
                           ConstView weight, CrossEntropy options) {
  visit_floating(input.dtype,
                 [&]<class T>() { forward<T>(output, peaks, total_weight, input, target, weight, options); });
}

void cross_entropy_backward(View grad_input, ConstView grad_output, ConstView input, ConstView target, ConstView weight,
                            ConstView peaks, ConstView total_weight, CrossEntropy options) {
  visit_floating(input.dtype, [&]<class T>() {
    using W = Wide<T>;
    Operands<T> o(input, target, weight, options);
    o.classes_weight = total_weight.as<W>()[1];
    const Slopes<T> slopes(o, grad_output, total_weight);
    const W *most = peaks.as<W>(), *sum = most + o.extent.targets();
    const auto run = o.extent.spatial == 1 ? &write_rows<T> : &write_columns<T>;
    run(o, slopes, most, sum, grad_input.as<T>());
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
namespace {
HWY_EXPORT(cross_entropy_forward);
HWY_EXPORT(cross_entropy_backward);

BadIndex forward_cpu(View output, View peaks, View total_weight, ConstView input, ConstView target, ConstView weight,
                     CrossEntropy options) {
  const ClassExtent e(input);
  const BadIndex bad = first_bad(target, e.targets(), e.classes, options.ignore_index);
  if (bad.found()) return bad;
  HWY_DYNAMIC_DISPATCH(cross_entropy_forward)(output, peaks, total_weight, input, target, weight, options);
  return bad;
}
void backward_cpu(View grad_input, ConstView grad_output, ConstView input, ConstView target, ConstView weight,
                  ConstView peaks, ConstView total_weight, CrossEntropy options) {
  HWY_DYNAMIC_DISPATCH(cross_entropy_backward)
  (grad_input, grad_output, input, target, weight, peaks, total_weight, options);
}
}  // namespace

constinit KernelTable<BadIndex(View, View, View, ConstView, ConstView, ConstView, CrossEntropy)> cross_entropy_forward(
    "cross_entropy", &forward_cpu);
constinit KernelTable<void(View, ConstView, ConstView, ConstView, ConstView, ConstView, ConstView, CrossEntropy)>
    cross_entropy_backward("cross_entropy_backward", &backward_cpu);

}  // namespace gradus::inline v0::kernels
#endif
