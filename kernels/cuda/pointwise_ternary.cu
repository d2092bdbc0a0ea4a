// Three operands, or one between bounds.
#include <kernels/pointwise.h>

#include <limits>

#include "kernels/cuda/elementwise.h"

#include "kernels/bodies/ternary.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

void where_cuda(const Loop& l) {
  visit_width(element_size(l.dtype), [&]<class T>() { elementwise<T, bool, T, T>("where", l, bodies::Where()); });
}

template <class T>
using Ternary = OneOf<bodies::AddProduct<T>, bodies::Clamp>;

void addcmul_cuda(const Loop& l, const Scalar& value) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const bodies::AddProduct<C> f = {static_cast<bodies::Wrapping<C>>(as<C>(value))};
    elementwise<T, T, T, T>("addcmul", l, one_of<Ternary<C>>(f));
  });
}
void clamp_cuda(const Loop& l) {
  visit_numbers(l.dtype,
                [&]<class T>() { elementwise<T, T, T, T>("clamp", l, one_of<Ternary<Compute<T>>>(bodies::Clamp())); });
}

template <class T>
using FloatTernary = OneOf<bodies::AddQuotient<T>, bodies::Lerp>;

void addcdiv_cuda(const Loop& l, const Scalar& value) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    elementwise<T, T, T, T>("addcdiv", l, one_of<FloatTernary<C>>(bodies::AddQuotient<C>{as<C>(value)}));
  });
}
void lerp_cuda(const Loop& l) {
  visit_floating(l.dtype, [&]<class T>() {
    elementwise<T, T, T, T>("lerp", l, one_of<FloatTernary<Compute<T>>>(bodies::Lerp()));
  });
}
void lerp_scalar_cuda(const Loop& l, const Scalar& weight) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    elementwise<T, T, T>("lerp", l, bodies::LerpBy<C>{as<C>(weight)});
  });
}

// One bound is two, of which one excludes nothing.
void clamp_to(const char* name, const Loop& l, const Scalar* low, const Scalar* high) {
  visit_numbers(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    using Limits = std::numeric_limits<C>;
    const C least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const C most = Limits::has_infinity ? Limits::infinity() : Limits::max();
    elementwise<T, T>(name, l, bodies::ClampBetween<C>{low ? as<C>(*low) : least, high ? as<C>(*high) : most});
  });
}
void clamp_scalar_cuda(const Loop& l, const Scalar& low, const Scalar& high) {
  clamp_to("clamp", l, &low, &high);
}
void clamp_min_scalar_cuda(const Loop& l, const Scalar& low) {
  clamp_to("clamp_min", l, &low, nullptr);
}
void clamp_max_scalar_cuda(const Loop& l, const Scalar& high) {
  clamp_to("clamp_max", l, nullptr, &high);
}

}  // namespace

GRADUS_CUDA_KERNEL(where, where_cuda)
GRADUS_CUDA_KERNEL(lerp, lerp_cuda)
GRADUS_CUDA_KERNEL(clamp, clamp_cuda)
GRADUS_CUDA_KERNEL(addcmul, addcmul_cuda)
GRADUS_CUDA_KERNEL(addcdiv, addcdiv_cuda)
GRADUS_CUDA_KERNEL(lerp_scalar, lerp_scalar_cuda)
GRADUS_CUDA_KERNEL(clamp_scalar, clamp_scalar_cuda)
GRADUS_CUDA_KERNEL(clamp_min_scalar, clamp_min_scalar_cuda)
GRADUS_CUDA_KERNEL(clamp_max_scalar, clamp_max_scalar_cuda)

}  // namespace gradus::inline v0::kernels::cuda
