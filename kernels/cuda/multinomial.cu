// Draws of column numbers by weight.
#include <limits>

#include "kernels/cuda/block_scan.h"
#include "kernels/cuda/data_error.h"
#include "kernels/cuda/numeric.h"
#include "kernels/cuda/random_fill.h"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda/sorting.h"
#include "kernels/random.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kRowThreads = 512, kRowWarps = kRowThreads / kWarp;
constexpr int kEach = 4;  // neighbours of a row that a thread adds up

// What is wrong with a weight: a WeightError.
template <class C>
__device__ unsigned fault_of(C weight) {
  if (!(weight >= 0)) return static_cast<unsigned>(WeightError::kNegative);
  return weight <= std::numeric_limits<C>::max() ? 0u : static_cast<unsigned>(WeightError::kNotFinite);
}

/// Adds up over the block, in an order of its own, and gives every thread the sum.
template <class C>
__device__ C block_sum(C value, C* partial) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, step);
  }
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  C sum = C(0);
  for (unsigned w = 0; w < kRowWarps; ++w) sum += partial[w];
  __syncthreads();
  return sum;
}

/// Reports what is wrong with a row: with a weight that the thread saw, or else with their sum.
template <class C>
__device__ void report_row(unsigned fault, C sum, int64_t row, const DataErrorSlot& errors) {
  const bool any = __syncthreads_or(fault != 0) != 0;
  if (!any && threadIdx.x == 0 && !(sum > 0)) fault = static_cast<unsigned>(WeightError::kZeroSum);
  if (fault != 0) errors.report(kWeight, row, fault, 0);
}

/// A block for each row: the sums of the weights up to and with each, of those divided by their sum.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    sum_weights(const T* weights, Compute<T>* sums, int64_t rows, int64_t n, DataErrorSlot errors) {
  using C = Compute<T>;
  GRADUS_SHARED(C, partial, [kRowWarps]);
  GRADUS_SHARED(C, scan, [2][kRowWarps]);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* w = weights + row * n;
    C sum = C(0);
    unsigned fault = 0;
    for (int64_t i = threadIdx.x; i < n; i += kRowThreads) {
      const C v = load(w + i);
      sum += v;
      if (fault == 0) fault = fault_of(v);
    }
    sum = block_sum(sum, partial);
    report_row(fault, sum, row, errors);
    C before = C(0), all;
    int turn = 0;
    for (int64_t base = 0; base < n; base += kRowThreads * kEach, turn ^= 1) {
      const int64_t first = base + static_cast<int64_t>(threadIdx.x) * kEach;
      C part[kEach];
      C here = C(0);
      for (int k = 0; k < kEach; ++k) {
        if (first + k < n) here += load(w + first + k) / sum;
        part[k] = here;
      }
      const C start = before + block_exclusive_sum(here, scan[turn], &all);
      for (int k = 0; k < kEach; ++k) {
        if (first + k < n) sums[row * n + first + k] = start + part[k];
      }
      before += all;
    }
    __syncthreads();
  }
}

// The column whose share of (0, 1] holds v.
template <class T, class C>
__device__ int64_t find_column(const C* sums, const T* weights, int64_t n, C v) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (sums[middle] < v) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  // Rounding may leave the last sum below 1.
  if (low == n) low = n - 1;
  while (low > 0 && load(weights + low) == 0) --low;
  return low;
}

constexpr unsigned kDrawThreads = 128;

/// As PyTorch: threads along the draws of a row, blocks of the grid's second dimension along rows.
template <class T>
__global__ void __launch_bounds__(kDrawThreads)
    draw_columns(const Compute<T>* sums, const T* weights, int64_t* out, int64_t rows, int64_t n, int64_t draws_each,
                 PhiloxState state) {
  using C = Compute<T>;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kDrawThreads + threadIdx.x;
  const int64_t width = static_cast<int64_t>(gridDim.x) * kDrawThreads;
  PhiloxDraws draws(state, static_cast<uint64_t>(blockIdx.y * width + column));
  for (int64_t row = blockIdx.y; column < draws_each && row < rows; row += gridDim.y) {
    // For 16-bit weights PyTorch rounds the draw; that would favour some columns.
    const C v = static_cast<C>(uniform_float(draws.next().x[0]));
    out[row * draws_each + column] = find_column(sums + row * n, weights + row * n, n, v);
  }
}

WeightError draw(const View& out, const ConstView& weights, GeneratorImpl& g) {
  const int64_t rows = weights.sizes[0], n = weights.sizes[1], draws_each = out.sizes[1];
  if (rows == 0 || draws_each == 0) return WeightError::kNone;
  visit_floating(weights.dtype, [&]<class T>() {
    using C = Compute<T>;
    const Scratch memory(static_cast<size_t>(rows * n) * sizeof(C));
    launch("multinomial_sums", sum_weights<T>, static_cast<unsigned>(std::min<int64_t>(rows, 65535)), kRowThreads, 0,
           weights.as<T>(), memory.as<C>(), rows, n, data_error_slot("multinomial"));
    const dim3 grid(static_cast<unsigned>(ceil_div(draws_each, kDrawThreads)),
                    static_cast<unsigned>(std::min<int64_t>(rows, 65535)));
    const PhiloxState state = cuda_generator(g).reserve(static_cast<uint64_t>(ceil_div(rows, grid.y)) * 4);
    launch("multinomial_draw", draw_columns<T>, grid, kDrawThreads, 0, memory.as<C>(), weights.as<T>(),
           out.as<int64_t>(), rows, n, draws_each, state);
  });
  return WeightError::kNone;
}

// --- without replacement ---

/// A candidate for the greatest: NaN above all, the first of equals.
template <class C>
struct Greatest {
  C value;
  int64_t column;
  __device__ void take(C v, int64_t at) {
    const bool more = v > value || (v != v && value == value);
    const bool same = v == value || (v != v && value != value);
    if (column < 0 || more || (same && at < column)) value = v, column = at;
  }
};

/// A block for each row: exponential = weights / exponential, and the greatest's column where `greatest` is not null.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    divide_weights(const T* weights, T* exponential, int64_t* greatest, int64_t rows, int64_t n, DataErrorSlot errors) {
  using C = Compute<T>;
  GRADUS_SHARED(C, partial, [kRowWarps]);
  GRADUS_SHARED(C, values, [kRowWarps]);
  GRADUS_SHARED(int64_t, columns, [kRowWarps]);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* w = weights + row * n;
    T* keys = exponential + row * n;
    C sum = C(0);
    unsigned fault = 0;
    Greatest<C> best = {C(0), -1};
    for (int64_t i = threadIdx.x; i < n; i += kRowThreads) {
      const C v = load(w + i);
      sum += v;
      if (fault == 0) fault = fault_of(v);
      const T key = narrow<T>(v / load(keys + i));
      keys[i] = key;
      best.take(widen(key), i);
    }
    report_row(fault, block_sum(sum, partial), row, errors);
    if (greatest == nullptr) continue;
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const C value = __shfl_xor_sync(0xffffffffu, best.value, step);
      const auto column = static_cast<int64_t>(__shfl_xor_sync(0xffffffffu, static_cast<long long>(best.column), step));
      if (column >= 0) best.take(value, column);
    }
    if (threadIdx.x % kWarp == 0) values[threadIdx.x / kWarp] = best.value, columns[threadIdx.x / kWarp] = best.column;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (unsigned k = 1; k < kRowWarps; ++k) {
        if (columns[k] >= 0) best.take(values[k], columns[k]);
      }
      greatest[row] = best.column;
    }
    __syncthreads();
  }
}

void divide(const ConstView& weights, const View& exponential, int64_t* greatest) {
  visit_floating(weights.dtype, [&]<class T>() {
    const int64_t rows = weights.sizes[0];
    launch("multinomial_divide", divide_weights<T>, static_cast<unsigned>(std::min<int64_t>(rows, 65535)), kRowThreads,
           0, weights.as<T>(), exponential.as<T>(), greatest, rows, weights.sizes[1], data_error_slot("multinomial"));
  });
}

WeightError pick(const View& out, const ConstView& weights, const View& exponential) {
  const int64_t rows = weights.sizes[0], picks = out.sizes[1];
  if (rows == 0 || picks == 0) return WeightError::kNone;
  if (picks == 1) {
    divide(weights, exponential, out.as<int64_t>());
    return WeightError::kNone;
  }
  divide(weights, exponential, nullptr);
  const Scratch memory(static_cast<size_t>(rows * picks) * element_size(weights.dtype));
  const int64_t sizes[] = {rows, picks}, strides[] = {picks, 1};
  const View values = {memory.as<void>(), sizes, strides, 2, weights.dtype, out.device};
  sort_along(values, out, exponential, 1, true);
  return WeightError::kNone;
}

}  // namespace

GRADUS_CUDA_KERNEL(multinomial_draw, draw)
GRADUS_CUDA_KERNEL(multinomial_pick, pick)

}  // namespace gradus::inline v0::kernels::cuda
