// Reductions for one SIMD target. An operation says how a value enters (map), how two partial results join (combine)
// and what the result is (finish); here is the walk: pairwise, in vectors along the memory, on several threads.
//
//     struct Sum { using Acc = float; static constexpr bool kVector = true;
//                  Acc identity() const; Acc map(float x, Acc center) const; Acc combine(Acc a, Acc b) const; Acc
//                  finish(Acc) const; };
//
// map and combine of a kVector operation have vector forms with a leading tag. How the work is cut depends on the shape
// alone, so that results do not depend on the number of threads.
#if defined(GRADUS_KERNELS_CPU_REDUCTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_KERNELS_CPU_REDUCTION_INL_H_
#undef GRADUS_KERNELS_CPU_REDUCTION_INL_H_
#else
#define GRADUS_KERNELS_CPU_REDUCTION_INL_H_
#endif

#include <algorithm>

#include <hwy/highway.h>

#include <kernels/parallel.h>
#include <kernels/reduction.h>

#include "kernels/cpu/elementwise-inl.h"
#include "kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kColumns = 128;  // results that are computed side by side
// Elements that are added without pairing, over all lanes: 8 to 32 to an accumulator.
constexpr int64_t kRowBlock = HWY_TARGET == HWY_SCALAR ? 32 : 1024;
constexpr int64_t kParallelWork = 32768;

template <class T, class D>
HWY_INLINE hn::Vec<D> load_vector(D d, const T* p) {
  if constexpr (std::is_same_v<T, Half>) {
    const hn::Rebind<hwy::float16_t, D> half;
    return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(p)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::Rebind<hwy::bfloat16_t, D> half;
    return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::bfloat16_t*>(p)));
  } else {
    return hn::LoadU(d, p);
  }
}

template <class T, class Op>
class Reducer {
 public:
  using Acc = typename Op::Acc;
  Reducer(const Reduction& r, const Op& op, const Acc* centers) : r_(r), op_(op), centers_(centers) {}

  /// Writes op.finish() of every result, converted to Out.
  template <class Out>
  void run() const {
    if (r_.outputs == 0) return;
    const int64_t inner = r_.kept ? r_.kept_sizes[0] : 1;
    const int64_t per_row = (inner + kColumns - 1) / kColumns;
    const int64_t groups = r_.outputs / inner * per_row;
    const int64_t work = r_.outputs * r_.length;
    if (work <= kParallelWork) return run_groups<Out>(0, groups);
    const int64_t pieces = pieces_of(groups, work);
    if (pieces > 1) return run_split<Out>(groups, pieces);
    parallel_for(0, groups, std::max<int64_t>(1, kParallelWork / std::max<int64_t>(1, work / groups)),
                 [&](int64_t b, int64_t e) { run_groups<Out>(b, e); });
  }

 private:
  // The results [first, first + count) along kept dimension 0.
  struct Group {
    const char* in;
    int64_t out;     // offset of the first result, in elements
    int64_t number;  // of the first result, counted with dimension 0 fastest
    int64_t count;
  };
  Group group(int64_t g) const {
    if (r_.kept == 0) return {r_.in, 0, 0, 1};
    const int64_t inner = r_.kept_sizes[0], per_row = (inner + kColumns - 1) / kColumns;
    const int64_t row = g / per_row, first = g % per_row * kColumns;
    Group result{r_.in + first * r_.kept_strides[0], first * r_.out_strides[0], row * inner + first,
                 std::min(kColumns, inner - first)};
    int64_t rest = row;
    for (int d = 1; d < r_.kept; ++d) {
      const int64_t i = rest % r_.kept_sizes[d];
      rest /= r_.kept_sizes[d];
      result.in += i * r_.kept_strides[d];
      result.out += i * r_.out_strides[d];
    }
    return result;
  }

  // Few results of many elements each are cut along the outermost reduced dimension.
  int64_t pieces_of(int64_t groups, int64_t work) const {
    if (groups >= 16 || r_.reduced == 0) return 1;
    return std::min({r_.reduced_sizes[r_.reduced - 1], work / kParallelWork, int64_t{64}});
  }

  template <class Out>
  void run_groups(int64_t begin, int64_t end) const {
    Acc acc[kColumns];
    for (int64_t g = begin; g < end; ++g) {
      const Group at = group(g);
      reduce_group(at, acc, 0, outer_size());
      store_group<Out>(at, acc);
    }
  }

  template <class Out>
  void run_split(int64_t groups, int64_t pieces) const {
    ScratchArray<Acc> partial(static_cast<size_t>(groups * pieces * kColumns));
    const int64_t outer = outer_size();
    parallel_for(0, groups * pieces, 1, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const int64_t piece = i % pieces;
        reduce_group(group(i / pieces), partial.data() + i * kColumns, outer * piece / pieces,
                     outer * (piece + 1) / pieces);
      }
    });
    for (int64_t g = 0; g < groups; ++g) {
      const Group at = group(g);
      Acc* acc = partial.data() + g * pieces * kColumns;
      for (int64_t step = 1; step < pieces; step *= 2) {
        for (int64_t i = 0; i + step < pieces; i += 2 * step) {
          for (int64_t c = 0; c < at.count; ++c) {
            acc[i * kColumns + c] = op_.combine(acc[i * kColumns + c], acc[(i + step) * kColumns + c]);
          }
        }
      }
      store_group<Out>(at, acc);
    }
  }

  template <class Out>
  void store_group(const Group& at, const Acc* acc) const {
    Out* out = reinterpret_cast<Out*>(r_.out) + at.out;
    const int64_t stride = r_.kept ? r_.out_strides[0] : 0;
    for (int64_t c = 0; c < at.count; ++c) out[c * stride] = static_cast<Out>(op_.finish(acc[c]));
  }

  int64_t outer_size() const { return r_.reduced ? r_.reduced_sizes[r_.reduced - 1] : 1; }

  // Part [begin, end) of the outermost reduced dimension, for all results of a group.
  void reduce_group(const Group& at, Acc* acc, int64_t begin, int64_t end) const {
    const Acc* centers = centers_ ? centers_ + at.number : nullptr;
    const int top = r_.reduced - 1;
    if (r_.length == 0 || begin >= end) {
      std::fill(acc, acc + at.count, op_.identity());
    } else if (r_.reduced == 0) {
      for (int64_t c = 0; c < at.count; ++c) {
        acc[c] =
            op_.combine(op_.identity(), op_.map(load<T>(at.in + c * r_.kept_strides[0]), centers ? centers[c] : Acc()));
      }
    } else if (at.count > 1 && r_.kept_strides[0] == sizeof(T) && r_.reduced_strides[0] != sizeof(T)) {
      const Acc none[kColumns] = {};
      std::fill(acc, acc + at.count, op_.identity());
      columns(acc, at.in, top, begin, end, at.count, centers ? centers : none);
    } else {
      const int64_t stride = r_.kept ? r_.kept_strides[0] : 0;
      for (int64_t c = 0; c < at.count; ++c)
        acc[c] = rows(at.in + c * stride, top, begin, end, centers ? centers[c] : Acc());
    }
  }

  // One result: rows of the innermost reduced dimension, joined in pairs.
  Acc rows(const char* p, int level, int64_t begin, int64_t end, Acc center) const {
    const int64_t stride = r_.reduced_strides[level];
    if (level == 0) {
      if constexpr (Op::kVector) {
        if (stride == sizeof(T)) return row(reinterpret_cast<const T*>(p) + begin, end - begin, center);
      }
      return strided_row(p + begin * stride, end - begin, stride, center);
    }
    if (end - begin == 1) return rows(p + begin * stride, level - 1, 0, r_.reduced_sizes[level - 1], center);
    const int64_t middle = begin + (end - begin) / 2;
    return op_.combine(rows(p, level, begin, middle, center), rows(p, level, middle, end, center));
  }

  Acc row(const T* p, int64_t n, Acc center) const {
    if (n <= kRowBlock) return row_block(p, n, center);
    const int64_t half = (n / 2 + kRowBlock - 1) / kRowBlock * kRowBlock;
    return op_.combine(row(p, half, center), row(p + half, n - half, center));
  }

  Acc row_block(const T* p, int64_t n, Acc center) const {
    const hn::ScalableTag<Acc> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    Acc result = op_.identity();
    int64_t i = 0;
    if (n >= lanes) {
      const auto c = hn::Set(d, center);
      auto a = hn::Set(d, op_.identity());
      if (n >= 4 * lanes) {
        auto b = a, e = a, f = a;
        for (; n - i >= 4 * lanes; i += 4 * lanes) {
          a = op_.combine(d, a, op_.map(d, load_vector(d, p + i), c));
          b = op_.combine(d, b, op_.map(d, load_vector(d, p + i + lanes), c));
          e = op_.combine(d, e, op_.map(d, load_vector(d, p + i + 2 * lanes), c));
          f = op_.combine(d, f, op_.map(d, load_vector(d, p + i + 3 * lanes), c));
        }
        a = op_.combine(d, op_.combine(d, a, b), op_.combine(d, e, f));
      }
      for (; n - i >= lanes; i += lanes) a = op_.combine(d, a, op_.map(d, load_vector(d, p + i), c));
      HWY_ALIGN Acc lane[HWY_MAX_BYTES / sizeof(Acc)];
      hn::Store(a, d, lane);
      for (int64_t width = lanes / 2; width > 0; width /= 2) {
        for (int64_t k = 0; k < width; ++k) lane[k] = op_.combine(lane[k], lane[k + width]);
      }
      result = lane[0];
    }
    for (; i < n; ++i) result = op_.combine(result, op_.map(static_cast<Compute<T>>(p[i]), center));
    return result;
  }

  Acc strided_row(const char* p, int64_t n, int64_t stride, Acc center) const {
    if (n > kRowBlock / 4 && std::is_floating_point_v<Acc>) {
      const int64_t half = n / 2;
      return op_.combine(strided_row(p, half, stride, center),
                         strided_row(p + half * stride, n - half, stride, center));
    }
    Acc result = op_.identity();
    if (stride == sizeof(T)) {
      auto* from = reinterpret_cast<const T*>(p);
      for (int64_t i = 0; i < n; ++i) result = op_.combine(result, op_.map(static_cast<Compute<T>>(from[i]), center));
      return result;
    }
    for (int64_t i = 0; i < n; ++i) result = op_.combine(result, op_.map(load<T>(p + i * stride), center));
    return result;
  }

  // Neighbouring results side by side: every step of a reduced dimension adds a row to all of them.
  void columns(Acc* acc, const char* p, int level, int64_t begin, int64_t end, int64_t width,
               const Acc* centers) const {
    const int64_t stride = r_.reduced_strides[level];
    if (level == 0 && end - begin <= 64) return add_rows(acc, p + begin * stride, end - begin, stride, width, centers);
    if (level > 0 && end - begin == 1) {
      return columns(acc, p + begin * stride, level - 1, 0, r_.reduced_sizes[level - 1], width, centers);
    }
    const int64_t middle = begin + (end - begin) / 2;
    Acc second[kColumns];
    std::fill(second, second + width, op_.identity());
    columns(acc, p, level, begin, middle, width, centers);
    columns(second, p, level, middle, end, width, centers);
    for (int64_t c = 0; c < width; ++c) acc[c] = op_.combine(acc[c], second[c]);
  }

  void add_rows(Acc* __restrict acc, const char* p, int64_t n, int64_t stride, int64_t width,
                const Acc* __restrict centers) const {
    int64_t r = 0;
    for (; r + 4 <= n; r += 4) {
      auto* a = reinterpret_cast<const T*>(p + r * stride);
      auto* b = reinterpret_cast<const T*>(p + (r + 1) * stride);
      auto* c = reinterpret_cast<const T*>(p + (r + 2) * stride);
      auto* d = reinterpret_cast<const T*>(p + (r + 3) * stride);
      for (int64_t k = 0; k < width; ++k) {
        const Acc x = op_.combine(op_.map(static_cast<Compute<T>>(a[k]), centers[k]),
                                  op_.map(static_cast<Compute<T>>(b[k]), centers[k]));
        const Acc y = op_.combine(op_.map(static_cast<Compute<T>>(c[k]), centers[k]),
                                  op_.map(static_cast<Compute<T>>(d[k]), centers[k]));
        acc[k] = op_.combine(acc[k], op_.combine(x, y));
      }
    }
    for (; r < n; ++r) {
      auto* a = reinterpret_cast<const T*>(p + r * stride);
      for (int64_t k = 0; k < width; ++k)
        acc[k] = op_.combine(acc[k], op_.map(static_cast<Compute<T>>(a[k]), centers[k]));
    }
  }

  const Reduction& r_;
  const Op& op_;
  const Acc* centers_;
};

template <class T, class Out, class Op>
void reduce(const Reduction& r, const Op& op, const typename Op::Acc* centers = nullptr) {
  Reducer<T, Op>(r, op, centers).template run<Out>();
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
