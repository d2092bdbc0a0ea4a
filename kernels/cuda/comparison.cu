// Comparisons and logic: bool results.
#include <kernels/pointwise.h>

#include <cmath>
#include <limits>

#include "kernels/cuda/elementwise.h"

#include "kernels/bodies/power.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

/// Which of a < b, a == b and a > b are asked for; NaN is none of them.
struct Compare {
  bool less, equal, more, negated;
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return ((less & (a < b)) | (equal & (a == b)) | (more & (a > b))) != negated;
  }
};
/// The bit 2 * (a != 0) + (b != 0) of a table.
struct Logic {
  unsigned table;
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return table >> (2 * (a != T(0)) + (b != T(0))) & 1;
  }
};
/// A magnitude compared with infinity; `isnan` is neither below nor equal.
struct Classify {
  Compare compare;
  template <class T>
  __device__ bool operator()(T a) const {
    return compare(std::abs(a), std::numeric_limits<T>::infinity());
  }
};

void compare(const char* name, const Loop& l, Compare f) {
  visit_all(l.dtype, [&]<class T>() { elementwise<bool, T, T>(name, l, f); });
}
void eq_cuda(const Loop& l) {
  compare("eq", l, {false, true, false, false});
}
void ne_cuda(const Loop& l) {
  compare("ne", l, {false, true, false, true});
}
void lt_cuda(const Loop& l) {
  compare("lt", l, {true, false, false, false});
}
void le_cuda(const Loop& l) {
  compare("le", l, {true, true, false, false});
}
void gt_cuda(const Loop& l) {
  compare("gt", l, {false, false, true, false});
}
void ge_cuda(const Loop& l) {
  compare("ge", l, {false, true, true, false});
}

// Of integers and bool only the width matters.
void logic(const char* name, const Loop& l, unsigned table) {
  if (is_floating_point(l.dtype)) {
    return visit_floating(l.dtype, [&]<class T>() { elementwise_heavy<bool, T, T>(name, l, Logic{table}); });
  }
  visit_width(element_size(l.dtype), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) elementwise_heavy<bool, T, T>(name, l, Logic{table});
  });
}
void logical_and_cuda(const Loop& l) {
  logic("logical_and", l, 0b1000);
}
void logical_or_cuda(const Loop& l) {
  logic("logical_or", l, 0b1110);
}
void logical_xor_cuda(const Loop& l) {
  logic("logical_xor", l, 0b0110);
}
void logical_not_cuda(const Loop& l) {
  const uint64_t zero = 0;
  logic("logical_not", with_number(l, 2, &zero), 0b0001);
}

void classify(const char* name, const Loop& l, bool of_integers, Compare f) {
  if (!is_floating_point(l.dtype)) {
    Loop filled = with_number(l, 1, &of_integers);
    return elementwise_heavy<bool, bool>(name, filled, bodies::Identity());
  }
  visit_floating(l.dtype, [&]<class T>() { elementwise_heavy<bool, T>(name, l, Classify{f}); });
}
void isnan_cuda(const Loop& l) {
  classify("isnan", l, false, {true, true, false, true});
}
void isinf_cuda(const Loop& l) {
  classify("isinf", l, false, {false, true, false, false});
}
void isfinite_cuda(const Loop& l) {
  classify("isfinite", l, true, {true, false, false, false});
}

}  // namespace

GRADUS_CUDA_KERNEL(eq, eq_cuda)
GRADUS_CUDA_KERNEL(ne, ne_cuda)
GRADUS_CUDA_KERNEL(lt, lt_cuda)
GRADUS_CUDA_KERNEL(le, le_cuda)
GRADUS_CUDA_KERNEL(gt, gt_cuda)
GRADUS_CUDA_KERNEL(ge, ge_cuda)
GRADUS_CUDA_KERNEL(logical_and, logical_and_cuda)
GRADUS_CUDA_KERNEL(logical_or, logical_or_cuda)
GRADUS_CUDA_KERNEL(logical_xor, logical_xor_cuda)
GRADUS_CUDA_KERNEL(logical_not, logical_not_cuda)
GRADUS_CUDA_KERNEL(isnan, isnan_cuda)
GRADUS_CUDA_KERNEL(isinf, isinf_cuda)
GRADUS_CUDA_KERNEL(isfinite, isfinite_cuda)

}  // namespace gradus::inline v0::kernels::cuda
