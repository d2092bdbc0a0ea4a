// Rows of a table by index, and the table's gradient.
#include "kernels/embedding.h"

#include "kernels/cuda/data_error.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"
#include "kernels/cuda/radix_sort.h"
#include "kernels/cuda/segmented_sum.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr int kEach = 4;  // elements that a thread has under way at once

/// int32 or int64 indices.
struct Indices {
  const void* data;
  bool wide;
  explicit Indices(const ConstView& v) : data(v.data), wide(v.dtype == ScalarType::Long) {}
  __device__ int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

// Elements of type T, `width` of which make a row; the table's rows lie `stride` apart.
template <class T, class I>
__global__ void __launch_bounds__(kThreads, 5)
    copy_rows(const T* table, T* output, Indices indices, DataErrorSlot errors, int64_t rows, int64_t stride,
              IndexDivider<I> width, I total) {
  const I step = static_cast<I>(gridDim.x) * (kThreads * kEach);
  for (I base = static_cast<I>(blockIdx.x) * (kThreads * kEach) + threadIdx.x; base < total; base += step) {
    T value[kEach];
    bool good[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const I at = base + static_cast<I>(k) * kThreads;
      good[k] = at < total;
      if (!good[k]) continue;
      const I position = width.quotient(at), column = at - position * width.divisor;
      const int64_t row = indices[static_cast<int64_t>(position)];
      good[k] = row >= 0 && row < rows;
      if (good[k]) {
        value[k] = table[row * stride + static_cast<int64_t>(column)];
      } else {
        errors.report(kIndexOutOfRange, static_cast<int64_t>(position), row, rows);
      }
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      if (good[k]) output[base + static_cast<I>(k) * kThreads] = value[k];
    }
  }
}

BadIndex forward(View output, ConstView weight, ConstView indices) {
  const int64_t count = numel_of(indices);
  size_t item = element_size(weight.dtype), wide = 16;
  const size_t row_bytes = static_cast<size_t>(weight.sizes[1]) * item,
               pitch = static_cast<size_t>(weight.strides[0]) * item;
  if (count == 0 || row_bytes == 0) return {};
  // The widest type that rows on both sides are made of.
  const uint64_t all =
      reinterpret_cast<uintptr_t>(weight.data) | reinterpret_cast<uintptr_t>(output.data) | row_bytes | pitch;
  while (all % wide != 0) wide /= 2;
  const auto width = static_cast<int64_t>(row_bytes / wide), total = count * width;
  visit_index_width(total, [&]<class I>() {
    visit_width(wide, [&]<class T>() {
      launch("embedding", copy_rows<T, I>, blocks_for(ceil_div(total, kEach), kThreads), kThreads, 0, weight.as<T>(),
             output.as<T>(), Indices(indices), data_error_slot("embedding"), weight.sizes[0],
             static_cast<int64_t>(pitch / wide), IndexDivider<I>(static_cast<uint64_t>(width)), static_cast<I>(total));
    });
  });
  return {};
}

// --- backward ---

/// Rows without a gradient have the greatest key.
__global__ void __launch_bounds__(kThreads)
    rows_as_keys(Indices indices, PositionKeys keys, int64_t count, int64_t rows, int64_t padding) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const int64_t row = indices[i];
    keys.store(i, static_cast<uint64_t>(row < 0 || row >= rows || row == padding ? rows : row));
  }
}

__global__ void __launch_bounds__(kThreads) clear_bytes(char* data, int64_t nbytes) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads,
                index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t packs = reinterpret_cast<uintptr_t>(data) % 16 == 0 ? nbytes / 16 : 0;
  for (int64_t i = index; i < packs; i += step) reinterpret_cast<uint4*>(data)[i] = make_uint4(0, 0, 0, 0);
  for (int64_t i = packs * 16 + index; i < nbytes; i += step) data[i] = 0;
}

/// The Terms of sum_runs.
template <class T>
struct RowSums {
  using Sum = Compute<T>;
  using Column = int64_t;
  T* grad_weight;
  const T* grad_output;
  int64_t width;
  bool by_frequency;
  __device__ Column column(int64_t c) const { return c; }
  __device__ Sum load(int64_t position, Column c) const { return widen(grad_output[position * width + c]); }
  __device__ Sum add(Sum a, Sum b) const { return a + b; }
  __device__ void finish(int64_t, uint64_t row, Column c, Sum sum, int64_t times) const {
    if (by_frequency) sum /= static_cast<Sum>(times);
    grad_weight[static_cast<int64_t>(row) * width + c] = narrow<T>(sum);
  }
};

template <class Key>
void sum_rows(View grad_weight, ConstView grad_output, ConstView indices, int64_t padding, bool by_frequency) {
  const int64_t count = numel_of(indices), rows = grad_weight.sizes[0], width = grad_weight.sizes[1];
  const Scratch memory(static_cast<size_t>(count) * sizeof(Key));
  const PositionKeys keys = {memory.as<Key>(), sizeof(Key) == 8};
  launch("rows_as_keys", rows_as_keys, blocks_for(count, kThreads), kThreads, 0, Indices(indices), keys, count, rows,
         padding);
  const auto sorted = radix_sort(memory.as<Key>(), 1, count, bits_below(static_cast<uint64_t>(rows) + 1));
  const SortedKeys runs = {
      {const_cast<Key*>(sorted.keys), keys.wide}, sorted.order, count, static_cast<uint64_t>(rows)};
  visit_floating(grad_weight.dtype, [&]<class T>() {
    sum_runs("embedding_backward", runs, RowSums<T>{grad_weight.as<T>(), grad_output.as<T>(), width, by_frequency},
             width);
  });
}

void backward(View grad_weight, ConstView grad_output, ConstView indices, int64_t padding_index,
              bool scale_by_frequency) {
  const int64_t nbytes = numel_of(grad_weight) * static_cast<int64_t>(element_size(grad_weight.dtype));
  if (nbytes == 0) return;
  launch("clear_bytes", clear_bytes, blocks_for(ceil_div(nbytes, 16), kThreads), kThreads, 0, grad_weight.as<char>(),
         nbytes);
  if (numel_of(indices) == 0) return;
  if (grad_weight.sizes[0] < INT32_MAX) {
    sum_rows<uint32_t>(grad_weight, grad_output, indices, padding_index, scale_by_frequency);
  } else {
    sum_rows<uint64_t>(grad_weight, grad_output, indices, padding_index, scale_by_frequency);
  }
}

}  // namespace

GRADUS_CUDA_KERNEL(embedding_forward, forward)
GRADUS_CUDA_KERNEL(embedding_backward, backward)

}  // namespace gradus::inline v0::kernels::cuda
