// The largest of some numbers and the sum of their exponentials, which move along together, so that a row is read once
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
#pragma once

#include <cmath>
#include <limits>

#include "kernels/cuda/block.h"

namespace gradus::inline v0::kernels::cuda {

/// The largest, and the sum of exp(x - most).
template <class C>
struct Peak {
  C most, sum;
};
template <class C>
__device__ inline C lowest() {
  return -std::numeric_limits<C>::infinity();
}
/// As if what was measured against p.most had been against `most`.
template <class C>
__device__ inline C against(const Peak<C>& p, C most) {
  return p.most == most ? p.sum : p.sum * std::exp(p.most - most);
}
template <class C>
__device__ inline Peak<C> join(const Peak<C>& a, const Peak<C>& b) {
  const C most = Larger()(a.most, b.most);
  return {most, against(a, most) + against(b, most)};
}
/// N more numbers. A NaN is not the largest: it shows in the sum.
template <int N, class C>
__device__ inline Peak<C> with(const Peak<C>& p, const C (&x)[N]) {
  const C most = Larger()(p.most, fold<C>(x, Itself(), Larger()));
  const auto term = [most](C v) { return v == lowest<C>() ? C(0) : std::exp(v - most); };
  return {most, against(p, most) + fold<C>(x, term, Plus())};
}

}  // namespace gradus::inline v0::kernels::cuda
