#include <kernels/loss.h>

#include <algorithm>
#include <cstring>

#include <kernels/cpu/class_targets.h>
#include <kernels/cpu/widen.h>
#include <kernels/parallel.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels {

namespace {

template <class T>
void forward(View output, View total_weight, const ConstView& input, const ConstView& target, const ConstView& weight,
             LossReduction reduction, int64_t ignore) {
  using W = Wide<T>;
  const ClassExtent e(input);
  const T *x = input.as<T>(), *w = weight.as<T>();
  const auto weight_of = [&](int64_t c) { return w ? static_cast<W>(w[c]) : W(1); };
  if (reduction == LossReduction::None) {
    T* out = output.as<T>();
    parallel_for(0, e.targets(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c = index_at(target, i);
        out[i] = c == ignore ? T(0) : static_cast<T>(-weight_of(c) * static_cast<W>(x[e.at(i, c)]));
      }
    });
    *total_weight.as<T>() = T(0);
    return;
  }
  // Blocks of 256, then their sums: no long chain of roundings, and the same result whatever the threads.
  W loss = 0, total = 0;
  for (int64_t begin = 0; begin < e.targets(); begin += 256) {
    W part = 0, part_weight = 0;
    for (int64_t i = begin; i < std::min(e.targets(), begin + 256); ++i) {
      const int64_t c = index_at(target, i);
      if (c == ignore) continue;
      part -= weight_of(c) * static_cast<W>(x[e.at(i, c)]);
      part_weight += weight_of(c);
    }
    loss += part, total += part_weight;
  }
  *output.as<T>() = static_cast<T>(reduction == LossReduction::Mean ? loss / total : loss);
  *total_weight.as<T>() = static_cast<T>(total);
}

template <class T>
void backward(View grad_input, const ConstView& grad_output, const ConstView& target, const ConstView& weight,
              const ConstView& total_weight, LossReduction reduction, int64_t ignore) {
  using W = Wide<T>;
  const ClassExtent e(grad_input);
  T* out = grad_input.as<T>();
  const T *g = grad_output.as<T>(), *w = weight.as<T>();
  W scale = 1;
  if (reduction != LossReduction::None) scale = static_cast<W>(*g);
  if (reduction == LossReduction::Mean) scale /= static_cast<W>(*total_weight.as<T>());
  const int64_t block = e.classes * e.spatial;
  parallel_for(0, e.batch, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, block)), [&](int64_t begin, int64_t end) {
    std::memset(static_cast<void*>(out + begin * block), 0, static_cast<size_t>((end - begin) * block) * sizeof(T));
    for (int64_t i = begin * e.spatial; i < end * e.spatial; ++i) {
      const int64_t c = index_at(target, i);
      if (c == ignore) continue;
      const W each = reduction == LossReduction::None ? static_cast<W>(g[i]) : scale;
      out[e.at(i, c)] = static_cast<T>(-(w ? static_cast<W>(w[c]) : W(1)) * each);
    }
  });
}

BadIndex forward_cpu(View output, View total_weight, ConstView input, ConstView target, ConstView weight,
                     LossReduction reduction, int64_t ignore_index) {
  const ClassExtent e(input);
  const BadIndex bad = first_bad(target, e.targets(), e.classes, ignore_index);
  if (bad.found()) return bad;
  visit_floating(input.dtype,
                 [&]<class T>() { forward<T>(output, total_weight, input, target, weight, reduction, ignore_index); });
  return bad;
}

BadIndex backward_cpu(View grad_input, ConstView grad_output, ConstView target, ConstView weight,
                      ConstView total_weight, LossReduction reduction, int64_t ignore_index) {
  const ClassExtent e(grad_input);
  const BadIndex bad = first_bad(target, e.targets(), e.classes, ignore_index);
  if (bad.found()) return bad;
  visit_floating(grad_input.dtype, [&]<class T>() {
    backward<T>(grad_input, grad_output, target, weight, total_weight, reduction, ignore_index);
  });
  return bad;
}

}  // namespace

constinit KernelTable<BadIndex(View, View, ConstView, ConstView, ConstView, LossReduction, int64_t)> nll_loss_forward(
    "nll_loss", &forward_cpu);
constinit KernelTable<BadIndex(View, ConstView, ConstView, ConstView, ConstView, LossReduction, int64_t)>
    nll_loss_backward("nll_loss_backward", &backward_cpu);

}  // namespace gradus::inline v0::kernels
