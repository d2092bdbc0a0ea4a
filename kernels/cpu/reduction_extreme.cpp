// Largest and smallest elements and where they are; any and all.
#include <kernels/reduction.h>

#include <limits>

// Rows longer than the cache wait for memory, short ones for the combination of lanes: vectors of 512 bits would gain
// little, and be a third of the code.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduction_extreme.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/reduction-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

// The second where it is better or NaN: once there, a NaN is not beaten by a number.
template <class T, bool kLargest>
struct Extreme {
  using Acc = Compute<T>;
  static constexpr bool kVector = std::is_floating_point_v<Acc>;
  Acc identity() const {
    using Limits = std::numeric_limits<Acc>;
    if constexpr (kVector) return kLargest ? -Limits::infinity() : Limits::infinity();
    return kLargest ? Limits::lowest() : Limits::max();
  }
  Acc map(Acc x, Acc) const { return x; }
  Acc combine(Acc a, Acc b) const {
    const bool better = kLargest ? b > a : b < a;
    if constexpr (kVector) return better || b != b ? b : a;
    return better ? b : a;
  }
  Acc finish(Acc a) const { return a; }
  template <class D, class V>
  HWY_INLINE V map(D, V x, V) const {
    return x;
  }
  template <class D, class V>
  HWY_INLINE V combine(D, V a, V b) const {
    const auto better = kLargest ? hn::Lt(a, b) : hn::Lt(b, a);
    return hn::IfThenElse(hn::Or(better, hn::IsNaN(b)), b, a);
  }
};

// Whether an element is not zero shows in its bits: one kernel for each width. `mask` leaves out the sign of a zero.
template <class T, bool kAny>
struct Truth {
  using Acc = uint8_t;
  static constexpr bool kVector = false;
  T mask;
  Acc identity() const { return !kAny; }
  Acc map(T x, Acc) const { return (x & mask) != 0; }
  Acc combine(Acc a, Acc b) const { return kAny ? a | b : a & b; }
  Acc finish(Acc a) const { return a; }
};

template <bool kAny>
void truth(const Reduction& r) {
  if (is_complex(r.dtype)) unsupported_dtype(r.dtype);
  visit_width(element_size(r.dtype), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const T all = static_cast<T>(~T{0});
      reduce<T, bool>(r, Truth<T, kAny>{is_floating_point(r.dtype) ? static_cast<T>(all >> 1) : all});
    }
  });
}

// A bool is a byte of 0 or 1.
template <class F>
void visit_ordered(ScalarType t, F f) {
  visit_numbers(t == ScalarType::Bool ? ScalarType::Byte : t, f);
}

void amax_kernel(const Reduction& r) {
  visit_ordered(r.dtype, [&]<class T>() { reduce<T, T>(r, Extreme<T, true>()); });
}
void amin_kernel(const Reduction& r) {
  visit_ordered(r.dtype, [&]<class T>() { reduce<T, T>(r, Extreme<T, false>()); });
}
void any_kernel(const Reduction& r) {
  truth<true>(r);
}
void all_kernel(const Reduction& r) {
  truth<false>(r);
}

template <class C>
inline bool is_it(C x, C value) {
  return (x == value) | ((x != x) & (value != value));
}

// Where each value of results [begin, begin + count) along kept dimension 0 first stands.
template <class T>
void find(const Reduction& r, const char* in, const T* values, int64_t* indices, int64_t begin, int64_t count) {
  using C = Compute<T>;
  const int64_t n = r.reduced ? r.reduced_sizes[0] : 1, stride = r.reduced ? r.reduced_strides[0] : 0;
  const int64_t step = r.kept ? r.kept_strides[0] : 0, out_step = r.kept ? r.out_strides[0] : 0;
  if (step == sizeof(T) && stride != sizeof(T) && count > 1) {
    // Side by side from the last row to the first: the first one that matches is the last to be written.
    for (int64_t i = n - 1; i >= 0; --i) {
      auto* row = reinterpret_cast<const T*>(in + i * stride) + begin;
      if (out_step == 1) {
        int64_t* __restrict at = indices + begin;
        const T* __restrict best = values + begin;
        for (int64_t c = 0; c < count; ++c) at[c] = is_it(static_cast<C>(row[c]), static_cast<C>(best[c])) ? i : at[c];
        continue;
      }
      for (int64_t c = 0; c < count; ++c) {
        int64_t& at = indices[(begin + c) * out_step];
        at = is_it(static_cast<C>(row[c]), static_cast<C>(values[(begin + c) * out_step])) ? i : at;
      }
    }
    return;
  }
  for (int64_t c = begin; c < begin + count; ++c) {
    const C value = static_cast<C>(values[c * out_step]);
    const char* p = in + c * step;
    int64_t i = 0;
    // Whole blocks without a branch per element.
    if (stride == sizeof(T)) {
      auto* row = reinterpret_cast<const T*>(p);
      for (; i + 32 <= n; i += 32) {
        int found = 0;
        for (int k = 0; k < 32; ++k) found |= is_it(static_cast<C>(row[i + k]), value);
        if (found) break;
      }
    }
    while (i + 1 < n && !is_it(load<T>(p + i * stride), value)) ++i;
    indices[c * out_step] = i;
  }
}

void index_of_kernel(const Reduction& r, int64_t* indices) {
  if (r.outputs == 0) return;
  const int64_t inner = r.kept ? r.kept_sizes[0] : 1, per_row = (inner + kColumns - 1) / kColumns;
  const int64_t groups = r.outputs / inner * per_row;
  visit_ordered(r.dtype, [&]<class T>() {
    const int64_t work = std::max<int64_t>(1, r.outputs * r.length / groups);
    parallel_for(0, groups, std::max<int64_t>(1, kParallelWork / work), [&](int64_t b, int64_t e) {
      for (int64_t g = b; g < e; ++g) {
        const int64_t first = g % per_row * kColumns;
        int64_t rest = g / per_row, out = 0;
        const char* in = r.in;
        for (int d = 1; d < r.kept; ++d) {
          const int64_t i = rest % r.kept_sizes[d];
          rest /= r.kept_sizes[d];
          in += i * r.kept_strides[d];
          out += i * r.out_strides[d];
        }
        find<T>(r, in, reinterpret_cast<const T*>(r.out) + out, indices + out, first,
                std::min(kColumns, inner - first));
      }
    });
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(amax, ReductionTable)
GRADUS_CPU_KERNEL(amin, ReductionTable)
GRADUS_CPU_KERNEL(any, ReductionTable)
GRADUS_CPU_KERNEL(all, ReductionTable)
HWY_EXPORT(index_of_kernel);
constinit KernelTable<void(const Reduction&, int64_t*)> index_of{"index_of", [](const Reduction& r, int64_t* indices) {
                                                                   HWY_DYNAMIC_DISPATCH(index_of_kernel)(r, indices);
                                                                 }};
}  // namespace gradus::inline v0::kernels
#endif
