// The part of Tensor that needs no operators: a counted pointer and what can be asked of it.
#pragma once

#include <string>
#include <utility>

#include <gradus/core/tensor_impl.h>
#include <gradus/core/tensor_options.h>

namespace gradus {
inline namespace v0 {

class Tensor;

namespace detail {
[[noreturn]] GRADUS_API void undefined_tensor(const char* what);
[[noreturn]] GRADUS_API void wrong_data_type(ScalarType is, ScalarType asked);
GRADUS_API int64_t wrap_dim_slow(int64_t dim, int64_t ndim, const char* op);
GRADUS_API bool is_contiguous_in(const TensorImpl& t, MemoryFormat format);
}  // namespace detail

/// One pointer. Copying shares the tensor; a default-constructed one is undefined.
class GRADUS_API TensorBase {
 public:
  TensorBase() = default;
  /// Takes over one strong reference.
  explicit TensorBase(TensorImpl* taken) noexcept : impl_(taken) {}
  TensorBase(const TensorBase& o) noexcept : impl_(o.impl_) {
    if (impl_) impl_->retain();
  }
  TensorBase(TensorBase&& o) noexcept : impl_(o.impl_) { o.impl_ = nullptr; }
  TensorBase& operator=(const TensorBase& o) noexcept {
    TensorBase copy(o);
    std::swap(impl_, copy.impl_);
    return *this;
  }
  TensorBase& operator=(TensorBase&& o) noexcept {
    std::swap(impl_, o.impl_);
    return *this;
  }
  ~TensorBase() {
    if (impl_) impl_->release();
  }

  bool defined() const noexcept { return impl_ != nullptr; }
  explicit operator bool() const = delete;  // `if (t)` is ambiguous: ask defined() or item<bool>()
  void reset() noexcept { TensorBase().swap(*this); }
  void swap(TensorBase& o) noexcept { std::swap(impl_, o.impl_); }
  bool is_same(const TensorBase& o) const noexcept { return impl_ == o.impl_; }
  size_t use_count() const noexcept { return impl_ ? impl_->strong_count() : 0; }

  /// The sizes; valid until the tensor is resized. Throws Error on an undefined tensor, as all below do.
  IntArrayRef sizes() const { return get("sizes()").sizes(); }
  IntArrayRef strides() const { return get("strides()").strides(); }
  int64_t dim() const { return get("dim()").dim(); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return get("numel()").numel_; }
  /// The size of dimension `d`, counted from the end where negative. Throws IndexError.
  int64_t size(int64_t d) const {
    const TensorImpl& t = get("size()");
    return t.geometry_.sizes_data()[wrap(d, t.dim(), "size")];
  }
  int64_t stride(int64_t d) const {
    const TensorImpl& t = get("stride()");
    return t.geometry_.strides_data()[wrap(d, t.dim(), "stride")];
  }
  ScalarType scalar_type() const { return get("scalar_type()").dtype_; }
  TypeMeta dtype() const { return get("dtype()").dtype_; }
  Device device() const { return get("device()").device_; }
  int64_t get_device() const { return device().index(); }
  Layout layout() const { return get("layout()").layout_; }
  TensorOptions options() const {
    const TensorImpl& t = get("options()");
    return TensorOptions(t.dtype_).device(t.device_).layout(t.layout_);
  }
  size_t itemsize() const { return gradus::v0::element_size(scalar_type()); }
  int64_t element_size() const { return static_cast<int64_t>(itemsize()); }
  /// Bytes of all elements.
  size_t nbytes() const { return static_cast<size_t>(numel()) * itemsize(); }
  int64_t storage_offset() const { return get("storage_offset()").storage_offset_; }
  bool has_storage() const { return defined() && impl_->storage_ != nullptr; }
  /// A handle of the memory behind this tensor.
  Storage storage() const;
  bool is_alias_of(const TensorBase& o) const {
    return defined() && o.defined() && impl_->storage_ && impl_->storage_ == o.impl_->storage_;
  }

  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_sparse() const { return layout() != Layout::Strided; }
  bool is_quantized() const { return gradus::v0::is_quantized(scalar_type()); }
  bool is_floating_point() const { return gradus::v0::is_floating_point(scalar_type()); }
  bool is_complex() const { return gradus::v0::is_complex(scalar_type()); }
  bool is_signed() const {
    const ScalarType t = scalar_type();
    return !(t == kByte || t == kBool || t == kUInt16 || t == kUInt32 || t == kUInt64 || t == kQUInt8);
  }
  bool is_inference() const { return get("is_inference()").has(TensorImpl::kInference); }
  /// Whether the elements lie densely in the order of `format`.
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const {
    const TensorImpl& t = get("is_contiguous()");
    return format == MemoryFormat::Contiguous ? t.has(TensorImpl::kContiguous) : detail::is_contiguous_in(t, format);
  }
  bool is_non_overlapping_and_dense() const { return get("is_dense()").has(TensorImpl::kDense); }
  /// ChannelsLast where the strides say so, else Contiguous.
  MemoryFormat suggest_memory_format() const {
    const TensorImpl& t = get("suggest_memory_format()");
    return t.has(TensorImpl::kChannelsLast) && !t.has(TensorImpl::kContiguous)
               ? (t.dim() == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::ChannelsLast)
               : MemoryFormat::Contiguous;
  }

  void* data_ptr() const { return get("data_ptr()").data_; }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const { return data_ptr(); }
  /// The first element. Throws Error where T is not the tensor's dtype.
  template <class T>
  T* data_ptr() const {
    const TensorImpl& t = get("data_ptr()");
    if (GRADUS_UNLIKELY(t.dtype_ != CppTypeToScalarType<std::remove_const_t<T>>::value)) {
      detail::wrong_data_type(t.dtype_, CppTypeToScalarType<std::remove_const_t<T>>::value);
    }
    return static_cast<T*>(t.data_);
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  /// How often the memory was written in place; shared by all views of it.
  int64_t _version() const {
    const TensorImpl& t = get("_version()");
    return t.storage_ ? static_cast<int64_t>(t.storage_->version.load(std::memory_order_relaxed)) : 0;
  }
  /// "CPUFloatType", as libtorch prints it under a tensor.
  std::string toString() const;

  TensorImpl* unsafeGetTensorImpl() const noexcept { return impl_; }
  TensorImpl* impl() const noexcept { return impl_; }
  /// Gives the reference away.
  TensorImpl* unsafeReleaseTensorImpl() noexcept {
    TensorImpl* t = impl_;
    impl_ = nullptr;
    return t;
  }

 protected:
  TensorImpl& get(const char* what) const {
    if (GRADUS_UNLIKELY(!impl_)) detail::undefined_tensor(what);
    return *impl_;
  }
  static int64_t wrap(int64_t d, int64_t ndim, const char* op) {
    return GRADUS_LIKELY(d >= 0 && d < ndim) ? d : detail::wrap_dim_slow(d, ndim, op);
  }

  TensorImpl* impl_ = nullptr;
};

}  // namespace v0
}  // namespace gradus
