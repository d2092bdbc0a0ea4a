// Sums over runs of equal keys, always in the same order.
//
// The sorted keys are cut into pieces of kPieceKeys. A thread adds up one run of one piece for one column. What lies
// within a piece is finished; the parts of longer runs go to memory, from where a second kernel adds them up.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/positions.h"
#include "kernels/cuda/scratch.h"

namespace gradus::inline v0::kernels::cuda {

constexpr int64_t kPieceKeys = 32;

/// Sorted keys and where each came from.
struct SortedKeys {
  PositionKeys keys;
  const uint32_t* order;  // null: they were in order
  int64_t count;
  uint64_t limit;  // keys from it on are not summed
  __device__ int64_t position(int64_t i) const { return order == nullptr ? i : order[i]; }
};

// What a kernel is given beside the keys is a Terms:
//   using Sum;                                             what is added up
//   Column column(int64_t c);                              of the columns 0 .. columns - 1
//   Sum load(int64_t position, const Column&);             a term
//   Sum add(Sum, Sum);
//   void finish(int64_t position, uint64_t key, const Column&, Sum, int64_t terms);  the first of the run's positions

/// Two sums for each piece: of the run that began before it, and of the one that goes on behind it.
template <class Sum>
struct PartialSums {
  Sum* data;
  int64_t columns;
  IndexDivider<uint64_t> by_columns;
  __device__ Sum& begun_before(int64_t piece, int64_t column) const { return data[2 * piece * columns + column]; }
  __device__ Sum& goes_on(int64_t piece, int64_t column) const { return data[(2 * piece + 1) * columns + column]; }
};

template <class Terms>
__global__ void __launch_bounds__(256)
    sum_pieces(SortedKeys sorted, Terms terms, PartialSums<typename Terms::Sum> partial, int64_t work) {
  using Sum = typename Terms::Sum;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t w = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; w < work; w += step) {
    const int64_t piece = static_cast<int64_t>(partial.by_columns.quotient(static_cast<uint64_t>(w))),
                  c = w - piece * partial.columns;
    const int64_t begin = piece * kPieceKeys, end = min(begin + kPieceKeys, sorted.count);
    const auto column = terms.column(c);
    for (int64_t i = begin; i < end;) {
      const uint64_t key = sorted.keys.load(i);
      if (key >= sorted.limit) break;
      const int64_t first = i;
      Sum sum = terms.load(sorted.position(i), column);
      for (++i; i < end && sorted.keys.load(i) == key; ++i)
        sum = terms.add(sum, terms.load(sorted.position(i), column));
      const bool starts = first > begin || begin == 0 || sorted.keys.load(begin - 1) != key;
      const bool ends = i < end || end == sorted.count || sorted.keys.load(end) != key;
      if (starts && ends) {
        terms.finish(sorted.position(first), key, column, sum, i - first);
      } else if (starts) {
        partial.goes_on(piece, c) = sum;
      } else {
        partial.begun_before(piece, c) = sum;
      }
    }
  }
}

/// The first place from `low` on whose key is not `key`.
__device__ inline int64_t end_of_run(const SortedKeys& sorted, int64_t low, uint64_t key) {
  int64_t high = sorted.count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (sorted.keys.load(middle) == key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

constexpr unsigned kRunRows = 8;  // threads that share a run's column

/// A block for each piece whose last run starts in it and goes on: adds up the run's parts.
template <class Terms>
__global__ void sum_long_runs(SortedKeys sorted, Terms terms, PartialSums<typename Terms::Sum> partial) {
  using Sum = typename Terms::Sum;
  GRADUS_DYNAMIC_SHARED(Sum, sums);  // [kRunRows][kWarp]
  const int64_t piece = blockIdx.x, begin = piece * kPieceKeys, end = begin + kPieceKeys;
  const uint64_t key = sorted.keys.load(end - 1);
  if (key >= sorted.limit || sorted.keys.load(end) != key) return;
  if (begin != 0 && sorted.keys.load(begin - 1) == key) return;
  int64_t first = end - 1;
  while (first > begin && sorted.keys.load(first - 1) == key) --first;
  const int64_t run_end = end_of_run(sorted, end, key), last_piece = (run_end - 1) / kPieceKeys;
  const unsigned lane = threadIdx.x % kWarp, row = threadIdx.x / kWarp;
  for (int64_t base = 0; base < partial.columns; base += kWarp) {
    const int64_t c = base + lane;
    const bool there = c < partial.columns;
    const int64_t from = piece + 1 + row;
    if (there && from <= last_piece) {
      Sum sum = partial.begun_before(from, c);
      for (int64_t p = from + kRunRows; p <= last_piece; p += kRunRows)
        sum = terms.add(sum, partial.begun_before(p, c));
      sums[threadIdx.x] = sum;
    }
    __syncthreads();
    if (there && row == 0) {
      Sum sum = partial.goes_on(piece, c);
      for (unsigned r = 0; r < kRunRows && piece + 1 + r <= last_piece; ++r)
        sum = terms.add(sum, sums[r * kWarp + lane]);
      terms.finish(sorted.position(first), key, terms.column(c), sum, run_end - first);
    }
    __syncthreads();
  }
}

/// Adds up `columns` columns of all runs.
template <class Terms>
void sum_runs(const char* name, const SortedKeys& sorted, const Terms& terms, int64_t columns) {
  using Sum = typename Terms::Sum;
  const int64_t pieces = ceil_div(sorted.count, kPieceKeys), whole = pieces - 1;
  if (pieces == 0 || columns == 0) return;
  const Scratch memory(pieces > 1 ? static_cast<size_t>(2 * pieces * columns) * sizeof(Sum) : 0);
  const PartialSums<Sum> partial = {memory.as<Sum>(), columns, IndexDivider<uint64_t>(static_cast<uint64_t>(columns))};
  launch(name, sum_pieces<Terms>, blocks_for(pieces * columns, 256), 256, 0, sorted, terms, partial, pieces * columns);
  launch(name, sum_long_runs<Terms>, static_cast<unsigned>(whole), kWarp * kRunRows, kWarp * kRunRows * sizeof(Sum),
         sorted, terms, partial);
}

}  // namespace gradus::inline v0::kernels::cuda
