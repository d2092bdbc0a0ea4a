// Activations that are plain arithmetic, and gradients of them.
#pragma once

#include "kernels/bodies/host_device.h"

namespace gradus::inline v0::kernels::bodies {

template <class T>
struct LeakyRelu {
  T slope;
  GRADUS_HOST_DEVICE T operator()(T x) const { return x > T(0) ? x : slope * x; }
};
template <class T>
struct LeakyReluBackward {
  T slope;
  GRADUS_HOST_DEVICE T operator()(T gradient, T x) const { return x > T(0) ? gradient : slope * gradient; }
};
// NaN is above no threshold and below none: it stays.
template <class T>
struct Threshold {
  T threshold, value;
  GRADUS_HOST_DEVICE T operator()(T x) const { return x <= threshold ? value : x; }
};
template <class T>
struct ThresholdBackward {
  T threshold;
  GRADUS_HOST_DEVICE T operator()(T gradient, T x) const { return x <= threshold ? T(0) : gradient; }
};
// The last two take the results of the forward functions.
struct TanhBackward {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T gradient, T y) const {
    return gradient * (1 - y * y);
  }
};
struct SigmoidBackward {
  template <class T>
  GRADUS_HOST_DEVICE T operator()(T gradient, T y) const {
    return gradient * (1 - y) * y;
  }
};

}  // namespace gradus::inline v0::kernels::bodies
