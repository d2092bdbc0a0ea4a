// Reading and writing along one dimension at places that an index names.
#include "kernels/cuda/arithmetic.h"
#include "kernels/cuda/data_error.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/positions.h"
#include "kernels/indexing.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr int kEach = 4;  // elements that a thread has under way at once

int64_t size_along(const ConstView& v, int dim) {
  return v.ndim == 0 ? 1 : v.sizes[dim];
}
int64_t stride_along(const ConstView& v, int dim) {
  return v.ndim == 0 ? 0 : v.strides[dim] * static_cast<int64_t>(element_size(v.dtype));
}

/// Places along the dimension: their number and their distance.
struct Line {
  int64_t size, stride;
  DataErrorSlot errors;
  /// The place's distance from the line's first; -1, and a report, where there is no such place.
  __device__ int64_t offset(int64_t place, int64_t position) const {
    if (place >= 0 && place < size) return place * stride;
    errors.report(kIndexOutOfRange, position, place, size);
    return -1;
  }
};

// --- gather ---

// The walk's operands: out, self without the dimension, index.
template <class T, class I>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(char* out, const char* self, const char* index, StridedWalk<3, I> walk, Line line, I total) {
  const I step = static_cast<I>(gridDim.x) * (kThreads * kEach);
  for (I base = static_cast<I>(blockIdx.x) * (kThreads * kEach) + threadIdx.x; base < total; base += step) {
    T value[kEach];
    int64_t to[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const I at = base + static_cast<I>(k) * kThreads;
      to[k] = -1;
      if (at >= total) continue;
      int64_t offset[3];
      walk.locate(at, offset);
      const int64_t along = line.offset(*reinterpret_cast<const int64_t*>(index + offset[2]), static_cast<int64_t>(at));
      if (along < 0) continue;
      to[k] = offset[0];
      value[k] = *reinterpret_cast<const T*>(self + offset[1] + along);
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      if (to[k] >= 0) *reinterpret_cast<T*>(out + to[k]) = value[k];
    }
  }
}

BadIndex gather_from(View out, ConstView self, ConstView index, int dim) {
  const int64_t total = numel_of(index);
  if (total == 0) return {};
  const auto item = static_cast<int64_t>(element_size(self.dtype));
  WalkDims<3> dims;
  for (int d = index.ndim; d-- > 0;) {
    const int64_t self_stride = d == dim ? 0 : self.strides[d] * item;
    dims.add(index.sizes[d], {out.strides[d] * item, self_stride, index.strides[d] * 8});
  }
  const Line line = {size_along(self, dim), stride_along(self, dim), data_error_slot("gather")};
  visit_index_width(total, [&]<class I>() {
    const StridedWalk<3, I> walk(dims);
    visit_width(static_cast<size_t>(item), [&]<class T>() {
      launch("gather", gather_kernel<T, I>, blocks_for(ceil_div(total, kEach), kThreads), kThreads, 0, out.as<char>(),
             self.as<char>(), index.as<char>(), walk, line, static_cast<I>(total));
    });
  });
  return {};
}

// --- scatter ---

/// The operands of a scatter; a thread takes a line of `length` indices in order. The walk's operands are self without
/// the dimension, src, index.
struct Scattering {
  char* self;
  const char *src, *index;
  Line line;
  StridedWalk<3, uint64_t> lines;
  IndexDivider<uint64_t> inner;  // of the lines: those that follow the dimension
  int64_t count, length, src_stride, index_stride;

  template <class T, class Write>
  __device__ void run(const Write& write) const {
    const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
    for (int64_t l = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; l < count; l += step) {
      int64_t offset[3];
      lines.locate(static_cast<uint64_t>(l), offset);
      const auto outer = static_cast<int64_t>(inner.quotient(static_cast<uint64_t>(l)));
      const auto step_in = static_cast<int64_t>(inner.divisor);
      // The position of the line's first index among all, in order.
      const int64_t first = outer * length * step_in + (l - outer * step_in);
      for (int64_t i = 0; i < length; ++i) {
        const int64_t place = *reinterpret_cast<const int64_t*>(index + offset[2] + i * index_stride);
        const int64_t along = line.offset(place, first + i * step_in);
        if (along < 0) continue;
        write(reinterpret_cast<T*>(self + offset[0] + along),
              *reinterpret_cast<const T*>(src + offset[1] + i * src_stride));
      }
    }
  }
};

struct Assign {
  template <class T>
  __device__ void operator()(T* to, T v) const {
    store_shared_value(to, v);
  }
};
struct AddOrMultiply {
  bool multiply;
  template <class T>
  __device__ void operator()(T* to, T v) const {
    using A = Arithmetic<T>;
    const auto a = A::from(*to), b = A::from(v);
    *to = A::to(multiply ? A::multiply(a, b) : A::add(a, b));
  }
};

template <class T, class Write>
__global__ void __launch_bounds__(kThreads) scatter_lines(Scattering s, Write write) {
  s.run<T>(write);
}

// The walk's operands: index, self without the dimension in bytes, and in elements of a dense tensor.
__global__ void __launch_bounds__(kThreads)
    find_places(const char* index, StridedWalk<3, uint64_t> walk, Line line, int64_t dense_stride, PositionKeys keys,
                int64_t* offset, int64_t count, uint64_t places) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    int64_t at[3];
    walk.locate(static_cast<uint64_t>(i), at);
    const int64_t place = *reinterpret_cast<const int64_t*>(index + at[0]);
    const int64_t along = line.offset(place, i);
    offset[i] = along < 0 ? -1 : at[1] + along;
    keys.store(i, along < 0 ? places : static_cast<uint64_t>(at[2] + place * dense_stride));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    assign_positions(char* self, const char* src, StridedWalk<1, uint64_t> walk, const int64_t* offset, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const int64_t to = offset[i];
    if (to < 0) continue;
    int64_t from[1];
    walk.locate(static_cast<uint64_t>(i), from);
    *reinterpret_cast<T*>(self + to) = *reinterpret_cast<const T*>(src + from[0]);
  }
}

// Line by line: `whole` lines of the index along `dim`, or each index as a line of its own.
void by_lines(const View& self, const ConstView& index, const ConstView& src, int dim, Scatter how, const Line& line,
              bool whole) {
  const auto item = static_cast<int64_t>(element_size(self.dtype));
  WalkDims<3> dims;
  int64_t inner = 1, count = 1;
  for (int d = index.ndim; d-- > 0;) {
    if (whole && d == dim) {
      inner = count;
      continue;
    }
    dims.add(index.sizes[d], {d == dim ? 0 : self.strides[d] * item, src.strides[d] * item, index.strides[d] * 8});
    count *= index.sizes[d];
  }
  Scattering s{};
  s.self = self.as<char>(), s.src = src.as<char>(), s.index = index.as<char>();
  s.line = line;
  s.lines = StridedWalk<3, uint64_t>(dims);
  s.inner = IndexDivider<uint64_t>(static_cast<uint64_t>(inner));
  s.count = count, s.length = whole ? size_along(index, dim) : 1;
  s.src_stride = stride_along(src, dim), s.index_stride = stride_along(index, dim);
  const unsigned blocks = blocks_for(count, kThreads);
  if (how == Scatter::kAssign) {
    visit_width(static_cast<size_t>(item),
                [&]<class T>() { launch("scatter", scatter_lines<T, Assign>, blocks, kThreads, 0, s, Assign()); });
  } else {
    visit_arithmetic(self.dtype, [&]<class T>() {
      launch("scatter", scatter_lines<T, AddOrMultiply>, blocks, kThreads, 0, s,
             AddOrMultiply{how == Scatter::kMultiply});
    });
  }
}

// All indices at once; what falls on one place is put in order first.
void by_places(const View& self, const ConstView& index, const ConstView& src, int dim, Scatter how, const Line& line) {
  const auto item = static_cast<int64_t>(element_size(self.dtype));
  const int64_t count = numel_of(index);
  WalkDims<3> dims;
  WalkDims<1> src_dims;
  int64_t dense = 1, dense_along = 1;
  for (int d = index.ndim; d-- > 0;) {
    if (d == dim) dense_along = dense;
    dims.add(index.sizes[d], {index.strides[d] * 8, d == dim ? 0 : self.strides[d] * item, d == dim ? 0 : dense});
    src_dims.add(index.sizes[d], {src.strides[d] * item});
    dense *= self.sizes[d];
  }
  const Positions positions = allocate_positions("scatter_", count, static_cast<uint64_t>(dense));
  const unsigned blocks = blocks_for(count, kThreads);
  launch("find_places", find_places, blocks, kThreads, 0, index.as<char>(), StridedWalk<3, uint64_t>(dims), line,
         dense_along, positions.key, positions.offset, count, positions.places);
  if (how != Scatter::kAssign) {
    accumulate(positions,
               {self.dtype, how == Scatter::kMultiply, self.as<char>(), src.as<char>(), WalkDims<2>(), src_dims});
    return;
  }
  keep_last(positions);
  visit_width(static_cast<size_t>(item), [&]<class T>() {
    launch("scatter", assign_positions<T>, blocks, kThreads, 0, self.as<char>(), src.as<char>(),
           StridedWalk<1, uint64_t>(src_dims), positions.offset, count);
  });
}

BadIndex scatter_into(View self, ConstView index, ConstView src, int dim, Scatter how) {
  const int64_t count = numel_of(index);
  if (count == 0) return {};
  const Line line = {size_along(self, dim), stride_along(self, dim), data_error_slot("scatter_")};
  bool one_value = true;
  for (int d = 0; d < index.ndim; ++d) one_value = one_value && (src.strides[d] == 0 || index.sizes[d] == 1);
  const int64_t length = size_along(index, dim), lines = count / length;
  // A thread can take the indices of a line in order where there are threads enough, or little to do.
  const bool serial = length <= 32 || (length <= 1024 && lines >= 8192);
  if (how == Scatter::kAssign && one_value) {
    by_lines(self, index, src, dim, how, line, false);
  } else if (serial) {
    by_lines(self, index, src, dim, how, line, true);
  } else {
    by_places(self, index, src, dim, how, line);
  }
  return {};
}

}  // namespace

GRADUS_CUDA_KERNEL(gather, gather_from)
GRADUS_CUDA_KERNEL(scatter, scatter_into)

}  // namespace gradus::inline v0::kernels::cuda
