#include "kernels/cuda/layout.h"

#include <algorithm>
#include <utility>

#include "kernels/cuda/launch.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

/// Dimensions without those of size 1, neighbours that are one in both layouts merged; outermost first.
struct Layouts {
  int ndim = 0;
  int64_t sizes[kMostLayoutDims], from[kMostLayoutDims], to[kMostLayoutDims];

  int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= sizes[i];
    return n;
  }
  /// The dimension in which `strides` is contiguous; -1 if none.
  int contiguous(const int64_t* strides) const {
    const int64_t* const found = std::find(strides, strides + ndim, 1);
    return found == strides + ndim ? -1 : static_cast<int>(found - strides);
  }
  void remove(int d) {
    --ndim;
    for (int i = d; i < ndim; ++i) sizes[i] = sizes[i + 1], from[i] = from[i + 1], to[i] = to[i + 1];
  }
};

Layouts simplify(int ndim, const int64_t* sizes, const int64_t* from, const int64_t* to) {
  Layouts l;
  for (int i = 0; i < ndim; ++i) {
    if (sizes[i] == 1) continue;
    const int last = l.ndim - 1;
    if (last >= 0 && l.from[last] == sizes[i] * from[i] && l.to[last] == sizes[i] * to[i]) {
      l.sizes[last] *= sizes[i], l.from[last] = from[i], l.to[last] = to[i];
    } else {
      l.sizes[l.ndim] = sizes[i], l.from[l.ndim] = from[i], l.to[l.ndim] = to[i], ++l.ndim;
    }
  }
  return l;
}

template <class I>
struct Index {
  int ndim;
  I sizes[kMostLayoutDims];
  int64_t from[kMostLayoutDims], to[kMostLayoutDims];

  explicit Index(const Layouts& l) : ndim(l.ndim) {
    for (int i = 0; i < ndim; ++i) sizes[i] = static_cast<I>(l.sizes[i]), from[i] = l.from[i], to[i] = l.to[i];
  }
  /// Where the element `flat`, counted in row-major order, lies in both.
  __device__ void find(I flat, int64_t& in, int64_t& out) const {
    in = out = 0;
#pragma unroll
    for (int d = kMostLayoutDims - 1; d >= 0; --d) {
      if (d >= ndim) continue;
      const I rest = flat / sizes[d], i = flat - rest * sizes[d];
      in += static_cast<int64_t>(i) * from[d], out += static_cast<int64_t>(i) * to[d];
      flat = rest;
    }
  }
};

template <class T, class I>
__global__ void __launch_bounds__(256) copy_elements(I count, const T* from, T* to, Index<I> index) {
  const I step = static_cast<I>(gridDim.x) * blockDim.x;
  for (I i = static_cast<I>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    int64_t in, out;
    index.find(i, in, out);
    to[out] = from[in];
  }
}

constexpr int kRows = 8;  // of threads in a transposing block
template <class T>
constexpr int kTileSide = sizeof(T) <= 2 ? 64 : 32;  // 128 bytes, for most

/// Transposes planes: rows of `columns` elements, contiguous in `from` and `to_column` apart in `to`, whose rows are
/// contiguous. The planes are the other dimensions, in `index`.
template <class T>
__global__ void __launch_bounds__(32 * kRows)
    transpose_planes(int64_t planes, int64_t rows, int64_t columns, int64_t from_row, int64_t to_column, const T* from,
                     T* to, Index<int64_t> index) {
  constexpr int kSide = kTileSide<T>;
  GRADUS_SHARED(T, tile, [kSide][kSide + 1]);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int64_t across = (columns + kSide - 1) / kSide, down = (rows + kSide - 1) / kSide;
  for (int64_t t = blockIdx.x; t < planes * across * down; t += gridDim.x) {
    const int64_t column0 = t % across * kSide, row0 = t / across % down * kSide;
    int64_t in, out;
    index.find(t / across / down, in, out);
    for (int i = y; i < kSide; i += kRows) {
      for (int j = x; j < kSide; j += 32) {
        if (row0 + i < rows && column0 + j < columns) tile[i][j] = from[in + (row0 + i) * from_row + column0 + j];
      }
    }
    __syncthreads();
    for (int j = y; j < kSide; j += kRows) {
      for (int i = x; i < kSide; i += 32) {
        if (row0 + i < rows && column0 + j < columns) to[out + (column0 + j) * to_column + row0 + i] = tile[i][j];
      }
    }
    __syncthreads();
  }
}

template <class T>
void transpose(const Layouts& l, int row, int column, const T* from, T* to) {
  Layouts planes = l;
  planes.remove(std::max(row, column));
  planes.remove(std::min(row, column));
  const int64_t rows = l.sizes[row], columns = l.sizes[column], count = planes.count();
  const int64_t tiles = count * ceil_div(rows, kTileSide<T>) * ceil_div(columns, kTileSide<T>);
  constexpr int kThreads = 32 * kRows;
  launch("transpose_planes", transpose_planes<T>, dim3(blocks_for(tiles * kThreads, kThreads, 4)), dim3(32, kRows), 0,
         count, rows, columns, l.from[row], l.to[column], from, to, Index<int64_t>(planes));
}

template <class T, class I>
void copy_each(const Layouts& l, const T* from, T* to) {
  const int64_t count = l.count();
  launch("copy_elements", copy_elements<T, I>, dim3(blocks_for(count, 256)), dim3(256), 0, static_cast<I>(count), from,
         to, Index<I>(l));
}

template <class T>
void copy(Layouts l, const T* from, T* to) {
  if (l.count() == 0) return;
  const int row = l.contiguous(l.to), column = l.contiguous(l.from);
  if (row >= 0 && column >= 0 && row != column) return transpose(l, row, column, from, to);
  if (row >= 0) {  // writes go along contiguous memory
    std::swap(l.sizes[row], l.sizes[l.ndim - 1]);
    std::swap(l.from[row], l.from[l.ndim - 1]);
    std::swap(l.to[row], l.to[l.ndim - 1]);
  }
  if (l.count() <= INT32_MAX) {
    copy_each<T, uint32_t>(l, from, to);
  } else {
    copy_each<T, uint64_t>(l, from, to);
  }
}

}  // namespace

void copy_layout(size_t element, int ndim, const int64_t* sizes, const void* from, const int64_t* from_strides,
                 void* to, const int64_t* to_strides) {
  const Layouts l = simplify(ndim, sizes, from_strides, to_strides);
  visit_width(element, [&]<class T>() { copy(l, static_cast<const T*>(from), static_cast<T*>(to)); });
}

}  // namespace gradus::inline v0::kernels::cuda
