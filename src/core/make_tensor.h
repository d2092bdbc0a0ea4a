// Making tensors without operators.
#pragma once

#include <gradus/core/small_vector.h>
#include <gradus/core/tensor.h>

namespace gradus::inline v0::core {

/// The product of sizes. Throws ValueError on a negative size or where bytes would overflow 63 bits.
int64_t checked_numel(IntArrayRef sizes, ScalarType dtype, const char* op);

/// New memory, contents unspecified. `op` is the name for errors.
Tensor empty(IntArrayRef sizes, ScalarType dtype, Device device, MemoryFormat format = MemoryFormat::Contiguous,
             const char* op = "empty");
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device);
/// Memory on the CPU that is page-locked for copies to and from CUDA devices.
Tensor empty_pinned(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, const char* op);
/// Strides of a dense tensor in `format` order.
void dense_strides(IntArrayRef sizes, MemoryFormat format, int64_t* strides);
/// As `like`, in its memory order where that is dense (MemoryFormat::Preserve), with another dtype.
Tensor empty_like(const Tensor& like, ScalarType dtype);
/// empty_like() for the commonest case: `like` is contiguous, and `dtype` no wider than its own.
Tensor empty_plain(const TensorImpl& like, ScalarType dtype);
Device with_current_index(Device device);
/// The device that is meant: an unnumbered `cuda` is the thread's current one.
inline Device with_index(Device d) {
  return d.is_cpu() ? Device(kCPU) : with_current_index(d);
}
/// Same storage, another geometry, no history and no view relation.
Tensor alias(const Tensor& t);
Tensor alias_of(const TensorImpl& t);
Tensor alias(const Tensor& t, IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset);
/// A view: as alias(), and it knows its root. `maker` is the operator's name for errors.
Tensor view_of(const Tensor& base, IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset, const char* maker);
/// view_of() a contiguous tensor's elements in the same order, under other sizes.
Tensor contiguous_view_of(const Tensor& base, IntArrayRef sizes, const char* maker);
/// A tensor over existing storage.
Tensor from_storage(Storage storage, IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset, ScalarType dtype,
                    Device device);
/// A 0-dim tensor holding `value`, for an elementwise operator on `device`: it takes numbers from the host, so the
/// tensor lies there, or on meta. `wrapped` makes it weak in type promotion.
Tensor number_tensor(const Scalar& value, ScalarType dtype, Device device, bool wrapped);
/// The same on the device itself.
Tensor scalar_tensor(const Scalar& value, ScalarType dtype, Device device, bool wrapped);
/// Points `t` to other memory and geometry (resize_, set_, set_data).
void replace(TensorImpl& t, Storage storage, IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset,
             ScalarType dtype);
/// Gives `t` another size; the storage grows where it must, elements keep their place in memory. Throws on borrowed
/// memory.
void resize(const Tensor& t, IntArrayRef sizes, MemoryFormat format, const char* op);
/// What refresh_geometry() settles.
constexpr uint32_t kGeometryFlags =
    TensorImpl::kContiguous | TensorImpl::kChannelsLast | TensorImpl::kDense | TensorImpl::kAllStridesZero;
/// Recomputes numel and the contiguity flags after geometry_ was written.
void refresh_geometry(TensorImpl& t);
/// Whether two different indices reach the same element.
bool overlaps_itself(const TensorImpl& t);

}  // namespace gradus::inline v0::core
