// Numbers from their positions.
#include <kernels/factories.h>

#include <kernels/visit.h>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kThreads = 128;

template <class T>
struct IntegerRange {
  uint64_t start, step;
  __device__ T operator()(int64_t i) const {
    return static_cast<T>(static_cast<int64_t>(start + step * static_cast<uint64_t>(i)));
  }
};
template <class T>
struct FloatRange {
  double start, step;
  __device__ T operator()(int64_t i) const {
    return narrow<T>(static_cast<Compute<T>>(start + step * static_cast<double>(i)));
  }
};
/// From both ends, so that both are met exactly. Integers are cut from doubles.
template <class T, class Step>
struct Linspace {
  Step start, end, step;
  int64_t numel;
  __device__ T operator()(int64_t i) const {
    const Step v = i < numel / 2 || numel == 1 ? start + step * static_cast<Step>(i)
                                               : end - step * static_cast<Step>(numel - i - 1);
    return narrow<T>(v);
  }
};

template <class T, class F>
__global__ void __launch_bounds__(kThreads) indexed_kernel(T* to, int64_t numel, bool aligned, F f) {
  constexpr int kCount = kPackSize<T>;
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kCount;
  Pack<T, kCount> pack;
#pragma unroll
  for (int i = 0; i < kCount; ++i) pack.at[i] = f(first + i);
  if (aligned && first + kCount <= numel) {
    *reinterpret_cast<Pack<T, kCount>*>(to + first) = pack;
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (first + i < numel) to[first + i] = pack.at[i];
    }
  }
}
template <class T, class F>
void run_indexed(const char* name, void* to, int64_t numel, const F& f) {
  const bool aligned = reinterpret_cast<uintptr_t>(to) % sizeof(Pack<T, kPackSize<T>>) == 0;
  launch(name, &indexed_kernel<T, F>, static_cast<unsigned>(ceil_div(numel, kThreads * kPackSize<T>)), kThreads, 0,
         static_cast<T*>(to), numel, aligned, f);
}

void arange_cuda(void* to, int64_t n, ScalarType dtype, const Scalar& start, const Scalar& step) {
  visit_all(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      run_indexed<T>("arange", to, n,
                     IntegerRange<T>{static_cast<uint64_t>(start.as_int()), static_cast<uint64_t>(step.as_int())});
    } else {
      run_indexed<T>("arange", to, n, FloatRange<T>{start.as_double(), step.as_double()});
    }
  });
}

void linspace_cuda(void* to, int64_t n, ScalarType dtype, const Scalar& start, const Scalar& end) {
  visit_numbers(dtype, [&]<class T>() {
    using C = Compute<T>;
    using Step = std::conditional_t<std::is_integral_v<T>, double, C>;
    const Step from = static_cast<Step>(as<C>(start)), last = static_cast<Step>(as<C>(end));
    const Step by = n > 1 ? (last - from) / static_cast<Step>(n - 1) : Step(0);
    run_indexed<T>("linspace", to, n, Linspace<T, Step>{from, last, by, n});
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(arange, arange_cuda)
GRADUS_CUDA_KERNEL(linspace, linspace_cuda)

}  // namespace gradus::inline v0::kernels::cuda
