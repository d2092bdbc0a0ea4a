// Highway with this library's targets: scalar, AVX2 and AVX-512 (NEON on ARM). Every file with SIMD code includes it
// in place of Highway's own headers, after defining HWY_TARGET_INCLUDE to its own path.
// There is no include guard on purpose: Highway includes the file again, once per target.
//
//     #undef HWY_TARGET_INCLUDE
//     #define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cpp"
//     #include "kernels/cpu/simd.h"
//     HWY_BEFORE_NAMESPACE();
//     namespace gradus::inline v0::kernels::HWY_NAMESPACE { ... }
//     HWY_AFTER_NAMESPACE();
//     #if HWY_ONCE
//     namespace gradus::inline v0::kernels { HWY_EXPORT(f); ... HWY_DYNAMIC_DISPATCH(f)(...) }
//     #endif
#ifndef HWY_DISABLED_TARGETS
// SSSE3, SSE4 and the Ice Lake variant of AVX-512: three targets build a third faster than five and lose little.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET == HWY_SCALAR && !defined(__clang__)
// For the rare processor without AVX2 small code is worth more than fast code: this target would be a third of all.
#undef HWY_BEFORE_NAMESPACE
#undef HWY_AFTER_NAMESPACE
#define HWY_BEFORE_NAMESPACE() _Pragma("GCC push_options") _Pragma("GCC optimize(\"Os\")") static_assert(true)
#define HWY_AFTER_NAMESPACE() _Pragma("GCC pop_options") static_assert(true)
#endif
