// Largest and smallest elements and where they are; any and all.
#include <limits>

#include <kernels/visit.h>

#include "kernels/cuda/reduction.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

// Bytes and shorts are compared as int.
template <class C>
using Compared = std::conditional_t<std::is_integral_v<C> && sizeof(C) <= 4, int32_t, C>;

// The largest; the smallest is the largest of the elements upside down, ~x or -x.
template <class A, class Out>
struct Extreme {
  using Acc = A;
  static constexpr bool kRare = false;
  Out* out;
  A flip;  // integers: 0 or -1, floats: 1 or -1
  A first;
  Extreme() = default;
  Extreme(Out* o, bool smallest) : out(o) {
    using Limits = std::numeric_limits<A>;
    if constexpr (std::is_integral_v<A>) {
      flip = smallest ? -1 : 0;
      first = Limits::lowest();
    } else {
      flip = smallest ? A(-1) : A(1);
      first = -Limits::infinity();
    }
  }
  __device__ A turned(A x) const {
    if constexpr (std::is_integral_v<A>) return x ^ flip;
    if constexpr (!std::is_integral_v<A>) return x * flip;
  }
  __device__ A identity() const { return first; }
  template <class C>
  __device__ A map(C x) const {
    return turned(static_cast<A>(x));
  }
  // The second where it is better or NaN: once there, a NaN is not beaten by a number.
  __device__ A combine(A a, A b) const {
    if constexpr (std::is_integral_v<A>) return b > a ? b : a;
    if constexpr (!std::is_integral_v<A>) return b > a || b != b ? b : a;
  }
  __device__ void write(A a, int64_t offset) const { store(out + offset, turned(a)); }
};

// Whether there is an element that is not zero, or none that is. This shows in the bits, `mask` leaving out the sign of
// a zero: one kernel for each width.
template <class T>
struct Truth {
  using Acc = uint32_t;
  static constexpr bool kRare = false;
  uint8_t* out;
  T mask;
  bool all;
  __device__ uint32_t identity() const { return 0; }
  __device__ uint32_t map(T x) const { return ((x & mask) != 0) != all; }
  __device__ uint32_t combine(uint32_t a, uint32_t b) const { return a | b; }
  __device__ void write(uint32_t a, int64_t offset) const { out[offset] = (a != 0) != all; }
};

template <class C>
__device__ inline bool is_it(C x, C value) {
  if constexpr (std::is_integral_v<C>) return x == value;
  if constexpr (!std::is_integral_v<C>) return x == value || (x != x && value != value);
}

// The first place of a value.
template <class T>
struct FirstPlace {
  using Acc = int64_t;
  static constexpr bool kRare = false;
  static constexpr int64_t kNowhere = INT64_MAX;
  const T* values;
  int64_t* out;
  Compute<T> value;
  __device__ FirstPlace bind(int64_t offset) const { return {values, out, load(values + offset)}; }
  __device__ int64_t identity() const { return kNowhere; }
  __device__ int64_t combine(int64_t a, int64_t b) const { return b < a ? b : a; }
  template <int N, class At>
  __device__ void take(int64_t& acc, const Compute<T> (&x)[N], const At& at) const {
    int found = -1;
#pragma unroll
    for (int k = N - 1; k >= 0; --k) found = is_it(x[k], value) ? k : found;
    if (found >= 0) acc = combine(acc, at.position(found));
  }
  __device__ void write(int64_t a, int64_t offset) const {
    out[offset] = a;
  }
};

// A bool is a byte of 0 or 1.
template <class F>
void visit_ordered(ScalarType t, F f) {
  visit_numbers(t == ScalarType::Bool ? ScalarType::Byte : t, f);
}
// Integers of a width are equal where their bits are.
template <class F>
void visit_comparable(ScalarType t, F f) {
  if (is_floating_point(t)) return visit_floating(t, f);
  visit_width(element_size(t), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) f.template operator()<T>();
  });
}

void extreme(const char* name, const Reduction& r, bool smallest) {
  visit_ordered(r.dtype, [&]<class T>() {
    reduce<T>(name, r, Extreme<Compared<Compute<T>>, T>(reinterpret_cast<T*>(r.out), smallest));
  });
}
void truth(const char* name, const Reduction& r, bool of_all) {
  if (is_complex(r.dtype)) unsupported_dtype(r.dtype);
  visit_width(element_size(r.dtype), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const T all = static_cast<T>(~T{0}), mask = is_floating_point(r.dtype) ? static_cast<T>(all >> 1) : all;
      reduce<T>(name, r, Truth<T>{reinterpret_cast<uint8_t*>(r.out), mask, of_all});
    }
  });
}

void amax_cuda(const Reduction& r) {
  extreme("amax", r, false);
}
void amin_cuda(const Reduction& r) {
  extreme("amin", r, true);
}
void any_cuda(const Reduction& r) {
  truth("any", r, false);
}
void all_cuda(const Reduction& r) {
  truth("all", r, true);
}
void index_of_cuda(const Reduction& r, int64_t* indices) {
  visit_comparable(r.dtype, [&]<class T>() {
    reduce<T>("index_of", r, FirstPlace<T>{reinterpret_cast<const T*>(r.out), indices, {}});
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(amax, amax_cuda)
GRADUS_CUDA_KERNEL(amin, amin_cuda)
GRADUS_CUDA_KERNEL(any, any_cuda)
GRADUS_CUDA_KERNEL(all, all_cuda)
GRADUS_CUDA_KERNEL(index_of, index_of_cuda)

}  // namespace gradus::inline v0::kernels::cuda
