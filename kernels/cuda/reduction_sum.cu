// Sums, means, products.
#include <kernels/visit.h>

#include "kernels/cuda/reduction.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

// Integers and bool are gathered in 64 bits, which wrap.
template <class T>
using Gathered = std::conditional_t<std::is_integral_v<Compute<T>>, uint64_t, Compute<T>>;
template <class T>
using ResultOf = std::conditional_t<std::is_integral_v<T>, int64_t, T>;

template <class C>
struct WidenTo {
  template <class X>
  __device__ C operator()(X x) const {
    return static_cast<C>(x);
  }
};

struct IntegerSum {
  using Acc = uint64_t;
  static constexpr bool kRare = false;
  int64_t* out;
  __device__ Acc identity() const { return 0; }
  __device__ Acc combine(Acc a, Acc b) const { return a + b; }
  template <class C, int N, class At>
  __device__ void take(Acc& acc, const C (&x)[N], const At&) const {
    // A few bytes or shorts do not overflow 32 bits.
    using Part = std::conditional_t<sizeof(C) <= 2, int32_t, uint64_t>;
    acc += static_cast<Acc>(fold<Part>(x, WidenTo<Part>(), Plus()));
  }
  __device__ void write(Acc a, int64_t offset) const { out[offset] = static_cast<int64_t>(a); }
};

// The mean, too: a sum is divided by 1.
template <class T>
struct FloatSum {
  using C = Compute<T>;
  using Acc = LongSum<C>;
  static constexpr bool kRare = false;
  T* out;
  C count;
  __device__ Acc identity() const { return {0, 0}; }
  __device__ Acc combine(const Acc& a, const Acc& b) const { return join(a, b); }
  template <int N, class At>
  __device__ void take(Acc& acc, const C (&x)[N], const At&) const {
    acc = join(acc, Acc{fold<C>(x, Itself(), Plus()), 0});
  }
  __device__ void write(const Acc& a, int64_t offset) const { store(out + offset, a.value() / count); }
};

template <class A, class Out>
struct Product {
  using Acc = A;
  static constexpr bool kRare = true;
  Out* out;
  __device__ A identity() const { return 1; }
  template <class C>
  __device__ A map(C x) const {
    return static_cast<A>(x);
  }
  __device__ A combine(A a, A b) const { return a * b; }
  __device__ void write(A a, int64_t offset) const { store(out + offset, a); }
};

// A bool is a byte of 0 or 1.
template <class F>
void visit_summable(ScalarType t, F f) {
  visit_numbers(t == ScalarType::Bool ? ScalarType::Byte : t, f);
}

void sum_cuda(const Reduction& r) {
  visit_summable(r.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      reduce<T>("sum", r, IntegerSum{reinterpret_cast<int64_t*>(r.out)});
    } else {
      reduce<T>("sum", r, FloatSum<T>{reinterpret_cast<T*>(r.out), 1});
    }
  });
}
void mean_cuda(const Reduction& r) {
  visit_floating(r.dtype, [&]<class T>() {
    reduce<T>("mean", r, FloatSum<T>{reinterpret_cast<T*>(r.out), static_cast<Compute<T>>(r.length)});
  });
}
void prod_cuda(const Reduction& r) {
  visit_summable(r.dtype, [&]<class T>() {
    using Out = ResultOf<T>;
    reduce<T>("prod", r, Product<Gathered<T>, Out>{reinterpret_cast<Out*>(r.out)});
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(sum, sum_cuda)
GRADUS_CUDA_KERNEL(mean, mean_cuda)
GRADUS_CUDA_KERNEL(prod, prod_cuda)

}  // namespace gradus::inline v0::kernels::cuda
