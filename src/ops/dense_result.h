// Results of kernels that write dense memory.
#pragma once

#include "../core/dest.h"

namespace gradus::inline v0::ops {

/// Whether a kernel that writes `sizes` densely in `format` may write into the target itself: right size and type,
/// that order in memory, none of the inputs in it. Else it writes elsewhere and deliver()s.
inline bool is_dense_target(const Dest& dest, IntArrayRef sizes, ScalarType dtype, MemoryFormat format,
                            std::initializer_list<const Tensor*> inputs) {
  if (dest.is_fresh()) return true;
  const Tensor& t = dest.target();
  if (!t.defined() || t.scalar_type() != dtype || t.sizes() != sizes || !t.is_contiguous(format)) return false;
  for (const Tensor* input : inputs) {
    if (input->defined() && dest.shares_memory(*input)) return false;
  }
  return true;
}

/// For an operator whose result other in-place operators wrote: version errors name it, not them.
inline void name_writer(const Dest& dest, const char* op) {
  if (dest.is_fresh()) return;
  if (StorageImpl* s = dest.target().impl()->storage_) {
    s->last_writer = op;
    s->writer_kind = dest.is_out() ? StorageImpl::Writer::kOut : StorageImpl::Writer::kInplace;
  }
}

}  // namespace gradus::inline v0::ops
