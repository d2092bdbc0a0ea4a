#include "kernels/dropout.h"

#include "kernels/bodies/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

void MaskedScale(const Loop& l, double scale) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, uint8_t>(l, bodies::MaskedScale<C>{static_cast<C>(scale)});
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
namespace {
HWY_EXPORT(MaskedScale);
void masked_scale_cpu(const Loop& l, double scale) {
  HWY_DYNAMIC_DISPATCH(MaskedScale)(l, scale);
}
}  // namespace

constinit KernelTable<void(const Loop&, double)> masked_scale("masked_scale", &masked_scale_cpu);
}  // namespace gradus::inline v0::kernels
#endif
