// How a reduction is laid over the device: which kernel, how many threads for a result, how many blocks.
#pragma once

#include <vector>

#include <kernels/reduction.h>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/places.h"

namespace gradus::inline v0::kernels::cuda {

/// Where a part of a reduction begins: the offset of its first result, in elements, and the position of the first
/// element that is reduced.
struct ReductionStart {
  int64_t offset = 0, position = 0;
};

/// What a kernel is told.
struct ReductionWork {
  const char* in;
  void* partial;  // partial results, [piece][result], or null where there is one piece
  ReductionStart start;
  uint32_t outputs;
  Places<2> kept;            // strides of the input in bytes, of the result in elements; columns: of `width` neighbours
  int64_t next;              // columns: from a result to its neighbour, in elements
  Places<1> reduced;         // rows: without the innermost
  uint32_t length;           // rows: of a row; else of all that is reduced
  uint32_t rows;             // rows per result
  uint32_t pieces;           // blocks per result
  uint32_t row_pieces;       // rows: so many of them share a row
  uint32_t part, rows_part;  // what a piece has of a length and of the rows
  uint32_t across, along;    // threads of a block over results and over what is reduced: powers of two
  bool reduced_first;        // neighbouring threads are along
};

struct ReductionPlan {
  enum Kind { kRows, kColumns, kStrided } kind;
  ReductionWork work;
  dim3 grid;
  unsigned threads;
};

/// What the planner must know of a kernel.
struct ReductionTraits {
  int item;      // bytes of an element
  int width;     // neighbouring results that a thread of kColumns takes
  bool vectors;  // whether kRows and kColumns are there
};

/// Of neither more results nor more elements per result than kPlacesLimit.
ReductionPlan plan_reduction(const Reduction& r, const ReductionTraits& traits);

/// Where the results go: of both strides those of the result count.
Places<2> results_of(const Reduction& r);

/// Threads for joining `pieces` partial results each.
struct JoinShape {
  unsigned across, along;
};
JoinShape join_shape(uint32_t outputs, uint32_t pieces);

/// A part of a reduction that has more places than a kernel counts.
struct ReductionPart {
  Reduction reduction;
  ReductionStart start;
};
/// Parts whose results are not above `limit`.
std::vector<ReductionPart> split_outputs(const Reduction& r, int64_t limit);
/// Parts of every result, none longer than `limit`.
std::vector<ReductionPart> split_length(const ReductionPart& part, int64_t limit);

}  // namespace gradus::inline v0::kernels::cuda
