// Smooth activations and their slopes, for kernels that compute them on the way. Errors in ULP of the result, f32 and
// f64: sigmoid and silu 3, tails included; gelu_erf and gelu_tanh 2 ULP of max(|x|, 1), tails relatively accurate to
// 1e-5 (f32).
#pragma once

#include <cmath>

#include "kernels/cuda/device.h"

namespace gradus::inline v0::kernels::cuda {

/// 1 / x for 1 <= x <= 2^100.
__device__ inline float plain_reciprocal(float x) {
  const float r = __fdividef(1.0f, x);
  return r * (2 - x * r);  // Newton's step makes good what the approximation lacks
}
__device__ inline double plain_reciprocal(double x) {
  return 1 / x;
}

/// The logistic function and its slope; small values of both keep their relative accuracy.
template <class T>
struct Logistic {
  T value, slope;
};
template <class T>
__device__ inline Logistic<T> logistic(T x) {
  const T e = std::exp(-std::abs(x)), large = plain_reciprocal(1 + e), small = e * large;
  return {x < 0 ? small : large, small * large};
}

struct Sigmoid {
  template <class T>
  __device__ T operator()(T x) const {
    return logistic(x).value;
  }
};
struct Silu {
  template <class T>
  __device__ T operator()(T x) const {
    return x * logistic(x).value;
  }
};
struct SiluSlope {
  template <class T>
  __device__ T operator()(T x) const {
    const Logistic<T> s = logistic(x);
    return x * s.slope + s.value;
  }
};

/// The normal distribution's function of x, and e^(-x^2 / 2).
template <class T>
struct Normal {
  T cdf, bell;
};
__device__ inline Normal<double> normal(double x) {
  return {0.5 * std::erfc(x * -0.70710678118654752), std::exp(x * x * -0.5)};
}
// cdf(-a) is bell(a) times a smooth function: e^(y^2) erfc(y) / 2 with y = a / sqrt(2), which is a polynomial in
// (y - 2) / (y + 2), divided by y + 2 (kernels/cpu/fit_polynomials.py). Half of the code of erfcf.
__device__ inline Normal<float> normal(float x) {
  const float bell = std::exp2(x * x * -0.72134752f);  // log2(e) / 2
  const float y = std::fmin(std::abs(x), 14.4f) * 0.70710678f;
  const float r = __fdividef(1.0f, y + 2), t = (y - 2) * r;
  float p = -9.72031194e-05f;
  p = p * t - 0.000177568058f;
  p = p * t - 0.000432306464f;
  p = p * t - 0.000569611031f;
  p = p * t + 0.00301011279f;
  p = p * t + 0.00637135748f;
  p = p * t - 0.0214977507f;
  p = p * t - 0.0364261344f;
  p = p * t + 0.279471099f;
  p = p * t - 0.687161326f;
  p = p * t + 1.02158272f;
  const float upper = p * (0.5f * r) * bell;
  return {x < 0 ? upper : 1 - upper, bell};
}
struct GeluErf {
  template <class T>
  __device__ T operator()(T x) const {
    return x * normal(x).cdf;
  }
};
struct GeluErfSlope {
  template <class T>
  __device__ T operator()(T x) const {
    const Normal<T> n = normal(x);
    return x * (n.bell * T(0.39894228040143268)) + n.cdf;
  }
};

/// gelu's tanh form is x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
constexpr double kGeluFactor = 1.5957691216057308, kGeluCubic = 0.044715;
template <class T>
__device__ inline T gelu_tanh_argument(T x) {
  return x * T(kGeluFactor) * (x * x * T(kGeluCubic) + 1);
}
struct GeluTanh {
  template <class T>
  __device__ T operator()(T x) const {
    return x * logistic(gelu_tanh_argument(x)).value;
  }
};
struct GeluTanhSlope {
  template <class T>
  __device__ T operator()(T x) const {
    x = x < T(-100) ? T(-100) : x > T(100) ? T(100) : x;  // constant beyond, and the slope of u stays finite
    const Logistic<T> s = logistic(gelu_tanh_argument(x));
    const T slope = (x * x * T(3 * kGeluCubic) + 1) * T(kGeluFactor);
    return x * slope * s.slope + s.value;
  }
};

}  // namespace gradus::inline v0::kernels::cuda
