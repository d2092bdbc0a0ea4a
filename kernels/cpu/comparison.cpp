// Comparisons and logic: bool results.
#include <kernels/pointwise.h>

#include <cmath>
#include <limits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/comparison.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

#define GRADUS_COMPARISON_KERNEL(name, expression)                        \
  void name##_kernel(const Loop& l) {                                     \
    visit_all(l.dtype, [&]<class T>() {                                   \
      using C = Compute<T>;                                               \
      binary<bool, T, T>(l, [](C a, C b) -> bool { return expression; }); \
    });                                                                   \
  }
GRADUS_COMPARISON_KERNEL(eq, a == b)
GRADUS_COMPARISON_KERNEL(ne, a != b)
GRADUS_COMPARISON_KERNEL(lt, a < b)
GRADUS_COMPARISON_KERNEL(le, a <= b)
GRADUS_COMPARISON_KERNEL(logical_and, (a != C(0)) & (b != C(0)))
GRADUS_COMPARISON_KERNEL(logical_or, (a != C(0)) | (b != C(0)))
GRADUS_COMPARISON_KERNEL(logical_xor, (a != C(0)) ^ (b != C(0)))
#undef GRADUS_COMPARISON_KERNEL

// a > b is b < a: half the code.
Loop exchanged(const Loop& l) {
  Loop r = l;
  std::swap(r.data[1], r.data[2]);
  for (int d = 0; d < l.ndim; ++d) std::swap(r.strides[d][1], r.strides[d][2]);
  return r;
}
void gt_kernel(const Loop& l) {
  lt_kernel(exchanged(l));
}
void ge_kernel(const Loop& l) {
  le_kernel(exchanged(l));
}

void logical_not_kernel(const Loop& l) {
  visit_all(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    unary<bool, T>(l, [](C a) -> bool { return a == C(0); });
  });
}

template <class F>
void classify(const Loop& l, bool of_integers, F f) {
  if (!is_floating_point(l.dtype)) return nullary<bool>(l, [of_integers] { return of_integers; });
  visit_floating(l.dtype, [&]<class U>() { unary<bool, U>(l, [f](Compute<U> a) -> bool { return f(a); }); });
}
void isnan_kernel(const Loop& l) {
  classify(l, false, [](auto a) { return a != a; });
}
void isinf_kernel(const Loop& l) {
  classify(l, false, [](auto a) { return std::abs(a) == std::numeric_limits<decltype(a)>::infinity(); });
}
void isfinite_kernel(const Loop& l) {
  classify(l, true, [](auto a) { return std::abs(a) < std::numeric_limits<decltype(a)>::infinity(); });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(eq, BinaryTable)
GRADUS_CPU_KERNEL(ne, BinaryTable)
GRADUS_CPU_KERNEL(lt, BinaryTable)
GRADUS_CPU_KERNEL(le, BinaryTable)
GRADUS_CPU_KERNEL(gt, BinaryTable)
GRADUS_CPU_KERNEL(ge, BinaryTable)
GRADUS_CPU_KERNEL(logical_and, BinaryTable)
GRADUS_CPU_KERNEL(logical_or, BinaryTable)
GRADUS_CPU_KERNEL(logical_xor, BinaryTable)
GRADUS_CPU_KERNEL(logical_not, BinaryTable)
GRADUS_CPU_KERNEL(isnan, BinaryTable)
GRADUS_CPU_KERNEL(isinf, BinaryTable)
GRADUS_CPU_KERNEL(isfinite, BinaryTable)
}  // namespace gradus::inline v0::kernels
#endif
