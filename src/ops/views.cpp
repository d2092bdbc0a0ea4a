// Views by shape: the same elements under other sizes and strides.
#include <algorithm>

#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_view.h"

#include "view_geometry.h"

namespace gradus::inline v0::ops {

DimVector infer_size(const char* op, IntArrayRef shape, int64_t numel) {
  DimVector sizes(shape);
  int64_t known = 1, open = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1) {
      GRADUS_CHECK(open < 0, op, ": the shape ", shape, " has two -1; expected at most one, to be inferred");
      open = static_cast<int64_t>(d);
      continue;
    }
    GRADUS_CHECK(shape[d] >= 0, op, ": invalid shape dimension ", shape[d], " at index ", d, " of shape ", shape);
    if (__builtin_mul_overflow(known, shape[d], &known)) known = -1;
  }
  if (open >= 0) {
    GRADUS_CHECK(known != 0, op, ": cannot reshape tensor of ", numel, " elements into shape ", shape,
                 " because the unspecified dimension size -1 can be any value and is ambiguous");
    GRADUS_CHECK(known > 0 && numel % known == 0, op, ": shape ", shape, " is invalid for a tensor of ", numel,
                 " elements");
    sizes[static_cast<size_t>(open)] = numel / known;
  } else {
    GRADUS_CHECK(known == numel, op, ": shape ", shape, " is invalid for a tensor of ", numel, " elements");
  }
  return sizes;
}

bool view_strides(const TensorImpl& t, IntArrayRef shape, int64_t* strides) {
  if (t.has(TensorImpl::kContiguous) || t.numel_ == 0) {
    if (t.numel_ == 0 && t.sizes() == shape) {
      std::copy(t.strides().begin(), t.strides().end(), strides);
    } else {
      core::dense_strides(shape, MemoryFormat::Contiguous, strides);
    }
    return true;
  }
  // The old dimensions fall into runs that memory walks as one; each must be covered by whole new dimensions.
  const IntArrayRef sizes = t.sizes(), old = t.strides();
  size_t to = shape.size();
  for (size_t from = sizes.size(); from > 0;) {
    const int64_t step = old[from - 1];
    int64_t run = sizes[--from];
    while (from > 0 && (sizes[from - 1] == 1 || old[from - 1] == run * step)) run *= sizes[--from];
    int64_t covered = 1;
    while (to > 0 && (covered < run || shape[to - 1] == 1)) {
      strides[--to] = covered * step;
      covered *= shape[to];
    }
    if (covered != run) return false;
  }
  for (; to > 0; strides[to] = 1) {
    if (shape[--to] != 1) return false;
  }
  return true;
}

namespace {

// A view whose gradient is reshaped back.
Tensor record_reshape(const Tensor& self, Tensor out, const char* node) {
  if (auto r = recording(self)) {
    r.node(node, out, [sizes = DimVector(self.sizes())](const GradIn& g, GradOut& d) { d[0] = g[0].reshape(sizes); });
  }
  return out;
}

}  // namespace

Tensor view(const Tensor& self, IntArrayRef size) {
  const TensorImpl& t = defined(self, "view");
  const DimVector sizes = infer_size("view", size, t.numel_);
  if (t.has(TensorImpl::kContiguous) && t.numel_ != 0) [[likely]]
    return record_reshape(self, mark_view(self, core::contiguous_view_of(self, sizes, "View"), false), "ViewBackward0");
  DimVector strides(sizes.size());
  GRADUS_CHECK(view_strides(t, sizes, strides.data()), "view: shape ", size,
               " is not compatible with a tensor of shape ", t.sizes(), " and strides ", t.strides(),
               ": at least one dimension spans across two contiguous subspaces; use reshape()");
  return record_reshape(self, make_view(self, sizes, strides, t.storage_offset_, "View"), "ViewBackward0");
}

Tensor view(const Tensor& self, ScalarType dtype) {
  const TensorImpl& t = defined(self, "view");
  const auto from = static_cast<int64_t>(element_size(t.dtype_)), to = static_cast<int64_t>(element_size(dtype));
  Geo g(t);
  const size_t last = g.sizes.size() - 1;
  if (from != to) {
    GRADUS_CHECK(!g.sizes.empty(), "view: a 0-dim tensor of ", t.dtype_, " cannot be viewed as ", dtype,
                 ", whose elements have another size");
    GRADUS_CHECK(g.strides[last] == 1, "view: the last stride is ", g.strides[last], "; to view ", t.dtype_, " as ",
                 dtype, " it must be 1");
    const bool wider = to > from;
    const int64_t ratio = wider ? to / from : from / to;
    if (wider) {
      GRADUS_CHECK(g.sizes[last] % ratio == 0, "view: the last size ", g.sizes[last], " is not divisible by ", ratio,
                   " to view ", t.dtype_, " as ", dtype);
      GRADUS_CHECK(g.offset % ratio == 0, "view: the storage offset ", g.offset, " is not divisible by ", ratio,
                   " to view ", t.dtype_, " as ", dtype);
    }
    for (size_t d = 0; d <= last; ++d) {
      if (d == last) continue;
      GRADUS_CHECK(!wider || g.strides[d] % ratio == 0, "view: stride ", g.strides[d], " is not divisible by ", ratio,
                   " to view ", t.dtype_, " as ", dtype);
      g.strides[d] = wider ? g.strides[d] / ratio : g.strides[d] * ratio;
    }
    g.sizes[last] = wider ? g.sizes[last] / ratio : g.sizes[last] * ratio;
    g.offset = wider ? g.offset / ratio : g.offset * ratio;
  }
  Tensor out = core::alias(self, g.sizes, g.strides, 0);
  TensorImpl* o = out.impl();
  o->dtype_ = dtype;
  o->storage_offset_ = g.offset;
  o->data_ = t.data_;
  return out;
}

Tensor view_as(const Tensor& self, const Tensor& other) {
  infer_size("view_as", defined(other, "view_as").sizes(), defined(self, "view_as").numel_);
  return self.view(other.sizes());
}

Tensor reshape(const Tensor& self, IntArrayRef shape) {
  const TensorImpl& t = defined(self, "reshape");
  const DimVector sizes = infer_size("reshape", shape, t.numel_);
  DimVector strides(sizes.size());
  if (view_strides(t, sizes, strides.data())) return self.view(sizes);
  Tensor copy = self.clone(MemoryFormat::Contiguous);
  core::dense_strides(sizes, MemoryFormat::Contiguous, strides.data());
  // The copy has no other user: its new shape is no view of anything.
  return record_reshape(copy, core::alias(copy, sizes, strides, 0), "UnsafeViewBackward0");
}

Tensor reshape_as(const Tensor& self, const Tensor& other) {
  infer_size("reshape_as", defined(other, "reshape_as").sizes(), defined(self, "reshape_as").numel_);
  return self.reshape(other.sizes());
}
Tensor ravel(const Tensor& self) {
  return self.contiguous().view({-1});
}

// --- order of dimensions ---

Tensor permute(const Tensor& self, IntArrayRef dims) {
  const TensorImpl& t = defined(self, "permute");
  const auto n = static_cast<size_t>(t.dim());
  GRADUS_CHECK(dims.size() == n, "permute: ", dims.size(), " dims ", dims, " were given for a tensor of ", n,
               " dimensions; expected as many");
  DimVector order(n), inverse(n, -1), sizes(n), strides(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t from = wrap_dim(dims[i], t.dim(), "permute");
    GRADUS_CHECK(inverse[static_cast<size_t>(from)] < 0, "permute: dim ", dims[i], " occurs twice in ", dims);
    inverse[static_cast<size_t>(from)] = static_cast<int64_t>(i);
    sizes[i] = t.sizes()[static_cast<size_t>(from)];
    strides[i] = t.strides()[static_cast<size_t>(from)];
  }
  Tensor out = make_view(self, sizes, strides, t.storage_offset_, "Permute");
  if (auto r = recording(self)) {
    r.node("PermuteBackward0", out, [inverse](const GradIn& g, GradOut& d) { d[0] = g[0].permute(inverse); });
  }
  return out;
}

namespace {
Geo transposed(const TensorImpl& t, int64_t& dim0, int64_t& dim1, const char* op) {
  dim0 = wrap_dim(dim0, t.dim(), op);
  dim1 = wrap_dim(dim1, t.dim(), op);
  Geo g(t);
  if (t.dim() > 0) {
    std::swap(g.sizes[static_cast<size_t>(dim0)], g.sizes[static_cast<size_t>(dim1)]);
    std::swap(g.strides[static_cast<size_t>(dim0)], g.strides[static_cast<size_t>(dim1)]);
  }
  return g;
}
}  // namespace

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const Geo g = transposed(defined(self, "transpose"), dim0, dim1, "transpose");
  Tensor out = make_view(self, g, "Transpose");
  if (auto r = recording(self)) {
    r.node("TransposeBackward0", out, [dim0, dim1](const GradIn& g, GradOut& d) { d[0] = g[0].transpose(dim0, dim1); });
  }
  return out;
}

Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1) {
  return self.transpose(axis0, axis1);
}

Tensor t(const Tensor& self) {
  const TensorImpl& impl = defined(self, "t");
  GRADUS_CHECK(impl.dim() <= 2, "t: a tensor of ", impl.dim(), " dimensions was given; expected at most 2");
  int64_t dim0 = 0, dim1 = impl.dim() < 2 ? 0 : 1;
  Tensor out = make_view(self, transposed(impl, dim0, dim1, "t"), "T");
  if (auto r = recording(self)) r.node("TBackward0", out, [](const GradIn& g, GradOut& d) { d[0] = g[0].t(); });
  return out;
}

Tensor numpy_T(const Tensor& self) {
  DimVector dims;
  for (int64_t d = self.dim(); d-- > 0;) dims.push_back(d);
  return self.permute(dims);
}

Tensor mT(const Tensor& self) {
  GRADUS_CHECK(self.dim() >= 2, "mT: a tensor of ", self.dim(),
               " dimensions was given; expected matrices or batches of them");
  return self.transpose(-2, -1);
}

Tensor movedim(const Tensor& self, int64_t source, int64_t destination) {
  return self.movedim(IntArrayRef(source), IntArrayRef(destination));
}

Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  const auto n = static_cast<size_t>(defined(self, "movedim").dim());
  GRADUS_CHECK(source.size() == destination.size(), "movedim: ", source.size(), " source dims ", source, " and ",
               destination.size(), " destination dims ", destination, " were given; expected as many of each");
  DimVector order(n, -1);
  SmallVector<bool, 16> taken(n, false);
  for (size_t i = 0; i < source.size(); ++i) {
    const auto from = static_cast<size_t>(wrap_dim(source[i], self.dim(), "movedim")),
               to = static_cast<size_t>(wrap_dim(destination[i], self.dim(), "movedim"));
    if (n == 0) continue;
    GRADUS_CHECK(!taken[from], "movedim: the dim ", source[i], " occurs twice in source ", source);
    GRADUS_CHECK(order[to] < 0, "movedim: the dim ", destination[i], " occurs twice in destination ", destination);
    taken[from] = true;
    order[to] = static_cast<int64_t>(from);
  }
  size_t next = 0;
  for (size_t to = 0; to < n; ++to) {
    if (order[to] >= 0) continue;
    while (taken[next]) ++next;
    order[to] = static_cast<int64_t>(next++);
  }
  return self.permute(order);
}

// --- sizes of 1 and broadcasting ---

Tensor expand(const Tensor& self, IntArrayRef size, bool /*implicit*/) {
  const TensorImpl& t = defined(self, "expand");
  const auto n = static_cast<size_t>(t.dim());
  GRADUS_CHECK(size.size() >= n, "expand: the number of sizes provided (", size.size(), ": ", size,
               ") must be greater or equal to the number of dimensions of the tensor (", n, ": ", t.sizes(), ")");
  const size_t lead = size.size() - n;
  DimVector sizes(size), strides(size.size());
  for (size_t d = 0; d < size.size(); ++d) {
    if (d < lead) {
      GRADUS_CHECK(size[d] >= 0, "expand: the size ", size[d], " at dim ", d, " of ", size,
                   " is not allowed in a leading, non-existing dimension");
      continue;
    }
    const int64_t own = t.sizes()[d - lead];
    if (size[d] == -1 || size[d] == own) {
      sizes[d] = own;
      strides[d] = t.strides()[d - lead];
    } else {
      GRADUS_CHECK(own == 1 && size[d] >= 0, "expand: the expanded size of the tensor (", size[d],
                   ") must match the existing size (", own, ") at non-singleton dimension ", d, "; target sizes ", size,
                   ", tensor sizes ", t.sizes());
    }
  }
  int64_t count = 1;
  for (int64_t s : sizes) {
    GRADUS_CHECK(!__builtin_mul_overflow(count, s, &count), "expand: sizes ", size,
                 " multiply to more elements than 64 bits can count");
  }
  Tensor out = make_view(self, sizes, strides, t.storage_offset_, "Expand");
  // The engine sums over what was broadcast.
  if (auto r = recording(self)) r.node("ExpandBackward0", out, [](const GradIn& g, GradOut& d) { d[0] = g[0]; });
  return out;
}

Tensor expand_as(const Tensor& self, const Tensor& other) {
  return self.expand(other.sizes());
}
Tensor broadcast_to(const Tensor& self, IntArrayRef size) {
  return self.expand(size);
}

namespace {

// Without the dimensions of size 1 that `drop(d)` names.
template <class F>
Geo squeezed(const TensorImpl& t, F drop) {
  Geo g;
  g.offset = t.storage_offset_;
  for (size_t d = 0; d < t.sizes().size(); ++d) {
    if (t.sizes()[d] == 1 && drop(static_cast<int64_t>(d))) continue;
    g.sizes.push_back(t.sizes()[d]);
    g.strides.push_back(t.strides()[d]);
  }
  return g;
}
Geo squeezed(const TensorImpl& t, IntArrayRef dims, const char* op) {
  uint64_t mask = 0;
  for (int64_t d : dims) {
    const uint64_t bit = uint64_t(1) << wrap_dim(d, t.dim(), op);
    GRADUS_CHECK(!(mask & bit), op, ": dim ", d, " appears multiple times in the list of dims ", dims);
    mask |= bit;
  }
  return squeezed(t, [&](int64_t d) { return (mask >> d & 1) != 0; });
}

Geo unsqueezed(const TensorImpl& t, int64_t& dim, const char* op) {
  dim = wrap_dim(dim, t.dim() + 1, op);
  const auto at = static_cast<size_t>(dim);
  Geo g(t);
  const int64_t stride = at < g.sizes.size() ? g.sizes[at] * g.strides[at] : 1;
  g.sizes.insert_at(at, 1);
  g.strides.insert_at(at, stride);
  return g;
}

}  // namespace

Tensor squeeze(const Tensor& self) {
  const Geo g = squeezed(defined(self, "squeeze"), [](int64_t) { return true; });
  return record_reshape(self, make_view(self, g, "Squeeze"), "SqueezeBackward0");
}
Tensor squeeze(const Tensor& self, int64_t dim) {
  const Geo g = squeezed(defined(self, "squeeze"), IntArrayRef(dim), "squeeze");
  return record_reshape(self, make_view(self, g, "Squeeze"), "SqueezeBackward1");
}
Tensor squeeze(const Tensor& self, IntArrayRef dim) {
  const Geo g = squeezed(defined(self, "squeeze"), dim, "squeeze");
  return record_reshape(self, make_view(self, g, "Squeeze"), "SqueezeBackward2");
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  const Geo g = unsqueezed(defined(self, "unsqueeze"), dim, "unsqueeze");
  Tensor out = make_view(self, g, "Unsqueeze");
  if (auto r = recording(self))
    r.node("UnsqueezeBackward0", out, [dim](const GradIn& g, GradOut& d) { d[0] = g[0].squeeze(dim); });
  return out;
}

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const TensorImpl& t = defined(self, "flatten");
  start_dim = wrap_dim(start_dim, t.dim(), "flatten");
  end_dim = wrap_dim(end_dim, t.dim(), "flatten");
  GRADUS_CHECK(start_dim <= end_dim, "flatten: start_dim ", start_dim, " comes after end_dim ", end_dim);
  if (t.dim() == 0) return self.reshape({1});
  if (start_dim == end_dim) return self;
  DimVector sizes;
  int64_t merged = 1;
  for (int64_t d = 0; d < t.dim(); ++d) {
    const int64_t size = t.sizes()[static_cast<size_t>(d)];
    if (d < start_dim || d > end_dim) {
      sizes.push_back(size);
    } else {
      merged *= size;
      if (d == end_dim) sizes.push_back(merged);
    }
  }
  return self.reshape(sizes);
}

Tensor unflatten(const Tensor& self, int64_t dim, IntArrayRef sizes) {
  const TensorImpl& t = defined(self, "unflatten");
  dim = wrap_dim(dim, t.dim(), "unflatten");
  GRADUS_CHECK(!sizes.empty(), "unflatten: the sizes are empty; expected at least one");
  GRADUS_CHECK(t.dim() > 0, "unflatten: a 0-dim tensor was given; expected one with dimensions");
  const DimVector parts = infer_size("unflatten", sizes, t.sizes()[static_cast<size_t>(dim)]);
  DimVector shape;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (d != dim) {
      shape.push_back(t.sizes()[static_cast<size_t>(d)]);
    } else {
      for (int64_t s : parts) shape.push_back(s);
    }
  }
  return self.view(shape);
}

// --- strides as given ---

namespace {
void check_as_strided(const TensorImpl& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  GRADUS_CHECK(sizes.size() == strides.size(), "as_strided: ", sizes.size(), " sizes and ", strides.size(),
               " strides were given; expected as many of each");
  GRADUS_CHECK(offset >= 0, "as_strided: the storage offset ", offset, " is negative");
  bool overflow = false, none = false;
  int64_t last = offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    GRADUS_CHECK(sizes[d] >= 0, "as_strided: the sizes ", sizes, " contain a negative number");
    GRADUS_CHECK(strides[d] >= 0, "as_strided: negative strides are not supported; got ", strides);
    none |= sizes[d] == 0;
    int64_t step;
    overflow |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &step) || __builtin_add_overflow(last, step, &last);
  }
  if (none) return;
  const auto item = element_size(t.dtype_);
  const size_t room = t.storage_ ? t.storage_->nbytes / item : 0;
  GRADUS_CHECK(!overflow && static_cast<size_t>(last) < room, "as_strided: sizes ", sizes, ", strides ", strides,
               " and storage offset ", offset, " are out of bounds for storage of ", room, " elements");
}
}  // namespace

Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const TensorImpl& t = defined(self, "as_strided");
  const int64_t offset = storage_offset.value_or(t.storage_offset_);
  check_as_strided(t, size, stride, offset);
  Tensor out = make_view(self, size, stride, offset, "AsStrided");
  if (auto r = recording(self)) {
    r.node("AsStridedBackward0", out,
           [root = autograd::ViewGeometry(t), v = autograd::ViewGeometry(*out.impl())](const GradIn& g, GradOut& d) {
             d[0] = autograd::as_strided_backward(g[0], root, v);
           });
  }
  return out;
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const TensorImpl& t = defined(self, "diagonal");
  dim1 = wrap_dim(dim1, t.dim(), "diagonal");
  dim2 = wrap_dim(dim2, t.dim(), "diagonal");
  GRADUS_CHECK(dim1 != dim2, "diagonal: dimensions cannot be identical; got ", dim1, " twice");
  Geo g(t);
  const auto a = static_cast<size_t>(dim1), b = static_cast<size_t>(dim2);
  const int64_t rows = g.sizes[a], columns = g.sizes[b];
  const int64_t length =
      std::max<int64_t>(0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  if (length > 0) g.offset += offset >= 0 ? offset * g.strides[b] : -offset * g.strides[a];
  const int64_t stride = g.strides[a] + g.strides[b];
  for (size_t d : {std::max(a, b), std::min(a, b)}) {
    g.sizes.erase_at(d);
    g.strides.erase_at(d);
  }
  g.sizes.push_back(length);
  g.strides.push_back(stride);
  Tensor out = make_view(self, g, "Diagonal");
  if (auto r = recording(self)) {
    r.node("DiagonalBackward0", out, [sizes = DimVector(t.sizes()), offset, dim1, dim2](const GradIn& g, GradOut& d) {
      Tensor whole = g[0].new_zeros(sizes);
      whole.diagonal(offset, dim1, dim2).copy_(g[0]);
      d[0] = whole;
    });
  }
  return out;
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const TensorImpl& t = defined(self, "unfold");
  dimension = wrap_dim(dimension, t.dim(), "unfold");
  Geo g(t);
  const auto at = static_cast<size_t>(dimension);
  const int64_t whole = t.dim() ? g.sizes[at] : 1;
  GRADUS_CHECK(size >= 0 && size <= whole, "unfold: the maximum size for the tensor at dimension ", dimension, " is ",
               whole, " but size is ", size);
  GRADUS_CHECK(step > 0, "unfold: step is ", step, "; expected a positive number");
  g.strides.push_back(t.dim() ? g.strides[at] : 1);
  g.sizes.push_back(size);
  if (t.dim()) {
    g.sizes[at] = (whole - size) / step + 1;
    g.strides[at] *= step;
  }
  Tensor out = make_view(self, g, "Unfold");
  if (auto r = recording(self)) {
    // The windows on a dense tensor of self's shape: where self's own elements share memory, each has its gradient.
    autograd::ViewGeometry root(t), v(*out.impl());
    int64_t step_in_memory = 1;
    for (size_t d = root.sizes.size(); d-- > 0; step_in_memory *= std::max<int64_t>(root.sizes[d], 1)) {
      root.strides[d] = step_in_memory;
      v.strides[d] = d == at ? step_in_memory * step : step_in_memory;
    }
    if (t.dim()) v.strides.back() = root.strides[at];
    root.offset = v.offset = 0;
    r.node("UnfoldBackward0", out,
           [root, v](const GradIn& g, GradOut& d) { d[0] = autograd::as_strided_backward(g[0], root, v); });
  }
  return out;
}

// --- history ---

Tensor detach(const Tensor& self) {
  defined(self, "detach");
  return core::alias(self);
}

void detach_(const Tensor& self) {
  TensorImpl& t = defined(self, "detach_");
  GRADUS_CHECK(!t.has(TensorImpl::kView),
               "detach_: a view was given; its base would keep a history that the view does not have: use detach()");
  autograd::drop_history(t);
}

Tensor alias(const Tensor& self) {
  const TensorImpl& t = defined(self, "alias");
  Tensor out = make_view(self, t.sizes(), t.strides(), t.storage_offset_, "Alias");
  if (auto r = recording(self)) r.node("AliasBackward0", out, [](const GradIn& g, GradOut& d) { d[0] = g[0]; });
  return out;
}

// --- in place ---

namespace {

// Gives `self` another geometry; the gradient finds its way back as for the operator that makes a view.
template <class F>
void reshape_inplace(const Tensor& self, const char* op, const Geo& to, const char* node, F&& backward) {
  TensorImpl& t = *self.impl();
  auto r = recording(Dest::inplace(self), self);
  // No element is written, so a tensor that overlaps itself will do.
  check_not_inference(op, self);
  if (t.storage_) t.storage_->bump(op, StorageImpl::Writer::kInplace);
  t.geometry_.set(to.sizes, to.strides);
  if (to.offset != t.storage_offset_) {
    const int64_t moved = (to.offset - t.storage_offset_) * static_cast<int64_t>(element_size(t.dtype_));
    if (t.data_) t.data_ = static_cast<char*>(t.data_) + moved;
    t.storage_offset_ = to.offset;
  }
  core::refresh_geometry(t);
  if (!r) return;
  if (t.has(TensorImpl::kView)) {
    autograd::rebuild_view_history(&t);
  } else {
    r.node(node, self, std::forward<F>(backward));
  }
}

void reshape_back_inplace(const Tensor& self, const char* op, const Geo& to, const char* node) {
  reshape_inplace(self, op, to, node,
                  [sizes = DimVector(self.sizes())](const GradIn& g, GradOut& d) { d[0] = g[0].reshape(sizes); });
}

}  // namespace

void transpose_(const Tensor& self, int64_t dim0, int64_t dim1) {
  const Geo g = transposed(defined(self, "transpose_"), dim0, dim1, "transpose_");
  reshape_inplace(self, "transpose_", g, "TransposeBackward0",
                  [dim0, dim1](const GradIn& g, GradOut& d) { d[0] = g[0].transpose(dim0, dim1); });
}

void t_(const Tensor& self) {
  GRADUS_CHECK(defined(self, "t_").dim() <= 2, "t_: a tensor of ", self.dim(),
               " dimensions was given; expected at most 2");
  self.transpose_(0, self.dim() < 2 ? 0 : 1);
}

void squeeze_(const Tensor& self) {
  reshape_back_inplace(self, "squeeze_", squeezed(defined(self, "squeeze_"), [](int64_t) { return true; }),
                       "SqueezeBackward0");
}
void squeeze_(const Tensor& self, int64_t dim) {
  reshape_back_inplace(self, "squeeze_", squeezed(defined(self, "squeeze_"), IntArrayRef(dim), "squeeze_"),
                       "SqueezeBackward1");
}
void squeeze_(const Tensor& self, IntArrayRef dim) {
  reshape_back_inplace(self, "squeeze_", squeezed(defined(self, "squeeze_"), dim, "squeeze_"), "SqueezeBackward2");
}
void unsqueeze_(const Tensor& self, int64_t dim) {
  const Geo g = unsqueezed(defined(self, "unsqueeze_"), dim, "unsqueeze_");
  reshape_back_inplace(self, "unsqueeze_", g, "UnsqueezeBackward0");
}

void as_strided_(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const TensorImpl& t = defined(self, "as_strided_");
  Geo g;
  g.sizes = size;
  g.strides = stride;
  g.offset = storage_offset.value_or(t.storage_offset_);
  check_as_strided(t, size, stride, g.offset);
  autograd::ViewGeometry before(t), after(t);
  after.sizes = size;
  after.strides = stride;
  after.offset = g.offset;
  reshape_inplace(self, "as_strided_", g, "AsStridedBackward0", [before, after](const GradIn& g, GradOut& d) {
    d[0] = autograd::as_strided_backward(g[0], before, after);
  });
}

}  // namespace gradus::inline v0::ops
