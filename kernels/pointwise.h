// Elementwise kernels. Inputs and outputs are described by the Loop; the comment says what is computed.
#pragma once

#include <kernels/elementwise.h>

namespace gradus::inline v0::kernels {

/// Returns false where an integer was divided by zero (the element's result is then 0).
using DivisionTable = KernelTable<bool(const Loop&)>;

GRADUS_TABLES_BEGIN
// pointwise_binary.cpp
extern ScaledTable add;  // a + alpha * b
extern BinaryTable mul;
extern BinaryTable div;      // floats only
extern BinaryTable hypot;    // floats only
extern BinaryTable maximum;  // NaN where either is
extern BinaryTable minimum;
extern BinaryTable bitwise_and;  // integers and bool
extern BinaryTable bitwise_or;
extern BinaryTable bitwise_xor;

// pointwise_division.cpp: numbers
extern DivisionTable div_floor;
extern DivisionTable div_trunc;
extern DivisionTable remainder;  // with the divisor's sign
extern DivisionTable fmod;       // with the dividend's sign

// pointwise_power.cpp: numbers
extern BinaryTable pow;
extern ScaledTable pow_scalar;

// pointwise_ternary.cpp
extern UnaryTable where;         // a (bool) ? b : c, dtype is that of b and c
extern ScaledTable addcmul;      // a + value * b * c
extern ScaledTable addcdiv;      // a + value * b / c; floats only
extern UnaryTable lerp;          // a + c * (b - a); floats only
extern ScaledTable lerp_scalar;  // a + weight * (b - a); floats only
extern UnaryTable clamp;         // a between b and c; NaN where any is
extern TwoScalarTable clamp_scalar;
extern ScaledTable clamp_min_scalar;
extern ScaledTable clamp_max_scalar;

// copy.cpp
extern UnaryTable copy;   // out_dtype(a), for every pair of dtypes
extern ScaledTable fill;  // no inputs

// pointwise_unary.cpp
extern UnaryTable abs;  // numbers, bool
extern UnaryTable neg;
extern UnaryTable sign;
extern UnaryTable relu;
extern UnaryTable bitwise_not;  // integers and bool
extern UnaryTable floor;        // floats only, as the rest
extern UnaryTable ceil;
extern UnaryTable round;  // halves to even
extern UnaryTable trunc;
extern UnaryTable reciprocal;
extern ScaledTable round_decimals;

// pointwise_math.cpp: floats only
extern UnaryTable exp;
extern UnaryTable exp2;
extern UnaryTable expm1;
extern UnaryTable log;
extern UnaryTable log2;
extern UnaryTable log10;
extern UnaryTable log1p;
extern UnaryTable sqrt;
extern UnaryTable rsqrt;
extern UnaryTable sin;
extern UnaryTable cos;
extern UnaryTable tan;
extern UnaryTable tanh;
extern UnaryTable sigmoid;
extern UnaryTable erf;
extern UnaryTable erfc;
extern UnaryTable silu;
extern UnaryTable gelu_erf;
extern UnaryTable gelu_tanh;

// activation.cpp: floats only. The backward kernels take the gradient first.
extern ScaledTable leaky_relu;
extern TwoScalarTable threshold;         // a > threshold ? a : value (all numbers)
extern UnaryTable tanh_backward;         // g (1 - y^2), y the result
extern UnaryTable sigmoid_backward;      // g y (1 - y)
extern ScaledTable threshold_backward;   // b > threshold ? g : 0 (all numbers)
extern ScaledTable leaky_relu_backward;  // b > 0 ? g : slope g
extern UnaryTable silu_backward;
extern UnaryTable gelu_erf_backward;
extern UnaryTable gelu_tanh_backward;

// comparison.cpp: bool results
extern BinaryTable eq;
extern BinaryTable ne;
extern BinaryTable lt;
extern BinaryTable le;
extern BinaryTable gt;
extern BinaryTable ge;
extern BinaryTable logical_and;
extern BinaryTable logical_or;
extern BinaryTable logical_xor;
extern UnaryTable logical_not;
extern UnaryTable isnan;
extern UnaryTable isinf;
extern UnaryTable isfinite;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
