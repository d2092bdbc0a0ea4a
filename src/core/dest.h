// Where an operator's result goes: one implementation serves the function, in-place and out forms.
#pragma once

#include <initializer_list>

#include "make_tensor.h"

namespace gradus::inline v0::ops {

class Dest {
 public:
  enum class Kind : uint8_t { kFresh, kInplace, kOut };
  /// A new tensor.
  Dest() = default;
  /// Into `self`, as `add_` does.
  static Dest inplace(const Tensor& self) { return Dest(Kind::kInplace, &self); }
  /// Into the caller's tensors, as `add_out` does.
  static Dest out(const Tensor& a) { return Dest(Kind::kOut, &a); }
  static Dest out(const Tensor& a, const Tensor& b, const Tensor* c = nullptr) {
    Dest d(Kind::kOut, &a);
    d.targets_[1] = &b;
    d.targets_[2] = c;
    return d;
  }
  static Dest out(const Tensor& a, const Tensor& b, const Tensor& c) { return out(a, b, &c); }

  bool is_fresh() const { return kind_ == Kind::kFresh; }
  bool is_inplace() const { return kind_ == Kind::kInplace; }
  bool is_out() const { return kind_ == Kind::kOut; }
  const Tensor& target(size_t i = 0) const { return *targets_[i]; }
  /// The Dest of result number i alone.
  Dest part(size_t i) const { return is_fresh() ? Dest() : Dest(kind_, targets_[i]); }

  /// The tensor to write result 0 into. In place: self, whose shape and dtype must be these. Out: resized where it
  /// must. Refuses tensors whose elements overlap, bumps the version.
  Tensor result(const char* op, IntArrayRef sizes, ScalarType dtype, Device device,
                MemoryFormat format = MemoryFormat::Contiguous) const {
    if (kind_ == Kind::kFresh) [[likely]]
      return core::empty(sizes, dtype, device, format);
    prepare(op, sizes, dtype, device, format);
    return *targets_[0];
  }
  /// As result(), for a fresh one in the memory order of `like`.
  Tensor result_like(const char* op, const Tensor& like, ScalarType dtype) const;
  /// The checks of result() without handing out the tensor (elementwise operators write through target()).
  void prepare(const char* op, IntArrayRef sizes, ScalarType dtype, Device device, MemoryFormat format) const;

  /// For a fresh result computed otherwise: returns it, or copies it into the target (out forms of composite
  /// operators).
  Tensor deliver(const char* op, Tensor computed) const;
  /// Whether a target shares memory with `input`: a kernel that reads after it writes must then compute aside and
  /// deliver().
  bool shares_memory(const Tensor& input) const;
  bool shares_memory(std::initializer_list<const Tensor*> inputs) const {
    for (const Tensor* t : inputs) {
      if (shares_memory(*t)) return true;
    }
    return false;
  }

 private:
  Dest(Kind kind, const Tensor* target) : kind_(kind), targets_{target, nullptr, nullptr} {}
  Kind kind_ = Kind::kFresh;
  const Tensor* targets_[3] = {};
};

/// Throws where `t` may not be written: undefined, one element seen in several places, an inference tensor outside
/// inference mode.
void check_writable(const char* op, const Tensor& t);
/// The last of these alone: for operators that change a tensor, but not its elements.
void check_not_inference(const char* op, const Tensor& t);
/// check_writable, and counts the write.
void begin_write(const char* op, const Tensor& t, StorageImpl::Writer kind = StorageImpl::Writer::kInplace);

}  // namespace gradus::inline v0::ops
