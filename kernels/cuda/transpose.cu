// Transposed copies by way of shared memory, so that both sides are accessed in whole sectors.
#include "kernels/cuda/transpose.h"

#include <kernels/visit.h>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/loop_parts.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kThreads = 256;

/// Matrices of `rows` x `columns`: columns are dense in what is read, rows in what is written.
struct Matrices {
  const char* from;
  char* to;
  uint32_t rows, columns;
  int32_t from_row, to_column;  // from one to the next, in bytes
  Divisor row_tiles, column_tiles;
  // The other dimensions.
  int batch_dims;
  Divisor sizes[kMaxKernelDims];
  int32_t from_strides[kMaxKernelDims], to_strides[kMaxKernelDims];
};

/// A block moves a square tile.
template <class T, int kSide>
__global__ void __launch_bounds__(kThreads) transpose_kernel(Matrices m) {
  // Columns of the tile begin in different banks.
  constexpr int kPitch = kSide + (sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1);
  constexpr int kStep = kThreads / kSide;
  GRADUS_SHARED(T, tile, [kSide][kPitch]);

  uint32_t rest = m.row_tiles.quotient(blockIdx.x);
  const uint32_t row0 = (blockIdx.x - rest * m.row_tiles.divisor) * kSide;
  uint32_t batch = m.column_tiles.quotient(rest);
  const uint32_t column0 = (rest - batch * m.column_tiles.divisor) * kSide;
  const char* from = m.from;
  char* to = m.to;
  for (int d = 0; d < m.batch_dims; ++d) {
    const uint32_t outer = m.sizes[d].quotient(batch);
    const auto within = static_cast<int32_t>(batch - outer * m.sizes[d].divisor);
    from += within * m.from_strides[d];
    to += within * m.to_strides[d];
    batch = outer;
  }

  const uint32_t x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  if (column0 + x < m.columns) {
#pragma unroll
    for (int i = 0; i < kSide; i += kStep) {
      if (row0 + y + i < m.rows) {
        const char* row = from + static_cast<int64_t>(row0 + y + i) * m.from_row;
        tile[y + i][x] = reinterpret_cast<const T*>(row)[column0 + x];
      }
    }
  }
  __syncthreads();
  if (row0 + x < m.rows) {
#pragma unroll
    for (int i = 0; i < kSide; i += kStep) {
      if (column0 + y + i < m.columns) {
        char* column = to + static_cast<int64_t>(column0 + y + i) * m.to_column;
        reinterpret_cast<T*>(column)[row0 + x] = tile[x][y + i];
      }
    }
  }
}

constexpr int64_t kLeast = 16;  // rows and columns: with fewer of them most of a tile would be idle

// The dimension along which the input is dense, where dimension 0 is that of the output; 0 for none.
int across(const Loop& l, int64_t item) {
  if (l.strides[0][0] != item || l.strides[0][1] == item || l.sizes[0] < kLeast) return 0;
  for (int d = 1; d < l.ndim; ++d) {
    if (l.strides[d][1] == item && l.sizes[d] >= kLeast) return d;
  }
  return 0;
}

template <class T>
void move_part(const char* name, const Loop& l) {
  constexpr int kSide = sizeof(T) < 4 ? 64 : 32;
  const int column_dim = across(l, sizeof(T));
  Matrices m = {};
  m.from = l.data[1];
  m.to = l.data[0];
  m.rows = static_cast<uint32_t>(l.sizes[0]);
  m.columns = static_cast<uint32_t>(l.sizes[column_dim]);
  m.from_row = static_cast<int32_t>(l.strides[0][1]);
  m.to_column = static_cast<int32_t>(l.strides[column_dim][0]);
  const int64_t row_tiles = ceil_div(l.sizes[0], kSide), column_tiles = ceil_div(l.sizes[column_dim], kSide);
  m.row_tiles = Divisor(static_cast<uint32_t>(row_tiles));
  m.column_tiles = Divisor(static_cast<uint32_t>(column_tiles));
  for (int d = 1; d < l.ndim; ++d) {
    if (d == column_dim) continue;
    m.sizes[m.batch_dims] = Divisor(static_cast<uint32_t>(l.sizes[d]));
    m.to_strides[m.batch_dims] = static_cast<int32_t>(l.strides[d][0]);
    m.from_strides[m.batch_dims++] = static_cast<int32_t>(l.strides[d][1]);
  }
  const int64_t batches = l.numel / l.sizes[0] / l.sizes[column_dim];
  launch(name, &transpose_kernel<T, kSide>, static_cast<unsigned>(row_tiles * column_tiles * batches), kThreads, 0, m);
}

}  // namespace

bool move_transposed(const char* name, const Loop& l) {
  const auto item = static_cast<int64_t>(element_size(l.dtype));
  if (l.on_host != 0 || l.numel < 4096) return false;
  struct Call {
    const char* name;
    int64_t item;
    bool all;
  } call = {name, item, true};
  // All parts or none: looked at first, then moved.
  for_parts(
      l,
      [](void* c, const Loop& part) { static_cast<Call*>(c)->all &= across(part, static_cast<Call*>(c)->item) != 0; },
      &call);
  if (!call.all) return false;
  for_parts(
      l,
      [](void* c, const Loop& part) {
        visit_width(static_cast<size_t>(static_cast<Call*>(c)->item),
                    [&]<class T>() { move_part<T>(static_cast<Call*>(c)->name, part); });
      },
      &call);
  return true;
}

}  // namespace gradus::inline v0::kernels::cuda
