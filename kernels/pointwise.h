// Elementwise kernels. Inputs and outputs are described by the Loop; the comment says what is computed.
#pragma once

#include <kernels/elementwise.h>

namespace gradus::inline v0::kernels {

// pointwise_binary.cpp
extern ScaledTable add;        // a + alpha * b
extern BinaryTable mul;
extern BinaryTable div;        // floats only

// copy.cpp
extern UnaryTable copy;        // out_dtype(a), for every pair of dtypes
extern ScaledTable fill;       // no inputs

// pointwise_math.cpp: floats only
extern UnaryTable exp;
extern UnaryTable log;
extern UnaryTable tanh;
extern UnaryTable sigmoid;
extern UnaryTable sqrt;

}  // namespace gradus::inline v0::kernels
