// Sizes and strides.
#include <gradus/core/tensor_impl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "heap.h"
#include "make_tensor.h"
#include "wrapping.h"

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

int64_t checked_numel(IntArrayRef sizes, ScalarType dtype, const char* op) {
  int64_t n = 1;
  bool overflow = false, zero = false;
  for (int64_t s : sizes) {
    GRADUS_CHECK_AS(ValueError, s >= 0, op, ": the sizes ", sizes, " contain a negative number; expected all >= 0");
    zero |= s == 0;
    overflow |= __builtin_mul_overflow(n, s == 0 ? 1 : s, &n);
  }
  int64_t bytes;
  overflow |= __builtin_mul_overflow(n, static_cast<int64_t>(element_size(dtype)), &bytes);
  GRADUS_CHECK_AS(ValueError, !overflow, op, ": the sizes ", sizes, " of ", dtype, " overflow 63 bits of bytes");
  return zero ? 0 : n;
}

void dense_strides(IntArrayRef sizes, MemoryFormat format, int64_t* strides) {
  static constexpr int kLast2d[] = {1, 3, 2, 0}, kLast3d[] = {1, 4, 3, 2, 0};
  int64_t step = 1;
  auto place = [&](size_t d) {
    strides[d] = step;
    step = times(step, sizes[d] > 0 ? sizes[d] : 1);
  };
  if (format == MemoryFormat::ChannelsLast) {
    GRADUS_CHECK(sizes.size() == 4, "memory format channels_last needs 4 dimensions; the shape ", sizes, " has ",
                 sizes.size());
    for (int d : kLast2d) place(static_cast<size_t>(d));
  } else if (format == MemoryFormat::ChannelsLast3d) {
    GRADUS_CHECK(sizes.size() == 5, "memory format channels_last_3d needs 5 dimensions; the shape ", sizes, " has ",
                 sizes.size());
    for (int d : kLast3d) place(static_cast<size_t>(d));
  } else {
    for (size_t d = sizes.size(); d-- > 0;) place(d);
  }
}

namespace {

bool strides_match(IntArrayRef sizes, const int64_t* strides, const int* order, int n) {
  int64_t step = 1;
  for (int i = 0; i < n; ++i) {
    const int d = order[i];
    if (sizes[static_cast<size_t>(d)] == 1) continue;
    if (strides[d] != step) return false;
    step = times(step, sizes[static_cast<size_t>(d)]);
  }
  return true;
}

// Like a channels_last tensor's, sizes of 1 included: what decides the memory format that results take.
bool looks_channels_last(IntArrayRef sizes, const int64_t* strides, const int* order, int n) {
  int64_t least = 0;
  if (strides[1] == 0) return false;
  for (int i = 0; i < n; ++i) {
    const int d = order[i];
    const int64_t size = sizes[static_cast<size_t>(d)];
    if (size == 0 || strides[d] < least) return false;
    if (d == 0 && least == strides[1]) return false;
    least = strides[d] * (size > 1 ? size : 1);
  }
  return true;
}

bool dense_in_some_order(IntArrayRef sizes, const int64_t* strides) {
  DimVector order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) order.push_back(static_cast<int64_t>(d));
  }
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t j = i; j > 0 && strides[order[j]] < strides[order[j - 1]]; --j) std::swap(order[j], order[j - 1]);
  }
  int64_t step = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    if (strides[order[i]] != step) return false;
    step = times(step, sizes[static_cast<size_t>(order[i])]);
  }
  return true;
}

constexpr int kOrder2d[] = {1, 3, 2, 0}, kOrder3d[] = {1, 4, 3, 2, 0};

}  // namespace

void refresh_geometry(TensorImpl& t) {
  const IntArrayRef sizes = t.geometry_.sizes();
  const int64_t* strides = t.geometry_.strides_data();
  int64_t numel = 1;
  for (int64_t s : sizes) numel = times(numel, s);
  t.numel_ = numel;
  uint32_t flags = 0;
  int64_t step = 1;
  bool contiguous = true, zero = !sizes.empty();
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1) {
      contiguous &= strides[d] == step;
      zero &= strides[d] == 0;
      step = times(step, sizes[d]);
    }
  }
  if (contiguous || numel == 0) {
    flags |= TensorImpl::kContiguous | TensorImpl::kDense;
  } else {
    if (zero) flags |= TensorImpl::kAllStridesZero;
    if (sizes.size() == 4 && looks_channels_last(sizes, strides, kOrder2d, 4)) flags |= TensorImpl::kChannelsLast;
    if (sizes.size() == 5 && looks_channels_last(sizes, strides, kOrder3d, 5)) flags |= TensorImpl::kChannelsLast;
    if (!zero && dense_in_some_order(sizes, strides)) flags |= TensorImpl::kDense;
  }
  t.flags_ = (t.flags_ & ~kGeometryFlags) | flags;
}

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

bool is_contiguous_in(const TensorImpl& t, MemoryFormat format) {
  if (format == MemoryFormat::Preserve || format == MemoryFormat::Contiguous) return t.has(TensorImpl::kContiguous);
  const bool two = format == MemoryFormat::ChannelsLast;
  if (t.dim() != (two ? 4 : 5)) return false;
  return core::strides_match(t.sizes(), t.geometry_.strides_data(), two ? core::kOrder2d : core::kOrder3d, two ? 4 : 5);
}

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
