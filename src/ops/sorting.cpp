// sort, argsort, topk.
#include <gradus/ops/ops.h>

#include <kernels/sorting.h>

#include "ops/surface/generated/ops_indexing.h"

#include "indexing_plan.h"

namespace gradus::inline v0::ops {

namespace {

void check_sortable(const char* op, const Tensor& self) {
  GRADUS_CHECK_AS(TypeError, !is_complex(defined(self, op).dtype_), op, ": a tensor of type ", self.dtype(),
                  " was given; complex numbers have no order");
}

// Both results, fresh.
std::pair<Tensor, Tensor> sorted(const Tensor& self, Tensor values, int64_t dim, bool descending) {
  Tensor indices = core::empty_strided(values.sizes(), values.strides(), kLong, values.device());
  kernels::sort(self.device(), writable(at_least_1d(values)), writable(at_least_1d(indices)),
                readable(at_least_1d(self)), static_cast<int>(dim), descending);
  return {std::move(values), std::move(indices)};
}

std::tuple<Tensor, Tensor> finish(const Dest& dest, const char* op, const char* node, const Tensor& self, int64_t dim,
                                  std::pair<Tensor, Tensor> result) {
  auto r = recording(dest, self);
  if (dest.is_out()) {
    for (size_t i = 0; i < 2; ++i) refuse_overlap(dest.part(i), op, {&self});
  }
  Tensor values = dest.part(0).deliver(op, std::move(result.first)),
         indices = dest.part(1).deliver(op, std::move(result.second));
  if (r) {
    r.node(node, {&values, &indices},
           [i = r.save_other(indices), dim, sizes = DimVector(self.sizes())](const GradIn& g, GradOut& d) {
             if (g.defined(0)) d[0] = g[0].new_zeros(sizes).scatter_(dim, d.unpack(i), g[0]);
           });
  }
  return {std::move(values), std::move(indices)};
}

}  // namespace

std::tuple<Tensor, Tensor> sort(const Dest& dest, const Tensor& self, std::optional<bool>, int64_t dim,
                                bool descending) {
  check_sortable("sort", self);
  dim = wrap_dim(dim, self.dim(), "sort");
  return finish(dest, "sort", "SortBackward0", self, dim,
                sorted(self, core::empty_like(self, self.scalar_type()), dim, descending));
}
std::tuple<Tensor, Tensor> sort(const Dest& dest, const Tensor& self, int64_t dim, bool descending) {
  return ops::sort(dest, self, std::optional<bool>(), dim, descending);
}

Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return std::get<1>(self.sort(dim, descending));
}
Tensor argsort(const Dest& dest, const Tensor& self, bool stable, int64_t dim, bool descending) {
  return dest.deliver("argsort", std::get<1>(self.sort(std::optional<bool>(stable), dim, descending)));
}

std::tuple<Tensor, Tensor> topk(const Dest& dest, const Tensor& self, int64_t k, int64_t dim, bool largest,
                                bool /*sorted*/) {
  check_sortable("topk", self);
  dim = wrap_dim(dim, self.dim(), "topk");
  const int64_t size = self.dim() ? self.size(dim) : 1;
  GRADUS_CHECK(k >= 0 && k <= size, "topk: selected index k out of range: k is ", k, ", dimension ", dim, " has size ",
               size);
  DimVector sizes(self.sizes());
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = k;
  // Without dimensions there is one element, and k may not ask for less.
  Tensor values = core::empty(sizes, self.scalar_type(), self.device());
  return finish(dest, "topk", "TopkBackward0", self, dim, ops::sorted(self, values, dim, largest));
}

}  // namespace gradus::inline v0::ops
