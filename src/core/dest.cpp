#include "dest.h"

#include "thread_state.h"

namespace gradus::inline v0::ops {

void check_writable(const char* op, const Tensor& t) {
  GRADUS_CHECK(t.defined(), op, ": the tensor to write into is undefined; expected one with data");
  GRADUS_CHECK(!core::overlaps_itself(*t.impl()), op, ": elements of the tensor to write into share memory (shape ",
               t.sizes(), ", strides ", t.strides(), "); expected one that does not overlap itself: clone() it first");
  check_not_inference(op, t);
}

void check_not_inference(const char* op, const Tensor& t) {
  GRADUS_CHECK(
      !t.is_inference() || (core::tls.flags & core::kInferenceMode), op,
      ": an inference tensor cannot be written in place outside InferenceMode; clone() it to get a normal one");
}

void begin_write(const char* op, const Tensor& t, StorageImpl::Writer kind) {
  check_writable(op, t);
  if (StorageImpl* s = t.impl()->storage_) s->bump(op, kind);
}

void Dest::prepare(const char* op, IntArrayRef sizes, ScalarType dtype, Device device, MemoryFormat format) const {
  if (kind_ == Kind::kFresh) return;
  const Tensor& t = *targets_[0];
  GRADUS_CHECK(t.defined(), op, ": the ", is_out() ? "out" : "self", " tensor is undefined; expected one with data");
  GRADUS_CHECK(t.device() == device, op, ": the result belongs on ", device, "; the ", is_out() ? "out" : "self",
               " tensor is on ", t.device());
  if (kind_ == Kind::kInplace) {
    GRADUS_CHECK(t.sizes() == sizes, op, ": the result has shape ", sizes, ", which does not fit self of shape ",
                 t.sizes(), " in place; expected equal shapes");
  } else if (t.sizes() != sizes) {
    core::resize(t, sizes, format, op);
  }
  GRADUS_CHECK_AS(TypeError, t.scalar_type() == dtype, op, ": the result is of type ", dtype, "; the ",
                  is_out() ? "out" : "self", " tensor is ", t.scalar_type());
  begin_write(op, t, is_out() ? StorageImpl::Writer::kOut : StorageImpl::Writer::kInplace);
}

Tensor Dest::result_like(const char* op, const Tensor& like, ScalarType dtype) const {
  if (kind_ == Kind::kFresh) return core::empty_like(like, dtype);
  prepare(op, like.sizes(), dtype, like.device(), like.suggest_memory_format());
  return *targets_[0];
}

Tensor Dest::deliver(const char* op, Tensor computed) const {
  if (kind_ == Kind::kFresh) return computed;
  const Tensor& t = *targets_[0];
  GRADUS_CHECK(t.defined(), op, ": the ", is_out() ? "out" : "self", " tensor is undefined; expected one with data");
  GRADUS_CHECK_AS(TypeError, can_cast(computed.scalar_type(), t.scalar_type()), op, ": a result of type ",
                  computed.scalar_type(), " cannot be stored in a tensor of type ", t.scalar_type());
  if (is_inplace()) {
    GRADUS_CHECK(t.sizes() == computed.sizes(), op, ": the result has shape ", computed.sizes(),
                 ", which does not fit self of shape ", t.sizes(), " in place; expected equal shapes");
  } else if (t.sizes() != computed.sizes()) {
    core::resize(t, computed.sizes(), computed.suggest_memory_format(), op);
  }
  t.copy_(computed);
  if (StorageImpl* s = t.impl()->storage_) {
    s->last_writer = op;
    s->writer_kind = is_out() ? StorageImpl::Writer::kOut : StorageImpl::Writer::kInplace;
  }
  return t;
}

bool Dest::shares_memory(const Tensor& input) const {
  for (const Tensor* t : targets_) {
    if (t && t->defined() && t->is_alias_of(input)) return true;
  }
  return false;
}

}  // namespace gradus::inline v0::ops
