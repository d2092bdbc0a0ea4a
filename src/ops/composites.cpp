// Triangles of matrices, one-hot vectors, elements by flat index: operators made of others.
#include <algorithm>

#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_factory.h"
#include "ops/surface/generated/ops_indexing.h"

#include "view_geometry.h"

namespace gradus::inline v0::ops {

namespace {

// True where column - row is at most `diagonal`, for the last two dimensions of `self`.
Tensor up_to_diagonal(const char* op, const Tensor& self, int64_t diagonal) {
  defined(self, op);
  GRADUS_CHECK(self.dim() >= 2, op, ": a tensor of shape ", self.sizes(), " was given; expected at least 2 dimensions");
  const int64_t rows = self.size(-2), columns = self.size(-1);
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  const auto options = TensorOptions(kLong).device(self.device());
  return gradus::arange(columns, options).sub(gradus::arange(rows, options).unsqueeze(-1)).le(diagonal);
}

Tensor without(const Dest& dest, const char* op, const Tensor& self, const Tensor& mask) {
  if (dest.is_inplace()) return self.masked_fill_(mask, 0);
  return dest.deliver(op, self.masked_fill(mask, 0));
}

}  // namespace

Tensor tril(const Dest& dest, const Tensor& self, int64_t diagonal) {
  return without(dest, "tril", self, up_to_diagonal("tril", self, diagonal).logical_not());
}
Tensor triu(const Dest& dest, const Tensor& self, int64_t diagonal) {
  const int64_t below = diagonal == INT64_MIN ? diagonal : diagonal - 1;
  return without(dest, "triu", self, up_to_diagonal("triu", self, below));
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  defined(self, "one_hot");
  GRADUS_CHECK_AS(TypeError, self.scalar_type() == kLong, "one_hot: class numbers of type ", self.dtype(),
                  " were given; expected Long");
  GRADUS_CHECK(num_classes >= -1, "one_hot: num_classes is ", num_classes, "; expected -1 or the number of classes");
  GRADUS_CHECK_AS(NotImplementedError, num_classes >= 0 || !self.device().is_meta(),
                  "one_hot: the number of classes depends on data that a meta tensor does not have; pass num_classes");
  if (self.numel() == 0) {
    GRADUS_CHECK(num_classes > 0, "one_hot: an empty tensor and num_classes ", num_classes,
                 " were given; expected num_classes above 0");
  } else if (!self.device().is_meta()) {
    const auto smallest = self.min().item<int64_t>(), largest = self.max().item<int64_t>();
    GRADUS_CHECK(smallest >= 0, "one_hot: class number ", smallest, " was given; expected none below 0");
    if (num_classes == -1) {
      num_classes = largest + 1;
    } else {
      GRADUS_CHECK(largest < num_classes, "one_hot: class number ", largest,
                   " was given; expected numbers below num_classes ", num_classes);
    }
  }
  const Tensor classes = gradus::arange(num_classes, TensorOptions(kLong).device(self.device()));
  return self.unsqueeze(-1).eq(classes).to(kLong);
}

Tensor take(const Dest& dest, const Tensor& self, const Tensor& index) {
  defined(self, "take");
  defined(index, "take");
  GRADUS_CHECK_AS(TypeError, index.scalar_type() == kLong, "take: an index of type ", index.dtype(),
                  " was given; expected Long");
  GRADUS_CHECK_AS(IndexError, self.numel() > 0 || index.numel() == 0,
                  "take: the tensor is empty; expected elements to take");
  const int64_t numel = self.numel();
  const Tensor flat = index.reshape({-1});
  if (flat.numel() > 0 && !index.device().is_meta()) {
    const auto smallest = flat.min().item<int64_t>(), largest = flat.max().item<int64_t>();
    GRADUS_CHECK_AS(IndexError, smallest >= -numel && largest < numel, "take: index ",
                    smallest < -numel ? smallest : largest, " is out of range; expected ", -numel, "..", numel - 1);
  }
  const Tensor from_front = gradus::where(flat.lt(0), flat.add(numel), flat);
  return dest.deliver("take", self.reshape({-1}).index_select(0, from_front).reshape(index.sizes()));
}

}  // namespace gradus::inline v0::ops
