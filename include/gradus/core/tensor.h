// Tensor: the handle users hold. Its operator methods are generated (gradus/ops/tensor_methods.h) and defined in ops.
#pragma once

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gradus/core/accessor.h>
#include <gradus/core/generator.h>
#include <gradus/core/printing.h>
#include <gradus/core/removable_handle.h>
#include <gradus/core/scalar.h>
#include <gradus/core/tensor_base.h>

namespace gradus {
inline namespace v0 {

class Tensor;
using TensorList = ArrayRef<Tensor>;

namespace indexing {
class TensorIndex;
}  // namespace indexing

/// An n-dimensional array with autograd. A handle: copies share. See https://pytorch.org/cppdocs for the names.
class GRADUS_API Tensor : public TensorBase {
 public:
  Tensor() = default;
  explicit Tensor(TensorImpl* taken) noexcept : TensorBase(taken) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  explicit Tensor(TensorBase base) noexcept : TensorBase(std::move(base)) {}

  // On an lvalue `=` rebinds the handle; on an rvalue (`x[0] = y`) it writes into the view.
  Tensor& operator=(const Tensor& o) & noexcept {
    TensorBase::operator=(o);
    return *this;
  }
  Tensor& operator=(Tensor&& o) & noexcept {
    TensorBase::operator=(std::move(o));
    return *this;
  }
  Tensor& operator=(const Tensor& o) &&;
  Tensor& operator=(Tensor&& o) &&;
  Tensor& operator=(const Scalar& v) &&;

  // --- elements ---
  /// The value of a one-element tensor. Throws Error where there are more or fewer, ValueError where T cannot hold it.
  template <class T>
  T item() const;
  Scalar item() const;
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const& {
    GRADUS_CHECK(dim() == static_cast<int64_t>(N), "accessor: the tensor has ", dim(), " dimensions; asked for ", N);
    return TensorAccessor<T, N>(data_ptr<T>(), sizes().data(), strides().data());
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;  // it would outlive the tensor

  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N> packed_accessor64() const& {
    GRADUS_CHECK(dim() == static_cast<int64_t>(N), "packed_accessor64: the tensor has ", dim(),
                 " dimensions; asked for ", N);
    return PackedTensorAccessor64<T, N>(data_ptr<T>(), sizes().data(), strides().data());
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N> packed_accessor32() const& {
    GRADUS_CHECK(dim() == static_cast<int64_t>(N), "packed_accessor32: the tensor has ", dim(),
                 " dimensions; asked for ", N);
    GRADUS_CHECK(numel() <= INT32_MAX, "packed_accessor32: the tensor has ", numel(), " elements; expected at most ",
                 INT32_MAX);
    return PackedTensorAccessor32<T, N>(data_ptr<T>(), sizes().data(), strides().data());
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N> packed_accessor64() && = delete;  // it would outlive the tensor
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N> packed_accessor32() && = delete;

  // --- indexing ---
  /// x[i]: a view without the first dimension. Throws IndexError.
  Tensor operator[](int64_t index) const;
  Tensor operator[](const Scalar& index) const;
  Tensor operator[](const Tensor& index) const;
  /// NumPy-like indexing with numbers, Slice, None, "...", bools and tensors.
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const;

  // --- conversions ---
  Tensor to(TypeMeta dtype, bool non_blocking = false, bool copy = false) const {
    return to(dtype.toScalarType(), non_blocking, copy);
  }
  Tensor toType(ScalarType dtype) const { return to(dtype); }
  Tensor cpu() const { return to(TensorOptions(kCPU)); }
  Tensor cuda() const { return to(TensorOptions(kCUDA)); }
  /// Same memory, no history. Shares the version counter, so that a write through it is noticed (unlike libtorch's).
  Tensor data() const;
  Tensor variable_data() const { return data(); }
  Tensor tensor_data() const { return data(); }
  /// Makes this tensor use `other`'s memory and shape; for a leaf only.
  void set_data(const Tensor& other) const;

  // --- autograd ---
  bool requires_grad() const;
  const Tensor& set_requires_grad(bool value) const;
  /// Asks for a gradient. Throws Error on a non-leaf (to clear) and on integer dtypes.
  const Tensor& requires_grad_(bool value = true) const { return set_requires_grad(value); }
  bool is_leaf() const;
  /// The accumulated gradient; undefined where there is none.
  const Tensor& grad() const;
  /// The gradient, to be assigned or reset.
  Tensor& mutable_grad() const;
  /// The node that made this tensor; nullptr for leaves. Kept alive by the tensor and by the returned pointer.
  std::shared_ptr<autograd::Node> grad_fn() const;
  int64_t output_nr() const { return get("output_nr()").output_nr_; }
  /// Runs the chain rule from this tensor into the leaves' grads. `gradient` may be left out for one element.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                std::optional<TensorList> inputs = std::nullopt) const;
  /// Keeps the gradient of a non-leaf.
  void retain_grad() const;
  bool retains_grad() const;
  /// Calls `hook(grad)` when this tensor's gradient is known; a Tensor it returns replaces the gradient. Returns a
  /// number for remove_hook.
  template <class F>
  unsigned register_hook(F&& hook) const {
    if constexpr (std::is_void<decltype(hook(std::declval<const Tensor&>()))>::value) {
      return add_hook([f = std::forward<F>(hook)](const Tensor& g) mutable -> Tensor {
        f(g);
        return {};
      });
    } else {
      return add_hook([f = std::forward<F>(hook)](const Tensor& g) mutable -> Tensor { return f(g); });
    }
  }
  void remove_hook(unsigned number) const;
  /// Calls `hook(tensor)` each time a backward has accumulated into this leaf's grad(): the place to step an optimizer
  /// and free the gradient. Not run by autograd::grad, which accumulates nothing. Throws Error on a tensor that is no
  /// leaf or needs no gradient. See
  /// https://pytorch.org/docs/stable/generated/torch.Tensor.register_post_accumulate_grad_hook.html
  RemovableHandle register_post_accumulate_grad_hook(std::function<void(const Tensor&)> hook) const;
  bool is_view() const { return get("is_view()").has(TensorImpl::kView); }
  /// The tensor this one is a view of. Throws Error where it is none.
  Tensor _base() const;
  const std::string& name() const;

  // --- operators ---
  Tensor operator-() const;
  Tensor operator~() const;
  Tensor& operator+=(const Tensor& o) const;
  Tensor& operator+=(const Scalar& o) const;
  Tensor& operator-=(const Tensor& o) const;
  Tensor& operator-=(const Scalar& o) const;
  Tensor& operator*=(const Tensor& o) const;
  Tensor& operator*=(const Scalar& o) const;
  Tensor& operator/=(const Tensor& o) const;
  Tensor& operator/=(const Scalar& o) const;

  /// Prints to stdout, as libtorch does.
  void print() const;

#include <gradus/ops/tensor_methods.h>
  // One int names a dimension; it would turn into `bool unbiased`.
  Tensor var(int dim) const {
    const int64_t d = dim;
    return var(OptionalIntArrayRef(d));
  }
  Tensor std(int dim) const {
    const int64_t d = dim;
    return std(OptionalIntArrayRef(d));
  }

 private:
  unsigned add_hook(std::function<Tensor(const Tensor&)> hook) const;
};

template <>
GRADUS_API Scalar Tensor::item<Scalar>() const;
template <class T>
T Tensor::item() const {
  return item().to<T>();
}

/// libtorch's layout: columns, scale factor, and a line with type and sizes.
GRADUS_API std::ostream& operator<<(std::ostream& out, const Tensor& t);

}  // namespace v0
}  // namespace gradus
