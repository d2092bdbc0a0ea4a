// Sizes and strides: what is asked less often than a tensor is made, which tensor_impl.cpp does.
#include <gradus/core/tensor_impl.h>

#include <cstring>
#include <utility>

#include "heap.h"
#include "make_tensor.h"

namespace gradus::inline v0 {

void Geometry::resize_slow(int n) {
  drop();
  ndim_ = 0;
  if (n > kInline) {
    heap_ = static_cast<int64_t*>(core::cpu_allocate(sizeof(int64_t) * 2 * static_cast<size_t>(n)));
  }
  ndim_ = n;
}
void Geometry::drop_slow() {
  core::cpu_free(heap_, sizeof(int64_t) * 2 * static_cast<size_t>(ndim_));
}

namespace core {

bool overlaps_itself(const TensorImpl& t) {
  if (t.has(TensorImpl::kDense) || t.numel_ < 2) return false;
  // Sorted by stride, each dimension must step over all that the smaller ones reach.
  const IntArrayRef sizes = t.sizes();
  const int64_t* strides = t.geometry_.strides_data();
  DimVector order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1) order.push_back(static_cast<int64_t>(d));
  }
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t j = i; j > 0 && strides[order[j]] < strides[order[j - 1]]; --j) std::swap(order[j], order[j - 1]);
  }
  int64_t reach = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t stride = strides[order[i]];
    if (stride <= reach) return true;
    reach += stride * (sizes[static_cast<size_t>(order[i])] - 1);
  }
  return false;
}

}  // namespace core

namespace detail {

void undefined_tensor(const char* what) {
  throw Error(str(what, ": the tensor is undefined (default-constructed or moved from); expected one with data"));
}
void wrong_data_type(ScalarType is, ScalarType asked) {
  throw Error(str("data_ptr: the tensor holds ", is, "; asked for ", asked, ". Convert it with to()"));
}
int64_t wrap_dim_slow(int64_t dim, int64_t ndim, const char* op) {
  const int64_t n = ndim == 0 ? 1 : ndim;
  GRADUS_CHECK_AS(IndexError, dim >= -n && dim < n, op, ": dim ", dim, " is out of range for a tensor of ", ndim,
                  " dimensions; expected ", -n, "..", n - 1);
  GRADUS_CHECK_AS(IndexError,
                  ndim > 0 || op[0] != 's' || (std::strcmp(op, "size") != 0 && std::strcmp(op, "stride") != 0), op,
                  ": dim ", dim, " was given; a 0-dim tensor has no dimensions");
  return dim < 0 ? dim + n : dim;
}

}  // namespace detail

}  // namespace gradus::inline v0
