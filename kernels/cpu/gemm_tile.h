// The library's own product for shapes too small, or too narrow, for a BLAS call.
#pragma once

#include <cstdint>

namespace gradus::inline v0::kernels {

/// c[m x n] = beta c + alpha a b (+ bias), c's rows contiguous, a and b of any strides.
template <class T>
struct TileProduct {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row, b_column;
  T* c;
  int64_t c_row;
  T alpha, beta;
  const T* bias;  // n contiguous values, or nullptr
};

/// On the calling thread; packs `b` on the stack or in scratch where its rows are not contiguous.
void tile_product(const TileProduct<float>& p);
void tile_product(const TileProduct<double>& p);

/// c[i * c_stride] = beta c + alpha (rows[i] . x) + (bias ? bias[i * bias_stride] : 0), for m rows of k contiguous
/// values.
template <class T>
struct RowDots {
  int64_t m, k;
  const T* rows;
  int64_t row_stride;
  const T* x;  // contiguous
  T* c;
  int64_t c_stride;
  T alpha, beta;
  const T* bias;
  int64_t bias_stride;
};
void row_dots(const RowDots<float>& p);
void row_dots(const RowDots<double>& p);

}  // namespace gradus::inline v0::kernels
