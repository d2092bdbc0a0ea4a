#include "kernels/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

void MaskedScale(const Loop& l, double scale) {
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C kept = static_cast<C>(scale);
    // The mask as a number of 0 or 1: GCC makes vector code of that, and not of a choice.
    binary<T, T, uint8_t>(l, [kept](C a, uint8_t mask) { return a * (kept * static_cast<C>(mask)); });
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
