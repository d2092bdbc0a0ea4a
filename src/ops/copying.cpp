// Copies, casts, fills and resizing.
#include <cmath>
#include <cstring>

#include <gradus/ops/operator.h>
#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_copy.h"

#include "../core/accelerator.h"
#include "pointwise_plan.h"
#include "raw_fill.h"
#include "scalar_range.h"
#include "view_geometry.h"

namespace gradus::inline v0::ops {

void fill_raw(const Tensor& tensor, const Scalar& value) {
  const TensorImpl& t = *tensor.impl();
  if (t.device_.is_meta() || t.numel_ == 0) return;
  const auto item = static_cast<int64_t>(element_size(t.dtype_));
  if (t.has(TensorImpl::kDense) && t.device_.is_cpu() && value.equal(0) &&
      !(value.isFloatingPoint() && std::signbit(value.as_double()))) {
    // Below the size at which several threads fill faster than one.
    if (t.numel_ * item <= (1 << 18)) {
      std::memset(t.data_, 0, static_cast<size_t>(t.numel_ * item));
      return;
    }
  }
  kernels::Loop l;
  l.operands = 1;
  l.dtype = l.out_dtype = t.dtype_;
  l.numel = t.numel_;
  l.data[0] = static_cast<char*>(t.data_);
  l.ndim = 0;
  if (t.has(TensorImpl::kDense)) {
    l.sizes[0] = t.numel_;
    l.strides[0][0] = item;
    l.ndim = 1;
  } else {
    for (size_t d = t.sizes().size(); d-- > 0;) {
      if (t.sizes()[d] == 1) continue;
      l.sizes[l.ndim] = t.sizes()[d];
      l.strides[l.ndim++][0] = t.strides()[d] * item;
    }
    if (l.ndim == 0) l.sizes[0] = 1, l.strides[0][0] = item, l.ndim = 1;
  }
  l.contiguous = l.ndim == 1 && l.strides[0][0] == item;
  kernels::fill(t.device_, l, value);
}

namespace {

// What reading an element that nobody wrote gives, as in PyTorch.
Scalar marker_of(ScalarType t) {
  switch (t) {
    case ScalarType::Bool:
      return true;
    case ScalarType::Byte:
      return int64_t{UINT8_MAX};
    case ScalarType::Char:
      return int64_t{INT8_MAX};
    case ScalarType::Short:
      return int64_t{INT16_MAX};
    case ScalarType::Int:
      return int64_t{INT32_MAX};
    case ScalarType::Long:
      return INT64_MAX;
    case ScalarType::UInt16:
      return int64_t{UINT16_MAX};
    case ScalarType::UInt32:
      return int64_t{UINT32_MAX};
    case ScalarType::UInt64:
      return int64_t{-1};  // its bits
    default:
      return std::nan("");
  }
}

}  // namespace

void fill_for_determinism(const Tensor& t) {
  fill_raw(t, marker_of(t.scalar_type()));
}

Tensor raw_zeros(IntArrayRef sizes, ScalarType dtype, Device device) {
  Tensor t = core::empty(sizes, dtype, device);
  fill_raw(t, 0);
  return t;
}

// --- copies ---

Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  const TensorImpl& t = defined(self, "clone");
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
  Tensor out = format == MemoryFormat::Preserve ? core::empty_like(self, t.dtype_)
                                                : core::empty(t.sizes(), t.dtype_, t.device_, format);
  copy_into(out, self);
  if (auto r = recording(self)) r.node("CloneBackward0", out, [](const GradIn& g, GradOut& d) { d[0] = g[0]; });
  return out;
}

void copy_(const Tensor& self, const Tensor& src, bool non_blocking) {
  const TensorImpl &to = defined(self, "copy_"), &from = defined(src, "copy_");
  auto r = recording(Dest::inplace(self), self, src);
  if (from.sizes() != to.sizes() && IntArrayRef(broadcast_shapes("copy_", to.sizes(), from.sizes())) != to.sizes())
      [[unlikely]] {
    throw Error(
        str("copy_: a source of shape ", from.sizes(), " does not broadcast to the shape ", to.sizes(), " of self"));
  }
  if (&to == &from) return;
  GRADUS_CHECK_AS(NotImplementedError, to.device_.is_meta() || !from.device_.is_meta(),
                  "copy_: cannot copy out of meta tensor; no data!");
  begin_write("copy_", self);
  copy_into(self, src, non_blocking);
  if (r && is_differentiable(to.dtype_)) {
    r.node("CopyBackwards", self, [device = from.device_](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = gradus::zeros_like(g[0]);
      d[1] = g[0].device() == device ? g[0] : g[0].to(TensorOptions(device));
    });
  }
}

Tensor contiguous(const Tensor& self, MemoryFormat memory_format) {
  defined(self, "contiguous");
  GRADUS_CHECK(memory_format != MemoryFormat::Preserve,
               "contiguous: preserve_format was given; expected contiguous_format, channels_last or channels_last_3d");
  return self.is_contiguous(memory_format) ? self : self.clone(memory_format);
}

// --- conversions ---

namespace {

Tensor convert(const Tensor& self, ScalarType dtype, Device device, bool non_blocking, bool copy,
               std::optional<MemoryFormat> memory_format) {
  const TensorImpl& t = defined(self, "to");
  device = core::with_index(device);
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
  if (!copy && t.dtype_ == dtype && t.device_ == device &&
      (format == MemoryFormat::Preserve || self.suggest_memory_format() == format))
    return self;
  GRADUS_CHECK_AS(NotImplementedError, device.is_meta() || !t.device_.is_meta(),
                  "to: cannot copy out of meta tensor; no data!");
  Tensor out;
  if (format != MemoryFormat::Preserve) {
    out = core::empty(t.sizes(), dtype, device, format);
  } else if (t.device_ == device) {
    out = core::empty_like(self, dtype);
  } else {
    out = core::empty_strided(t.sizes(), core::empty_like(self, dtype).strides(), dtype, device);
  }
  copy_into(out, self, non_blocking);
  if (is_differentiable(dtype)) {
    if (auto r = recording(self)) {
      // The engine casts the gradient back.
      r.node("ToCopyBackward0", out, [device = t.device_](const GradIn& g, GradOut& d) {
        d[0] = g[0].device() == device ? g[0] : g[0].to(TensorOptions(device));
      });
    }
  }
  return out;
}

}  // namespace

Tensor to(const Tensor& self, Device device, ScalarType dtype, bool non_blocking, bool copy,
          std::optional<MemoryFormat> memory_format) {
  return convert(self, dtype, device, non_blocking, copy, memory_format);
}
Tensor to(const Tensor& self, ScalarType dtype, bool non_blocking, bool copy,
          std::optional<MemoryFormat> memory_format) {
  return convert(self, dtype, defined(self, "to").device_, non_blocking, copy, memory_format);
}
Tensor to(const Tensor& self, const TensorOptions& options, bool non_blocking, bool copy,
          std::optional<MemoryFormat> memory_format) {
  const TensorImpl& t = defined(self, "to");
  GRADUS_CHECK_AS(NotImplementedError, !options.has_layout() || options.layout() == t.layout_,
                  "to: a conversion of layout ", t.layout_, " to ", options.layout(),
                  " was asked for; expected the same layout");
  if (!memory_format) memory_format = options.memory_format_opt();
  return convert(self, options.dtype_opt().value_or(t.dtype_), options.device_opt().value_or(t.device_), non_blocking,
                 copy, memory_format);
}
Tensor to(const Tensor& self, const Tensor& other, bool non_blocking, bool copy,
          std::optional<MemoryFormat> memory_format) {
  const TensorImpl& o = defined(other, "to");
  return convert(self, o.dtype_, o.device_, non_blocking, copy, memory_format);
}
Tensor _to_copy(const Tensor& self, const TensorOptions& options, bool non_blocking,
                std::optional<MemoryFormat> memory_format) {
  return ops::to(self, options, non_blocking, true, memory_format);
}
Tensor type_as(const Tensor& self, const Tensor& other) {
  return self.to(other);
}

// --- page-locked memory ---

namespace {
void check_pin_device(const char* op, std::optional<Device> device) {
  GRADUS_CHECK_AS(ValueError, !device || device->is_cuda(), op, ": device ", device.value_or(kCPU),
                  " was given; memory is page-locked for cuda");
}
}  // namespace

bool is_pinned(const Tensor& self, std::optional<Device> device) {
  check_pin_device("is_pinned", device);
  const TensorImpl& t = defined(self, "is_pinned");
  if (!t.device_.is_cpu() || t.has(TensorImpl::kPinned)) return t.has(TensorImpl::kPinned);
  core::Accelerator* a = core::find_accelerator(kCUDA);
  return a != nullptr && t.data_ != nullptr && a->is_pinned(t.data_);
}

Tensor pin_memory(const Tensor& self, std::optional<Device> device) {
  check_pin_device("pin_memory", device);
  const TensorImpl& t = defined(self, "pin_memory");
  GRADUS_CHECK(t.device_.is_cpu(), "pin_memory: a tensor on ", t.device_,
               " was given; only dense CPU tensors can be pinned");
  if (self.is_pinned()) return self;
  const Tensor like = core::empty_like(self, t.dtype_);
  Tensor out = core::empty_pinned(t.sizes(), like.strides(), t.dtype_, "pin_memory");
  copy_into(out, self);
  if (auto r = recording(self)) r.node("PinMemoryBackward0", out, [](const GradIn& g, GradOut& d) { d[0] = g[0]; });
  return out;
}

// --- fills ---

namespace {

Tensor fill_target(const Dest& dest, const Tensor& self) {
  defined(self, "fill_");
  if (dest.is_fresh()) return core::empty_like(self, self.scalar_type());
  begin_write("fill_", self);
  return self;
}

}  // namespace

Tensor fill(const Dest& dest, const Tensor& self, const Scalar& value) {
  auto r = recording(dest, self);
  const ScalarType dtype = defined(self, "fill_").dtype_;
  GRADUS_CHECK_AS(TypeError, !value.isComplex() || is_complex(dtype), "fill_: a complex value ", value,
                  " cannot be stored in a tensor of type ", dtype);
  check_storable("fill_", value, dtype);
  Tensor out = fill_target(dest, self);
  fill_raw(out, value);
  if (r) r.node("FillBackward0", out, [](const GradIn& g, GradOut& d) { d[0] = gradus::zeros_like(g[0]); });
  return out;
}

Tensor fill(const Dest& dest, const Tensor& self, const Tensor& value) {
  auto r = recording(dest, self, value);
  GRADUS_CHECK(defined(value, "fill_").dim() == 0, "fill_: a value of ", value.dim(),
               " dimensions was given; expected a 0-dim tensor");
  GRADUS_CHECK(value.is_cpu() || value.device() == defined(self, "fill_").device_, "fill_: a value on ", value.device(),
               " was given for a tensor on ", self.device(), "; expected one on the same device or on the cpu");
  Tensor out = fill_target(dest, self);
  copy_into(out, value);
  if (r) {
    r.node("FillBackward1", out, [](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = gradus::zeros_like(g[0]);
      d[1] = g[0];
    });
  }
  return out;
}

void zero_(const Tensor& self) {
  defined(self, "zero_");
  auto r = recording(Dest::inplace(self), self);
  begin_write("zero_", self);
  fill_raw(self, 0);
  if (r) r.node("ZeroBackward0", self, [](const GradIn& g, GradOut& d) { d[0] = gradus::zeros_like(g[0]); });
}

// --- size ---

void resize_(const Tensor& self, IntArrayRef size, std::optional<MemoryFormat> memory_format) {
  TensorImpl& t = defined(self, "resize_");
  GRADUS_CHECK(!self.requires_grad(), "resize_: cannot resize variables that require grad; use detach() first");
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Contiguous);
  if (t.sizes() == size && !memory_format) return;
  const auto bytes = [&] { return t.storage_ ? t.storage_->nbytes : 0; };
  const size_t before = bytes();
  core::resize(self, size, format, "resize_");
  if (bytes() > before) {
    // What was added to the memory, in whole elements: the last of the old ones may have been cut off.
    const auto item = static_cast<int64_t>(element_size(t.dtype_));
    const int64_t first = static_cast<int64_t>(before) / item, end = static_cast<int64_t>(bytes()) / item;
    if (first < end) fill_if_deterministic(core::alias(self, {end - first}, {1}, first));
  }
}
void resize_as_(const Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> memory_format) {
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Contiguous);
  self.resize_(defined(the_template, "resize_as_").sizes(),
               format == MemoryFormat::Preserve ? the_template.suggest_memory_format() : format);
}

Scalar item(const Tensor& self) {
  const TensorImpl& t = defined(self, "item");
  GRADUS_CHECK(t.numel_ == 1, "item: a Tensor with ", t.numel_,
               " elements cannot be converted to Scalar; expected exactly one element");
  GRADUS_CHECK_AS(NotImplementedError, !t.device_.is_meta(), "item: a meta tensor has no data");
  alignas(16) char element[16];
  const void* p = t.data_;
  if (!t.device_.is_cpu()) {
    core::accelerator(t.device_.type(), "item")
        .copy(element, kCPU, p, t.device_, element_size(t.dtype_), /*non_blocking=*/false);
    p = element;
  }
  switch (t.dtype_) {
#define GRADUS_CASE(name, T, As) \
  case ScalarType::name:         \
    return Scalar(static_cast<As>(*static_cast<const T*>(p)));
    GRADUS_CASE(Byte, uint8_t, int64_t)
    GRADUS_CASE(Char, int8_t, int64_t)
    GRADUS_CASE(Short, int16_t, int64_t)
    GRADUS_CASE(Int, int32_t, int64_t)
    GRADUS_CASE(Long, int64_t, int64_t)
    GRADUS_CASE(UInt16, uint16_t, int64_t)
    GRADUS_CASE(UInt32, uint32_t, int64_t)
    GRADUS_CASE(UInt64, uint64_t, int64_t)
    GRADUS_CASE(Bool, bool, bool)
    GRADUS_CASE(Float, float, double)
    GRADUS_CASE(Double, double, double)
    GRADUS_CASE(Half, Half, float)
    GRADUS_CASE(BFloat16, BFloat16, float)
    GRADUS_CASE(Float8_e4m3fn, Float8_e4m3fn, float)
    GRADUS_CASE(Float8_e5m2, Float8_e5m2, float)
    GRADUS_CASE(ComplexFloat, complex<float>, complex<float>)
    GRADUS_CASE(ComplexDouble, complex<double>, complex<double>)
#undef GRADUS_CASE
    default:
      throw NotImplementedError(str("item: a tensor of type ", t.dtype_, " has no value to return"));
  }
}

}  // namespace gradus::inline v0::ops

namespace gradus::inline v0 {

Scalar Tensor::item() const {
  if (intercepted()) [[unlikely]]
    return call("aten::item", {*this}).at(0).toScalar();
  return ops::item(*this);
}

}  // namespace gradus::inline v0
