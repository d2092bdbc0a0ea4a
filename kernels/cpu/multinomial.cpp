#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <gradus/core/cpu_generator.h>

#include "kernels/cpu/widen.h"
#include "kernels/random.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels {

namespace {

/// The running sums of n weights, scaled to end at 1.
template <class T>
WeightError accumulate(const T* weights, Wide<T>* sums, int64_t n) {
  Wide<T> sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Wide<T> w = weights[i];
    if (!(w >= 0)) return WeightError::kNegative;
    if (!std::isfinite(w)) return WeightError::kNotFinite;
    sum += w;
    sums[i] = sum;
  }
  if (!(sum > 0)) return WeightError::kZeroSum;
  for (int64_t i = 0; i < n; ++i) sums[i] /= sum;
  sums[n - 1] = 1;
  return WeightError::kNone;
}

WeightError draw_cpu(const View& out, const ConstView& weights, GeneratorImpl& g) {
  auto& generator = static_cast<CPUGeneratorImpl&>(g);
  const int64_t rows = weights.sizes[0], n = weights.sizes[1], draws = out.sizes[1];
  return visit_floating(weights.dtype, [&]<class T>() {
    const auto sums = std::make_unique<Wide<T>[]>(static_cast<size_t>(n));
    for (int64_t r = 0; r < rows; ++r) {
      const WeightError error = accumulate(weights.as<T>() + r * n, sums.get(), n);
      if (error != WeightError::kNone) return error;
      for (int64_t i = 0; i < draws; ++i) {
        const double u = static_cast<double>(generator.random64() & 0x1fffffffffffffu) * 0x1p-53;
        const Wide<T>* found =
            std::lower_bound(sums.get(), sums.get() + n, u, [](Wide<T> s, double v) { return s < v; });
        out.as<int64_t>()[r * draws + i] = std::min<int64_t>(found - sums.get(), n - 1);
      }
    }
    return WeightError::kNone;
  });
}

WeightError pick_cpu(const View& out, const ConstView& weights, const View& exponential) {
  const int64_t rows = weights.sizes[0], n = weights.sizes[1], picks = out.sizes[1];
  return visit_floating(weights.dtype, [&]<class T>() {
    const auto order = std::make_unique<int64_t[]>(static_cast<size_t>(n));
    for (int64_t r = 0; r < rows; ++r) {
      const T* w = weights.as<T>() + r * n;
      T* key = exponential.as<T>() + r * n;
      Wide<T> sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const Wide<T> weight = w[i];
        if (!(weight >= 0)) return WeightError::kNegative;
        if (!std::isfinite(weight)) return WeightError::kNotFinite;
        sum += weight;
        key[i] = static_cast<T>(weight / static_cast<Wide<T>>(key[i]));
      }
      if (!(sum > 0)) return WeightError::kZeroSum;
      const auto greater = [key](int64_t a, int64_t b) {
        const Wide<T> x = key[a], y = key[b];
        return x > y || (x == y && a < b);
      };
      std::iota(order.get(), order.get() + n, 0);
      std::partial_sort(order.get(), order.get() + picks, order.get() + n, greater);
      std::copy_n(order.get(), picks, out.as<int64_t>() + r * picks);
    }
    return WeightError::kNone;
  });
}

}  // namespace

constinit KernelTable<WeightError(const View&, const ConstView&, GeneratorImpl&)> multinomial_draw("multinomial_draw",
                                                                                                   &draw_cpu);
constinit KernelTable<WeightError(const View&, const ConstView&, const View&)> multinomial_pick("multinomial_pick",
                                                                                                &pick_cpu);

}  // namespace gradus::inline v0::kernels
