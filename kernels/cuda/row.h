// Rows of neighbouring elements that a group of threads walks in packs of 16 bytes.
#pragma once

#include "kernels/cuda/block.h"
#include "kernels/cuda/scratch.h"

namespace gradus::inline v0::kernels::cuda {

/// kLoads packs of V elements, the u-th at p + steps(u) bytes, as one run of numbers.
template <class T, int V, int kLoads, class Steps>
__device__ inline void load_packs(Compute<T>* x, const char* p, const Steps& steps) {
  Pack<T, V> raw[kLoads];
#pragma unroll
  for (int u = 0; u < kLoads; ++u) raw[u] = *reinterpret_cast<const Pack<T, V>*>(p + steps(u));
#pragma unroll
  for (int i = 0; i < kLoads * V; ++i) x[i] = widen(raw[i / V].at[i % V]);
}
struct EvenSteps {
  int64_t bytes;
  __device__ int64_t operator()(int u) const { return u * bytes; }
};
/// What a thread has read of one input or of two.
template <class T, int N, bool kTwo>
struct Numbers {
  Compute<T> x[N], z[kTwo ? N : 1];
};
/// The second input's elements lie `second` bytes behind the first's.
template <class T, int V, int kLoads, bool kTwo, class Steps>
__device__ inline Numbers<T, kLoads * V, kTwo> load_numbers(const char* p, int64_t second, const Steps& steps) {
  Numbers<T, kLoads * V, kTwo> n;
  load_packs<T, V, kLoads>(n.x, p, steps);
  if constexpr (kTwo) {
    load_packs<T, V, kLoads>(n.z, p + second, steps);
  } else {
    n.z[0] = 0;
  }
  return n;
}
/// The same of packs that are `step` elements apart.
template <class T, int V, int kLoads, bool kTwo = false>
__device__ inline Numbers<T, kLoads * V, kTwo> load_row(const T* p, uint32_t step, int64_t second = 0) {
  return load_numbers<T, V, kLoads, kTwo>(reinterpret_cast<const char*>(p), second,
                                          EvenSteps{static_cast<int64_t>(step) * static_cast<int64_t>(sizeof(T))});
}
template <class T, int V, int kStores>
__device__ inline void store_row(T* p, uint32_t step, const Compute<T>* x) {
#pragma unroll
  for (int u = 0; u < kStores; ++u) {
    Pack<T, V> raw;
#pragma unroll
    for (int v = 0; v < V; ++v) raw.at[v] = narrow<T>(x[u * V + v]);
    *reinterpret_cast<Pack<T, V>*>(p + u * static_cast<int64_t>(step)) = raw;
  }
}

/// V elements of a row of n from e on; `absent` behind the row's end, which is at a multiple of V.
template <int V, class T>
__device__ inline void hold(Compute<T> (&x)[V], const T* row, uint32_t e, uint32_t n, Compute<T> absent) {
  constexpr int kWidth = V < kPackSize<T> ? V : kPackSize<T>;
  if (e < n) {
    load_packs<T, kWidth, V / kWidth>(x, reinterpret_cast<const char*>(row + e), EvenSteps{kWidth * sizeof(T)});
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = absent;
  }
}

/// Of an address, what is missing to the next multiple of 16, in elements.
template <class T>
__device__ inline uint32_t apart(const T* p) {
  return static_cast<uint32_t>(-reinterpret_cast<uintptr_t>(p) & 15) / static_cast<uint32_t>(sizeof(T));
}

/// Every thread's share of n elements of a row, of which the first `head` do not fill a pack: calls f<V, kLoads>(first,
/// step) for kLoads packs of V elements that are `step` elements apart, with V a pack's or 1.
template <class T, int kLoads, class F>
__device__ inline void walk_row(uint32_t n, uint32_t head, uint32_t lane, uint32_t group, const F& f) {
  constexpr uint32_t V = kPackSize<T>;
  head = head < n ? head : n;
  const uint32_t packs = (n - head) / V, step = group * V;
#pragma unroll 1
  for (uint32_t i = lane; i < n - packs * V; i += group) {
    f.template operator()<1, 1>(i < head ? i : i + packs * V, 0u);
  }
  uint32_t i = lane;
#pragma unroll 1
  for (; i + (kLoads - 1) * group < packs; i += kLoads * group) {
    f.template operator()<kPackSize<T>, kLoads>(head + i * V, step);
  }
#pragma unroll 1
  for (; i < packs; i += group) f.template operator()<kPackSize<T>, 1>(head + i * V, 0u);
}

/// The part of [0, n) that the i-th has, where each has `part`.
struct PieceRange {
  uint32_t begin, end;
  __device__ PieceRange(uint32_t n, uint32_t part, uint32_t i)
      : begin(min(n, part * i)), end(n - begin < part ? n : begin + part) {}
};

/// a / b, in 32 bits where they suffice.
__device__ inline int64_t quotient(int64_t a, int64_t b) {
  if (static_cast<uint64_t>(a | b) >> 32) return a / b;
  return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
}

/// What a launch over rows computes where several groups of threads may share one.
enum class RowStage {
  kWhole,    // each row by one group
  kMeasure,  // the sums of each piece, into partial results
  kWrite     // the results of each piece, from all partial results of its row
};
/// Rows cut into pieces of `part` elements, one for each group of `group` neighbouring threads.
struct RowPieces {
  int64_t rows, n, part;
  int pieces, group;
  RowStage stage;
  bool cached;  // dynamic shared memory has room for a row, one a block
};
/// A group's piece; nothing (n is 0) behind the last.
struct RowPiece {
  int64_t number, row, begin;
  uint32_t lane, n;
  __device__ explicit RowPiece(const RowPieces& r)
      : number(blockIdx.x * static_cast<int64_t>(blockDim.x / static_cast<unsigned>(r.group)) +
               threadIdx.x / static_cast<unsigned>(r.group)),
        row(r.pieces == 1 ? number : quotient(number, r.pieces)),
        begin((number - row * r.pieces) * r.part),
        lane(threadIdx.x & static_cast<unsigned>(r.group - 1)),
        n(row < r.rows ? static_cast<uint32_t>(r.n - begin < r.part ? r.n - begin : r.part) : 0) {}
};
/// What a group has measured, or in kWrite the same of all pieces of its row, joined, in every thread. `shared` has a
/// place for each warp.
template <class S, class F>
__device__ inline S join_row(S own, const RowPieces& r, const RowPiece& p, const S* partial, const F& combine,
                             S* shared) {
  if (r.stage == RowStage::kWrite) {
    for (int i = static_cast<int>(p.lane); p.n > 0 && i < r.pieces; i += r.group) {
      own = combine(own, partial[p.row * r.pieces + i]);
    }
  }
  return group_reduce(own, r.group, combine, shared);
}

inline int next_power(int64_t n, int most) {
  int p = 1;
  while (p < n && p < most) p *= 2;
  return p;
}
inline bool begins_pack(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % 16 == 0;
}

constexpr int kRowThreads = 1024;

/// How rows of n elements of T go to groups of threads: a long row to several groups where rows are few.
template <class T>
RowPieces row_pieces(int64_t rows, int64_t n) {
  constexpr int64_t kHalf = kRowThreads / 2;
  RowPieces r{rows, n, n, 1, next_power(ceil_div(n, 4 * kPackSize<T>), kHalf), RowStage::kWhole, false};
  if (r.group < kHalf) return r;
  // A piece is a whole number of packs, long enough for every thread, short enough to be counted in 32 bits.
  const int64_t least = kHalf * 4 * kPackSize<T>, most = int64_t{1} << 30;
  const int64_t room = int64_t{context().multiprocessors} * 2;
  const int64_t wanted = std::max({int64_t{1}, std::min(room / rows, n / least), ceil_div(n, most)});
  r.part = ceil_div(ceil_div(n, wanted), kPackSize<T>) * kPackSize<T>;
  r.pieces = static_cast<int>(ceil_div(n, r.part));
  return r;
}
inline int row_threads(const RowPieces& r) {
  return std::max(r.group, 128);
}
inline dim3 row_grid(const RowPieces& r) {
  return dim3(static_cast<unsigned>(ceil_div(r.rows * r.pieces, row_threads(r) / r.group)));
}

/// How a kernel reads its rows: a second time from wherever they are then, or from shared memory, where there is room.
enum class RowReads { kOnce, kTwice, kCached };

/// Launches kernel(work, pieces, partial) over rows of T, which is to share long ones among groups where they are few.
template <class T, class S, class Work>
void launch_rows(const char* name, void (*kernel)(Work, RowPieces, S*), const Work& work, int64_t rows, int64_t n,
                 RowReads reads = RowReads::kTwice) {
  RowPieces r = row_pieces<T>(rows, n);
  size_t shared = 0;
  if (r.group == kRowThreads / 2 && reads != RowReads::kOnce) {
    const int64_t bytes = (n + kPackSize<T>)*static_cast<int64_t>(sizeof(T)), largest = context().max_shared - 1024;
    r.cached = reads == RowReads::kCached && r.pieces == 1 && bytes <= largest;
    if (r.cached) shared = static_cast<size_t>(bytes);
    if (r.pieces == 1 && bytes > largest / 2) r.group = kRowThreads;  // fewer rows at once, which stay in the cache
  }
  const auto threads = static_cast<unsigned>(row_threads(r));
  if (r.pieces == 1) return launch(name, kernel, row_grid(r), threads, shared, work, r, nullptr);
  const Scratch partial(sizeof(S) * static_cast<size_t>(rows * r.pieces));
  for (RowStage stage : {RowStage::kMeasure, RowStage::kWrite}) {
    r.stage = stage;
    launch(name, kernel, row_grid(r), threads, 0, work, r, partial.as<S>());
  }
}

}  // namespace gradus::inline v0::kernels::cuda
