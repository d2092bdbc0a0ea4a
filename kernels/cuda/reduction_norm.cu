// Norms and variances.
#include <limits>

#include <kernels/visit.h>

#include "kernels/cuda/reduction.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

template <class T>
struct Spread {
  using C = Compute<T>;
  using Acc = Moments<C>;
  static constexpr bool kRare = false;
  T* out;
  C divisor;  // 0 or less gives infinity or NaN, as 0 / 0 does
  bool root;
  __device__ Acc identity() const { return {0, 0, 0}; }
  __device__ Acc combine(const Acc& a, const Acc& b) const { return join(a, b); }
  template <int N, class At>
  __device__ void take(Acc& acc, const C (&x)[N], const At&) const {
    acc = join(acc, moments_of(x));
  }
  __device__ void write(const Acc& a, int64_t offset) const {
    const C v = a.squares / divisor;
    store(out + offset, root ? std::sqrt(v) : v);
  }
};

// Orders 0, 1 and 2: the number of elements that are not zero, the sum of magnitudes, the root of the sum of squares.
template <class T>
struct MagnitudeSum {
  using C = Compute<T>;
  using Acc = LongSum<C>;
  static constexpr bool kRare = false;
  T* out;
  int order;
  __device__ Acc identity() const { return {0, 0}; }
  __device__ Acc combine(const Acc& a, const Acc& b) const { return join(a, b); }
  template <int N, class At>
  __device__ void take(Acc& acc, const C (&x)[N], const At&) const {
    const auto map = [this](C v) { return order == 2 ? v * v : order == 1 ? std::abs(v) : C(v != 0); };
    acc = join(acc, Acc{fold<C>(x, map, Plus()), 0});
  }
  __device__ void write(const Acc& a, int64_t offset) const {
    store(out + offset, order == 2 ? std::sqrt(a.value()) : a.value());
  }
};

template <class T>
struct PowerSum {
  using Acc = Compute<T>;
  static constexpr bool kRare = true;
  T* out;
  Acc power, root;
  __device__ Acc identity() const { return 0; }
  __device__ Acc map(Acc x) const { return std::pow(std::abs(x), power); }
  __device__ Acc combine(Acc a, Acc b) const { return a + b; }
  __device__ void write(Acc a, int64_t offset) const { store(out + offset, std::pow(a, root)); }
};

// The largest magnitude, or the smallest as the largest of their negatives.
template <class T>
struct ExtremeMagnitude {
  using Acc = Compute<T>;
  static constexpr bool kRare = false;
  T* out;
  Acc sign, first;
  __device__ Acc identity() const { return first; }
  __device__ Acc map(Acc x) const { return std::abs(x) * sign; }
  __device__ Acc combine(Acc a, Acc b) const { return b > a || b != b ? b : a; }
  __device__ void write(Acc a, int64_t offset) const { store(out + offset, a * sign); }
};

void var_cuda(const Reduction& r, double correction, bool root) {
  // Nothing has no spread, whatever the correction: 0 / 0.
  const double divisor = r.length == 0 ? 0 : static_cast<double>(r.length) - correction;
  visit_floating(r.dtype, [&]<class T>() {
    using C = Compute<T>;
    reduce<T>("var", r, Spread<T>{reinterpret_cast<T*>(r.out), static_cast<C>(divisor > 0 ? divisor : 0), root});
  });
}

void norm_cuda(const Reduction& r, double order) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  visit_floating(r.dtype, [&]<class T>() {
    using C = Compute<T>;
    T* out = reinterpret_cast<T*>(r.out);
    if (order == 0 || order == 1 || order == 2) {
      reduce<T>("norm", r, MagnitudeSum<T>{out, static_cast<int>(order)});
    } else if (order == kInfinity) {
      reduce<T>("norm", r, ExtremeMagnitude<T>{out, 1, 0});
    } else if (order == -kInfinity) {
      reduce<T>("norm", r, ExtremeMagnitude<T>{out, -1, -std::numeric_limits<C>::infinity()});
    } else {
      reduce<T>("norm", r, PowerSum<T>{out, static_cast<C>(order), static_cast<C>(1 / order)});
    }
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(var, var_cuda)
GRADUS_CUDA_KERNEL(norm, norm_cuda)

}  // namespace gradus::inline v0::kernels::cuda
