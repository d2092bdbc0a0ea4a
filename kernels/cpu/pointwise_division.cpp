// Rounded division and remainders. An integer's zero divisor is reported.
#include <kernels/pointwise.h>

#include <atomic>

#include "kernels/bodies/division.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_division.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

template <class F>
bool divide(const Loop& l, F f) {
  if (is_floating_point(l.dtype)) {
    visit_floating(l.dtype, [&]<class T>() { binary<T, T, T>(l, f, 8); });
    return true;
  }
  std::atomic<bool> fine{true};
  visit_integral(l.dtype, [&]<class T>() {
    binary<T, T, T>(
        l,
        [&](T a, T b) __attribute__((always_inline)) {
          if (b == 0) fine.store(false, std::memory_order_relaxed);
          return f(a, b);
        },
        8);
  });
  return fine.load();
}

bool div_floor_kernel(const Loop& l) {
  return divide(l, bodies::DivideFloor());
}
bool div_trunc_kernel(const Loop& l) {
  return divide(l, bodies::DivideTrunc());
}
bool remainder_kernel(const Loop& l) {
  return divide(l, bodies::Remainder());
}
bool fmod_kernel(const Loop& l) {
  return divide(l, bodies::Fmod());
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(div_floor, DivisionTable)
GRADUS_CPU_KERNEL(div_trunc, DivisionTable)
GRADUS_CPU_KERNEL(remainder, DivisionTable)
GRADUS_CPU_KERNEL(fmod, DivisionTable)
}  // namespace gradus::inline v0::kernels
#endif
