// Matrix products on a CUDA device by cuBLASLt.
#pragma once

#include <cstdint>

#include <gradus/core/scalar.h>
#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::backends::cublas {

enum class Activation : uint8_t { kNone, kRelu, kGeluTanh };  // cuBLASLt's GELU is the tanh approximation

/// c = activation(alpha a b + beta c + bias), `batch` times, of a [m, k], b [k, n] and c [m, n]. c's rows are
/// contiguous and `c_leading` elements apart; so are a's and b's unless transposed, then their columns are. Leading
/// dimensions are at least what lies contiguous. A batch stride of 0 repeats an operand.
struct MatmulShape {
  int64_t batch, m, n, k;
  int64_t a_leading, b_leading, c_leading;
  int64_t a_batch, b_batch, c_batch;
  ScalarType dtype;  // f32, f64, f16, bf16, c64 or c128
  bool a_transposed, b_transposed;
  bool bias;  // n contiguous elements, added to every row; not for complex types
  Activation activation = Activation::kNone;
};

/// Enqueues the product on the current stream of the current device. False, with nothing done, where cuBLASLt has no
/// algorithm for it. 16-bit floats are accumulated in float. beta == 0 ignores what c holds. c overlaps neither a nor
/// b.
bool matmul(const MatmulShape& shape, const void* a, const void* b, const void* bias, void* c, const Scalar& alpha,
            const Scalar& beta);

}  // namespace gradus::inline v0::backends::cublas
