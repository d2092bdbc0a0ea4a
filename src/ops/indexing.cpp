// index, index_put, nonzero, masked_select: elements at positions that tensors name together.
#include <algorithm>

#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_indexing.h"
#include "ops/surface/generated/ops_pointwise.h"

#include "indexing_plan.h"

namespace gradus::inline v0::ops {

using IndexList = ArrayRef<std::optional<Tensor>>;

void check_devices(const char* op, const Tensor& self, const Tensor& other) {
  GRADUS_CHECK(self.device() == other.device(), op, ": tensors on ", self.device(), " and ", other.device(),
               " were given; expected all on the same device");
}
Tensor number_beside(const Tensor& self, const Tensor& value) {
  if (value.device() == self.device() || !value.is_cpu() || value.dim() != 0) return value;
  return core::scalar_tensor(value.item(), value.scalar_type(), self.device(), false);
}
Tensor raw_copy(const Tensor& t) {
  return copy_into(core::empty_like(t, t.scalar_type()), t);
}
Tensor dense(const Tensor& t) {
  return t.is_contiguous() ? t : copy_into(core::empty(t.sizes(), t.scalar_type(), t.device()), t);
}
Tensor at_least_1d(const Tensor& t) {
  return t.dim() ? t : core::alias(t, {1}, {1}, t.storage_offset());
}

Tensor dense_index(const char* op, const Tensor& index) {
  GRADUS_CHECK(index.defined(), op, ": the index is an undefined tensor; expected one of integers");
  GRADUS_CHECK_AS(IndexError, index.scalar_type() == kLong || index.scalar_type() == kInt, op,
                  ": the index is a tensor of type ", index.dtype(), "; expected dtype int64 (Long) or Int");
  return index.scalar_type() == kLong ? dense(index)
                                      : copy_into(core::empty(index.sizes(), kLong, index.device()), index);
}

Tensor written_copy(const Dest& dest, const char* op, const Tensor& self) {
  if (dest.is_fresh()) return raw_copy(self);
  if (dest.is_inplace()) {
    begin_write(op, self);
    return self;
  }
  Tensor out = dest.result(op, self.sizes(), self.scalar_type(), self.device());
  return out.is_same(self) ? out : copy_into(out, self);
}

void refuse_overlap(const Dest& dest, const char* op, std::initializer_list<const Tensor*> inputs) {
  if (!dest.is_out() || !dest.target().defined()) return;
  const Tensor& out = dest.target();
  check_writable(op, out);
  auto end_of = [](const TensorImpl& t) {
    int64_t last = 0;
    for (size_t d = 0; d < t.sizes().size(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
    return static_cast<const char*>(t.data_) + (last + 1) * static_cast<int64_t>(element_size(t.dtype_));
  };
  for (const Tensor* t : inputs) {
    if (!t->is_alias_of(out) || t->numel() == 0 || out.numel() == 0) continue;
    const TensorImpl &a = *t->impl(), &b = *out.impl();
    GRADUS_CHECK(a.data_ >= end_of(b) || b.data_ >= end_of(a), op,
                 ": some elements of the input tensor and the written-to tensor refer to a single memory "
                 "location; clone() the tensor before performing the operation");
  }
}

namespace {

bool is_mask(const Tensor& t) {
  return t.scalar_type() == kBool || t.scalar_type() == kByte;
}

// One entry per dimension of self: a tensor of integers, or none. A mask becomes the positions where it is true.
std::vector<Tensor> per_dimension(const char* op, const Tensor& self, IndexList indices) {
  std::vector<Tensor> list;
  for (size_t k = 0; k < indices.size(); ++k) {
    if (!indices[k] || !indices[k]->defined()) {
      list.emplace_back();
      continue;
    }
    const Tensor& index = *indices[k];
    GRADUS_CHECK(index.device() == self.device() || index.is_cpu() || self.is_meta(), op, ": index ", k, " is on ",
                 index.device(), ", the tensor on ", self.device());
    if (!is_mask(index)) {
      GRADUS_CHECK_AS(IndexError, index.scalar_type() == kLong || index.scalar_type() == kInt, op,
                      ": tensors used as indices must be long, int, byte or bool tensors; index ", k, " is ",
                      index.dtype());
      list.push_back(index);
      continue;
    }
    GRADUS_CHECK_AS(IndexError, index.dim() > 0, op, ": index ", k,
                    " is a mask without dimensions, which names no dimension of the tensor; Tensor::index and "
                    "Tensor::index_put_ take one");
    for (int64_t d = 0; d < index.dim(); ++d) {
      const auto at = list.size() + static_cast<size_t>(d);
      GRADUS_CHECK_AS(IndexError, at < self.sizes().size() && index.size(d) == self.sizes()[at], op,
                      ": the shape of the mask ", index.sizes(), " at index ", d,
                      " does not match the shape of the indexed tensor ", self.sizes(), " at index ", at);
    }
    const Tensor places = ops::nonzero(Dest(), index);
    for (int64_t d = 0; d < index.dim(); ++d) {
      list.push_back(core::alias(places, IntArrayRef(places.size(0)), IntArrayRef(places.stride(0)),
                                 places.storage_offset() + d * places.stride(1)));
    }
  }
  GRADUS_CHECK_AS(IndexError, list.size() <= self.sizes().size(), op, ": too many indices for tensor of dimension ",
                  self.dim(), ": ", list.size(), " were given");
  return list;
}

// An access by index tensors, without the values' side.
struct Access {
  kernels::IndexPlan plan;
  std::vector<Tensor> held;  // what plan.index points to
  DimVector shape;           // of the values
  size_t kept_before = 0, index_dims = 0;
  SmallVector<int64_t, 8> indexed_dims;

  Access(const char* op, const Tensor& self, IndexList indices) {
    std::vector<Tensor> list = per_dimension(op, self, indices);
    DimVector common;
    bool any = false;
    for (const Tensor& index : list) {
      if (!index.defined()) continue;
      try {
        common = any ? broadcast_shapes(op, common, index.sizes()) : DimVector(index.sizes());
      } catch (const Error&) {
        std::string shapes;
        for (const Tensor& i : list) {
          if (i.defined()) shapes += (shapes.empty() ? "" : ", ") + str(i.sizes());
        }
        throw IndexError(
            str(op, ": shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes));
      }
      any = true;
    }
    list.resize(self.sizes().size());
    size_t first = list.size(), last = 0, count = 0;
    for (size_t d = 0; d < list.size(); ++d) {
      if (!list[d].defined()) continue;
      first = std::min(first, d);
      last = d;
      ++count;
    }
    const bool adjacent = count > 0 && last - first + 1 == count;
    index_dims = common.size();
    plan.indexed = static_cast<char*>(self.data_ptr());
    plan.dtype = self.scalar_type();
    plan.positions = 1;
    for (int64_t s : common) plan.positions *= s;
    const auto item = static_cast<int64_t>(self.itemsize());
    for (size_t d = 0; d < list.size(); ++d) {
      const int64_t size = self.sizes()[d], stride = self.strides()[d] * item;
      if (list[d].defined()) {
        Tensor index = core::empty(common, kLong, self.is_meta() ? Device(kCPU) : self.device());
        if (!self.is_meta()) copy_into(index, list[d]);
        plan.index[plan.index_count] = static_cast<const int64_t*>(index.data_ptr());
        plan.index_size[plan.index_count] = size;
        plan.index_stride[plan.index_count++] = stride;
        indexed_dims.push_back(static_cast<int64_t>(d));
        held.push_back(std::move(index));
      } else if (adjacent && d < first) {
        plan.before_size[plan.before] = size;
        plan.before_stride[plan.before++] = stride;
      } else {
        plan.after_size[plan.after] = size;
        plan.after_stride[plan.after++] = stride;
      }
    }
    for (int d = 0; d < plan.before; ++d) shape.push_back(plan.before_size[d]);
    kept_before = shape.size();
    for (int64_t s : common) shape.push_back(s);
    for (int d = 0; d < plan.after; ++d) shape.push_back(plan.after_size[d]);
  }

  // `values` is dense, or has one element that serves everywhere.
  void attach(const Tensor& values, bool one) {
    const auto item = static_cast<int64_t>(values.itemsize());
    plan.values = static_cast<char*>(values.data_ptr());
    int64_t step = one ? 0 : item;
    for (int d = plan.after; d-- > 0; step *= plan.after_size[d]) plan.after_values_stride[d] = step;
    plan.values_position_stride = step;
    step *= plan.positions;
    for (int d = plan.before; d-- > 0; step *= plan.before_size[d]) plan.before_values_stride[d] = step;
  }

  void check(const char* op, const kernels::BadPosition& b) const {
    if (!b.bad.found()) [[likely]]
      return;
    throw IndexError(str(op, ": index ", b.bad.value, " at position ", b.bad.position,
                         " is out of bounds for dimension ", indexed_dims[static_cast<size_t>(b.which)], " with size ",
                         plan.index_size[b.which]));
  }
};

template <class Recorder>
std::vector<SavedTensor> save_indices(const Recorder& r, IndexList indices) {
  std::vector<SavedTensor> saved;
  for (const auto& i : indices) saved.push_back(r.save_other(i ? *i : Tensor()));
  return saved;
}
std::vector<std::optional<Tensor>> unpack_indices(const std::vector<SavedTensor>& saved, const GradOut& d) {
  std::vector<std::optional<Tensor>> list;
  for (const SavedTensor& s : saved) list.push_back(s.defined() ? std::optional<Tensor>(d.unpack(s)) : std::nullopt);
  return list;
}

// Where a place is named more than once the last value stands, and only that one has a gradient: 1 for it, 0 for the
// others. Undefined where no place is named twice.
Tensor winners(IntArrayRef sizes, IndexList indices, const Tensor& like) {
  bool only_masks = true;
  for (const auto& i : indices) only_masks &= !i || !i->defined() || is_mask(*i);
  if (only_masks || like.is_meta()) return {};
  DimVector kept(sizes);  // one number per place that the indices can name
  NoGradGuard guard;
  Access access("index_put", core::empty(sizes, kByte, Device(kMeta)), indices);
  SmallVector<bool, 16> indexed(sizes.size(), false);
  for (int64_t d : access.indexed_dims) indexed[static_cast<size_t>(d)] = true;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!indexed[d]) kept[d] = 1;
  }
  Tensor owner = raw_zeros(kept, kLong, like.device());
  Access on_owner("index_put", owner, indices);
  Tensor order =
      gradus::arange(owner.numel() ? on_owner.plan.positions : 0, TensorOptions(kLong).device(like.device()));
  on_owner.attach(order, false);
  kernels::index_put(like.device(), on_owner.plan, false);
  Tensor last = core::empty(on_owner.shape, kLong, like.device());
  on_owner.attach(last, false);
  kernels::index_get(like.device(), on_owner.plan);
  Tensor wins = last.eq(order.view(on_owner.shape));
  return wins.all().item<bool>() ? Tensor() : wins;
}

}  // namespace

Tensor index(const Dest& dest, const Tensor& self, IndexList indices) {
  defined(self, "index");
  auto r = recording(dest, self);
  if (!dest.is_fresh()) return dest.deliver("index", ops::index(Dest(), self, indices));
  Access access("index", self, indices);
  Tensor out = core::empty(access.shape, self.scalar_type(), self.device());
  access.attach(out, false);
  const kernels::OperationName name("index");
  if (out.numel() || access.plan.positions) access.check("index", kernels::index_get(self.device(), access.plan));
  if (r) {
    r.node("IndexBackward0", out,
           [saved = save_indices(r, indices), sizes = DimVector(self.sizes())](const GradIn& g, GradOut& d) {
             d[0] = g[0].new_zeros(sizes).index_put_(unpack_indices(saved, d), g[0], /*accumulate=*/true);
           });
  }
  return out;
}

Tensor index_put(const Dest& dest, const Tensor& self, IndexList indices, const Tensor& given, bool accumulate) {
  const char* op = dest.is_inplace() ? "index_put_" : "index_put";
  defined(self, op);
  defined(given, op);
  // A mask without dimensions says whether anything is written at all, and stands for none of self's dimensions.
  std::vector<std::optional<Tensor>> others;
  bool wanted = true;
  for (const auto& i : indices) {
    if (i && i->defined() && is_mask(*i) && i->dim() == 0) {
      wanted = wanted && i->item().to<bool>();
    } else {
      others.push_back(i);
    }
  }
  if (others.size() != indices.size()) [[unlikely]] {
    if (wanted) return ops::index_put(dest, self, others, given, accumulate);
    return dest.is_inplace() ? self : dest.deliver(op, self.clone());
  }
  auto r = recording(dest, self, given);
  const Tensor values = number_beside(self, given);
  check_devices(op, self, values);
  GRADUS_CHECK(self.scalar_type() == values.scalar_type(), op,
               ": Index put requires the source and destination dtypes match, got ", self.dtype(),
               " for the destination and ", values.dtype(), " for the source");
  Tensor out = written_copy(dest, op, self);
  {
    Access access(op, out, indices);
    GRADUS_CHECK(values.sizes().size() <= access.shape.size() || values.numel() == 1, op,
                 ": shape mismatch: value tensor of shape ", values.sizes(),
                 " cannot be broadcast to indexing result of shape ", IntArrayRef(access.shape));
    Tensor source = values;
    const bool one = values.numel() == 1;
    if (!one && values.sizes() != IntArrayRef(access.shape)) {
      bool fits = true;
      const size_t lead = access.shape.size() - values.sizes().size();
      for (size_t d = 0; d < values.sizes().size(); ++d)
        fits &= values.sizes()[d] == 1 || values.sizes()[d] == access.shape[lead + d];
      GRADUS_CHECK(fits, op, ": shape mismatch: value tensor of shape ", values.sizes(),
                   " cannot be broadcast to indexing result of shape ", IntArrayRef(access.shape));
      source = copy_into(core::empty(access.shape, values.scalar_type(), values.device()), values);
    }
    // What is read must not be what is being written.
    source = source.is_alias_of(out)
                 ? copy_into(core::empty(source.sizes(), source.scalar_type(), source.device()), source)
                 : dense(source);
    access.attach(source, one);
    const kernels::OperationName name(op);
    access.check(op, kernels::index_put(out.device(), access.plan, accumulate));
  }
  if (r) {
    r.node(
        "IndexPutBackward0", out,
        [saved = save_indices(r, indices), accumulate, sizes = DimVector(self.sizes())](const GradIn& g, GradOut& d) {
          const auto list = unpack_indices(saved, d);
          if (d.needs(0)) d[0] = accumulate ? g[0] : g[0].index_put(list, g[0].new_zeros({}), false);
          if (!d.needs(1)) return;
          Tensor to_values = g[0].index(list);
          Tensor wins = accumulate ? Tensor() : winners(sizes, list, g[0]);
          if (wins.defined()) {
            // Its shape has 1 for every kept dimension: the same order of dimensions, so it broadcasts.
            to_values = to_values.masked_fill(wins.logical_not(), 0);
          }
          // One element that served everywhere may have more dimensions than the values: the engine sums over
          // leading ones only.
          const auto& values_shape = d.node().edges_[1].node->outputs_[d.node().edges_[1].input_nr].sizes;
          if (static_cast<int64_t>(values_shape.size()) > to_values.dim())
            to_values = to_values.sum().reshape(values_shape);
          d[1] = to_values;
        });
  }
  return out;
}

// --- places ---

Tensor nonzero(const Dest& dest, const Tensor& self) {
  const TensorImpl& t = defined(self, "nonzero");
  GRADUS_CHECK_AS(NotImplementedError, !t.device_.is_meta(),
                  "nonzero: the shape of the result depends on the data, which a meta tensor does not have");
  if (dest.is_out()) return dest.deliver("nonzero", ops::nonzero(Dest(), self));
  const int64_t count = kernels::count_nonzero(t.device_, readable(self));
  // A column lies in one piece: that is what indexing by it reads.
  Tensor out = core::empty_strided({count, t.dim()}, {1, std::max<int64_t>(count, 1)}, kLong, t.device_);
  if (out.numel()) kernels::nonzero(t.device_, readable(self), out.data_ptr<int64_t>(), count);
  return out;
}

std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  if (defined(self, "nonzero_numpy").dim() == 0) return self.unsqueeze(0).nonzero().unbind(1);
  return self.nonzero().unbind(1);
}

Tensor masked_select(const Dest& dest, const Tensor& self, const Tensor& mask) {
  defined(self, "masked_select");
  check_devices("masked_select", self, mask.defined() ? mask : self);
  GRADUS_CHECK(defined(mask, "masked_select").dtype_ == ScalarType::Bool, "masked_select: the mask is ", mask.dtype(),
               "; expected a bool tensor");
  if (dest.is_out()) {
    auto r = recording(dest, self);
    NoGradGuard guard;
    refuse_overlap(dest, "masked_select", {&self, &mask});
    GRADUS_CHECK(!dest.target().defined() || dest.target().scalar_type() == self.scalar_type(),
                 "masked_select: the out tensor is ", dest.target().dtype(), "; expected ", self.dtype());
    return dest.deliver("masked_select", ops::masked_select(Dest(), self, mask));
  }
  const DimVector shape = broadcast_shapes("masked_select", self.sizes(), mask.sizes());
  if (shape.empty()) {
    const std::optional<Tensor> one[] = {mask.reshape({1})};
    return self.reshape({1}).index(one);
  }
  const std::optional<Tensor> list[] = {mask.expand(shape)};
  return self.expand(shape).index(list);
}

}  // namespace gradus::inline v0::ops
