// One reduction: dimensions, the result through its Dest, and the Reduction for the kernel.
//
//   Reduce p(dest, "sum", self, dims_of("sum", dim, self.dim()), keepdim, dtype);
//   kernels::sum(p.device(), p.plan());
//   Tensor out = p.finish();
#pragma once

#include <optional>

#include <kernels/reduction.h>

#include "../core/dest.h"

namespace gradus::inline v0::ops {

/// A set of dimensions, one bit each.
using DimSet = uint64_t;
constexpr DimSet kAllDims = ~DimSet{0};

/// Throws IndexError where a dimension is out of range, Error where one stands twice. None and an empty list mean all.
DimSet dims_of(const char* op, OptionalIntArrayRef dim, int64_t ndim);
DimSet dim_of(const char* op, int64_t dim, int64_t ndim);
inline bool holds(DimSet set, int64_t d) {
  return (set >> d) & 1;
}

/// Throws where a dimension to be reduced has no elements although the result has some (max and its kind).
void check_not_empty(const char* op, const Tensor& self, DimSet dims);

class Reduce {
 public:
  Reduce(const Dest& dest, const char* op, const Tensor& self, DimSet dims, bool keepdim, ScalarType result);
  /// The plan points into the input: a temporary would be gone before the kernel runs.
  Reduce(const Dest& dest, const char* op, Tensor&& self, DimSet dims, bool keepdim, ScalarType result) = delete;
  Reduce(const Reduce&) = delete;
  Device device() const { return device_; }
  const kernels::Reduction& plan() const { return plan_; }
  Tensor finish();

 private:
  void arrange(const TensorImpl& in, const TensorImpl& out, DimSet dims, bool keepdim);
  kernels::Reduction plan_;
  Device device_;
  Tensor out_;
  Tensor apart_;  // where the target shares memory with the input
};

/// What a gradient formula needs to know to bring a result back to the input's shape.
struct Reduced {
  DimVector sizes;
  DimSet dims;
  bool keepdim;
  Reduced(const Tensor& self, DimSet d, bool keep) : sizes(self.sizes()), dims(d), keepdim(keep) {}
  /// `t`, shaped like the result, with the reduced dimensions of size 1.
  Tensor kept(const Tensor& t) const;
  /// `t` seen with the input's shape.
  Tensor expand(const Tensor& t) const;
  int64_t length() const;
};

}  // namespace gradus::inline v0::ops
