// Matrix products.
#pragma once

#include <gradus/core/scalar.h>

#include <kernels/table.h>
#include <kernels/view.h>

namespace gradus::inline v0::kernels {

GRADUS_TABLES_BEGIN
/// c = beta c + alpha a b (+ bias). Views are matrices [m, k] x [k, n] -> [m, n], or batches of them with one leading
/// dimension more ([batch, m, k] ...; a batch stride of 0 repeats an operand). Any strides; `a` or `b` transposed costs
/// nothing. `bias` is empty (data == nullptr) or a row [n] that is added to every row of the product.
/// All have one dtype: f32, f64, f16, bf16, c64, c128 or an integer type. beta == 0 ignores what c holds. k == 0 gives
/// beta c + bias. c overlaps neither a nor b, and no two elements of c are one.
extern KernelTable<void(View c, ConstView a, ConstView b, ConstView bias, const Scalar& alpha, const Scalar& beta)>
    gemm;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
