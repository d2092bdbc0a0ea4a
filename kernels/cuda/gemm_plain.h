// Gradus' own product: every dtype, any strides; for what cuBLASLt does not take and for products too small for it.
#pragma once

#include <cstdint>

#include <gradus/core/scalar.h>
#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::kernels::cuda {

/// c = beta c + alpha a b + bias, `batch` times, of [m, k] [k, n] and [m, n]. Strides in elements. bias(i, j) is
/// bias[i * bias_row + j * bias_column]; nullptr for none.
struct MatrixProduct {
  ScalarType dtype;
  int64_t batch, m, n, k;
  const void* a;
  int64_t a_batch, a_row, a_column;
  const void* b;
  int64_t b_batch, b_row, b_column;
  void* c;
  int64_t c_batch, c_row, c_column;
  const void* bias;
  int64_t bias_row, bias_column;
  Scalar alpha, beta;

  /// The same product as c^T = b^T a^T.
  void transpose();
};

/// Integers wrap, 16-bit floats are accumulated in float. k == 0 gives beta c + bias.
void plain_product(MatrixProduct p);

}  // namespace gradus::inline v0::kernels::cuda
