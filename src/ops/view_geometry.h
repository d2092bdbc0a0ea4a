// Making views: geometry, what the view remembers of its making, helpers that several files share.
#pragma once

#include "../autograd/recording.h"
#include "../core/make_tensor.h"
#include "../core/thread_state.h"

namespace gradus::inline v0::ops {

/// Sizes and strides of a view to be made; the offset is counted from the storage's start.
struct Geo {
  DimVector sizes, strides;
  int64_t offset = 0;
  Geo() = default;
  explicit Geo(const TensorImpl& t) : sizes(t.sizes()), strides(t.strides()), offset(t.storage_offset_) {}
};

/// The tensor behind a handle. Throws Error naming `op` where there is none.
inline TensorImpl& defined(const Tensor& t, const char* op) {
  if (!t.defined()) [[unlikely]]
    throw Error(str(op, ": the tensor is undefined; expected one with data"));
  return *t.impl();
}
/// `dim` counted from the front. Throws IndexError naming `op`.
inline int64_t wrap_dim(int64_t dim, int64_t ndim, const char* op) {
  if (dim >= 0 && dim < ndim) [[likely]]
    return dim;
  return detail::wrap_dim_slow(dim, ndim, op);
}

/// How a view made here and now was made, for the rules of in-place writes through it.
inline autograd::CreationMeta creation_here(bool one_of_several) {
  using autograd::CreationMeta;
  const uint32_t flags = core::tls.flags;
  if ((flags & (core::kInferenceMode | core::kGradMode)) == core::kGradMode) [[likely]] {
    return one_of_several ? CreationMeta::kMultiOutput : CreationMeta::kDefault;
  }
  return flags & core::kInferenceMode ? CreationMeta::kInference : CreationMeta::kNoGrad;
}

/// Notes in `out`, a new view of `self`, how it was made.
inline Tensor mark_view(const Tensor& self, Tensor out, bool one_of_several) {
  auto creation = static_cast<uint8_t>(creation_here(one_of_several));
  // A view of a view is as restricted as that one.
  if (creation == 0 && self.is_view()) creation = self.impl()->view_.creation;
  out.impl()->view_.creation = creation;
  return out;
}
/// A view of `self` that knows its root and how it was made. Not recorded yet.
inline Tensor make_view(const Tensor& self, IntArrayRef sizes, IntArrayRef strides, int64_t offset, const char* maker,
                        bool one_of_several = false) {
  return mark_view(self, core::view_of(self, sizes, strides, offset, maker), one_of_several);
}
inline Tensor make_view(const Tensor& self, const Geo& g, const char* maker, bool one_of_several = false) {
  return make_view(self, g.sizes, g.strides, g.offset, maker, one_of_several);
}

/// `shape` with a -1 filled in, so that it has `numel` elements. Throws Error naming `op`.
DimVector infer_size(const char* op, IntArrayRef shape, int64_t numel);
/// Strides with which the memory of `t` reads as `shape` (of as many elements). False where there are none.
bool view_strides(const TensorImpl& t, IntArrayRef shape, int64_t* strides);

}  // namespace gradus::inline v0::ops
