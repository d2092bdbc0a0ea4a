#include "pointwise_plan.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <kernels/pointwise.h>

#include "../core/accelerator.h"
#include "../core/wrapping.h"

namespace gradus::inline v0::ops {

namespace {

// Categories of operands: tensors with dimensions decide before 0-dim tensors, these before numbers.
struct TypeState {
  ScalarType dim = ScalarType::Undefined, zero = ScalarType::Undefined, wrapped = ScalarType::Undefined;
};

ScalarType promote_skipping(ScalarType a, ScalarType b) {
  return a == ScalarType::Undefined ? b : b == ScalarType::Undefined ? a : promote_types(a, b);
}

ScalarType number_type(ScalarType t) {
  if (t == ScalarType::ComplexDouble)
    return get_default_dtype() == ScalarType::Double ? ScalarType::ComplexDouble : ScalarType::ComplexFloat;
  return t == ScalarType::Double ? get_default_dtype() : t;
}

void add_operand(TypeState& s, const Operand& o) {
  if (o.scalar) {
    s.wrapped = promote_skipping(s.wrapped, number_type(o.scalar->type()));
    return;
  }
  const TensorImpl& t = *o.tensor->impl();
  if (t.has(TensorImpl::kWrappedNumber)) {
    s.wrapped = promote_skipping(s.wrapped, is_floating_point(t.dtype_) ? get_default_dtype() : t.dtype_);
  } else if (t.dim() > 0) {
    s.dim = promote_skipping(s.dim, t.dtype_);
  } else {
    s.zero = promote_skipping(s.zero, t.dtype_);
  }
}

ScalarType combine(ScalarType higher, ScalarType lower) {
  if (is_complex(higher)) return higher;
  if (is_floating_point(higher)) {
    if (!is_complex(lower)) return higher;
    return higher == ScalarType::Double ? ScalarType::ComplexDouble
           : higher == ScalarType::Half ? ScalarType::ComplexHalf
                                        : ScalarType::ComplexFloat;
  }
  if (higher == ScalarType::Bool || is_floating_point(lower) || is_complex(lower))
    return promote_skipping(higher, lower);
  return higher != ScalarType::Undefined ? higher : lower;
}

ScalarType result_of(const TypeState& s) {
  return combine(s.dim, combine(s.zero, s.wrapped));
}

void extend_shape(const char* op, DimVector& shape, IntArrayRef other) {
  if (other.size() > shape.size()) {
    DimVector longer(other.size(), 1);
    std::copy(shape.begin(), shape.end(), longer.end() - static_cast<std::ptrdiff_t>(shape.size()));
    shape = longer;
  }
  const size_t lead = shape.size() - other.size();
  for (size_t d = 0; d < other.size(); ++d) {
    int64_t& s = shape[lead + d];
    if (s == other[d] || other[d] == 1) continue;
    GRADUS_CHECK(s == 1, op, ": shapes ", IntArrayRef(shape), " and ", other, " do not broadcast: ", s, " against ",
                 other[d], " at dim ", lead + d, "; expected equal sizes, or 1");
    s = other[d];
  }
}

// Do two geometries reach common bytes without being element for element the same?
bool overlaps_partly(const TensorImpl& out, const TensorImpl& in) {
  if (out.storage_ != in.storage_ || !out.storage_ || out.numel_ == 0 || in.numel_ == 0) return false;
  if (out.data_ == in.data_ && out.dtype_ == in.dtype_ && out.sizes() == in.sizes() && out.strides() == in.strides())
    return false;
  auto last = [](const TensorImpl& t) {
    int64_t n = 0;
    for (size_t d = 0; d < t.sizes().size(); ++d) n += (t.sizes()[d] - 1) * t.strides()[d];
    return static_cast<const char*>(t.data_) + (n + 1) * static_cast<int64_t>(element_size(t.dtype_));
  };
  return static_cast<const char*>(out.data_) < last(in) && static_cast<const char*>(in.data_) < last(out);
}

}  // namespace

ScalarType result_type(std::initializer_list<Operand> operands) {
  TypeState s;
  for (const Operand& o : operands) {
    GRADUS_CHECK(!o.tensor || o.tensor->defined(),
                 "result_type: an undefined tensor was given; expected one with data");
    add_operand(s, o);
  }
  return result_of(s);
}

DimVector broadcast_shapes(const char* op, IntArrayRef a, IntArrayRef b) {
  DimVector shape(a);
  extend_shape(op, shape, b);
  return shape;
}

Pointwise::Pointwise(const Dest& dest, const char* op, Promote promote, Operand a, Operand b, Operand c) {
  const Operand in[] = {a, b, c};
  plan(dest, op, promote, in, 3);
}

Pointwise::Pointwise(const Dest& dest, const char* op, ScalarType result, const Tensor& a, const Tensor& b,
                     const Tensor& c) {
  const Operand in[] = {a, b, c};
  plan(dest, op, Promote::kNone, in, 3, result);
}

namespace {

// Walked as one row, of the dtype that decides: contiguous, no number in disguise.
bool is_plain(const TensorImpl& t) {
  return (t.flags_ & (TensorImpl::kContiguous | TensorImpl::kWrappedNumber)) == TensorImpl::kContiguous;
}

// element_size() without the test for numbers that are no dtype.
constexpr auto kItemSizes = [] {
  std::array<uint8_t, 32> sizes{};
  for (uint8_t t = 0; t < sizes.size(); ++t) sizes[t] = static_cast<uint8_t>(element_size(static_cast<ScalarType>(t)));
  return sizes;
}();
int64_t item_size(ScalarType t) {
  return kItemSizes[static_cast<uint8_t>(t) % kItemSizes.size()];
}

bool is_expanded_scalar(const TensorImpl& t) {
  return (t.flags_ & (TensorImpl::kAllStridesZero | TensorImpl::kWrappedNumber)) == TensorImpl::kAllStridesZero;
}

bool same_sizes(const TensorImpl& a, const TensorImpl& b) {
  const int n = a.geometry_.ndim();
  if (n != b.geometry_.ndim()) return false;
  const int64_t *s = a.geometry_.sizes_data(), *t = b.geometry_.sizes_data();
  for (int d = 0; d < n; ++d) {
    if (s[d] != t[d]) return false;
  }
  return true;
}

}  // namespace

// The common case, which touches no heap but for the result: equal dtypes and shapes, plain; a fresh result or self in
// place. Here its second half: the result, which is like `like`, and the loop over all of it.
[[gnu::always_inline]] inline bool Pointwise::plain_result(const Dest& dest, const char* op, Promote promote,
                                                           const TensorImpl& like, int operands) {
  const ScalarType dtype = like.dtype_;
  if (promote == Promote::kFloat && !is_floating_point(dtype)) return false;
  if (like.device_.is_meta()) [[unlikely]]
    return false;
  device_ = like.device_;
  const ScalarType out_dtype = promote == Promote::kCompare ? ScalarType::Bool : dtype;
  if (dest.is_fresh()) [[likely]] {
    out_ = core::empty_plain(like, out_dtype);
    loop_.data[0] = static_cast<char*>(out_.impl()->data_);
  } else {
    if (!dest.is_inplace() || dest.target().impl() != &like || out_dtype != dtype || like.has(TensorImpl::kInference))
      return false;
    like.storage_->bump(op);
    loop_.data[0] = static_cast<char*>(like.data_);
  }
  loop_.strides[0][0] = item_size(out_dtype);
  loop_.ndim = 1;
  loop_.operands = operands;
  loop_.contiguous = true;
  loop_.dtype = dtype;
  loop_.out_dtype = out_dtype;
  loop_.numel = loop_.sizes[0] = like.numel_;
  return true;
}

[[gnu::always_inline]] inline bool Pointwise::try_fast(const Dest& dest, const char* op, Promote promote,
                                                       const Operand& in) {
  const TensorImpl* a = in.tensor ? in.tensor->impl() : nullptr;
  if (!a || !is_plain(*a) || promote == Promote::kNone) return false;
  input(1, *a, item_size(a->dtype_));
  return plain_result(dest, op, promote, *a, 2);
}

[[gnu::always_inline]] inline bool Pointwise::try_fast(const Dest& dest, const char* op, Promote promote,
                                                       const Operand& left, const Operand& right) {
  const TensorImpl* a = left.tensor ? left.tensor->impl() : nullptr;
  if (!a || promote == Promote::kNone) return false;
  if (!right.tensor) return is_plain(*a) && try_fast_number(dest, op, promote, *a, *right.scalar);
  const TensorImpl* b = right.tensor->impl();
  if (!b || b->dtype_ != a->dtype_ || b->device_ != a->device_ || !same_sizes(*a, *b)) return false;
  const int64_t item = item_size(a->dtype_);
  const bool a_plain = is_plain(*a), b_plain = is_plain(*b);
  // One of them may be an expanded scalar, as the gradient of a sum is.
  if (!(a_plain ? b_plain || is_expanded_scalar(*b) : b_plain && is_expanded_scalar(*a) && dest.is_fresh()))
    return false;
  if (dest.is_inplace() && b != a && b->storage_ == a->storage_) return false;
  input(1, *a, a_plain ? item : 0);
  input(2, *b, b_plain ? item : 0);
  return plain_result(dest, op, promote, a_plain ? *a : *b, 3);
}

// With a number that does not change the dtype.
bool Pointwise::try_fast_number(const Dest& dest, const char* op, Promote promote, const TensorImpl& a,
                                const Scalar& number) {
  const ScalarType dtype = a.dtype_;
  if ((dtype != kFloat && dtype != kDouble) || a.dim() == 0 || number.isComplex()) return false;
  if (dtype == kFloat) {
    const float v = static_cast<float>(number.as_double());
    std::memcpy(&number_, &v, sizeof v);
  } else {
    number_ = number.as_double();
  }
  loop_.data[2] = reinterpret_cast<char*>(&number_);
  if (!a.device_.is_cpu()) loop_.on_host = 1u << 2;
  loop_.strides[0][2] = 0;
  input(1, a, item_size(dtype));
  return plain_result(dest, op, promote, a, 3);
}

Pointwise::Pointwise(const Dest& dest, const char* op, Promote promote, Operand a) {
  if (!try_fast(dest, op, promote, a)) plan(dest, op, promote, &a, 1);
}
Pointwise::Pointwise(const Dest& dest, const char* op, Promote promote, Operand a, Operand b) {
  if (try_fast(dest, op, promote, a, b)) [[likely]]
    return;
  const Operand in[] = {a, b};
  plan(dest, op, promote, in, 2);
}
// The operand as the kernel wants it: in `dtype`, not sharing memory with what is written in another arrangement.
const TensorImpl* Pointwise::cast_operand(int i, const Operand& in, ScalarType dtype, const TensorImpl& written,
                                          const Dest& dest) {
  Tensor& temporary = general_->temporaries[i];
  if (in.scalar) {
    temporary = core::number_tensor(*in.scalar, dtype, device_, false);
    return temporary.impl();
  }
  const TensorImpl* t = in.tensor->impl();
  if (t->dtype_ != dtype) {
    temporary = cast(*in.tensor, dtype);
    return temporary.impl();
  }
  if (!dest.is_fresh() && overlaps_partly(written, *t)) {
    Tensor copy = core::empty_like(*in.tensor, t->dtype_);
    copy_into(copy, *in.tensor);
    temporary = std::move(copy);
    return temporary.impl();
  }
  return t;
}

namespace {

// Below 0 where dimension `a` lies inside of `b` in the operands' memory, above 0 where it lies outside, 0 where none
// tells: the first operand that has steps in both decides; of equal steps the shorter dimension is the inner one.
int compare_dims(const Operand* in, int count, IntArrayRef shape, size_t a, size_t b) {
  for (int i = 0; i < count; ++i) {
    if (!in[i].tensor) continue;
    const IntArrayRef sizes = in[i].tensor->sizes(), strides = in[i].tensor->strides();
    const size_t lead = shape.size() - sizes.size();
    auto step = [&](size_t d) { return d < lead || (sizes[d - lead] == 1 && shape[d] != 1) ? 0 : strides[d - lead]; };
    const int64_t step_a = step(a), step_b = step(b);
    if (step_a == 0 || step_b == 0) continue;
    if (step_a != step_b) return step_a < step_b ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

// A tensor for the result whose dimensions lie in memory in the order that the operands have.
Tensor empty_in_order(const Operand* in, int count, IntArrayRef shape, ScalarType dtype, Device device) {
  SmallVector<size_t, 6> order;  // innermost first
  for (size_t d = shape.size(); d-- > 0;) order.push_back(d);
  for (size_t i = 1; i < order.size(); ++i) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      const int outside = compare_dims(in, count, shape, order[j], order[at]);
      if (outside < 0) break;
      if (outside == 0) continue;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  DimVector strides(shape.size());
  int64_t step = 1;
  for (const size_t d : order) {
    strides[d] = step;
    step = core::times(step, std::max<int64_t>(shape[d], 1));
  }
  return core::empty_strided(shape, strides, dtype, device);
}

Tensor empty_result(const Operand* in, int count, IntArrayRef shape, ScalarType dtype, Device device) {
  const Tensor* first = nullptr;
  bool contiguous = true;
  for (int i = 0; i < count; ++i) {
    if (!in[i].tensor) continue;
    if (!first) first = in[i].tensor;
    contiguous &= in[i].tensor->is_contiguous();
  }
  if (contiguous || device.is_meta()) return core::empty(shape, dtype, device);
  if (first->is_non_overlapping_and_dense() && first->sizes() == shape && first->device() == device)
    return core::empty_like(*first, dtype);
  return empty_in_order(in, count, shape, dtype, device);
}

}  // namespace

void Pointwise::plan(const Dest& dest, const char* op, Promote promote, const Operand* in, int count,
                     ScalarType given) {
  general_ = std::make_unique<General>();
  TypeState types;
  DimVector shape;
  bool shaped = false;
  const Tensor* first = nullptr;
  for (int i = 0; i < count; ++i) {
    GRADUS_CHECK(!in[i].tensor || in[i].tensor->defined(), op, ": input ", i,
                 " is an undefined tensor; expected one with data");
    add_operand(types, in[i]);
    if (!in[i].tensor) continue;
    const Tensor& t = *in[i].tensor;
    GRADUS_CHECK_AS(NotImplementedError, t.layout() == Layout::Strided, op, ": a tensor of layout ", t.layout(),
                    " was given; expected Strided");
    if (!shaped) {
      shape = t.sizes();
      shaped = true;
    } else {
      extend_shape(op, shape, t.sizes());
    }
    // A 0-dim CPU tensor may go with tensors of any device.
    if (!first || (first->device().is_cpu() && first->dim() == 0 && !t.device().is_cpu())) {
      first = &t;
    } else {
      GRADUS_CHECK(t.device() == first->device() || (t.device().is_cpu() && t.dim() == 0), op, ": tensors on ",
                   first->device(), " and ", t.device(), " were given; expected all on the same device");
    }
  }
  device_ = first ? first->device() : Device(kCPU);
  ScalarType dtype = given != ScalarType::Undefined ? given : result_of(types);
  if (promote == Promote::kFloat && is_integral(dtype, true)) dtype = get_default_dtype();
  const ScalarType result = promote == Promote::kCompare ? ScalarType::Bool : dtype;

  Tensor written;
  if (dest.is_fresh()) {
    written = empty_result(in, count, shape, result, device_);
    out_ = written;
  } else {
    const Tensor& target = dest.target();
    GRADUS_CHECK(target.defined(), op, ": the ", dest.is_out() ? "out" : "self",
                 " tensor is undefined; expected one with data");
    GRADUS_CHECK_AS(TypeError, can_cast(result, target.scalar_type()), op, ": a result of type ", result,
                    " cannot be stored in a tensor of type ", target.scalar_type());
    dest.prepare(op, shape, target.scalar_type(), device_,
                 first ? first->suggest_memory_format() : MemoryFormat::Contiguous);
    written = target;
    if (target.scalar_type() != result) {
      written = core::empty(shape, result, device_);
      general_->cast_back_to = target;
      general_->cast_back_from = written;
    }
    out_ = target;
  }

  const TensorImpl* operands[kernels::Loop::kMaxOperands];
  operands[0] = written.impl();
  for (int i = 0; i < count; ++i) {
    const ScalarType wanted = promote == Promote::kNone && in[i].tensor ? in[i].tensor->scalar_type() : dtype;
    operands[i + 1] = cast_operand(i, in[i], wanted, *written.impl(), dest);
  }
  loop_.dtype = dtype;
  loop_.out_dtype = result;
  build_loop(operands, count + 1, shape);
}

void Pointwise::build_loop(const TensorImpl* const* operands, int count, IntArrayRef shape) {
  kernels::Loop& l = loop_;
  l.operands = count;
  l.numel = operands[0]->numel_;
  const int n = static_cast<int>(shape.size());
  GRADUS_CHECK(n <= kernels::Loop::kMaxDims, "elementwise operators take up to ", kernels::Loop::kMaxDims,
               " dimensions; got ", n);
  for (int k = 0; k < count; ++k) {
    l.data[k] = static_cast<char*>(operands[k]->data_);
    if (operands[k]->device_.is_cpu() && !device_.is_cpu()) l.on_host |= static_cast<uint8_t>(1u << k);
  }

  // Innermost dimension first, those of size 1 left out.
  int dims = 0;
  for (int d = n - 1; d >= 0; --d) {
    const int64_t size = shape[static_cast<size_t>(d)];
    if (size == 1 && l.numel != 0) continue;
    l.sizes[dims] = size;
    for (int k = 0; k < count; ++k) {
      const int lead = n - static_cast<int>(operands[k]->dim());
      const int64_t own = d >= lead ? operands[k]->sizes()[static_cast<size_t>(d - lead)] : 1;
      l.strides[dims][k] = own == 1 ? 0
                                    : operands[k]->strides()[static_cast<size_t>(d - lead)] *
                                          static_cast<int64_t>(element_size(operands[k]->dtype_));
    }
    ++dims;
  }
  // In the order the output lies in memory.
  auto swap_dims = [&](int i, int j) {
    std::swap(l.sizes[i], l.sizes[j]);
    for (int k = 0; k < count; ++k) std::swap(l.strides[i][k], l.strides[j][k]);
  };
  for (int i = 1; i < dims; ++i) {
    for (int j = i; j > 0 && l.strides[j][0] < l.strides[j - 1][0]; --j) swap_dims(j, j - 1);
  }
  // Neighbours that every operand walks as one.
  int merged = 0;
  for (int d = 1; d < dims; ++d) {
    bool one = true;
    for (int k = 0; k < count && one; ++k) one = l.strides[d][k] == l.strides[merged][k] * l.sizes[merged];
    if (one) {
      l.sizes[merged] *= l.sizes[d];
      continue;
    }
    ++merged;
    l.sizes[merged] = l.sizes[d];
    for (int k = 0; k < count; ++k) l.strides[merged][k] = l.strides[d][k];
  }
  if (dims == 0) {
    l.sizes[0] = 1;
    for (int k = 0; k < count; ++k) l.strides[0][k] = static_cast<int64_t>(element_size(operands[k]->dtype_));
    l.ndim = 1;
  } else {
    l.ndim = merged + 1;
  }
  l.contiguous = l.ndim == 1;
  for (int k = 0; k < count; ++k)
    l.contiguous &= l.strides[0][k] == static_cast<int64_t>(element_size(operands[k]->dtype_));
}

void copy_on_device(const Tensor& to, const Tensor& from) {
  Pointwise p;
  const TensorImpl* operands[] = {to.impl(), from.impl()};
  Tensor apart;
  if (overlaps_partly(*to.impl(), *from.impl())) {
    apart = core::empty_like(from, from.scalar_type());
    copy_on_device(apart, from);
    operands[1] = apart.impl();
  }
  p.device_ = to.device();
  p.loop_.dtype = from.scalar_type();
  p.loop_.out_dtype = to.scalar_type();
  p.build_loop(operands, 2, to.sizes());
  kernels::copy(to.device(), p.loop_);
}

namespace {

// Across devices whole blocks of memory travel; casts and rearranging are done on the accelerator's side, or at the
// source.
void copy_across(const Tensor& to, const Tensor& from, bool non_blocking) {
  if (to.numel() == 0) return;
  const ScalarType travelling = to.is_cpu() ? to.scalar_type() : from.scalar_type();
  const bool lands = to.is_non_overlapping_and_dense() && to.scalar_type() == travelling;
  const Tensor landing = lands ? to : core::empty(to.sizes(), travelling, to.device());
  const bool leaves = from.scalar_type() == travelling && from.sizes() == to.sizes() &&
                      (from.strides() == landing.strides() || (from.is_contiguous() && landing.is_contiguous()));
  Tensor leaving = from;
  if (!leaves) {
    leaving = core::empty_strided(to.sizes(), landing.strides(), travelling, from.device());
    copy_on_device(leaving, from);
  }
  const Device side = to.is_cpu() ? from.device() : to.device();
  core::accelerator(side.type(), "copy")
      .copy(landing.data_ptr(), to.device(), leaving.data_ptr(), from.device(),
            static_cast<size_t>(to.numel()) * element_size(travelling), non_blocking && leaves && lands);
  if (!lands) copy_on_device(to, landing);
}

}  // namespace

Tensor copy_into(const Tensor& to, const Tensor& from, bool non_blocking) {
  GRADUS_CHECK(
      to.sizes() == from.sizes() || IntArrayRef(broadcast_shapes("copy", to.sizes(), from.sizes())) == to.sizes(),
      "copy: a tensor of shape ", from.sizes(), " does not broadcast to shape ", to.sizes());
  if (to.device().is_meta()) return to;
  GRADUS_CHECK(!from.is_meta(), "copy: a tensor on meta has no data to be read on ", to.device());
  if (to.device() == from.device()) {
    copy_on_device(to, from);
  } else {
    copy_across(to, from, non_blocking);
  }
  return to;
}

Tensor cast(const Tensor& t, ScalarType dtype) {
  if (t.scalar_type() == dtype) return t;
  return copy_into(core::empty_like(t, dtype), t);
}

}  // namespace gradus::inline v0::ops
