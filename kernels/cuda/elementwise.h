// Elementwise kernels. One is a functor on plain values, as on the CPU:
//
//     void mul_cuda(const Loop& l) {
//       visit_all(l.dtype, [&]<class T>() { elementwise<T, T, T>("mul", l, bodies::Multiply()); });
//     }
//
// Dense operands, and numbers beside them, are read and written 16 bytes at a time by dense_kernel. Whatever else can
// be walked in packs is, the rest element by element, by strided_kernel. Functors of much code have the second kernel
// only.
#pragma once

#include <cstring>
#include <utility>

#include <kernels/elementwise.h>
#include <kernels/visit.h>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/loop_parts.h"
#include "kernels/cuda/numeric.h"

namespace gradus::inline v0::kernels::cuda {

constexpr int kElementwiseThreads = 128;

/// An input: memory, or one number for all elements, which is in memory or was in the host's.
template <class T>
struct Input {
  const T* data;  // nullptr: the number is `number`
  bool is_number;
  T number;
};

/// Elements on their way through a thread.
template <class T, int N>
struct Elements {
  T at[N];
};

/// Elements that make the widest accesses: 16 bytes of the largest type.
template <class... T>
constexpr int kWidestPack = 16 / static_cast<int>(std::max({sizeof(T)...}));

template <class T>
__device__ inline T number_of(const Input<T>& in) {
  return in.data == nullptr ? in.number : *in.data;
}

template <int V, class T, int N>
__device__ inline void load_pack(const T* from, Elements<T, N>& to, int at) {
  const Pack<T, V> pack = *reinterpret_cast<const Pack<T, V>*>(from);
#pragma unroll
  for (int i = 0; i < V; ++i) to.at[at + i] = pack.at[i];
}
template <int V, class T, int N>
__device__ inline void store_pack(T* to, const Elements<T, N>& from, int at) {
  Pack<T, V> pack;
#pragma unroll
  for (int i = 0; i < V; ++i) pack.at[i] = from.at[at + i];
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}

/// One of several functors of different types, chosen when a kernel is launched: a thread chooses once for all of its
/// elements, and the code around the functors is there once. Made by one_of<OneOf<F, G>>(F()).
template <class F>
struct Member {
  F f;
};
template <class... F>
struct OneOf : Member<F>... {
  int which;
  template <class Body>
  __device__ void choose(const Body& body) const {
    int n = 0;
    (void)((which == n++ && (body(static_cast<const Member<F>&>(*this).f), true)) || ...);
  }
};
template <class... F, class G>
void set_one_of(OneOf<F...>& family, const G& f) {
  static_assert((std::is_same_v<F, G> || ...));
  family.which = 0;
  (void)((std::is_same_v<F, G> || (++family.which, false)) || ...);
  static_cast<Member<G>&>(family).f = f;
}
template <class Family, class G>
Family one_of(const G& f) {
  Family family = {};
  set_one_of(family, f);
  return family;
}
template <class F, class Body>
__device__ inline void choose(const F& f, const Body& body) {
  body(f);
}
template <class... F, class Body>
__device__ inline void choose(const OneOf<F...>& f, const Body& body) {
  f.choose(body);
}

template <class Out, int N, class F, class... In>
__device__ inline Elements<Out, N> apply(const F& f, const Elements<In, N>&... in) {
  Elements<Out, N> out;
  choose(f, [&](const auto& chosen) {
#pragma unroll
    for (int i = 0; i < N; ++i) out.at[i] = narrow<Out>(chosen(widen(in.at[i])...));
  });
  return out;
}

// --- dense operands ---

// U packs, a block's width apart.
template <int V, int U, class T>
__device__ inline Elements<T, V * U> load_dense(const Input<T>& in, int64_t first) {
  Elements<T, V * U> r;
  if (in.is_number) {
    const T number = number_of(in);
#pragma unroll
    for (int i = 0; i < V * U; ++i) r.at[i] = number;
  } else {
#pragma unroll
    for (int u = 0; u < U; ++u) load_pack<V>(in.data + first + u * kElementwiseThreads * V, r, u * V);
  }
  return r;
}
template <int V, int U, class T>
__device__ inline void store_dense(T* to, int64_t first, const Elements<T, V * U>& from) {
#pragma unroll
  for (int u = 0; u < U; ++u) store_pack<V>(to + first + u * kElementwiseThreads * V, from, u * V);
}

// The first `count` of a pack.
template <int V, class T>
__device__ inline Elements<T, V> load_some(const Input<T>& in, int64_t first, int64_t count) {
  if (count >= V) return load_dense<V, 1>(in, first);
  Elements<T, V> r;
#pragma unroll
  for (int i = 0; i < V; ++i) r.at[i] = i < count ? (in.is_number ? number_of(in) : in.data[first + i]) : T();
  return r;
}
template <int V, class T>
__device__ inline void store_some(T* to, int64_t first, int64_t count, const Elements<T, V>& from) {
  if (count >= V) return store_dense<V, 1>(to, first, from);
#pragma unroll
  for (int i = 0; i < V; ++i) {
    if (i < count) to[first + i] = from.at[i];
  }
}

/// A block computes kElementwiseThreads * V * packs neighbours; packs is U, or 1 where there is too little work to fill
/// the device.
template <int V, int U, class F, class Out, class... In>
__global__ void __launch_bounds__(kElementwiseThreads)
    dense_kernel(F f, Out* out, int64_t numel, int packs, Input<In>... in) {
  // The last block, whose share may be less than whole and takes longer, starts first.
  const int64_t start = static_cast<int64_t>(gridDim.x - 1 - blockIdx.x) * (kElementwiseThreads * V) * packs;
  int64_t first = start + threadIdx.x * V;
  if (packs == U && numel - start >= kElementwiseThreads * V * U) {
    store_dense<V, U>(out, first, apply<Out, V * U>(f, load_dense<V, U>(in, first)...));
    return;
  }
#pragma unroll 1
  for (int u = 0; u < packs; ++u, first += kElementwiseThreads * V) {
    const int64_t count = numel - first;
    if (count > 0) store_some<V>(out, first, count, apply<Out, V>(f, load_some<V>(in, first, count)...));
  }
}

// --- any strides ---

template <class T>
__device__ inline T* at_byte(T* p, uint32_t offset) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(p) + static_cast<int32_t>(offset));
}

template <int k, int V, class T, int K, int U>
__device__ inline Elements<T, V * U> load_units(const Walk& w, const Units<K, U>& units, const Input<T>& in) {
  Elements<T, V * U> r;
  if (in.data == nullptr) {
#pragma unroll
    for (int i = 0; i < V * U; ++i) r.at[i] = in.number;
    return r;
  }
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const T* from = at_byte(in.data, units.at[k][u]);
    if ((w.in_packs >> k & 1) && units.count[u] >= V) {
      load_pack<V>(from, r, u * V);
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i) r.at[u * V + i] = i < units.count[u] ? *at_byte(from, i * w.steps[k]) : T();
    }
  }
  return r;
}
template <int V, class T, int K, int U>
__device__ inline void store_units(const Walk& w, const Units<K, U>& units, T* out, const Elements<T, V * U>& from) {
#pragma unroll
  for (int u = 0; u < U; ++u) {
    T* to = at_byte(out, units.at[0][u]);
    if ((w.in_packs & 1) && units.count[u] >= V) {
      store_pack<V>(to, from, u * V);
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        if (i < units.count[u]) *at_byte(to, i * w.steps[0]) = from.at[u * V + i];
      }
    }
  }
}

template <class Out, int V, int U, class F, size_t... k, class... In>
__device__ inline void run_units(const Walk& w, const F& f, Out* out, std::index_sequence<k...>,
                                 const Input<In>&... in) {
  const auto units = find_units<1 + sizeof...(In), U>(w, V);
  store_units<V>(w, units, out, apply<Out, V * U>(f, load_units<static_cast<int>(k) + 1, V>(w, units, in)...));
}

template <int V, int U, class F, class Out, class... In>
__global__ void __launch_bounds__(kElementwiseThreads) strided_kernel(F f, Walk w, Out* out, Input<In>... in) {
  run_units<Out, V, U>(w, f, out, std::index_sequence_for<In...>(), in...);
}

// --- launches ---

template <class T>
Input<T> input_of(const Loop& l, int k) {
  Input<T> in = {};
  if (l.on_host >> k & 1) {
    in.is_number = true;
    std::memcpy(&in.number, l.data[k], sizeof(T));
  } else {
    in.data = reinterpret_cast<const T*>(l.data[k]);
    in.is_number = l.ndim == 1 && l.strides[0][k] == 0;
  }
  return in;
}

template <int V, int U, class Out, class... In, class F, size_t... k>
void launch_dense(const char* name, const Loop& l, const F& f, std::index_sequence<k...>) {
  constexpr int64_t kStep = int64_t{kElementwiseThreads} * V;
  // With fewer blocks than this some multiprocessors would have none.
  const int packs = l.numel >= kStep * U * context().multiprocessors * 4 ? U : 1;
  launch(name, &dense_kernel<V, U, F, Out, In...>, static_cast<unsigned>(ceil_div(l.numel, kStep * packs)),
         kElementwiseThreads, 0, f, reinterpret_cast<Out*>(l.data[0]), l.numel, packs,
         input_of<In>(l, static_cast<int>(k) + 1)...);
}

template <int V, int U, class Out, class... In, class F, size_t... k>
void launch_strided(const char* name, const Loop& l, const F& f, std::index_sequence<k...>) {
  unsigned blocks = 0;
  const Walk w = make_walk(l, ItemSizes{{sizeof(Out), sizeof(In)...}}, V, U, kElementwiseThreads, &blocks);
  launch(name, &strided_kernel<V, U, F, Out, In...>, blocks, kElementwiseThreads, 0, f, w,
         reinterpret_cast<Out*>(l.data[0]), input_of<In>(l, static_cast<int>(k) + 1)...);
}

/// Types whose contiguous tensors programs spend their time on (the unsigned integers stand for moves by width).
template <class T>
constexpr bool is_hot = std::is_same_v<T, float> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> ||
                        std::is_same_v<T, uint32_t> || std::is_same_v<T, uint16_t>;

template <bool kDense, class Out, class... In, class F>
void run_elementwise(const char* name, const Loop& l, const F& f) {
  constexpr int kPack = kWidestPack<Out, In...>;
  constexpr int kInputs = sizeof...(In);
  constexpr auto kSequence = std::index_sequence_for<In...>();
  if constexpr (kDense) {
    // 48 bytes and more of inputs on their way to each thread.
    constexpr int kPacks = std::max(1, std::min(kInputs < 2 ? 4 : kInputs == 2 ? 2 : 1, 32 / kPack));
    if (is_dense(l, ItemSizes{{sizeof(Out), sizeof(In)...}}, kPack)) {
      if (l.numel != 0) launch_dense<kPack, kPacks, Out, In...>(name, l, f, kSequence);
      return;
    }
  }
  constexpr int kUnit = std::min(kPack, 8);
  constexpr int kUnits = kInputs < 3 && kUnit < 8 ? 2 : 1;
  struct Call {
    const char* name;
    const F& f;
  } call = {name, f};
  for_parts(
      l,
      [](void* context, const Loop& part) {
        const Call& c = *static_cast<const Call*>(context);
        launch_strided<kUnit, kUnits, Out, In...>(c.name, part, c.f, kSequence);
      },
      &call);
}

/// out = f(in...) for every element of the loop. `name` is the operator's, for errors.
template <class Out, class... In, class F>
void elementwise(const char* name, const Loop& l, const F& f) {
  run_elementwise<(is_hot<Out> || ... || is_hot<In>), Out, In...>(name, l, f);
}
/// The same for functors of many instructions: by strided_kernel alone, half the code.
template <class Out, class... In, class F>
void elementwise_heavy(const char* name, const Loop& l, const F& f) {
  run_elementwise<false, Out, In...>(name, l, f);
}

}  // namespace gradus::inline v0::kernels::cuda
