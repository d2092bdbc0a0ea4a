// One elementwise call: type promotion, broadcasting, the result through its Dest, casts, and the Loop for the kernel.
//
//   Pointwise p(dest, "add", Promote::kArithmetic, self, other);
//   kernels::add(p.device(), p.loop(), alpha);
//   Tensor out = p.finish();
//
// The common case (equal dtypes and shapes, all dense in the same order) touches no heap but for the result.
#pragma once

#include <initializer_list>
#include <memory>

#include <kernels/elementwise.h>

#include "../core/dest.h"

namespace gradus::inline v0::ops {

/// What the inputs' dtypes make of the computation and of the result.
enum class Promote : uint8_t {
  kArithmetic,  // the promoted dtype
  kFloat,       // the promoted dtype, the default floating one for integers (exp, div)
  kCompare,     // computed in the promoted dtype, bool result
  kNone,        // each operand keeps its dtype (where)
};

/// An input: a tensor, or a number that weighs less in promotion.
struct Operand {
  Operand(const Tensor& t) : tensor(&t) {}  // NOLINT
  Operand(const Scalar& s) : scalar(&s) {}  // NOLINT
  const Tensor* tensor = nullptr;
  const Scalar* scalar = nullptr;
};

/// Element by element, cast and broadcast, from any device to any; no checks of autograd. Returns `to`. Where host
/// memory is pinned, a copy that is `non_blocking` may go on after the return.
Tensor copy_into(const Tensor& to, const Tensor& from, bool non_blocking = false);

/// copy_into() within one device, for tensors whose shapes are known to broadcast.
void copy_on_device(const Tensor& to, const Tensor& from);

class Pointwise {
 public:
  Pointwise(const Dest& dest, const char* op, Promote promote, Operand a);
  Pointwise(const Dest& dest, const char* op, Promote promote, Operand a, Operand b);
  Pointwise(const Dest& dest, const char* op, Promote promote, Operand a, Operand b, Operand c);
  /// For operators that settle the result's dtype and the operands' themselves (where).
  Pointwise(const Dest& dest, const char* op, ScalarType result, const Tensor& a, const Tensor& b, const Tensor& c);
  Pointwise(const Pointwise&) = delete;

  Device device() const { return device_; }
  const kernels::Loop& loop() const { return loop_; }
  /// The dtype the kernel computes in.
  ScalarType dtype() const { return loop_.dtype; }
  /// The result. In the in-place form it is undefined where no handle is needed: the caller has self.
  Tensor finish() {
    if (general_ && general_->cast_back_to.defined()) [[unlikely]]
      copy_into(general_->cast_back_to, general_->cast_back_from);
    return std::move(out_);
  }

 private:
  friend void copy_on_device(const Tensor& to, const Tensor& from);
  Pointwise() = default;
  bool try_fast(const Dest& dest, const char* op, Promote promote, const Operand& a);
  bool try_fast(const Dest& dest, const char* op, Promote promote, const Operand& a, const Operand& b);
  bool try_fast_number(const Dest& dest, const char* op, Promote promote, const TensorImpl& a, const Scalar& number);
  void input(int k, const TensorImpl& t, int64_t step) {
    loop_.data[k] = static_cast<char*>(t.data_);
    loop_.strides[0][k] = step;
  }
  bool plain_result(const Dest& dest, const char* op, Promote promote, const TensorImpl& like, int operands);
  void plan(const Dest& dest, const char* op, Promote promote, const Operand* in, int count,
            ScalarType result = ScalarType::Undefined);
  void build_loop(const TensorImpl* const* operands, int count, IntArrayRef shape);
  const TensorImpl* cast_operand(int i, const Operand& in, ScalarType dtype, const TensorImpl& written,
                                 const Dest& dest);

  // What only the general case needs; the common one must not pay for making and destroying it.
  struct General {
    Tensor temporaries[3];
    Tensor cast_back_to, cast_back_from;
  };
  Tensor out_;
  std::unique_ptr<General> general_;
  Device device_;
  double number_;  // a number operand of the common case, in the computing dtype
  kernels::Loop loop_;
};

/// The dtype that PyTorch's torch.result_type gives.
ScalarType result_type(std::initializer_list<Operand> operands);
/// The shape two shapes broadcast to. Throws Error naming `op`.
DimVector broadcast_shapes(const char* op, IntArrayRef a, IntArrayRef b);
/// `t` in another dtype without history; itself where it has that one.
Tensor cast(const Tensor& t, ScalarType dtype);

using UnaryTable = kernels::KernelTable<void(const kernels::Loop&)>;
[[gnu::always_inline]] inline Tensor unary(const Dest& dest, const char* op, Promote promote, const UnaryTable& kernel,
                                           const Tensor& self) {
  Pointwise p(dest, op, promote, self);
  kernel(p.device(), p.loop());
  return p.finish();
}
[[gnu::always_inline]] inline Tensor binary(const Dest& dest, const char* op, Promote promote, const UnaryTable& kernel,
                                            Operand a, Operand b) {
  Pointwise p(dest, op, promote, a, b);
  kernel(p.device(), p.loop());
  return p.finish();
}

}  // namespace gradus::inline v0::ops
