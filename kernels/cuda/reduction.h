// Reductions on the device. An operation says how elements enter, how partial results join and where a result goes;
// here is the walk. There is no atomic: a device's result depends on shapes and addresses alone.
//
//     struct Sum { using Acc = float; static constexpr bool kRare = false;
//                  Acc identity() const; Acc map(C x) const; Acc combine(Acc a, Acc b) const;
//                  void write(Acc a, int64_t offset) const; };
//
// In place of map there may be take(Acc&, x[N], at), N elements at once, at.position(k) being the place of the k-th in
// what is reduced. bind(offset) gives the operation as it is for one result, which goes to that offset, in elements. A
// kRare operation has one kernel only, for any strides.
//
// Note [Regimes of a reduction]
// rows     what is reduced lies side by side: a group of 1 to 256 threads for each result, 16 bytes a load.
// columns  results lie side by side: a thread takes up to 8 of them, loads across them, and every `along`-th row.
// strided  any strides, an element a load; neighbouring threads go where the smaller stride is.
// Where results are too few to fill the device, each is cut into pieces, a block each, which a second kernel joins.
#pragma once

#include "kernels/cuda/block.h"
#include "kernels/cuda/reduction_plan.h"
#include "kernels/cuda/row.h"
#include "kernels/cuda/scratch.h"

namespace gradus::inline v0::kernels::cuda {

constexpr int kReductionThreads = 256;
constexpr int kReductionUnroll = 4;  // loads in flight

/// Where in what is reduced the elements are that an operation is given.
template <int kInner>
struct ElementPositions {
  int64_t start;
  uint32_t first, step;
  __device__ int64_t position(int k) const {
    return start + first + static_cast<uint32_t>(k / kInner) * step + static_cast<uint32_t>(k % kInner);
  }
};

template <class Op>
__device__ inline Op bind_to(const Op& op, int64_t offset) {
  if constexpr (requires { op.bind(offset); }) {
    return op.bind(offset);
  } else {
    return op;
  }
}

/// How `combine` and `map` of an operation are handed on.
template <class Op>
struct CombineOf {
  const Op& op;
  __device__ typename Op::Acc operator()(const typename Op::Acc& a, const typename Op::Acc& b) const {
    return op.combine(a, b);
  }
};
template <class Op>
struct MapOf {
  const Op& op;
  template <class C>
  __device__ typename Op::Acc operator()(C x) const {
    return op.map(x);
  }
};

template <class Op, class C, int N, class At>
__device__ inline void take(typename Op::Acc& acc, const Op& op, const C (&x)[N], const At& at) {
  if constexpr (requires { op.take(acc, x, at); }) {
    op.take(acc, x, at);
  } else {
    acc = op.combine(acc, fold<typename Op::Acc>(x, MapOf<Op>{op}, CombineOf<Op>{op}));
  }
}

template <class Op>
__device__ inline void put(const ReductionWork& w, const Op& op, const typename Op::Acc& acc, uint32_t number,
                           int64_t offset) {
  if (w.partial) {
    static_cast<typename Op::Acc*>(w.partial)[static_cast<int64_t>(blockIdx.y) * w.outputs + number] = acc;
  } else {
    op.write(acc, w.start.offset + offset);
  }
}

template <class T, class Op>
__global__ void __launch_bounds__(kReductionThreads, 3) reduce_rows(const ReductionWork w, const Op op) {
  using Acc = typename Op::Acc;
  GRADUS_SHARED(Acc, shared, [kReductionThreads / kWarp]);
  const uint32_t lane = threadIdx.x & (w.along - 1);
  const uint32_t number = blockIdx.x * w.across + threadIdx.x / w.along;
  const bool here = number < w.outputs;
  Acc acc = op.identity();
  int64_t offset = 0;
  if (here) {
    const auto at = w.kept.offsets(number);
    offset = at.of[1];
    const Op bound = bind_to(op, w.start.offset + offset);
    const PieceRange part(w.length, w.part, blockIdx.y % w.row_pieces);
    const PieceRange rows(w.rows, w.rows_part, blockIdx.y / w.row_pieces);
#pragma unroll 1
    for (uint32_t r = rows.begin; r < rows.end; ++r) {
      const T* row = reinterpret_cast<const T*>(w.in + at.of[0] + w.reduced.offsets(r).of[0]) + part.begin;
      const int64_t start = w.start.position + static_cast<int64_t>(r) * w.length + part.begin;
      walk_row<T, kReductionUnroll>(
          part.end - part.begin, apart(row), lane, w.along, [&]<int V, int kLoads>(uint32_t first, uint32_t step) {
            take(acc, bound, load_row<T, V, kLoads>(row + first, step).x, ElementPositions<V>{start, first, step});
          });
    }
  }
  acc = group_reduce(acc, static_cast<int>(w.along), CombineOf<Op>{op}, shared);
  if (here && lane == 0) put(w, op, acc, number, offset);
}

/// acc[v] of threads that are `step` apart, `along` of them, joined in the first. `shared` has V * blockDim.x places.
template <int V, class Op>
__device__ inline void join_along(typename Op::Acc (&acc)[V], const Op& op, uint32_t lane, uint32_t along,
                                  uint32_t step, typename Op::Acc* shared) {
  if (along == 1) return;
  for (int v = 0; v < V; ++v) shared[v * blockDim.x + threadIdx.x] = acc[v];
#pragma unroll 1
  for (uint32_t half = along / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
      for (int v = 0; v < V; ++v) {
        const uint32_t i = v * blockDim.x + threadIdx.x;
        shared[i] = op.combine(shared[i], shared[i + half * step]);
      }
    }
  }
  for (int v = 0; v < V; ++v) acc[v] = shared[v * blockDim.x + threadIdx.x];
}

struct StridedSteps {
  const Places<1>& places;
  uint32_t first, step;
  __device__ int64_t operator()(int u) const { return places.offsets(first + static_cast<uint32_t>(u) * step).of[0]; }
};

/// V neighbouring results a thread. Columns where V > 1, else any strides.
template <class T, int V, class Op>
__global__ void __launch_bounds__(kReductionThreads, 3) reduce_strided(const ReductionWork w, const Op op) {
  using Acc = typename Op::Acc;
  constexpr int kUnroll = kReductionUnroll;
  GRADUS_DYNAMIC_SHARED(Acc, shared);
  const uint32_t lane = w.reduced_first ? threadIdx.x & (w.along - 1) : threadIdx.x / w.across;
  const uint32_t column =
      blockIdx.x * w.across + (w.reduced_first ? threadIdx.x / w.along : threadIdx.x & (w.across - 1));
  const bool here = column < w.outputs / V;
  Acc acc[V];
  for (int v = 0; v < V; ++v) acc[v] = op.identity();
  int64_t offset = 0;
  if (here) {
    const auto at = w.kept.offsets(column);
    offset = at.of[1];
    Op bound[V];
    for (int v = 0; v < V; ++v) {
      bound[v] = bind_to(op, w.start.offset + offset + v * w.next);
    }
    const char* p = w.in + at.of[0];
    const PieceRange part(w.length, w.part, blockIdx.y);
    uint32_t r = part.begin + lane;
#pragma unroll 1
    for (; r + (kUnroll - 1) * w.along < part.end; r += kUnroll * w.along) {
      const auto all = load_numbers<T, V, kUnroll, false>(p, 0, StridedSteps{w.reduced, r, w.along});
#pragma unroll
      for (int v = 0; v < V; ++v) {
        Compute<T> one[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) one[u] = all.x[u * V + v];
        take(acc[v], bound[v], one, ElementPositions<1>{w.start.position, r, w.along});
      }
    }
#pragma unroll 1
    for (; r < part.end; r += w.along) {
      const auto all = load_numbers<T, V, 1, false>(p, 0, StridedSteps{w.reduced, r, 0});
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const Compute<T> one[1] = {all.x[v]};
        take(acc[v], bound[v], one, ElementPositions<1>{w.start.position, r, 0});
      }
    }
  }
  join_along<V>(acc, op, lane, w.along, w.reduced_first ? 1 : w.across, shared);
  if (here && lane == 0) {
    for (int v = 0; v < V; ++v) put(w, op, acc[v], column * V + v, offset + v * w.next);
  }
}

/// Joins the pieces of each result.
template <class Op>
__global__ void __launch_bounds__(kReductionThreads)
    join_pieces(const typename Op::Acc* partial, uint32_t pieces, uint32_t outputs, uint32_t across, uint32_t along,
                const Places<2> kept, const ReductionStart start, const Op op) {
  using Acc = typename Op::Acc;
  GRADUS_DYNAMIC_SHARED(Acc, shared);
  const uint32_t lane = threadIdx.x / across, number = blockIdx.x * across + (threadIdx.x & (across - 1));
  const bool here = number < outputs;
  Acc acc[1] = {op.identity()};
  if (here) {
#pragma unroll 4
    for (uint32_t i = lane; i < pieces; i += along) {
      acc[0] = op.combine(acc[0], partial[static_cast<int64_t>(i) * outputs + number]);
    }
  }
  join_along<1>(acc, op, lane, along, across, shared);
  if (here && lane == 0) op.write(acc[0], start.offset + kept.offsets(number).of[1]);
}

template <class T>
constexpr int kColumnWidth = kPackSize<T> < 8 ? kPackSize<T> : 8;

template <class T, class Op>
void launch_reduction(const char* name, const ReductionPlan& p, const Op& op) {
  const size_t shared = p.work.along > 1 ? p.threads * sizeof(typename Op::Acc) : 0;
  if constexpr (!Op::kRare) {
    if (p.kind == ReductionPlan::kRows) return launch(name, &reduce_rows<T, Op>, p.grid, p.threads, 0, p.work, op);
    if (p.kind == ReductionPlan::kColumns) {
      constexpr int V = kColumnWidth<T>;
      return launch(name, &reduce_strided<T, V, Op>, p.grid, p.threads, V * shared, p.work, op);
    }
  }
  launch(name, &reduce_strided<T, 1, Op>, p.grid, p.threads, shared, p.work, op);
}

template <class Op>
void launch_join(const char* name, const void* partial, uint32_t pieces, const ReductionWork& w, const Places<2>& kept,
                 const Op& op) {
  const JoinShape s = join_shape(w.outputs, pieces);
  const unsigned threads = s.across * s.along;
  launch(name, &join_pieces<Op>, dim3(static_cast<unsigned>(ceil_div(w.outputs, s.across))), threads,
         threads * sizeof(typename Op::Acc), static_cast<const typename Op::Acc*>(partial), pieces, w.outputs, s.across,
         s.along, kept, w.start, op);
}

/// One launch, or two where results are cut into pieces; more where a kernel's numbers do not suffice, from `limit` on.
template <class T, class Op>
void reduce(const char* name, const Reduction& r, const Op& op, int64_t limit = kPlacesLimit) {
  using Acc = typename Op::Acc;
  if (r.outputs == 0) return;
  const ReductionTraits traits{sizeof(T), kColumnWidth<T>, !Op::kRare};
  if (r.outputs <= limit && r.length <= limit) [[likely]] {
    ReductionPlan p = plan_reduction(r, traits);
    if (p.work.pieces == 1) return launch_reduction<T>(name, p, op);
    const Scratch partial(sizeof(Acc) * p.work.outputs * p.work.pieces);
    p.work.partial = partial.as<void>();
    launch_reduction<T>(name, p, op);
    return launch_join(name, partial.as<void>(), p.work.pieces, p.work, results_of(r), op);
  }
  for (const ReductionPart& part : split_outputs(r, limit)) {
    std::vector<ReductionPlan> plans;
    size_t pieces = 0;
    for (const ReductionPart& slice : split_length(part, limit)) {
      plans.push_back(plan_reduction(slice.reduction, traits));
      plans.back().work.start = slice.start;
      pieces += plans.back().work.pieces;
    }
    const auto outputs = static_cast<size_t>(part.reduction.outputs);
    const Scratch partial(sizeof(Acc) * outputs * pieces);
    Acc* at = partial.as<Acc>();
    for (ReductionPlan& p : plans) {
      p.work.partial = at;
      launch_reduction<T>(name, p, op);
      at += outputs * p.work.pieces;
    }
    launch_join(name, partial.as<void>(), static_cast<uint32_t>(pieces), plans[0].work, results_of(part.reduction), op);
  }
}

}  // namespace gradus::inline v0::kernels::cuda
