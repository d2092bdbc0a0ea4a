// How far an answer may be from PyTorch's, and how it differs from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gradus/core/tensor.h>

namespace replay {

// |got - want| <= relative * |want| + absolute.
struct Tolerance {
  double relative = 0, absolute = 0;
};

// Note [Tolerances of the replay]
// An operator that moves, selects, compares or counts answers exactly. One that computes each element by itself may be
// a few units in the last place off, one unit where a half type rounds a float's result. One that sums may be off by
// epsilon of the type it accumulates in, times the root of the number of terms (roundings are independent), times the
// largest number that took part: products of two inputs for matrix products and convolutions. GELU counts as a sum, 1 +
// erf(x). Gradients are compared in double and are sums in general.
Tolerance forward_tolerance(std::string_view op, const gradus::Tensor& want, const std::vector<gradus::Tensor>& inputs);
Tolerance gradient_tolerance(const gradus::Tensor& want, const std::vector<gradus::Tensor>& inputs,
                             const std::vector<gradus::Tensor>& cotangents);

// Empty where both have the same type, sizes and, within the tolerance, values; else what differs.
std::string difference(const gradus::Tensor& got, const gradus::Tensor& want, Tolerance tolerance);

// The elements in order; a long double holds every integer and every double.
std::vector<long double> elements(const gradus::Tensor& t);

}  // namespace replay
