// Making, sharing and freeing tensors.
#include <gradus/core/tensor_impl.h>

#include <algorithm>
#include <cstring>
#include <new>

#include <gradus/core/allocator.h>

#include "accelerator.h"
#include "autograd_hooks.h"
#include "counting.h"
#include "heap.h"
#include "make_tensor.h"
#include "wrapping.h"

namespace gradus::inline v0 {

namespace {

constexpr size_t kTailOffset = sizeof(TensorImpl);
constexpr size_t kDataOffset = (kTailOffset + sizeof(StorageImpl) + 63) / 64 * 64;
// Above this a small view would keep too much alive (core_measurements, pitfall 9).
constexpr size_t kEmbeddedMax = 1024;

StorageImpl* embedded_storage(TensorImpl* t) {
  return reinterpret_cast<StorageImpl*>(reinterpret_cast<char*>(t) + kTailOffset);
}
TensorImpl* owner_of(StorageImpl* embedded) {
  return reinterpret_cast<TensorImpl*>(reinterpret_cast<char*>(embedded) - kTailOffset);
}

void free_storage_data(StorageImpl* s) noexcept {
  if (void* cache = s->cache.load(std::memory_order_acquire)) s->cache_deleter(cache);
  if (s->embedded) return;
  if (s->deleter) {
    s->deleter(s->context);
  } else if (s->data) {
    if (s->device.is_cpu()) {
      core::cpu_free(s->data, s->nbytes);
    } else {
      get_allocator(s->device.type()).deallocate(s->data, s->nbytes);
    }
  }
}

// The last reference is gone.
void free_storage(StorageImpl* s) noexcept {
  free_storage_data(s);
  if (s->embedded) {
    TensorImpl* owner = owner_of(s);
    core::small_free(owner, owner->block_bytes_);
  } else {
    core::small_free(s, sizeof(StorageImpl));
  }
}

void release_storage(StorageImpl* s) noexcept {
  if (s->refs.load(std::memory_order_acquire) == 1 || core::count_down<uint32_t>(s->refs, 1) == 1) free_storage(s);
}

StorageImpl* new_storage() {
  return new (core::small_allocate(sizeof(StorageImpl))) StorageImpl;
}

// Takes one hold away; the last one frees storage and block.
void release_hold(TensorImpl* t) noexcept;

void drop_autograd(TensorImpl* t) noexcept {
  if (t->node_) {
    autograd::release_node(t->node_);
    t->node_ = nullptr;
  }
  if (t->extra_) {
    autograd::delete_extra(t->extra_);
    t->extra_ = nullptr;
  }
}

void free_block(TensorImpl* t) noexcept {
  t->geometry_.~Geometry();
  StorageImpl* s = t->storage_;
  const bool own_embedded = t->has(TensorImpl::kEmbedded);
  const size_t bytes = t->block_bytes_;
  if (s && !t->has(TensorImpl::kBorrowed) && !(own_embedded && s == embedded_storage(t))) release_storage(s);
  // The embedded storage lives to the end of its block: others may still use it, and then the last of them frees the
  // block.
  if (own_embedded) {
    release_storage(embedded_storage(t));
  } else {
    core::small_free(t, bytes);
  }
}

// Frees what a tensor without strong references still holds when its last hold goes.
void destroy_held(TensorImpl* t) noexcept {
  TensorImpl* base = t->has(TensorImpl::kView) ? t->view_.base : nullptr;
  free_block(t);
  if (base) release_hold(base);
}

void release_hold(TensorImpl* t) noexcept {
  if (t->counts_.load(std::memory_order_acquire) == TensorImpl::kHoldOne ||
      core::count_down(t->counts_, TensorImpl::kHoldOne) == TensorImpl::kHoldOne) {
    destroy_held(t);
  }
}

}  // namespace

void TensorImpl::destroy_sole() {
  // A small result that nothing else knows of: the commonest end.
  if ((flags_ & (kEmbedded | kView)) == kEmbedded && node_ == nullptr && extra_ == nullptr &&
      geometry_.ndim() <= Geometry::kInline && storage_ == embedded_storage(this) &&
      storage_->refs.load(std::memory_order_acquire) == 1 && storage_->cache.load(std::memory_order_relaxed) == nullptr)
      [[likely]] {
    core::small_free(this, block_bytes_);
    return;
  }
  drop_autograd(this);
  if (has(kView)) {
    TensorImpl* base = view_.base;
    free_block(this);
    base->release();
  } else {
    free_block(this);
  }
}

void TensorImpl::release_shared() {
  const uint64_t before = core::count_down(counts_, kStrongOne);
  if (static_cast<uint32_t>(before) != 1) return;
  // The strong ones are gone, holds remain (among them the one that all strong ones share): history goes, memory stays.
  drop_autograd(this);
  if (has(kView)) {
    // A held view must not keep its root's history: that could be a cycle through the node which holds the view.
    core::count_up(view_.base->counts_, kHoldOne);
    view_.base->release();
  }
  release_hold(this);
}

namespace core {

void hold(TensorImpl* t) {
  count_up(t->counts_, TensorImpl::kHoldOne);
}
void unhold(TensorImpl* t) noexcept {
  release_hold(t);
}

bool revive(TensorImpl* t) {
  if (t->counts_.load(std::memory_order_relaxed) != TensorImpl::kHoldOne || (tls.flags & kGradMode) ||
      t->has(TensorImpl::kView) || !single_threaded())
    return false;
  t->counts_.store(2 * TensorImpl::kHoldOne + TensorImpl::kStrongOne, std::memory_order_relaxed);
  t->flags_ &= ~uint32_t(TensorImpl::kRequiresGrad | TensorImpl::kLeafNode | TensorImpl::kWantsGrad);
  return true;
}

bool try_retain(TensorImpl* t) {
  uint64_t c = t->counts_.load(std::memory_order_acquire);
  if (single_threaded()) {
    if (static_cast<uint32_t>(c) == 0) return false;
    t->counts_.store(c + TensorImpl::kStrongOne, std::memory_order_relaxed);
    return true;
  }
  while (static_cast<uint32_t>(c) != 0) {
    if (t->counts_.compare_exchange_weak(c, c + TensorImpl::kStrongOne, std::memory_order_acq_rel)) return true;
  }
  return false;
}

Device with_current_index(Device d) {
  return d.is_cuda() && !d.has_index() ? Device(d.type(), current_device()) : d;
}

namespace {

[[gnu::always_inline]] inline TensorImpl* new_impl(size_t bytes, ScalarType dtype, Device device) {
  auto* t = new (small_allocate(bytes)) TensorImpl;
  t->block_bytes_ = static_cast<uint32_t>(bytes);
  t->dtype_ = dtype;
  t->device_ = device;
  if (tls.flags & kInferenceMode) t->flags_ |= TensorImpl::kInference;
  return t;
}

// A tensor with new memory and no geometry yet. Small memory lies in the tensor's own block.
[[gnu::always_inline]] inline TensorImpl* new_with_memory(size_t nbytes, ScalarType dtype, Device device) {
  if (nbytes <= kEmbeddedMax && device.is_cpu()) {
    TensorImpl* t = new_impl(kDataOffset + nbytes, dtype, device);
    auto* s = new (embedded_storage(t)) StorageImpl;
    s->embedded = true;
    s->nbytes = nbytes;
    s->data = nbytes ? reinterpret_cast<char*>(t) + kDataOffset : nullptr;
    t->flags_ |= TensorImpl::kEmbedded;
    t->storage_ = s;
    t->data_ = s->data;
    return t;
  }
  Storage memory = Storage::allocate(nbytes, device);
  TensorImpl* t = new_impl(sizeof(TensorImpl), dtype, device);
  t->storage_ = memory.release();
  t->data_ = t->storage_->data;
  return t;
}

// The geometry of a contiguous tensor of `numel` elements.
[[gnu::always_inline]] inline void lay_out_contiguous(TensorImpl* t, const int64_t* sizes, int n, int64_t numel) {
  t->geometry_.resize(n);
  int64_t *s = t->geometry_.sizes_data(), *strides = t->geometry_.strides_data();
  int64_t step = 1;
  for (int d = n; d-- > 0;) {
    s[d] = sizes[d];
    strides[d] = step;
    step = times(step, sizes[d] > 0 ? sizes[d] : 1);
  }
  t->numel_ = numel;
  t->flags_ |= TensorImpl::kContiguous | TensorImpl::kDense;
}

}  // namespace

Tensor empty(IntArrayRef sizes, ScalarType dtype, Device device, MemoryFormat format, const char* op) {
  int64_t numel = 1;
  bool odd = false;
  for (const int64_t s : sizes) odd |= s < 0 || __builtin_mul_overflow(numel, s, &numel);
  if (odd || numel > (int64_t{1} << 58)) [[unlikely]]
    numel = checked_numel(sizes, dtype, op);
  GRADUS_CHECK_AS(TypeError, dtype != ScalarType::Undefined, op, ": the dtype is undefined");
  Tensor result(new_with_memory(static_cast<size_t>(numel) * element_size(dtype), dtype, with_index(device)));
  TensorImpl* t = result.impl();
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) [[likely]] {
    lay_out_contiguous(t, sizes.data(), static_cast<int>(sizes.size()), numel);
  } else {
    t->geometry_.resize(static_cast<int>(sizes.size()));
    std::copy(sizes.begin(), sizes.end(), t->geometry_.sizes_data());
    dense_strides(sizes, format, t->geometry_.strides_data());
    refresh_geometry(*t);
  }
  return result;
}

Tensor empty_plain(const TensorImpl& like, ScalarType dtype) {
  Tensor result(new_with_memory(static_cast<size_t>(like.numel_) * element_size(dtype), dtype, like.device_));
  lay_out_contiguous(result.impl(), like.geometry_.sizes_data(), like.geometry_.ndim(), like.numel_);
  return result;
}

namespace {

void* device_allocate(size_t nbytes, Device device) {
  if (device.is_cuda()) accelerator(kCUDA, "empty");  // says what is missing
  const DeviceScope scope(device);
  return nbytes ? get_allocator(device.type()).allocate(nbytes) : nullptr;
}

void copy_bytes(void* to, const void* from, size_t nbytes, Device device, const char* op) {
  if (device.is_cpu()) {
    std::memcpy(to, from, nbytes);
  } else if (!device.is_meta()) {
    accelerator(device.type(), op).copy(to, device, from, device, nbytes, /*non_blocking=*/true);
  }
}

// Bytes that a geometry reaches from its storage's start, checked for overflow.
size_t reach(IntArrayRef sizes, IntArrayRef strides, int64_t offset, ScalarType dtype, const char* op) {
  int64_t last = offset;
  bool overflow = offset < 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    int64_t step;
    overflow |= strides[d] < 0;
    overflow |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &step);
    overflow |= __builtin_add_overflow(last, step, &last);
  }
  int64_t bytes = 0;
  overflow |= __builtin_add_overflow(last, int64_t(1), &last);
  overflow |= __builtin_mul_overflow(last, static_cast<int64_t>(element_size(dtype)), &bytes);
  GRADUS_CHECK_AS(ValueError, !overflow, op, ": sizes ", sizes, ", strides ", strides, " and storage offset ", offset,
                  " are negative or overflow");
  return static_cast<size_t>(bytes);
}
}  // namespace

Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device) {
  GRADUS_CHECK(sizes.size() == strides.size(), "empty_strided: ", sizes.size(), " sizes and ", strides.size(),
               " strides were given; expected as many of each");
  checked_numel(sizes, dtype, "empty_strided");
  const size_t nbytes = reach(sizes, strides, 0, dtype, "empty_strided");
  Tensor result(new_with_memory(nbytes, dtype, with_index(device)));
  TensorImpl* t = result.impl();
  t->geometry_.set(sizes, strides);
  refresh_geometry(*t);
  return result;
}

Tensor empty_pinned(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, const char* op) {
  checked_numel(sizes, dtype, op);
  const size_t nbytes = reach(sizes, strides, 0, dtype, op);
  struct Pinned {
    void* data;
    size_t nbytes;
  };
  Accelerator& a = accelerator(kCUDA, op);
  void* const data = nbytes ? a.allocate_pinned(nbytes) : nullptr;
  Storage memory = Storage::borrow(
      data, nbytes, kCPU,
      [](void* context) {
        auto* p = static_cast<Pinned*>(context);
        if (p->data) accelerator(kCUDA, "free").free_pinned(p->data, p->nbytes);
        delete p;
      },
      new Pinned{data, nbytes});
  Tensor result = from_storage(std::move(memory), sizes, strides, 0, dtype, kCPU);
  result.impl()->flags_ |= TensorImpl::kPinned;
  return result;
}

Tensor empty_like(const Tensor& like, ScalarType dtype) {
  const TensorImpl& t = *like.impl();
  if (t.has(TensorImpl::kContiguous)) return empty(t.sizes(), dtype, t.device_);
  if (t.has(TensorImpl::kDense)) return empty_strided(t.sizes(), t.strides(), dtype, t.device_);
  // Dimensions keep their order in memory; gaps and overlaps go.
  const IntArrayRef sizes = t.sizes();
  DimVector order, strides(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) order.push_back(static_cast<int64_t>(sizes.size() - 1 - d));
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t j = i; j > 0; --j) {
      const int64_t a = t.strides()[static_cast<size_t>(order[j - 1])], b = t.strides()[static_cast<size_t>(order[j])];
      // Of two dimensions with one stride the smaller is the inner one.
      const bool longer = sizes[static_cast<size_t>(order[j - 1])] > sizes[static_cast<size_t>(order[j])];
      if (a == 0 || b == 0 || b > a || (b == a && !longer))
        break;  // an expanded dimension says nothing about the order
      std::swap(order[j], order[j - 1]);
    }
  }
  int64_t step = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    strides[static_cast<size_t>(order[i])] = step;
    step = times(step, std::max<int64_t>(sizes[static_cast<size_t>(order[i])], 1));
  }
  return empty_strided(sizes, strides, dtype, t.device_);
}

namespace {
TensorImpl* clone_header(const TensorImpl& t) {
  TensorImpl* a = new_impl(sizeof(TensorImpl), t.dtype_, t.device_);
  a->layout_ = t.layout_;
  // Of the same kind as its base, whatever mode this thread is in.
  a->flags_ = t.flags_ & (TensorImpl::kInference | TensorImpl::kPinned | TensorImpl::kWrappedNumber);
  return a;
}
void place(TensorImpl* a, const TensorImpl& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  a->storage_offset_ = offset;
  a->data_ = t.storage_ && t.storage_->data
                 ? static_cast<char*>(t.storage_->data) + static_cast<size_t>(offset) * element_size(t.dtype_)
                 : nullptr;
  a->geometry_.set(sizes, strides);
  refresh_geometry(*a);
}
}  // namespace

Tensor alias(const Tensor& tensor, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const TensorImpl& t = *tensor.impl();
  Tensor result(clone_header(t));
  TensorImpl* a = result.impl();
  a->storage_ = t.storage_;
  if (a->storage_) core::count_up<uint32_t>(a->storage_->refs, 1);
  place(a, t, sizes, strides, offset);
  return result;
}

Tensor alias(const Tensor& tensor) {
  return alias_of(*tensor.impl());
}
Tensor alias_of(const TensorImpl& t) {
  Tensor result(clone_header(t));
  TensorImpl* a = result.impl();
  a->storage_ = t.storage_;
  if (a->storage_) core::count_up<uint32_t>(a->storage_->refs, 1);
  a->storage_offset_ = t.storage_offset_;
  a->data_ = t.data_;
  a->geometry_ = t.geometry_;
  a->numel_ = t.numel_;
  a->flags_ |= t.flags_ & kGeometryFlags;
  return result;
}

namespace {
// A view of `tensor` without geometry.
Tensor bare_view_of(const Tensor& tensor, const char* maker) {
  TensorImpl& t = *tensor.impl();
  Tensor result(clone_header(t));
  TensorImpl* v = result.impl();
  TensorImpl* base = t.has(TensorImpl::kView) ? t.view_.base : &t;
  count_up(base->counts_, TensorImpl::kStrongOne);
  v->view_.base = base;
  v->view_.maker = maker;
  v->flags_ |= TensorImpl::kView;
  v->storage_ = t.storage_;
  if (t.storage_) {
    // The root's block keeps an embedded storage alive without a reference of ours.
    if (base->has(TensorImpl::kEmbedded) && t.storage_ == embedded_storage(base)) {
      v->flags_ |= TensorImpl::kBorrowed;
    } else {
      core::count_up<uint32_t>(t.storage_->refs, 1);
    }
    v->view_.version = t.storage_->version.load(std::memory_order_relaxed);
  }
  return result;
}
}  // namespace

Tensor view_of(const Tensor& tensor, IntArrayRef sizes, IntArrayRef strides, int64_t offset, const char* maker) {
  Tensor result = bare_view_of(tensor, maker);
  place(result.impl(), *tensor.impl(), sizes, strides, offset);
  return result;
}

Tensor contiguous_view_of(const Tensor& tensor, IntArrayRef sizes, const char* maker) {
  const TensorImpl& t = *tensor.impl();
  Tensor result = bare_view_of(tensor, maker);
  TensorImpl* v = result.impl();
  v->storage_offset_ = t.storage_offset_;
  v->data_ = t.data_;
  lay_out_contiguous(v, sizes.data(), static_cast<int>(sizes.size()), t.numel_);
  return result;
}

Tensor from_storage(Storage storage, IntArrayRef sizes, IntArrayRef strides, int64_t offset, ScalarType dtype,
                    Device device) {
  checked_numel(sizes, dtype, "from_blob");
  const size_t needed = reach(sizes, strides, offset, dtype, "from_blob");
  GRADUS_CHECK(needed <= storage.nbytes(), "sizes ", sizes, ", strides ", strides, " and offset ", offset, " need ",
               needed, " bytes; the storage has ", storage.nbytes());
  Tensor result(new_impl(sizeof(TensorImpl), dtype, with_index(device)));
  TensorImpl* t = result.impl();
  t->storage_ = storage.release();
  place(t, *t, sizes, strides, offset);
  return result;
}

Tensor scalar_tensor(const Scalar& value, ScalarType dtype, Device device, bool wrapped) {
  Tensor r = number_tensor(value, dtype, device, wrapped);
  if (device.is_cpu() || device.is_meta()) return r;
  Tensor there = empty({}, dtype, device);
  there.fill_(value);  // a kernel, not a copy: it can be captured into a graph
  there.impl()->flags_ |= r.impl()->flags_ & TensorImpl::kWrappedNumber;
  return there;
}

Tensor number_tensor(const Scalar& value, ScalarType dtype, Device device, bool wrapped) {
  Tensor r = empty({}, dtype, device.is_meta() ? device : Device(kCPU));
  if (wrapped) r.impl()->flags_ |= TensorImpl::kWrappedNumber;
  if (device.is_meta()) return r;
  void* p = r.data_ptr();
  switch (dtype) {
#define GRADUS_CASE(T, name, number)    \
  case ScalarType::name: {              \
    const T v = static_cast<T>(number); \
    std::memcpy(p, &v, sizeof v);       \
    break;                              \
  }
    GRADUS_CASE(uint8_t, Byte, value.as_int())
    GRADUS_CASE(int8_t, Char, value.as_int())
    GRADUS_CASE(int16_t, Short, value.as_int())
    GRADUS_CASE(int32_t, Int, value.as_int())
    GRADUS_CASE(int64_t, Long, value.as_int())
    GRADUS_CASE(uint16_t, UInt16, value.as_int())
    GRADUS_CASE(uint32_t, UInt32, value.as_int())
    GRADUS_CASE(uint64_t, UInt64, value.as_int())
    GRADUS_CASE(Half, Half, static_cast<float>(value.as_double()))
    GRADUS_CASE(BFloat16, BFloat16, static_cast<float>(value.as_double()))
    GRADUS_CASE(float, Float, value.as_double())
    GRADUS_CASE(Float8_e4m3fn, Float8_e4m3fn, static_cast<float>(value.as_double()))
    GRADUS_CASE(Float8_e5m2, Float8_e5m2, static_cast<float>(value.as_double()))
#undef GRADUS_CASE
    case ScalarType::Double:
      *static_cast<double*>(p) = value.as_double();
      break;
    case ScalarType::Bool:
      *static_cast<bool*>(p) = value.isIntegral(true) ? value.as_int() != 0 : value.as_double() != 0;
      break;
    case ScalarType::ComplexFloat:
      *static_cast<complex<float>*>(p) = complex<float>(value.as_complex());
      break;
    case ScalarType::ComplexDouble:
      *static_cast<complex<double>*>(p) = value.as_complex();
      break;
    default:
      GRADUS_CHECK_AS(TypeError, false, "a number cannot be stored as ", dtype);
  }
  return r;
}

void replace(TensorImpl& t, Storage storage, IntArrayRef sizes, IntArrayRef strides, int64_t offset, ScalarType dtype) {
  StorageImpl* old = t.storage_;
  const bool own_embedded = t.has(TensorImpl::kEmbedded) && old == embedded_storage(&t);
  const bool borrowed = t.has(TensorImpl::kBorrowed);
  t.storage_ = storage.release();
  t.flags_ &= ~TensorImpl::kBorrowed;
  t.dtype_ = dtype;
  place(&t, t, sizes, strides, offset);
  if (old && !own_embedded && !borrowed) release_storage(old);
}

void resize(const Tensor& tensor, IntArrayRef sizes, MemoryFormat format, const char* op) {
  TensorImpl& t = *tensor.impl();
  const int64_t numel = checked_numel(sizes, t.dtype_, op);
  const size_t item = element_size(t.dtype_);
  const size_t needed = numel ? (static_cast<size_t>(t.storage_offset_) + static_cast<size_t>(numel)) * item : 0;
  DimVector strides(sizes.size()), kept(sizes);
  dense_strides(sizes, format, strides.data());
  if (!t.storage_ || needed > t.storage_->nbytes) {
    GRADUS_CHECK(!t.storage_ || t.storage_->resizable, op, ": the tensor borrows memory of ", t.storage_->nbytes,
                 " bytes and cannot grow to ", needed);
    GRADUS_CHECK(!t.has(TensorImpl::kView), op, ": a view's memory cannot grow; shape ", tensor.sizes(),
                 " was to become ", sizes);
    Storage bigger = Storage::allocate(needed, t.device_);
    if (t.storage_ && t.storage_->data && bigger.get()->data) {
      copy_bytes(bigger.get()->data, t.storage_->data, t.storage_->nbytes, t.device_, op);
      bigger.get()->version.store(t.storage_->version.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    replace(t, std::move(bigger), kept, strides, t.storage_offset_, t.dtype_);
    return;
  }
  t.geometry_.set(kept, strides);
  refresh_geometry(t);
}

}  // namespace core

Storage::Storage(const Storage& o) : impl_(o.impl_) {
  if (impl_) core::count_up<uint32_t>(impl_->refs, 1);
}
Storage::~Storage() {
  if (impl_) release_storage(impl_);
}

Storage Storage::allocate(size_t nbytes, Device device) {
  Storage r(new_storage());
  StorageImpl* s = r.impl_;
  s->device = device;
  if (device.is_cpu()) {
    s->data = core::cpu_allocate(nbytes);
  } else if (!device.is_meta()) {
    s->data = core::device_allocate(nbytes, device);
  }
  s->nbytes = nbytes;
  return r;
}

Storage Storage::borrow(void* data, size_t nbytes, Device device, void (*deleter)(void*), void* context) {
  Storage r(new_storage());
  StorageImpl* s = r.impl_;
  s->device = device;
  s->data = data;
  s->nbytes = nbytes;
  s->resizable = false;
  s->deleter = deleter;
  s->context = context;
  return r;
}

Storage TensorBase::storage() const {
  const TensorImpl& t = get("storage()");
  if (!t.storage_) return Storage();
  core::count_up<uint32_t>(t.storage_->refs, 1);
  return Storage(t.storage_);
}

}  // namespace gradus::inline v0
