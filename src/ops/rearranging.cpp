// Copies with elements in another order: flip, roll, repeat.
#include <gradus/ops/ops.h>
#include <kernels/pointwise.h>

#include "ops/surface/generated/ops_view.h"

#include "pointwise_plan.h"
#include "view_geometry.h"

namespace gradus::inline v0::ops {

Tensor flip(const Tensor& self, IntArrayRef dims) {
  const TensorImpl& t = defined(self, "flip");
  SmallVector<bool, 16> flipped(t.sizes().size(), false);
  DimVector wrapped;
  for (int64_t d : dims) {
    const int64_t at = wrap_dim(d, t.dim(), "flip");
    wrapped.push_back(at);
    if (t.dim() == 0) continue;
    GRADUS_CHECK(!flipped[static_cast<size_t>(at)], "flip: dim ", d, " appears multiple times in the list of dims ",
                 dims);
    flipped[static_cast<size_t>(at)] = true;
  }
  Tensor out = core::empty_like(self, t.dtype_);
  if (t.numel_ && !t.device_.is_meta()) {
    // Flipped dimensions are read from their end, with a negative stride.
    kernels::Loop l;
    const auto item = static_cast<int64_t>(element_size(t.dtype_));
    l.operands = 2;
    l.dtype = l.out_dtype = t.dtype_;
    l.numel = t.numel_;
    l.data[0] = static_cast<char*>(out.data_ptr());
    l.data[1] = static_cast<char*>(t.data_);
    l.ndim = 0;
    for (size_t d = t.sizes().size(); d-- > 0;) {
      const int64_t size = t.sizes()[d], step = t.strides()[d] * item;
      if (size == 1) continue;
      l.sizes[l.ndim] = size;
      l.strides[l.ndim][0] = out.strides()[d] * item;
      l.strides[l.ndim++][1] = flipped[d] ? -step : step;
      if (flipped[d]) l.data[1] += (size - 1) * step;
    }
    if (l.ndim == 0) l.sizes[0] = 1, l.strides[0][0] = l.strides[0][1] = item, l.ndim = 1;
    l.contiguous = l.ndim == 1 && l.strides[0][0] == item && l.strides[0][1] == item;
    kernels::copy(t.device_, l);
  }
  if (auto r = recording(self))
    r.node("FlipBackward0", out, [wrapped](const GradIn& g, GradOut& d) { d[0] = g[0].flip(wrapped); });
  return out;
}

Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  defined(self, "roll");
  GRADUS_CHECK(!shifts.empty(), "roll: `shifts` required");
  if (dims.empty() && shifts.size() == 1) return self.contiguous().view({-1}).roll(shifts, 0).view(self.sizes());
  GRADUS_CHECK(shifts.size() == dims.size(), "roll: shifts and dimensions must align; shifts: ", shifts.size(),
               ", dims: ", dims.size());
  Tensor out = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    GRADUS_CHECK_AS(IndexError, self.dim() > 0, "roll: dim ", dims[i], " was given; a 0-dim tensor has no dimensions");
    const int64_t dim = wrap_dim(dims[i], self.dim(), "roll"), size = self.size(dim);
    if (size == 0) continue;
    const int64_t shift = ((shifts[i] % size) + size) % size;
    if (shift != 0) out = gradus::cat({out.narrow(dim, size - shift, shift), out.narrow(dim, 0, size - shift)}, dim);
  }
  return out.is_same(self) ? self.clone() : out;
}

Tensor repeat(const Tensor& self, IntArrayRef repeats) {
  const TensorImpl& t = defined(self, "repeat");
  const auto n = repeats.size(), own = t.sizes().size();
  GRADUS_CHECK(n >= own, "repeat: ", n, " numbers of repeats ", repeats, " were given for a tensor of ", own,
               " dimensions; expected at least as many");
  // Every dimension as two: how often, and what.
  DimVector sizes, pairs, from_strides, counts;
  for (size_t d = 0; d < n; ++d) {
    GRADUS_CHECK(repeats[d] >= 0, "repeat: the numbers of repeats ", repeats, " contain a negative one");
    const bool real = d >= n - own;
    const int64_t size = real ? t.sizes()[d - (n - own)] : 1;
    counts.push_back(static_cast<int64_t>(2 * d));
    sizes.push_back(repeats[d] * size);
    pairs.push_back(repeats[d]);
    pairs.push_back(size);
    from_strides.push_back(0);
    from_strides.push_back(real ? t.strides()[d - (n - own)] : 0);
  }
  Tensor out = core::empty(sizes, t.dtype_, t.device_);
  if (out.numel()) {
    DimVector to_strides(pairs.size());
    core::dense_strides(pairs, MemoryFormat::Contiguous, to_strides.data());
    copy_into(core::alias(out, pairs, to_strides, 0), core::alias(self, pairs, from_strides, t.storage_offset_));
  }
  if (auto r = recording(self)) {
    r.node("RepeatBackward0", out, [pairs, counts, sizes = DimVector(t.sizes())](const GradIn& g, GradOut& d) {
      d[0] = counts.empty() ? g[0] : g[0].reshape(pairs).sum(IntArrayRef(counts)).reshape(sizes);
    });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
