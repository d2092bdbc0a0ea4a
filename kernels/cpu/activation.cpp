// Activations with parameters, and the activations' gradients.
#include <kernels/pointwise.h>

#include "kernels/bodies/activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

void leaky_relu_kernel(const Loop& l, const Scalar& slope) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    unary<T, T>(l, bodies::LeakyRelu<C>{as<C>(slope)});
  });
}
void leaky_relu_backward_kernel(const Loop& l, const Scalar& slope) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, T>(l, bodies::LeakyReluBackward<C>{as<C>(slope)});
  });
}

void threshold_kernel(const Loop& l, const Scalar& threshold, const Scalar& value) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    unary<T, T>(l, bodies::Threshold<C>{as<C>(threshold), as<C>(value)});
  });
}
void threshold_backward_kernel(const Loop& l, const Scalar& threshold) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, T>(l, bodies::ThresholdBackward<C>{as<C>(threshold)});
  });
}

void tanh_backward_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() { binary<T, T, T>(l, bodies::TanhBackward()); });
}
void sigmoid_backward_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() { binary<T, T, T>(l, bodies::SigmoidBackward()); });
}

// out = g * slope(d, x): gradients whose slope is a vector function of the input.
template <class T, class F>
void scaled_slope(const Loop& l, F slope) {
  for_rows(
      l,
      [](void* c, char* const* p, const int64_t* s, int64_t n) {
        F& f = *static_cast<F*>(c);
        constexpr int64_t kChunk = 128;
        alignas(64) Compute<T> chunk[kChunk];
        for (int64_t i = 0; i < n; i += kChunk) {
          const int64_t m = n - i < kChunk ? n - i : kChunk;
          for (int64_t k = 0; k < m; ++k) chunk[k] = load<T>(p[2] + (i + k) * s[2]);
          map_vectors(chunk, chunk, m, f);
          if (s[0] == sizeof(T) && s[1] == sizeof(T)) {
            auto* to = reinterpret_cast<T*>(p[0]) + i;
            auto* g = reinterpret_cast<const T*>(p[1]) + i;
#pragma GCC ivdep
            for (int64_t k = 0; k < m; ++k) to[k] = static_cast<T>(static_cast<Compute<T>>(g[k]) * chunk[k]);
          } else {
            for (int64_t k = 0; k < m; ++k) store<T>(p[0] + (i + k) * s[0], load<T>(p[1] + (i + k) * s[1]) * chunk[k]);
          }
        }
      },
      &slope, 10);
}
void silu_backward_kernel(const Loop& l) {
  visit_floating(l.dtype,
                 [&]<class T>() { scaled_slope<T>(l, [](auto d, auto x) HWY_ATTR { return math::silu_grad(d, x); }); });
}
void gelu_erf_backward_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() {
    scaled_slope<T>(l, [](auto d, auto x) HWY_ATTR { return math::gelu_erf_grad(d, x); });
  });
}
void gelu_tanh_backward_kernel(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() {
    scaled_slope<T>(l, [](auto d, auto x) HWY_ATTR { return math::gelu_tanh_grad(d, x); });
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(leaky_relu, ScaledTable)
GRADUS_CPU_KERNEL(leaky_relu_backward, ScaledTable)
GRADUS_CPU_KERNEL(threshold, TwoScalarTable)
GRADUS_CPU_KERNEL(threshold_backward, ScaledTable)
GRADUS_CPU_KERNEL(tanh_backward, UnaryTable)
GRADUS_CPU_KERNEL(sigmoid_backward, UnaryTable)
GRADUS_CPU_KERNEL(silu_backward, UnaryTable)
GRADUS_CPU_KERNEL(gelu_erf_backward, UnaryTable)
GRADUS_CPU_KERNEL(gelu_tanh_backward, UnaryTable)
}  // namespace gradus::inline v0::kernels
#endif
