// New tensors.
#include <cmath>

#include <gradus/ops/ops.h>
#include <kernels/factories.h>

#include "ops/surface/generated/ops_factory.h"

#include "pointwise_plan.h"
#include "raw_fill.h"
#include "scalar_range.h"
#include "view_geometry.h"

namespace gradus::inline v0::ops {

namespace {

void check_options(const char* op, const TensorOptions& o) {
  GRADUS_CHECK_AS(NotImplementedError, o.layout() == Layout::Strided, op, ": the layout ", o.layout(),
                  " was asked for; expected Strided");
}
Tensor pinned(const char* op, IntArrayRef size, const TensorOptions& o, MemoryFormat format) {
  GRADUS_CHECK(o.device().is_cpu(), op, ": pinned memory was asked for on ", o.device(),
               "; only CPU tensors can be pinned");
  DimVector strides(size.size());
  core::dense_strides(size, format, strides.data());
  return core::empty_pinned(size, strides, o.scalar_type(), op);
}
// A new tensor's memory, or the target of the out form.
Tensor allocate(const Dest& dest, const char* op, IntArrayRef size, const TensorOptions& o,
                MemoryFormat format = MemoryFormat::Contiguous) {
  check_options(op, o);
  if (dest.is_fresh()) [[likely]] {
    if (o.pinned_memory()) [[unlikely]]
      return pinned(op, size, o, format);
    return core::empty(size, o.scalar_type(), o.device(), format, op);
  }
  core::checked_numel(size, o.scalar_type(), op);
  const Tensor& out = dest.target();
  GRADUS_CHECK(out.defined(), op, ": the out tensor is undefined; expected one with data");
  if (grad_mode_enabled() && out.requires_grad()) autograd::out_form_requires_grad("out=");
  return dest.result(op, size, out.scalar_type(), out.device(), format);
}
Tensor allocate(const char* op, IntArrayRef size, const TensorOptions& o) {
  return allocate(Dest(), op, size, o);
}

Tensor finish(const Dest& dest, Tensor out, const TensorOptions& o) {
  if (o.requires_grad() && dest.is_fresh()) out.set_requires_grad(true);
  return out;
}
Tensor finish(Tensor out, const TensorOptions& o) {
  return finish(Dest(), std::move(out), o);
}

Tensor filled(const Dest& dest, const char* op, IntArrayRef size, const Scalar& value, const TensorOptions& o) {
  Tensor out = allocate(dest, op, size, o);
  check_storable(op, value, out.scalar_type());
  fill_raw(out, value);
  return finish(dest, out, o);
}

// What is unset in `o` comes from `like`.
TensorOptions like_options(const char* op, const Tensor& like, const TensorOptions& o) {
  const TensorImpl& t = defined(like, op);
  TensorOptions r = o;
  if (!o.has_dtype()) r = r.dtype(t.dtype_);
  if (!o.has_device()) r = r.device(t.device_);
  return r;
}

MemoryFormat format_of(const char* op, const TensorOptions& o, std::optional<MemoryFormat> given) {
  GRADUS_CHECK(!(given && o.has_memory_format()), op,
               ": the memory format was given both as an argument and in the options; expected it once");
  return given ? *given : o.memory_format_opt().value_or(MemoryFormat::Preserve);
}

// Memory that nobody wrote.
Tensor unwritten(const Dest& dest, const Tensor& out, const TensorOptions& o) {
  fill_if_deterministic(out);
  return finish(dest, out, o);
}

Tensor allocate_like(const char* op, const Tensor& self, const TensorOptions& o,
                     std::optional<MemoryFormat> memory_format) {
  check_options(op, o);
  const MemoryFormat format = format_of(op, o, memory_format);
  if (format != MemoryFormat::Preserve) return core::empty(self.sizes(), o.scalar_type(), o.device(), format);
  if (o.device() == self.device()) return core::empty_like(self, o.scalar_type());
  return core::empty_strided(self.sizes(), core::empty_like(self, o.scalar_type()).strides(), o.scalar_type(),
                             o.device());
}

Tensor filled_like(const char* op, const Tensor& self, const Scalar& value, const TensorOptions& options,
                   std::optional<MemoryFormat> f) {
  const TensorOptions o = like_options(op, self, options);
  Tensor out = allocate_like(op, self, o, f);
  check_storable(op, value, out.scalar_type());
  fill_raw(out, value);
  return finish(out, o);
}

}  // namespace

// --- memory only ---

Tensor empty(const Dest& dest, IntArrayRef size, const TensorOptions& options,
             std::optional<MemoryFormat> memory_format) {
  const MemoryFormat format = format_of("empty", options, memory_format);
  GRADUS_CHECK(!(memory_format && format == MemoryFormat::Preserve),
               "empty: preserve_format was given; there is nothing to preserve");
  return unwritten(
      dest,
      allocate(dest, "empty", size, options, format == MemoryFormat::Preserve ? MemoryFormat::Contiguous : format),
      options);
}

Tensor empty_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  const TensorOptions o = like_options("empty_like", self, options);
  return unwritten(Dest(), allocate_like("empty_like", self, o, memory_format), o);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  check_options("empty_strided", options);
  return unwritten(Dest(), core::empty_strided(size, stride, options.scalar_type(), options.device()), options);
}

Tensor new_empty(const Tensor& self, IntArrayRef size, const TensorOptions& options) {
  const TensorOptions o = like_options("new_empty", self, options);
  return unwritten(Dest(), allocate("new_empty", size, o), o);
}
Tensor new_empty_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  return ops::empty_strided(size, stride, like_options("new_empty_strided", self, options));
}

// --- one value ---

Tensor zeros(const Dest& dest, IntArrayRef size, const TensorOptions& options) {
  return filled(dest, "zeros", size, 0, options);
}
Tensor ones(const Dest& dest, IntArrayRef size, const TensorOptions& options) {
  return filled(dest, "ones", size, 1, options);
}
Tensor full(const Dest& dest, IntArrayRef size, const Scalar& fill_value, const TensorOptions& options) {
  if (options.has_dtype()) return filled(dest, "full", size, fill_value, options);
  return filled(dest, "full", size, fill_value, options.dtype(result_type({fill_value})));
}
Tensor new_zeros(const Tensor& self, IntArrayRef size, const TensorOptions& options) {
  return filled(Dest(), "new_zeros", size, 0, like_options("new_zeros", self, options));
}
Tensor new_ones(const Tensor& self, IntArrayRef size, const TensorOptions& options) {
  return filled(Dest(), "new_ones", size, 1, like_options("new_ones", self, options));
}
Tensor new_full(const Tensor& self, IntArrayRef size, const Scalar& fill_value, const TensorOptions& options) {
  return filled(Dest(), "new_full", size, fill_value, like_options("new_full", self, options));
}
Tensor zeros_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return filled_like("zeros_like", self, 0, options, memory_format);
}
Tensor ones_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return filled_like("ones_like", self, 1, options, memory_format);
}
Tensor full_like(const Tensor& self, const Scalar& fill_value, const TensorOptions& options,
                 std::optional<MemoryFormat> memory_format) {
  return filled_like("full_like", self, fill_value, options, memory_format);
}
Tensor scalar_tensor(const Scalar& s, const TensorOptions& options) {
  check_options("scalar_tensor", options);
  check_storable("scalar_tensor", s, options.scalar_type());
  return finish(core::scalar_tensor(s, options.scalar_type(), options.device(), false), options);
}

// --- ranges ---

namespace {

int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  const bool exact = start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
  const double s = start.as_double(), e = end.as_double(), by = step.as_double();
  GRADUS_CHECK(by > 0 || by < 0, "arange: step is ", step, "; expected a number other than 0");
  GRADUS_CHECK(std::isfinite(s) && std::isfinite(e), "arange: unsupported range ", start, " -> ", end);
  GRADUS_CHECK((by > 0 && e >= s) || (by < 0 && e <= s),
               "arange: upper bound and lower bound inconsistent with step sign: ", start, " -> ", end, " by ", step);
  if (exact) {
    const auto span = static_cast<__int128>(end.as_int()) - start.as_int();
    const __int128 n = (span + step.as_int() - (by > 0 ? 1 : -1)) / step.as_int();
    GRADUS_CHECK(n < (static_cast<__int128>(1) << 62), "arange: invalid size, possible overflow: ", start, " -> ", end,
                 " by ", step);
    return static_cast<int64_t>(n);
  }
  const double n = std::ceil((e - s) / by);
  GRADUS_CHECK(n >= 0 && n <= 4e18, "arange: invalid size, possible overflow: ", start, " -> ", end, " by ", step);
  return static_cast<int64_t>(n);
}

Tensor range(const Dest& dest, const Scalar& start, const Scalar& end, const Scalar& step, TensorOptions o) {
  const int64_t n = range_length(start, end, step);
  if (!o.has_dtype() && start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true)) o = o.dtype(kLong);
  // An out tensor that has the right number of elements keeps its shape.
  const bool keep = dest.is_out() && dest.target().defined() && dest.target().numel() == n;
  Tensor out = allocate(dest, "arange", keep ? dest.target().sizes() : IntArrayRef(n), o);
  if (n == 0) return finish(dest, out, o);
  Tensor flat = out.is_contiguous() ? out : core::empty({n}, out.scalar_type(), out.device());
  kernels::arange(out.device(), flat.data_ptr(), n, out.scalar_type(), start, step);
  if (!flat.is_same(out))
    copy_into(out, core::alias(flat, out.sizes(), core::empty(out.sizes(), kByte, kMeta).strides(), 0));
  return finish(dest, out, o);
}

}  // namespace

Tensor arange(const Dest& dest, const Scalar& end, const TensorOptions& options) {
  return range(dest, 0, end, 1, options);
}
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return range(Dest(), start, end, 1, options);
}
Tensor arange(const Dest& dest, const Scalar& start, const Scalar& end, const Scalar& step,
              const TensorOptions& options) {
  return range(dest, start, end, step, options);
}

Tensor linspace(const Dest& dest, const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  GRADUS_CHECK(steps >= 0, "linspace: number of steps must be non-negative; got ", steps);
  TensorOptions o = options;
  if (!o.has_dtype() && (start.isComplex() || end.isComplex())) o = o.dtype(result_type({start, end}));
  Tensor out = allocate(dest, "linspace", IntArrayRef(steps), o);
  GRADUS_CHECK_AS(NotImplementedError, !is_complex(out.scalar_type()), "linspace: complex results are not supported");
  if (steps == 0) return finish(dest, out, o);
  Tensor flat = out.is_contiguous() ? out : core::empty({steps}, out.scalar_type(), out.device());
  kernels::linspace(out.device(), flat.data_ptr(), steps, out.scalar_type(), start, end);
  if (!flat.is_same(out)) copy_into(out, flat);
  return finish(dest, out, o);
}

namespace {
Scalar number_of(const char* which, const Tensor& t) {
  GRADUS_CHECK(t.dim() == 0, "linspace: ", which, " is a tensor of ", t.dim(), " dimensions; expected a 0-dim tensor");
  return t.item();
}
}  // namespace

Tensor linspace(const Dest& dest, const Scalar& start, const Tensor& end, int64_t steps, const TensorOptions& options) {
  return linspace(dest, start, number_of("end", end), steps, options);
}
Tensor linspace(const Dest& dest, const Tensor& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  return linspace(dest, number_of("start", start), end, steps, options);
}
Tensor linspace(const Dest& dest, const Tensor& start, const Tensor& end, int64_t steps, const TensorOptions& options) {
  return linspace(dest, number_of("start", start), number_of("end", end), steps, options);
}

// --- matrices ---

Tensor eye(const Dest& dest, int64_t n, const TensorOptions& options) {
  return eye(dest, n, n, options);
}
Tensor eye(const Dest& dest, int64_t n, int64_t m, const TensorOptions& options) {
  GRADUS_CHECK(n >= 0 && m >= 0, "eye: the sizes ", n, " and ", m, " were given; expected both >= 0");
  Tensor out = allocate(dest, "eye", {n, m}, options);
  fill_raw(out, 0);
  const int64_t diagonal = std::min(n, m);
  fill_raw(core::alias(out, IntArrayRef(diagonal), IntArrayRef(out.stride(0) + out.stride(1)), out.storage_offset()),
           1);
  return finish(dest, out, options);
}

}  // namespace gradus::inline v0::ops
