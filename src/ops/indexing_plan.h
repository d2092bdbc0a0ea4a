// What the operators that index by tensors share.
#pragma once

#include <kernels/indexing.h>

#include "kernel_view.h"
#include "pointwise_plan.h"
#include "raw_fill.h"
#include "view_geometry.h"

namespace gradus::inline v0::ops {

/// `index` as dense 64-bit integers. Throws IndexError where it holds no integers.
Tensor dense_index(const char* op, const Tensor& index);
/// A dense copy of `t`, or `t`, without history.
Tensor dense(const Tensor& t);
/// Throws where the tensors of a call, all defined, lie on several devices.
void check_devices(const char* op, const Tensor& self, const Tensor& other);
/// `value` for a tensor on the device of `self`: a number in a tensor on the CPU goes with tensors of any device.
/// Without history.
Tensor number_beside(const Tensor& self, const Tensor& value);
/// A copy without history.
Tensor raw_copy(const Tensor& t);
/// A 0-dim tensor seen as one of one element.
Tensor at_least_1d(const Tensor& t);
/// The tensor that a writing operator writes: a copy of self, or self or out themselves.
Tensor written_copy(const Dest& dest, const char* op, const Tensor& self);

/// Throws where the tensor of an out form overlaps itself or an input.
void refuse_overlap(const Dest& dest, const char* op, std::initializer_list<const Tensor*> inputs);

/// Reads along one dimension: out (dense) = the slices of `self` that `index` (dense) lists.
void get_along(const char* op, const Tensor& out, const Tensor& self, int64_t dim, const Tensor& index);
/// Writes slices of `source` (shape of self but for `dim`, or one element) to those of `self` that `index` lists.
void put_along(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               bool accumulate, bool negative_allowed = false);

}  // namespace gradus::inline v0::ops
