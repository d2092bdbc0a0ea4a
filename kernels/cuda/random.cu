// Random floating numbers, with PyTorch's transformations of what it draws. Integers and trials are in
// random_integers.cu.
#include "kernels/random.h"

#include <limits>

#include "kernels/cuda/numeric.h"
#include "kernels/cuda/random_fill.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

template <class T>
using UniformOf = std::conditional_t<std::is_same_v<T, double>, DrawUniformDouble, DrawUniform>;
template <class T>
using NormalOf = std::conditional_t<std::is_same_v<T, double>, DrawNormalDouble, DrawNormal>;

// Logarithm, exponential and tangent as PyTorch's: of floats by the special function units.
__device__ float draw_log(float v) {
  return rough_log(v);
}
__device__ double draw_log(double v) {
  return log(v);
}
__device__ float draw_exp(float v) {
  return rough_exp(v);
}
__device__ double draw_exp(double v) {
  return exp(v);
}
__device__ float fused(float a, float b, float c) {
  return fmaf(a, b, c);
}
__device__ double fused(double a, double b, double c) {
  return fma(a, b, c);
}

/// From (0, 1] to [from, to): what reaches the upper bound becomes the lower one.
template <class T>
struct Uniform {
  Compute<T> range, from, to;
  __device__ void operator()(char* out, Compute<T> v) const {
    const T value = narrow<T>(fused(v, range, from));
    *reinterpret_cast<T*>(out) = widen(value) == to ? narrow<T>(from) : value;
  }
};

template <class T>
struct Normal {
  Compute<T> mean, std;
  __device__ void operator()(char* out, Compute<T> v) const { store(reinterpret_cast<T*>(out), fused(v, std, mean)); }
};

template <class T>
struct LogNormal {
  Compute<T> mean, std;
  __device__ void operator()(char* out, Compute<T> v) const {
    store(reinterpret_cast<T*>(out), draw_exp(fused(v, std, mean)));
  }
};

template <class T>
struct Cauchy {
  Compute<T> median, sigma;
  __device__ void operator()(char* out, Compute<T> v) const {
    using C = Compute<T>;
    constexpr C kPi = static_cast<C>(3.14159265358979323846);
    C tangent;
    if constexpr (std::is_same_v<C, float>) {
      // At the ends the units' tangent is infinite.
      constexpr C kEps = std::numeric_limits<C>::epsilon();
      v = v > 1 - kEps ? 1 - kEps : v < kEps ? kEps : v;
      tangent = rough_tan(kPi * (v - C(0.5)));
    } else {
      tangent = tan(kPi * (v - C(0.5)));
    }
    store(reinterpret_cast<T*>(out), fused(sigma, tangent, median));
  }
};

template <class T>
struct Exponential {
  Compute<T> scale;  // -1 / lambda
  __device__ void operator()(char* out, Compute<T> v) const {
    // The logarithm of 1 would be 0, which the distribution excludes and a 16-bit type would round to.
    constexpr auto kHalfEps = std::numeric_limits<Compute<T>>::epsilon() / 2;
    const Compute<T> logarithm = v >= 1 - kHalfEps ? -kHalfEps : draw_log(v);
    store(reinterpret_cast<T*>(out), scale * logarithm);
  }
};

// v as an element of type T holds it.
template <class T>
Compute<T> rounded(double v) {
  if constexpr (std::is_same_v<T, double>) {
    return v;
  } else {
    return static_cast<float>(T(static_cast<float>(v)));
  }
}

void uniform(const View& out, double from, double to, GeneratorImpl& g) {
  visit_floating(out.dtype, [&]<class T>() {
    const Compute<T> first = rounded<T>(from), end = rounded<T>(to);
    random_fill<UniformOf<T>>("uniform", out, g, Uniform<T>{rounded<T>(end - first), first, end});
  });
}
void normal(const View& out, double mean, double std, GeneratorImpl& g) {
  visit_floating(out.dtype, [&]<class T>() {
    using C = Compute<T>;
    random_fill<NormalOf<T>>("normal", out, g, Normal<T>{static_cast<C>(mean), static_cast<C>(std)});
  });
}
void log_normal(const View& out, double mean, double std, GeneratorImpl& g) {
  visit_floating(out.dtype, [&]<class T>() {
    using C = Compute<T>;
    random_fill<NormalOf<T>>("log_normal", out, g, LogNormal<T>{static_cast<C>(mean), static_cast<C>(std)});
  });
}
void cauchy(const View& out, double median, double sigma, GeneratorImpl& g) {
  visit_floating(out.dtype, [&]<class T>() {
    using C = Compute<T>;
    random_fill<UniformOf<T>>("cauchy", out, g, Cauchy<T>{static_cast<C>(median), static_cast<C>(sigma)});
  });
}
void exponential(const View& out, double lambda, GeneratorImpl& g) {
  visit_floating(out.dtype, [&]<class T>() {
    using C = Compute<T>;
    random_fill<UniformOf<T>>("exponential", out, g, Exponential<T>{C(-1) / static_cast<C>(lambda)});
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(uniform_fill, uniform)
GRADUS_CUDA_KERNEL(normal_fill, normal)
GRADUS_CUDA_KERNEL(log_normal_fill, log_normal)
GRADUS_CUDA_KERNEL(cauchy_fill, cauchy)
GRADUS_CUDA_KERNEL(exponential_fill, exponential)

}  // namespace gradus::inline v0::kernels::cuda
