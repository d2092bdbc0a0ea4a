// nvcuda::wmma of 16 x 16 x 16 tiles: half and bfloat16 operands, float accumulators. A fragment's elements are spread
// over the lanes of the warp in an order of its own, as CUDA leaves it open; what the order of a GPU is, only a GPU can
// tell.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

namespace gradus_emulation {

/// All lanes of the warp call it with an address each; one of them then runs `work` on all addresses.
GRADUS_EMULATION_API void warp_together(Site site, void* mine, void (*work)(void* const* of_lane));
GRADUS_EMULATION_API int lane_number();

inline float to_float(__half h) {
  return __half2float(h);
}
inline float to_float(__nv_bfloat16 b) {
  return __bfloat162float(b);
}

}  // namespace gradus_emulation

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment;

// Operands: lane l holds row l % 16 of its matrix (of the transposed one for matrix_b), twice in the warp.
template <class T, class Layout>
struct fragment<matrix_a, 16, 16, 16, T, Layout> {
  static constexpr int num_elements = 16;
  T x[num_elements];
};
template <class T, class Layout>
struct fragment<matrix_b, 16, 16, 16, T, Layout> {
  static constexpr int num_elements = 16;
  T x[num_elements];
};
// Accumulators: element i of lane l is the element i * 32 + l of the matrix, by rows.
template <>
struct fragment<accumulator, 16, 16, 16, float> {
  static constexpr int num_elements = 8;
  float x[num_elements];
};

template <class Use, class T, class Layout>
inline void fill_fragment(fragment<Use, 16, 16, 16, T, Layout>& f, std::type_identity_t<T> value) {
  for (T& x : f.x) x = value;
}

template <class Use, class T, class Layout>
inline void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& f, const T* data, unsigned stride) {
  constexpr bool by_rows = std::is_same_v<Layout, row_major> == std::is_same_v<Use, matrix_a>;
  const size_t row = static_cast<size_t>(::gradus_emulation::lane_number() % 16);
  for (size_t i = 0; i < 16; ++i) f.x[i] = data[by_rows ? row * stride + i : i * stride + row];
}

using Accumulator = fragment<accumulator, 16, 16, 16, float>;
inline size_t element_of(int i, unsigned stride, layout_t layout) {
  const int e = i * 32 + ::gradus_emulation::lane_number();
  const size_t row = static_cast<size_t>(e / 16), column = static_cast<size_t>(e % 16);
  return layout == mem_row_major ? row * stride + column : column * stride + row;
}
inline void load_matrix_sync(Accumulator& f, const float* data, unsigned stride, layout_t layout) {
  for (int i = 0; i < 8; ++i) f.x[i] = data[element_of(i, stride, layout)];
}
inline void store_matrix_sync(float* data, const Accumulator& f, unsigned stride, layout_t layout) {
  for (int i = 0; i < 8; ++i) data[element_of(i, stride, layout)] = f.x[i];
}

/// What one lane gives to a product.
template <class A, class B>
struct Product {
  Accumulator* d;
  const A* a;
  const B* b;
  const Accumulator* c;
  static void work(void* const* of_lane) {
    float sums[16][16];
    const auto lane = [&](int l) -> const Product& { return *static_cast<const Product*>(of_lane[l]); };
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 16; ++column) {
        float sum = lane((row * 16 + column) % 32).c->x[(row * 16 + column) / 32];
        for (int i = 0; i < 16; ++i) {
          sum += ::gradus_emulation::to_float(lane(row).a->x[i]) * ::gradus_emulation::to_float(lane(column).b->x[i]);
        }
        sums[row][column] = sum;
      }
    }
    for (int e = 0; e < 256; ++e) lane(e % 32).d->x[e / 32] = sums[e / 16][e % 16];
  }
};
template <class T, class LayoutA, class LayoutB>
inline void mma_sync(Accumulator& d, const fragment<matrix_a, 16, 16, 16, T, LayoutA>& a,
                     const fragment<matrix_b, 16, 16, 16, T, LayoutB>& b, const Accumulator& c,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  using P = Product<fragment<matrix_a, 16, 16, 16, T, LayoutA>, fragment<matrix_b, 16, 16, 16, T, LayoutB>>;
  P product = {&d, &a, &b, &c};
  ::gradus_emulation::warp_together({"mma_sync", file, line}, &product, &P::work);
}

}  // namespace nvcuda::wmma
