// Padding of the last dimensions, by a value or by the tensor's own elements.
#include <algorithm>

#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_nn.h"

#include "pointwise_plan.h"
#include "raw_fill.h"
#include "scalar_range.h"
#include "view_geometry.h"

namespace gradus::inline v0::ops {

namespace {

void check_pad(const char* op, const Tensor& self, IntArrayRef pad) {
  const TensorImpl& t = defined(self, op);
  GRADUS_CHECK(pad.size() % 2 == 0, op, ": pad has ", pad.size(),
               " numbers; expected pairs, one for each padded dimension");
  GRADUS_CHECK(static_cast<int64_t>(pad.size() / 2) <= t.dim(), op, ": pad ", pad, " has pairs for ", pad.size() / 2,
               " dimensions; the tensor of shape ", t.sizes(), " has ", t.dim());
}

// The pair for dimension `d`; pairs start from the last dimension.
struct Sides {
  int64_t before = 0, after = 0;
};
Sides sides_of(IntArrayRef pad, int64_t d, int64_t ndim) {
  const auto pair = static_cast<size_t>(ndim - 1 - d) * 2;
  return pair < pad.size() ? Sides{pad[pair], pad[pair + 1]} : Sides{};
}

// The part of `t` that remains after cropping `before` and `after` elements of each dimension, none where they are
// negative.
Tensor crop(const Tensor& t, IntArrayRef pad, int64_t sign) {
  Geo g(*t.impl());
  for (size_t d = 0; d < g.sizes.size(); ++d) {
    const Sides s = sides_of(pad, static_cast<int64_t>(d), t.dim());
    const int64_t before = std::max<int64_t>(sign * s.before, 0), after = std::max<int64_t>(sign * s.after, 0);
    g.sizes[d] -= before + after;
    g.offset += before * g.strides[d];
    if (g.sizes[d] < 0) g.sizes[d] = 0;
  }
  return core::alias(t, g.sizes, g.strides, g.offset);
}

enum class Border { kReflect, kReplicate, kCircular };

// Where the elements of a padded dimension come from.
Tensor source_indices(Border border, int64_t size, Sides sides, Device device) {
  const int64_t length = size + sides.before + sides.after;
  Tensor indices = core::empty({std::max<int64_t>(length, 0)}, kLong, kCPU);
  auto* index = indices.data_ptr<int64_t>();
  for (int64_t i = 0; i < length; ++i) {
    int64_t at = i - sides.before;
    switch (border) {
      case Border::kReflect:
        at = at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
        break;
      case Border::kReplicate:
        at = std::clamp<int64_t>(at, 0, size - 1);
        break;
      case Border::kCircular: {
        // What is cropped on one side does not come back on the other.
        const int64_t first = std::max<int64_t>(-sides.before, 0),
                      kept = size - first - std::max<int64_t>(-sides.after, 0);
        at = (((at - first) % kept) + kept) % kept + first;
        break;
      }
    }
    index[i] = at;
  }
  return device.is_cpu() ? indices : indices.to(TensorOptions(device));
}

Tensor pad_with_elements(const Tensor& self, IntArrayRef pad, Border border, std::string_view mode) {
  const int64_t pairs = static_cast<int64_t>(pad.size() / 2);
  GRADUS_CHECK_AS(NotImplementedError, pairs >= 1 && pairs <= 3 && (self.dim() == pairs + 1 || self.dim() == pairs + 2),
                  "pad: mode ", mode, " with ", pairs, " padded dimensions of a tensor of shape ", self.sizes(),
                  "; expected 1, 2 or 3 of them behind one or two others");
  Tensor out = self;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const Sides s = sides_of(pad, d, self.dim());
    if (s.before == 0 && s.after == 0) continue;
    const int64_t size = self.size(d), most = border == Border::kReflect    ? size - 1
                                              : border == Border::kCircular ? size
                                                                            : INT64_MAX / 4;
    GRADUS_CHECK(s.before <= most && s.after <= most, "pad: ", s.before, " and ", s.after,
                 " elements before and after dimension ", d, " of size ", size, "; mode ", mode, " allows at most ",
                 most);
    const int64_t kept = size - std::max<int64_t>(-s.before, 0) - std::max<int64_t>(-s.after, 0);
    GRADUS_CHECK(size > 0 && size + s.before + s.after > 0 && (border != Border::kCircular || kept > 0),
                 "pad: dimension ", d, " of size ", size, " padded by ", s.before, " and ", s.after,
                 "; expected a result of at least one element");
    out = out.index_select(d, source_indices(border, size, s, self.device()));
  }
  return out.is_same(self) ? self.clone() : out;
}

// `op` is the name in errors.
Tensor pad_with_value(const char* op, const Tensor& self, IntArrayRef pad, const Scalar& value) {
  check_pad(op, self, pad);
  const TensorImpl& t = *self.impl();
  check_storable(op, value, t.dtype_);
  auto r = recording(self);
  DimVector sizes(t.sizes());
  for (size_t d = 0; d < sizes.size(); ++d) {
    const Sides s = sides_of(pad, static_cast<int64_t>(d), t.dim());
    const bool overflow =
        __builtin_add_overflow(sizes[d], s.before, &sizes[d]) || __builtin_add_overflow(sizes[d], s.after, &sizes[d]);
    GRADUS_CHECK(!overflow && sizes[d] >= 0, op, ": pad ", pad, " of shape ", t.sizes(), " gives dimension ", d,
                 " a negative or too large size; expected one that is neither");
  }
  Tensor out = core::empty(sizes, t.dtype_, t.device_, self.suggest_memory_format());
  fill_raw(out, value);
  const Tensor target = crop(out, pad, 1), source = crop(self, pad, -1);
  // Where more is cropped than there is, nothing of the tensor remains.
  if (target.sizes() == source.sizes()) copy_into(target, source);
  if (r) {
    std::vector<int64_t> back(pad.size());
    for (size_t i = 0; i < pad.size(); ++i) back[i] = -pad[i];
    r.node("ConstantPadNdBackward0", out,
           [back = std::move(back)](const GradIn& g, GradOut& d) { d[0] = gradus::constant_pad_nd(g[0], back, 0); });
  }
  return out;
}

}  // namespace

Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value) {
  return pad_with_value("constant_pad_nd", self, pad, value);
}

Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode, std::optional<double> value) {
  if (mode == "constant") return pad_with_value("pad", self, pad, value.value_or(0));
  check_pad("pad", self, pad);
  GRADUS_CHECK(!value || *value == 0, "pad: a value of ", value.value_or(0), " was given with mode ", mode,
               "; only mode constant takes one");
  if (mode == "reflect") return pad_with_elements(self, pad, Border::kReflect, mode);
  if (mode == "replicate") return pad_with_elements(self, pad, Border::kReplicate, mode);
  if (mode == "circular") return pad_with_elements(self, pad, Border::kCircular, mode);
  throw NotImplementedError(str("pad: mode ", mode, " was given; expected constant, reflect, replicate or circular"));
}

}  // namespace gradus::inline v0::ops
