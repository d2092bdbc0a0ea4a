// Triangles of matrices, one-hot vectors, elements by flat index.
#include <algorithm>

#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_factory.h"
#include "ops/surface/generated/ops_indexing.h"

#include "../autograd/recording.h"
#include "dense_result.h"
#include "indexing_plan.h"
#include "view_geometry.h"

namespace gradus::inline v0::ops {

namespace {

// The elements whose column - row is at most `last` (tril), or at least `first` (triu); zeros elsewhere.
Tensor triangle(const Dest& dest, const char* op, const Tensor& self, bool lower, int64_t diagonal) {
  defined(self, op);
  GRADUS_CHECK(self.dim() >= 2, op, ": a tensor of shape ", self.sizes(), " was given; expected at least 2 dimensions");
  auto r = recording(dest, self);
  if (dest.is_out() && dest.shares_memory(self) && !dest.target().is_same(self)) {
    return dest.deliver(op, triangle(Dest(), op, self, lower, diagonal));
  }
  const int64_t rows = self.size(-2), columns = self.size(-1);
  const int64_t shift = std::clamp(diagonal, -rows - 1, columns + 1);
  Tensor out = written_copy(dest, op, self);
  if (!out.is_meta() && out.numel()) {
    autograd::GradModeOff off;
    const Tensor window = core::alias(out);
    if (!out.is_cpu()) {  // a launch for each row would cost more than the mask
      const TensorOptions options = TensorOptions(kLong).device(out.device());
      const Tensor column = gradus::arange(columns, options);
      const Tensor last = gradus::arange(shift, rows + shift, options).unsqueeze(1);
      window.masked_fill_(lower ? column.gt(last) : column.lt(last), 0);
    }
    for (int64_t row = 0; out.is_cpu() && row < rows; ++row) {
      const int64_t from = lower ? std::clamp<int64_t>(row + shift + 1, 0, columns) : 0;
      const int64_t to = lower ? columns : std::clamp<int64_t>(row + shift, 0, columns);
      if (from < to) window.select(-2, row).slice(-1, from, to).zero_();
    }
    name_writer(dest, op);
  }
  if (r) {
    r.node(lower ? "TrilBackward0" : "TriuBackward0", out, [lower, diagonal](const GradIn& g, GradOut& d) {
      d[0] = lower ? g[0].tril(diagonal) : g[0].triu(diagonal);
    });
  }
  return out;
}

}  // namespace

Tensor tril(const Dest& dest, const Tensor& self, int64_t diagonal) {
  return triangle(dest, "tril", self, true, diagonal);
}
Tensor triu(const Dest& dest, const Tensor& self, int64_t diagonal) {
  return triangle(dest, "triu", self, false, diagonal);
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
  refuse_overlap(dest, "take", {&self, &index});
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
