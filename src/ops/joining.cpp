// Joining tensors: cat along a dimension they have, stack along a new one.
#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_indexing.h"

#include "indexing_plan.h"
#include "pointwise_plan.h"
#include "view_geometry.h"

namespace gradus::inline v0::ops {

namespace {

// torch.cat skips tensors of shape (0,), whatever the others' shapes are: old programs start from an empty tensor.
bool is_skipped(const TensorImpl& t) {
  return t.dim() == 1 && t.sizes()[0] == 0;
}

// What the parts share: checked, promoted.
struct Joint {
  const TensorImpl* model = nullptr;  // the first part that counts for the shape
  ScalarType dtype = ScalarType::Undefined;
  bool channels_last = true;
};

Joint examine(const char* op, TensorList tensors, bool skips_empty) {
  GRADUS_CHECK(!tensors.empty(), op, ": an empty list was given; expected at least one tensor");
  Joint joint;
  for (size_t i = 0; i < tensors.size(); ++i) {
    GRADUS_CHECK(tensors[i].defined(), op, ": tensor ", i, " of the list is undefined; expected one with data");
    const TensorImpl& t = *tensors[i].impl();
    joint.dtype = i == 0 ? t.dtype_ : promote_types(joint.dtype, t.dtype_);
    GRADUS_CHECK(t.device_ == tensors[0].device(), op, ": tensor ", i, " is on ", t.device_, ", tensor 0 on ",
                 tensors[0].device(), "; expected one device");
    if (skips_empty && is_skipped(t)) continue;
    joint.channels_last = joint.channels_last && tensors[i].suggest_memory_format() == MemoryFormat::ChannelsLast;
    if (!joint.model) joint.model = &t;
  }
  if (!joint.model) joint.model = tensors[0].impl();
  joint.channels_last = joint.channels_last && joint.model->dim() == 4;
  return joint;
}

// The part of `out` from `offset` on along `dim`, as wide as `sizes` says.
Tensor part_of(const Tensor& out, int64_t dim, int64_t offset, IntArrayRef sizes) {
  return core::alias(out, sizes, out.strides(),
                     out.storage_offset() + offset * out.strides()[static_cast<size_t>(dim)]);
}

}  // namespace

Tensor cat(const Dest& dest, TensorList tensors, int64_t dim) {
  const Joint joint = examine("cat", tensors, true);
  for (const Tensor& t : tensors) refuse_overlap(dest, "cat", {&t});
  const TensorImpl& model = *joint.model;
  GRADUS_CHECK(model.dim() > 0,
               "cat: a 0-dim tensor was given; expected tensors with dimensions (stack joins numbers)");
  // Of skipped tensors alone nothing is joined, so any dimension will do.
  dim = is_skipped(model) ? 0 : wrap_dim(dim, model.dim(), "cat");
  const auto at = static_cast<size_t>(dim);
  DimVector sizes(model.sizes());
  sizes[at] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorImpl& t = *tensors[i].impl();
    if (is_skipped(t)) continue;
    GRADUS_CHECK(t.dim() == model.dim(), "cat: tensor ", i, " has shape ", t.sizes(), "; expected ", model.dim(),
                 " dimensions as of ", model.sizes());
    for (size_t d = 0; d < sizes.size(); ++d) {
      GRADUS_CHECK(d == at || t.sizes()[d] == sizes[d], "cat: tensor ", i, " has shape ", t.sizes(),
                   "; expected that of ", model.sizes(), " but for dimension ", dim);
    }
    GRADUS_CHECK(!__builtin_add_overflow(sizes[at], t.sizes()[at], &sizes[at]), "cat: the sizes along dimension ", dim,
                 " overflow 63 bits");
  }

  ListRecorder r(&dest, tensors);
  Tensor out = dest.result("cat", sizes, joint.dtype, model.device_,
                           joint.channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous);
  int64_t offset = 0;
  for (const Tensor& t : tensors) {
    if (is_skipped(*t.impl())) continue;
    copy_into(part_of(out, dim, offset, t.sizes()), t);
    offset += t.sizes()[at];
  }
  if (r) {
    std::vector<int64_t> lengths;
    for (const Tensor& t : tensors) lengths.push_back(is_skipped(*t.impl()) ? -1 : t.sizes()[at]);
    r.node("CatBackward0", out, [dim, lengths = std::move(lengths)](const GradIn& g, GradOut& d) {
      int64_t start = 0;
      for (size_t i = 0; i < lengths.size(); ++i) {
        if (d.needs(i)) d[i] = lengths[i] < 0 ? g[0].new_zeros({0}) : g[0].narrow(dim, start, lengths[i]);
        start += std::max<int64_t>(lengths[i], 0);
      }
    });
  }
  return out;
}

Tensor stack(const Dest& dest, TensorList tensors, int64_t dim) {
  const Joint joint = examine("stack", tensors, false);
  for (const Tensor& t : tensors) refuse_overlap(dest, "stack", {&t});
  const TensorImpl& model = *joint.model;
  dim = wrap_dim(dim, model.dim() + 1, "stack");
  for (size_t i = 0; i < tensors.size(); ++i) {
    GRADUS_CHECK(tensors[i].sizes() == model.sizes(), "stack: tensor ", i, " has shape ", tensors[i].sizes(),
                 "; expected ", model.sizes(), " as of tensor 0");
  }
  DimVector sizes(model.sizes());
  sizes.push_back(0);
  for (size_t d = sizes.size() - 1; d > static_cast<size_t>(dim); --d) sizes[d] = sizes[d - 1];
  sizes[static_cast<size_t>(dim)] = static_cast<int64_t>(tensors.size());

  ListRecorder r(&dest, tensors);
  Tensor out = dest.result("stack", sizes, joint.dtype, model.device_);
  DimVector strides(out.strides());
  strides.erase_at(static_cast<size_t>(dim));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t offset = out.storage_offset() + static_cast<int64_t>(i) * out.strides()[static_cast<size_t>(dim)];
    copy_into(core::alias(out, model.sizes(), strides, offset), tensors[i]);
  }
  if (r) {
    r.node("StackBackward0", out, [dim, count = tensors.size()](const GradIn& g, GradOut& d) {
      for (size_t i = 0; i < count; ++i) {
        if (d.needs(i)) d[i] = g[0].select(dim, static_cast<int64_t>(i));
      }
    });
  }
  return out;
}

namespace {

// Tensors with at least `dims` dimensions, joined along `dim` or, where that does not exist, along the last.
Tensor join_all(const Dest& dest, const char* op, TensorList tensors, int64_t dims, int64_t dim) {
  GRADUS_CHECK(!tensors.empty(), op, ": an empty list was given; expected at least one tensor");
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    GRADUS_CHECK(tensors[i].defined(), op, ": tensor ", i, " of the list is undefined; expected one with data");
    Tensor part = tensors[i];
    while (part.dim() < dims) part = part.unsqueeze(0);
    parts.push_back(std::move(part));
  }
  dim = std::min(dim, parts[0].dim() - 1);
  const auto at = static_cast<size_t>(dim);
  for (size_t i = 1; i < parts.size(); ++i) {
    if (is_skipped(*parts[i].impl()) || is_skipped(*parts[0].impl())) continue;
    bool fits = parts[i].dim() == parts[0].dim();
    for (size_t d = 0; fits && d < parts[0].sizes().size(); ++d)
      fits = d == at || parts[i].sizes()[d] == parts[0].sizes()[d];
    GRADUS_CHECK(fits, op, ": tensor ", i, " has shape ", tensors[i].sizes(), " and tensor 0 ", tensors[0].sizes(),
                 "; expected the same but for dimension ", dim);
  }
  if (dest.is_fresh()) return gradus::cat(parts, dim);
  Tensor target = dest.target();
  return gradus::cat_out(target, parts, dim);
}

}  // namespace

Tensor hstack(const Dest& dest, TensorList tensors) {
  return join_all(dest, "hstack", tensors, 1, 1);
}
Tensor vstack(const Dest& dest, TensorList tensors) {
  return join_all(dest, "vstack", tensors, 2, 0);
}

}  // namespace gradus::inline v0::ops
