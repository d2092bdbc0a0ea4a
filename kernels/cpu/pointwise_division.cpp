// Rounded division and remainders. Nothing here traps: a zero divisor is reported, the smallest integer by -1 wraps.
#include <kernels/pointwise.h>

#include <atomic>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_division.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

// f(a, b) on floats, g(a, b) on integers with b neither 0 nor -1, by_minus_one(a) for the latter.
template <class Float, class Int, class MinusOne>
bool divide(const Loop& l, Float f, Int g, MinusOne by_minus_one) {
  if (is_floating_point(l.dtype)) {
    visit_floating(l.dtype, [&]<class T>() {
      using C = Compute<T>;
      binary<T, T, T>(
          l, [f](C a, C b) { return f(a, b); }, 8);
    });
    return true;
  }
  std::atomic<bool> fine{true};
  visit_integral(l.dtype, [&]<class T>() {
    binary<T, T, T>(
        l,
        [&](T a, T b) -> T {
          if (b == 0) {
            fine.store(false, std::memory_order_relaxed);
            return 0;
          }
          if (std::is_signed_v<T> && b == static_cast<T>(-1)) return by_minus_one(a);
          return g(a, b);
        },
        8);
  });
  return fine.load();
}

template <class T>
T negative(T a) {
  return static_cast<T>(0 - static_cast<uint64_t>(a));
}

// Rounding the quotient itself would round twice; the remainder is exact.
template <class T>
T floor_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T whole = std::floor(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}

bool div_floor_kernel(const Loop& l) {
  return divide(
      l, [](auto a, auto b) { return floor_quotient(a, b); },
      [](auto a, auto b) { return static_cast<decltype(a)>(a / b - (a % b != 0 && (a < 0) != (b < 0))); },
      [](auto a) { return negative(a); });
}
bool div_trunc_kernel(const Loop& l) {
  return divide(
      l, [](auto a, auto b) { return std::trunc(a / b); },
      [](auto a, auto b) { return static_cast<decltype(a)>(a / b); }, [](auto a) { return negative(a); });
}
bool remainder_kernel(const Loop& l) {
  return divide(
      l,
      [](auto a, auto b) {
        const auto rest = std::fmod(a, b);
        return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
      },
      [](auto a, auto b) {
        const auto rest = static_cast<decltype(a)>(a % b);
        return static_cast<decltype(a)>(rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest);
      },
      [](auto a) { return decltype(a)(0); });
}
bool fmod_kernel(const Loop& l) {
  return divide(
      l, [](auto a, auto b) { return std::fmod(a, b); }, [](auto a, auto b) { return static_cast<decltype(a)>(a % b); },
      [](auto a) { return decltype(a)(0); });
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
