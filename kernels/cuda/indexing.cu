// Reading and writing at positions that index tensors name.
#include "kernels/indexing.h"

#include "kernels/cuda/data_error.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/positions.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr int kEach = 4;  // elements that a thread has under way at once

/// The index tensors of a plan.
struct IndexList {
  int count;
  bool negative_allowed;
  const int64_t* index[IndexPlan::kMaxDims];
  int64_t size[IndexPlan::kMaxDims];
  int64_t stride[IndexPlan::kMaxDims];  // in bytes

  explicit IndexList(const IndexPlan& p) : count(p.index_count), negative_allowed(p.negative_allowed) {
    for (int k = 0; k < count; ++k) index[k] = p.index[k], size[k] = p.index_size[k], stride[k] = p.index_stride[k];
  }
  uint64_t places() const {
    uint64_t n = 1;
    for (int k = 0; k < count; ++k) n *= static_cast<uint64_t>(size[k]);
    return n;
  }
  /// Where a position leads, in bytes; -1, and a report, for one with a bad index. `key` receives the place's number.
  __device__ int64_t offset(int64_t position, const DataErrorSlot& errors, uint64_t* key = nullptr) const {
    int64_t sum = 0;
    uint64_t number = 0;
    for (int k = 0; k < count; ++k) {
      int64_t v = index[k][position];
      if (v < (negative_allowed ? -size[k] : 0) || v >= size[k]) {
        errors.report(kIndexOutOfRange, position, v, size[k]);
        return -1;
      }
      if (v < 0) v += size[k];
      sum += v * stride[k];
      number = number * static_cast<uint64_t>(size[k]) + static_cast<uint64_t>(v);
    }
    if (key != nullptr) *key = number;
    return sum;
  }
};

/// How elements are numbered: the kept dimensions after the positions innermost, then positions, then those before.
template <class I>
struct ElementWalk {
  int after, dims;  // of the kept ones: the first `after`, and all
  IndexDivider<I> positions;
  int64_t values_stride;  // of positions
  IndexDivider<I> size[kMaxWalkDims];
  int64_t indexed_stride[kMaxWalkDims], kept_values_stride[kMaxWalkDims];

  ElementWalk(const WalkDims<2>& inner, const WalkDims<2>& outer, const IndexPlan& p)
      : after(inner.ndim),
        dims(inner.ndim + outer.ndim),
        positions(static_cast<uint64_t>(p.positions)),
        values_stride(p.values_position_stride) {
    for (int d = 0; d < dims; ++d) {
      const WalkDims<2>& from = d < after ? inner : outer;
      const int i = d < after ? d : d - after;
      size[d] = IndexDivider<I>(static_cast<uint64_t>(from.size[i]));
      indexed_stride[d] = from.stride[0][i], kept_values_stride[d] = from.stride[1][i];
    }
  }
  struct Element {
    int64_t position, indexed, value;  // without what the position's indices add to `indexed`
  };
  __device__ Element locate(I at) const {
    Element e = {0, 0, 0};
    for (int d = 0; d < after; ++d) at = step(d, at, &e);
    if (after == dims) {
      e.position = static_cast<int64_t>(at);
    } else {
      const I rest = positions.quotient(at);
      e.position = static_cast<int64_t>(at - rest * positions.divisor);
      at = rest;
      for (int d = after; d < dims; ++d) at = step(d, at, &e);
    }
    e.value += e.position * values_stride;
    return e;
  }

 private:
  __device__ I step(int d, I at, Element* e) const {
    const I rest = size[d].quotient(at);
    const auto i = static_cast<int64_t>(at - rest * size[d].divisor);
    e->indexed += i * indexed_stride[d], e->value += i * kept_values_stride[d];
    return rest;
  }
};

/// Where positions lead, by their indices or, where that was computed before, from memory.
struct Place {
  IndexList list;
  DataErrorSlot errors;
  const int64_t* known = nullptr;
  __device__ int64_t operator()(int64_t position) const {
    return known != nullptr ? known[position] : list.offset(position, errors);
  }
};

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    get_kernel(const char* indexed, char* values, ElementWalk<I> walk, Place place, I total) {
  const I step = static_cast<I>(gridDim.x) * (kThreads * kEach);
  for (I base = static_cast<I>(blockIdx.x) * (kThreads * kEach) + threadIdx.x; base < total; base += step) {
    T value[kEach];
    int64_t to[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const I at = base + static_cast<I>(k) * kThreads;
      to[k] = -1;
      if (at >= total) continue;
      const auto e = walk.locate(at);
      const int64_t offset = place(e.position);
      if (offset < 0) continue;
      to[k] = e.value;
      value[k] = *reinterpret_cast<const T*>(indexed + e.indexed + offset);
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      if (to[k] >= 0) *reinterpret_cast<T*>(values + to[k]) = value[k];
    }
  }
}

template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    put_kernel(char* indexed, const char* values, ElementWalk<I> walk, Place place, I total) {
  const I step = static_cast<I>(gridDim.x) * kThreads;
  for (I at = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; at < total; at += step) {
    const auto e = walk.locate(at);
    const int64_t offset = place(e.position);
    if (offset < 0) continue;
    // By index only where all positions that name a place have the same value for it.
    store_shared_value(reinterpret_cast<T*>(indexed + e.indexed + offset),
                       *reinterpret_cast<const T*>(values + e.value));
  }
}

__global__ void __launch_bounds__(kThreads)
    find_places(Place place, PositionKeys keys, int64_t* offset, int64_t count, uint64_t places) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    uint64_t key = places;
    offset[i] = place.list.offset(i, place.errors, &key);
    keys.store(i, key);
  }
}

// The kept dimensions, innermost first.
struct Kept {
  WalkDims<2> after, before;
  size_t width;  // bytes of an element

  explicit Kept(const IndexPlan& p) : width(element_size(p.dtype)) {
    for (int d = p.after; d-- > 0;) after.add(p.after_size[d], {p.after_stride[d], p.after_values_stride[d]});
    for (int d = p.before; d-- > 0;) before.add(p.before_size[d], {p.before_stride[d], p.before_values_stride[d]});
  }
  /// Elements that lie side by side on both sides are moved as wider ones where everything is aligned to them.
  void widen(const IndexPlan& p) {
    const auto item = static_cast<int64_t>(width);
    if (after.ndim == 0 || after.stride[0][0] != item || after.stride[1][0] != item) return;
    uint64_t all = reinterpret_cast<uintptr_t>(p.indexed) | reinterpret_cast<uintptr_t>(p.values) |
                   static_cast<uint64_t>(item * after.size[0]) | static_cast<uint64_t>(p.values_position_stride);
    for (int k = 0; k < p.index_count; ++k) all |= static_cast<uint64_t>(p.index_stride[k]);
    for (int k = 0; k < 2; ++k) {
      for (int d = 1; d < after.ndim; ++d) all |= static_cast<uint64_t>(after.stride[k][d]);
      for (int d = 0; d < before.ndim; ++d) all |= static_cast<uint64_t>(before.stride[k][d]);
    }
    size_t wide = 16;
    while (all % wide != 0) wide /= 2;
    if (wide <= width) return;
    after.size[0] = item * after.size[0] / static_cast<int64_t>(wide);
    after.stride[0][0] = after.stride[1][0] = static_cast<int64_t>(wide);
    width = wide;
  }
  int64_t columns() const { return after.numel() * before.numel(); }
};

BadPosition get(const IndexPlan& p) {
  Kept kept(p);
  kept.widen(p);
  const int64_t total = kept.columns() * p.positions;
  if (total == 0) return {};
  const Place place = {IndexList(p), data_error_slot("index")};
  visit_index_width(total, [&]<class I>() {
    const ElementWalk<I> walk(kept.after, kept.before, p);
    visit_width(kept.width, [&]<class T>() {
      launch("index_get", get_kernel<T, I>, blocks_for(ceil_div(total, kEach), kThreads), kThreads, 0, p.indexed,
             p.values, walk, place, static_cast<I>(total));
    });
  });
  return {};
}

void assign(const IndexPlan& p, const Kept& kept, const Place& place) {
  const int64_t total = kept.columns() * p.positions;
  visit_index_width(total, [&]<class I>() {
    const ElementWalk<I> walk(kept.after, kept.before, p);
    visit_width(kept.width, [&]<class T>() {
      launch("index_put", put_kernel<T, I>, blocks_for(total, kThreads), kThreads, 0, p.indexed, p.values, walk, place,
             static_cast<I>(total));
    });
  });
}

// All columns as one walk over both operands.
WalkDims<2> columns_of(const Kept& kept) {
  WalkDims<2> all = kept.after;
  for (int d = 0; d < kept.before.ndim; ++d)
    all.add(kept.before.size[d], {kept.before.stride[0][d], kept.before.stride[1][d]});
  return all;
}

BadPosition put(const IndexPlan& p, bool with_sum) {
  Kept kept(p);
  if (kept.columns() * p.positions == 0) return {};
  Place place = {IndexList(p), data_error_slot("index_put_")};
  if (!with_sum) {
    kept.widen(p);
    if (p.positions == 1 || p.values_position_stride == 0) {
      assign(p, kept, place);
      return {};
    }
  }
  const Positions positions = allocate_positions("index_put_", p.positions, place.list.places());
  launch("find_places", find_places, blocks_for(p.positions, kThreads), kThreads, 0, place, positions.key,
         positions.offset, p.positions, positions.places);
  if (!with_sum) {
    keep_last(positions);
    place.known = positions.offset;
    assign(p, kept, place);
    return {};
  }
  Accumulation how{p.dtype, false, p.indexed, p.values, columns_of(kept), {}};
  how.value_of_position.add(p.positions, {p.values_position_stride});
  accumulate(positions, how);
  return {};
}

}  // namespace

GRADUS_CUDA_KERNEL(index_get, get)
GRADUS_CUDA_KERNEL(index_put, put)

}  // namespace gradus::inline v0::kernels::cuda
