// Elementwise loops for one SIMD target. A kernel is a functor on plain values, which the compiler vectorises:
//
//     void mul(const Loop& l) { visit_all(l.dtype, [&]<class T>() { binary<T, T, T>(l, [](auto a, auto b) { return a *
//     b; }); }); }
//
// or, for functions that the compiler cannot vectorise, a functor on vectors (unary_vector). 16-bit floats are computed
// in float.
#if defined(GRADUS_KERNELS_CPU_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_KERNELS_CPU_ELEMENTWISE_INL_H_
#undef GRADUS_KERNELS_CPU_ELEMENTWISE_INL_H_
#else
#define GRADUS_KERNELS_CPU_ELEMENTWISE_INL_H_
#endif

#include <type_traits>

#include <hwy/highway.h>

#include <kernels/elementwise.h>
#include <kernels/visit.h>

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// What arithmetic on a T is done in.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

/// A number as a T; a fraction's integer part where T is an integer.
template <class T>
inline T as(const Scalar& s) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(s.as_double());
  } else {
    return static_cast<T>(s.as_int());
  }
}

template <class T>
inline Compute<T> load(const char* p) {
  return static_cast<Compute<T>>(*reinterpret_cast<const T*>(p));
}
template <class Out, class V>
inline void store(char* p, V v) {
  *reinterpret_cast<Out*>(p) = static_cast<Out>(v);
}

template <class Out, class F>
void nullary(const Loop& l, F f) {
  for_rows(
      l,
      [](void* c, char* const* p, const int64_t* s, int64_t n) {
        F& f = *static_cast<F*>(c);
        char* out = p[0];
        if (s[0] == sizeof(Out)) {
          for (int64_t i = 0; i < n; ++i) store<Out>(out + i * static_cast<int64_t>(sizeof(Out)), f());
        } else {
          for (int64_t i = 0; i < n; ++i) store<Out>(out + i * s[0], f());
        }
      },
      &f, 1);
}

template <class Out, class A, class F>
void unary(const Loop& l, F f, int cost = 1) {
  for_rows(
      l,
      [](void* c, char* const* p, const int64_t* s, int64_t n) {
        F& f = *static_cast<F*>(c);
        char* out = p[0];
        const char* a = p[1];
        if (s[0] == sizeof(Out) && s[1] == sizeof(A)) {
          auto* to = reinterpret_cast<Out*>(out);
          auto* from = reinterpret_cast<const A*>(a);
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(f(static_cast<Compute<A>>(from[i])));
        } else {
          for (int64_t i = 0; i < n; ++i) store<Out>(out + i * s[0], f(load<A>(a + i * s[1])));
        }
      },
      &f, cost);
}

template <class Out, class A, class B, class F>
void binary(const Loop& l, F f, int cost = 1) {
  for_rows(
      l,
      [](void* c, char* const* p, const int64_t* s, int64_t n) {
        F& f = *static_cast<F*>(c);
        char* out = p[0];
        const char *a = p[1], *b = p[2];
        auto* to = reinterpret_cast<Out*>(out);
        auto* left = reinterpret_cast<const A*>(a);
        auto* right = reinterpret_cast<const B*>(b);
        // The output may be one of the inputs, element for element: no iteration depends on another.
        if (s[0] == sizeof(Out) && s[1] == sizeof(A) && s[2] == sizeof(B)) {
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i)
            to[i] = static_cast<Out>(f(static_cast<Compute<A>>(left[i]), static_cast<Compute<B>>(right[i])));
        } else if (s[0] == sizeof(Out) && s[1] == sizeof(A) && s[2] == 0) {
          const auto y = static_cast<Compute<B>>(*right);
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(f(static_cast<Compute<A>>(left[i]), y));
        } else if (s[0] == sizeof(Out) && s[1] == 0 && s[2] == sizeof(B)) {
          const auto x = static_cast<Compute<A>>(*left);
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(f(x, static_cast<Compute<B>>(right[i])));
        } else {
          for (int64_t i = 0; i < n; ++i) store<Out>(out + i * s[0], f(load<A>(a + i * s[1]), load<B>(b + i * s[2])));
        }
      },
      &f, cost);
}

template <class Out, class A, class B, class C, class F>
void ternary(const Loop& l, F f, int cost = 1) {
  for_rows(
      l,
      [](void* c, char* const* p, const int64_t* s, int64_t n) {
        F& f = *static_cast<F*>(c);
        if (s[0] == sizeof(Out) && s[1] == sizeof(A) && s[2] == sizeof(B) && s[3] == sizeof(C)) {
          auto* to = reinterpret_cast<Out*>(p[0]);
          auto* x = reinterpret_cast<const A*>(p[1]);
          auto* y = reinterpret_cast<const B*>(p[2]);
          auto* z = reinterpret_cast<const C*>(p[3]);
#pragma GCC ivdep
          for (int64_t i = 0; i < n; ++i) {
            to[i] = static_cast<Out>(
                f(static_cast<Compute<A>>(x[i]), static_cast<Compute<B>>(y[i]), static_cast<Compute<C>>(z[i])));
          }
        } else {
          for (int64_t i = 0; i < n; ++i) {
            store<Out>(p[0] + i * s[0],
                       f(load<A>(p[1] + i * s[1]), load<B>(p[2] + i * s[2]), load<C>(p[3] + i * s[3])));
          }
        }
      },
      &f, cost);
}

/// f(d, v) over whole vectors of float or double. `from` and `to` may be the same.
template <class T, class F>
inline void map_vectors(const T* from, T* to, int64_t n, const F& f) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(d, hn::LoadU(d, from + i)), d, to + i);
  if (i < n) {
    HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(T)] = {};
    for (int64_t k = i; k < n; ++k) rest[k - i] = from[k];
    hn::Store(f(d, hn::Load(d, rest)), d, rest);
    for (int64_t k = i; k < n; ++k) to[k] = rest[k - i];
  }
}

/// out = f(d, a) for one of the four floating types; f works on vectors of float or double.
template <class T, class F>
void unary_vector(const Loop& l, F f, int cost) {
  for_rows(
      l,
      [](void* c, char* const* p, const int64_t* s, int64_t n) {
        F& f = *static_cast<F*>(c);
        if constexpr (std::is_same_v<T, Compute<T>>) {
          if (s[0] == sizeof(T) && s[1] == sizeof(T)) {
            map_vectors(reinterpret_cast<const T*>(p[1]), reinterpret_cast<T*>(p[0]), n, f);
            return;
          }
        }
        constexpr int64_t kChunk = 128;
        alignas(64) Compute<T> chunk[kChunk];
        for (int64_t i = 0; i < n; i += kChunk) {
          const int64_t m = n - i < kChunk ? n - i : kChunk;
          for (int64_t k = 0; k < m; ++k) chunk[k] = load<T>(p[1] + (i + k) * s[1]);
          map_vectors(chunk, chunk, m, f);
          for (int64_t k = 0; k < m; ++k) store<T>(p[0] + (i + k) * s[0], chunk[k]);
        }
      },
      &f, cost);
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

/// Defines the table `name` with name##_kernel, in the version for this processor, in its CPU slot. At the file's end,
/// behind HWY_ONCE; for kernels whose parameters are all references. `shown` names the operator in errors.
#define GRADUS_CPU_KERNEL_AS(name, Table, shown) \
  HWY_EXPORT(name##_kernel);                     \
  constinit Table name{shown, [](const auto&... a) { return HWY_DYNAMIC_DISPATCH(name##_kernel)(a...); }};
#define GRADUS_CPU_KERNEL(name, Table) GRADUS_CPU_KERNEL_AS(name, Table, #name)

#endif  // include guard
