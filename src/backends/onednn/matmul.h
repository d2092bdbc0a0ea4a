// Matrix products of 16-bit floats by oneDNN.
#pragma once

#include <cstdint>

#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::backends::onednn {

/// c[m x n] = a b (+ bias, a row of n), with row and column strides, one of them 1. Accumulated in float, rounded once.
struct MatmulShape {
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column, c_row, c_column;
  ScalarType dtype;
  bool bias;
};

/// Whether this CPU multiplies the type in hardware; elsewhere widening to f32 first is as fast.
bool has_matmul(ScalarType dtype);

/// Uses the library's threads: not for calls from inside its parallel loops.
void matmul(const MatmulShape& shape, const void* a, const void* b, const void* bias, void* c);

}  // namespace gradus::inline v0::backends::onednn
