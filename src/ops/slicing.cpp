// Views of parts: select, slice and what is made of them; several views at once.
#include <algorithm>

#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_view.h"

#include "pointwise_plan.h"
#include "view_geometry.h"

namespace gradus::inline v0::ops {

namespace {

int64_t wrap_nonscalar(const TensorImpl& t, int64_t dim, const char* op) {
  GRADUS_CHECK_AS(IndexError, t.dim() > 0, op, ": a 0-dim tensor was given; expected one with dimensions");
  return wrap_dim(dim, t.dim(), op);
}

// Handles for so many pieces; a dimension that was expanded can have more than fit anywhere.
void check_parts(const char* op, int64_t count) {
  constexpr int64_t kMost = int64_t{1} << 24;
  GRADUS_CHECK_AS(ValueError, count <= kMost, op, ": it would make ", count, " tensors; expected at most ", kMost);
}
std::vector<Tensor> room_for(const char* op, int64_t count) {
  check_parts(op, count);
  std::vector<Tensor> parts;
  parts.reserve(static_cast<size_t>(count));
  return parts;
}

Tensor zeros_of(IntArrayRef sizes, const Tensor& like) {
  Tensor out = core::empty(sizes, like.scalar_type(), like.device());
  out.zero_();
  return out;
}

}  // namespace

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  const TensorImpl& t = defined(self, "select");
  dim = wrap_nonscalar(t, dim, "select");
  const auto at = static_cast<size_t>(dim);
  const int64_t size = t.sizes()[at];
  GRADUS_CHECK_AS(IndexError, index >= -size && index < size, "select: index ", index, " is out of range for dim ", dim,
                  " of a tensor of shape ", t.sizes(), "; expected ", -size, "..", size - 1);
  if (index < 0) index += size;
  Geo g(t);
  g.offset += index * g.strides[at];
  g.sizes.erase_at(at);
  g.strides.erase_at(at);
  Tensor out = make_view(self, g, "Select");
  if (auto r = recording(self)) {
    r.node("SelectBackward0", out, [sizes = DimVector(t.sizes()), dim, index](const GradIn& g, GradOut& d) {
      d[0] = gradus::select_backward(g[0], sizes, dim, index);
    });
  }
  return out;
}

namespace {
// Puts a gradient, which may be one to be broadcast, where the view was.
void put_gradient(const char* op, const Tensor& view, const Tensor& grad) {
  GRADUS_CHECK(IntArrayRef(broadcast_shapes(op, view.sizes(), grad.sizes())) == view.sizes(), op,
               ": the gradient has shape ", grad.sizes(), "; expected that of the view, ", view.sizes());
  copy_into(view, grad);
}
}  // namespace

Tensor select_backward(const Tensor& grad_output, IntArrayRef input_sizes, int64_t dim, int64_t index) {
  auto r = recording(grad_output);
  defined(grad_output, "select_backward");
  Tensor out;
  {
    NoGradGuard guard;
    out = zeros_of(input_sizes, grad_output);
    put_gradient("select_backward", ops::select(out, dim, index), grad_output);
  }
  if (r)
    r.node("SelectBackwardBackward0", out,
           [dim, index](const GradIn& g, GradOut& d) { d[0] = g[0].select(dim, index); });
  return out;
}

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const TensorImpl& t = defined(self, "slice");
  dim = wrap_nonscalar(t, dim, "slice");
  GRADUS_CHECK_AS(ValueError, step > 0, "slice: step is ", step, "; expected a positive number");
  const auto at = static_cast<size_t>(dim);
  const int64_t size = t.sizes()[at];
  auto clamp = [size](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size); };
  const int64_t from = clamp(start.value_or(0)), to = std::max(from, clamp(end.value_or(INT64_MAX)));
  Geo g(t);
  g.offset += from * g.strides[at];
  g.sizes[at] = (to - from + step - 1) / step;
  if (step != 1) g.strides[at] *= step;
  Tensor out = make_view(self, g, "Slice");
  if (auto r = recording(self)) {
    r.node("SliceBackward0", out, [sizes = DimVector(t.sizes()), dim, from, to, step](const GradIn& g, GradOut& d) {
      d[0] = gradus::slice_backward(g[0], sizes, dim, from, to, step);
    });
  }
  return out;
}

Tensor slice_backward(const Tensor& grad_output, IntArrayRef input_sizes, int64_t dim, int64_t start, int64_t end,
                      int64_t step) {
  auto r = recording(grad_output);
  defined(grad_output, "slice_backward");
  Tensor out;
  {
    NoGradGuard guard;
    out = zeros_of(input_sizes, grad_output);
    put_gradient("slice_backward", ops::slice(out, dim, start, end, step), grad_output);
  }
  if (r) {
    r.node("SliceBackwardBackward0", out,
           [dim, start, end, step](const GradIn& g, GradOut& d) { d[0] = g[0].slice(dim, start, end, step); });
  }
  return out;
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  const TensorImpl& t = defined(self, "narrow");
  GRADUS_CHECK(t.dim() > 0, "narrow: a 0-dim tensor was given; expected one with dimensions");
  GRADUS_CHECK(length >= 0, "narrow: length is ", length, "; expected a number >= 0");
  const int64_t size = t.sizes()[static_cast<size_t>(wrap_dim(dim, t.dim(), "narrow"))];
  GRADUS_CHECK_AS(IndexError, start >= -size && start <= size, "narrow: start ", start,
                  " is out of range for a size of ", size, "; expected ", -size, "..", size);
  if (start < 0) start += size;
  GRADUS_CHECK(start <= size - length, "narrow: start ", start, " + length ", length, " exceeds the dimension's size ",
               size);
  return self.slice(dim, start, start + length, 1);
}

Tensor narrow(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  GRADUS_CHECK(start.dim() == 0 && is_integral(start.scalar_type(), false), "narrow: start is a tensor of type ",
               start.dtype(), " and shape ", start.sizes(), "; expected a 0-dim integer");
  return self.narrow(dim, start.item<int64_t>(), length);
}

// --- several views ---

std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  const TensorImpl& t = defined(self, "split_with_sizes");
  GRADUS_CHECK(t.dim() > 0, "split_with_sizes: a 0-dim tensor was given; expected one with dimensions");
  dim = wrap_dim(dim, t.dim(), "split_with_sizes");
  const auto at = static_cast<size_t>(dim);
  int64_t total = 0;
  for (int64_t s : split_sizes) {
    GRADUS_CHECK(s >= 0, "split_with_sizes: the sizes ", split_sizes, " contain a negative number; expected all >= 0");
    total += s;
  }
  GRADUS_CHECK(total == t.sizes()[at], "split_with_sizes: the sizes ", split_sizes, " sum to ", total,
               "; expected the tensor's size ", t.sizes()[at], " at dimension ", dim);
  auto r = recording(self);
  std::vector<Tensor> parts;
  parts.reserve(split_sizes.size());
  Geo g(t);
  for (int64_t s : split_sizes) {
    g.sizes[at] = s;
    parts.push_back(make_view(self, g, "SplitWithSizes", true));
    g.offset += s * g.strides[at];
  }
  if (r && !parts.empty()) {
    r.node_of_list("SplitWithSizesBackward0", parts, [dim, n = parts.size()](const GradIn& g, GradOut& d) {
      std::vector<Tensor> grads;
      for (size_t i = 0; i < n; ++i) grads.push_back(g.or_zeros(i));
      d[0] = gradus::cat(grads, dim);
    });
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& self, IntArrayRef split_size, int64_t dim) {
  return self.split_with_sizes(split_size, dim);
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  const TensorImpl& t = defined(self, "split");
  GRADUS_CHECK(t.dim() > 0, "split: a 0-dim tensor was given; expected one with dimensions");
  GRADUS_CHECK(split_size >= 0, "split: the size of the pieces is ", split_size, "; expected a number >= 0");
  const int64_t size = t.sizes()[static_cast<size_t>(wrap_dim(dim, t.dim(), "split"))];
  GRADUS_CHECK(split_size > 0 || size == 0,
               "split: pieces of size 0 were asked for; that is possible for a dimension of size 0 only, and it has ",
               size);
  DimVector sizes;
  const int64_t pieces = size == 0 ? 1 : (size - 1) / split_size + 1;
  check_parts("split", pieces);
  for (int64_t i = 0; i < pieces; ++i) sizes.push_back(std::min(split_size, size - i * split_size));
  return self.split_with_sizes(sizes, dim);
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  const TensorImpl& t = defined(self, "chunk");
  GRADUS_CHECK(t.dim() > 0, "chunk: a 0-dim tensor was given; expected one with dimensions");
  GRADUS_CHECK(chunks > 0, "chunk: ", chunks, " chunks were asked for; expected more than 0");
  const int64_t size = t.sizes()[static_cast<size_t>(wrap_dim(dim, t.dim(), "chunk"))];
  if (size > 0) return self.split((size - 1) / chunks + 1, dim);
  // An empty dimension still gives the number of chunks asked for.
  check_parts("chunk", chunks);
  return self.split_with_sizes(DimVector(static_cast<size_t>(chunks), 0), dim);
}

std::vector<Tensor> tensor_split(const Tensor& self, int64_t sections, int64_t dim) {
  const TensorImpl& t = defined(self, "tensor_split");
  GRADUS_CHECK(t.dim() > 0, "tensor_split: a 0-dim tensor was given; expected one with dimensions");
  dim = wrap_dim(dim, t.dim(), "tensor_split");
  GRADUS_CHECK(sections > 0, "tensor_split: ", sections, " sections were asked for; expected more than 0");
  const int64_t size = t.sizes()[static_cast<size_t>(dim)], each = size / sections, larger = size % sections;
  std::vector<Tensor> parts = room_for("tensor_split", sections);
  int64_t from = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t to = from + each + (i < larger);
    parts.push_back(self.slice(dim, from, to));
    from = to;
  }
  return parts;
}

std::vector<Tensor> tensor_split(const Tensor& self, IntArrayRef indices, int64_t dim) {
  const TensorImpl& t = defined(self, "tensor_split");
  GRADUS_CHECK(t.dim() > 0, "tensor_split: a 0-dim tensor was given; expected one with dimensions");
  dim = wrap_dim(dim, t.dim(), "tensor_split");
  std::vector<Tensor> parts;
  parts.reserve(indices.size() + 1);
  int64_t from = 0;
  for (int64_t to : indices) {
    parts.push_back(self.slice(dim, from, to));
    from = to;
  }
  parts.push_back(self.slice(dim, from));
  return parts;
}

std::vector<Tensor> tensor_split(const Tensor& self, const Tensor& numbers, int64_t dim) {
  const TensorImpl& n = defined(numbers, "tensor_split");
  GRADUS_CHECK_AS(TypeError, n.dtype_ == kLong, "tensor_split: indices or sections of type ", numbers.dtype(),
                  " were given; expected Long");
  GRADUS_CHECK(n.dim() <= 1, "tensor_split: indices or sections have ", n.dim(), " dimensions; expected 0 or 1");
  if (n.dim() == 0) return self.tensor_split(numbers.item<int64_t>(), dim);
  DimVector indices;
  for (int64_t i = 0; i < numbers.numel(); ++i) indices.push_back(numbers.select(0, i).item<int64_t>());
  return self.tensor_split(IntArrayRef(indices), dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  const TensorImpl& t = defined(self, "unbind");
  dim = wrap_nonscalar(t, dim, "unbind");
  const auto at = static_cast<size_t>(dim);
  auto r = recording(self);
  Geo g(t);
  const int64_t count = g.sizes[at], step = g.strides[at];
  g.sizes.erase_at(at);
  g.strides.erase_at(at);
  std::vector<Tensor> parts = room_for("unbind", count);
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back(make_view(self, g, "Unbind", true));
    g.offset += step;
  }
  if (r && !parts.empty()) {
    r.node_of_list("UnbindBackward0", parts, [dim, n = parts.size()](const GradIn& g, GradOut& d) {
      std::vector<Tensor> grads;
      for (size_t i = 0; i < n; ++i) grads.push_back(g.or_zeros(i));
      d[0] = gradus::stack(grads, dim);
    });
  }
  return parts;
}

}  // namespace gradus::inline v0::ops
