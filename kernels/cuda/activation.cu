// Activations with parameters, and the activations' gradients.
#include <kernels/pointwise.h>

#include "kernels/cuda/activation_functions.h"
#include "kernels/cuda/elementwise.h"

#include "kernels/bodies/activation.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

/// A gradient times the slope at x.
template <class Slope>
struct Backward {
  template <class T>
  __device__ T operator()(T gradient, T x) const {
    return gradient * Slope()(x);
  }
};

template <class T>
using Forward = OneOf<bodies::LeakyRelu<T>, bodies::Threshold<T>>;
template <class T>
using Cheap =
    OneOf<bodies::LeakyReluBackward<T>, bodies::ThresholdBackward<T>, bodies::TanhBackward, bodies::SigmoidBackward>;
using Dear = OneOf<Backward<SiluSlope>, Backward<GeluErfSlope>, Backward<GeluTanhSlope>>;

void leaky_relu_cuda(const Loop& l, const Scalar& slope) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    elementwise<T, T>("leaky_relu", l, one_of<Forward<C>>(bodies::LeakyRelu<C>{as<C>(slope)}));
  });
}
void threshold_cuda(const Loop& l, const Scalar& threshold, const Scalar& value) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    elementwise<T, T>("threshold", l, one_of<Forward<C>>(bodies::Threshold<C>{as<C>(threshold), as<C>(value)}));
  });
}

void leaky_relu_backward_cuda(const Loop& l, const Scalar& slope) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    elementwise<T, T, T>("leaky_relu_backward", l, one_of<Cheap<C>>(bodies::LeakyReluBackward<C>{as<C>(slope)}));
  });
}
void threshold_backward_cuda(const Loop& l, const Scalar& threshold) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    elementwise<T, T, T>("threshold_backward", l, one_of<Cheap<C>>(bodies::ThresholdBackward<C>{as<C>(threshold)}));
  });
}
void tanh_backward_cuda(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() {
    elementwise<T, T, T>("tanh_backward", l, one_of<Cheap<Compute<T>>>(bodies::TanhBackward()));
  });
}
void sigmoid_backward_cuda(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() {
    elementwise<T, T, T>("sigmoid_backward", l, one_of<Cheap<Compute<T>>>(bodies::SigmoidBackward()));
  });
}

template <class Slope>
void dear_backward(const char* name, const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() { elementwise_heavy<T, T, T>(name, l, one_of<Dear>(Backward<Slope>())); });
}
void silu_backward_cuda(const Loop& l) {
  dear_backward<SiluSlope>("silu_backward", l);
}
void gelu_erf_backward_cuda(const Loop& l) {
  dear_backward<GeluErfSlope>("gelu_erf_backward", l);
}
void gelu_tanh_backward_cuda(const Loop& l) {
  dear_backward<GeluTanhSlope>("gelu_tanh_backward", l);
}

}  // namespace

GRADUS_CUDA_KERNEL(leaky_relu, leaky_relu_cuda)
GRADUS_CUDA_KERNEL(leaky_relu_backward, leaky_relu_backward_cuda)
GRADUS_CUDA_KERNEL(threshold, threshold_cuda)
GRADUS_CUDA_KERNEL(threshold_backward, threshold_backward_cuda)
GRADUS_CUDA_KERNEL(tanh_backward, tanh_backward_cuda)
GRADUS_CUDA_KERNEL(sigmoid_backward, sigmoid_backward_cuda)
GRADUS_CUDA_KERNEL(silu_backward, silu_backward_cuda)
GRADUS_CUDA_KERNEL(gelu_erf_backward, gelu_erf_backward_cuda)
GRADUS_CUDA_KERNEL(gelu_tanh_backward, gelu_tanh_backward_cuda)

}  // namespace gradus::inline v0::kernels::cuda
