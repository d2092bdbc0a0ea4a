// Softmax and its logarithm.
//
// Note [Regimes of softmax]
// held     dim is innermost, rows begin at multiples of 16 bytes and one fits into the registers of a group of 1 to
//          1024 threads: read once, written once.
// walked   other rows along the innermost dim: once for the largest element and the sum (peak.h), once to write. A long
//          row's first input stays in shared memory between the walks if it fits. Where rows are too few to fill the
//          device several groups share one: a launch measures pieces, the next joins and writes.
// columns  dim is not innermost: neighbouring threads have neighbouring rows.
#include <kernels/softmax.h>
#include <kernels/visit.h>

#include "kernels/cuda/peak.h"
#include "kernels/cuda/row.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kColumnThreads = 256;
template <class T>
constexpr int kUnroll = sizeof(T) == 4   ? 4
                        : sizeof(T) == 2 ? 2
                                         : 1;  // loads in flight

// How a direction goes over rows: take() gathers what a row's elements have to know of each other, ready() is what it
// comes to, and write() makes a result.
template <class C, bool kLog>
struct Forward {
  using Number = C;
  using Stat = Peak<C>;
  static constexpr bool kTwo = false;
  __device__ Stat none() const { return {lowest<C>(), 0}; }
  __device__ Stat operator()(const Stat& a, const Stat& b) const { return join(a, b); }
  template <int N, class Z>
  __device__ void take(Stat& s, const C (&x)[N], const Z&) const {
    s = with(s, x);
  }
  __device__ Stat ready(const Stat& s) const { return {s.most, kLog ? std::log(s.sum) : 1 / s.sum}; }
  __device__ C write(C x, C, const Stat& s) const {
    if constexpr (kLog) return x - s.most - s.sum;
    return std::exp(x - s.most) * s.sum;
  }
};

// Softmax: dx = y (dy - sum(dy y)). Its logarithm: dx = dy - e^y sum(dy).
template <class C, bool kLog>
struct Backward {
  using Number = C;
  using Stat = C;
  static constexpr bool kTwo = true;
  __device__ C none() const { return 0; }
  __device__ C operator()(C a, C b) const { return a + b; }
  template <int N>
  __device__ void take(C& s, const C (&grad)[N], const C (&y)[N]) const {
    C each[N];
#pragma unroll
    for (int i = 0; i < N; ++i) each[i] = kLog ? grad[i] : grad[i] * y[i];
    s += fold<C>(each, Itself(), Plus());
  }
  __device__ C ready(C s) const {
    return s;
  }
  __device__ C write(C grad, C y, C sum) const {
    return kLog ? grad - std::exp(y) * sum : y * (grad - sum);
  }
};

/// Of `rows` rows of n elements; z is the second input where there is one.
template <class T>
struct Rows {
  T* out;
  const T *x, *z;
  int64_t rows, n;
};

// How many numbers of a row a thread holds: as many as leave it within 64 registers.
template <class T, class Rule>
constexpr uint32_t kHeld = (sizeof(T) == 2 ? 24 : 128 / sizeof(T)) / (Rule::kTwo ? 2 : 1) / kPackSize<T>* kPackSize<T>;

template <class T, bool kLog>
__global__ void __launch_bounds__(1024) forward_held(const Rows<T> r, const uint32_t group) {
  using C = Compute<T>;
  constexpr int V = kPackSize<T>;
  constexpr uint32_t K = kHeld<T, Forward<C, kLog>> / V;
  GRADUS_SHARED(C, shared, [kWarp]);
  const uint32_t lane = threadIdx.x & (group - 1);
  const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x / group) + threadIdx.x / group;
  const uint32_t length = static_cast<uint32_t>(r.n), n = row < r.rows ? length : 0;
  C x[K][V], most = lowest<C>();
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) {
    if (k * group * V >= length) break;
    hold(x[k], r.x + row * r.n, (lane + k * group) * V, n, lowest<C>());
    most = Larger()(most, fold<C>(x[k], Itself(), Larger()));
  }
  most = group_reduce(most, static_cast<int>(group), Larger(), shared);
  C sum = 0;
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) {
    if (k * group * V >= length) break;
    C part = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      x[k][v] -= most;
      const C e = std::exp(x[k][v]);
      part += e;
      if constexpr (!kLog) x[k][v] = e;
    }
    sum += part;
  }
  sum = group_reduce(sum, static_cast<int>(group), Plus(), shared);
  const C scale = kLog ? std::log(sum) : 1 / sum;
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) {
    const uint32_t e = (lane + k * group) * V;
    if (e >= n) break;
#pragma unroll
    for (int v = 0; v < V; ++v) x[k][v] = kLog ? x[k][v] - scale : x[k][v] * scale;
    store_row<T, V, 1>(r.out + row * r.n + e, 0, x[k]);
  }
}

template <class T, bool kLog>
__global__ void __launch_bounds__(1024) backward_held(const Rows<T> r, const uint32_t group) {
  using C = Compute<T>;
  using Rule = Backward<C, kLog>;
  constexpr int V = kPackSize<T>;
  constexpr uint32_t K = kHeld<T, Rule> / V;
  GRADUS_SHARED(C, shared, [kWarp]);
  const uint32_t lane = threadIdx.x & (group - 1);
  const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x / group) + threadIdx.x / group;
  const uint32_t length = static_cast<uint32_t>(r.n), n = row < r.rows ? length : 0;
  C grad[K][V], y[K][V], sum = 0;
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) {
    if (k * group * V >= length) break;
    const uint32_t e = (lane + k * group) * V;
    hold(grad[k], r.x + row * r.n, e, n, C(0));
    hold(y[k], r.z + row * r.n, e, n, C(0));
  }
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) {
    if (k * group * V >= length) break;
    Rule().take(sum, grad[k], y[k]);
  }
  sum = group_reduce(sum, static_cast<int>(group), Plus(), shared);
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) {
    const uint32_t e = (lane + k * group) * V;
    if (e >= n) break;
#pragma unroll
    for (int v = 0; v < V; ++v) grad[k][v] = Rule().write(grad[k][v], y[k][v], sum);
    store_row<T, V, 1>(r.out + row * r.n + e, 0, grad[k]);
  }
}

template <class T, class Rule>
__global__ void __launch_bounds__(kRowThreads)
    softmax_walked(const Rows<T> r, const RowPieces pieces, typename Rule::Stat* partial) {
  using Stat = typename Rule::Stat;
  constexpr Rule rule;
  GRADUS_SHARED(Stat, shared, [kRowThreads / kWarp]);
  GRADUS_DYNAMIC_SHARED(T, cache);
  const RowPiece p(pieces);
  const uint32_t group = static_cast<uint32_t>(pieces.group);
  const T* x = r.x + p.row * r.n + p.begin;
  T* out = r.out + p.row * r.n + p.begin;
  const int64_t second = reinterpret_cast<const char*>(r.z) - reinterpret_cast<const char*>(r.x);
  const bool alike = apart(x) == apart(out) && (!Rule::kTwo || second % 16 == 0);
  const uint32_t head = alike ? apart(x) : p.n;
  T* kept = pieces.cached ? cache + (kPackSize<T> - apart(x)) % kPackSize<T> : nullptr;  // aligned as x is
  Stat stat = rule.none();
  if (pieces.stage != RowStage::kWrite) {
    walk_row<T, kUnroll<T>>(p.n, head, p.lane, group, [&]<int V, int kLoads>(uint32_t e, uint32_t step) {
      const auto a = load_row<T, V, kLoads, Rule::kTwo>(x + e, step, second);
      rule.take(stat, a.x, a.z);
      if (kept) store_row<T, V, kLoads>(kept + e, step, a.x);
    });
  }
  stat = join_row(stat, pieces, p, partial, rule, shared);
  if (pieces.stage == RowStage::kMeasure) {
    if (p.n > 0 && p.lane == 0) partial[p.number] = stat;
    return;
  }
  stat = rule.ready(stat);
  const T* from = kept ? kept : x;
  const int64_t behind = second + (reinterpret_cast<const char*>(x) - reinterpret_cast<const char*>(from));
  walk_row<T, kUnroll<T>>(p.n, head, p.lane, group, [&]<int V, int kLoads>(uint32_t e, uint32_t step) {
    auto a = load_row<T, V, kLoads, Rule::kTwo>(from + e, step, behind);
#pragma unroll
    for (int i = 0; i < V * kLoads; ++i) a.x[i] = rule.write(a.x[i], a.z[Rule::kTwo ? i : 0], stat);
    store_row<T, V, kLoads>(out + e, step, a.x);
  });
}

/// r.rows rows in all, whose elements are `inner` apart. A block has `across` of them, blockDim.x / across threads
/// each.
template <class T, class Rule>
__global__ void __launch_bounds__(kColumnThreads)
    softmax_columns(const Rows<T> r, const int64_t inner, const int across) {
  using C = Compute<T>;
  using Stat = typename Rule::Stat;
  constexpr Rule rule;
  constexpr int U = kUnroll<T>;
  GRADUS_SHARED(Stat, shared, [kColumnThreads]);
  const int along = static_cast<int>(blockDim.x) / across;
  const int lane = static_cast<int>(threadIdx.x) / across, side = static_cast<int>(threadIdx.x) % across;
  const int64_t column = blockIdx.x * static_cast<int64_t>(across) + side;
  const bool here = column < r.rows;
  const int64_t outer = quotient(column, inner), first = outer * r.n * inner + (column - outer * inner);
  Stat stat = rule.none();
  if (here) {
    int64_t i = lane;
#pragma unroll 1
    for (; i + (U - 1) * along < r.n; i += U * along) {
      C a[U], b[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const int64_t at = first + (i + u * along) * inner;
        a[u] = load(r.x + at);
        b[u] = Rule::kTwo ? load(r.z + at) : C(0);
      }
      rule.take(stat, a, b);
    }
#pragma unroll 1
    for (; i < r.n; i += along) {
      const C a[1] = {load(r.x + first + i * inner)}, b[1] = {Rule::kTwo ? load(r.z + first + i * inner) : C(0)};
      rule.take(stat, a, b);
    }
  }
  shared[threadIdx.x] = stat;
#pragma unroll 1
  for (int half = along / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) shared[threadIdx.x] = rule(shared[threadIdx.x], shared[threadIdx.x + half * across]);
  }
  __syncthreads();
  stat = rule.ready(shared[side]);
  const int64_t end = here ? r.n : 0;
#pragma unroll 4
  for (int64_t i = lane; i < end; i += along) {
    const int64_t at = first + i * inner;
    store(r.out + at, rule.write(load(r.x + at), Rule::kTwo ? load(r.z + at) : C(0), stat));
  }
}

template <class T, class Rule>
void launch_columns(const char* name, const Rows<T>& r, int64_t inner) {
  // Whole sectors across; along dim as many threads as have a few elements each.
  const int along = next_power(ceil_div(r.n, kUnroll<T>), kColumnThreads / next_power(inner, kWarp));
  const int across = std::max(kWarp / along, next_power(r.rows, kColumnThreads / along));
  launch(name, &softmax_columns<T, Rule>, dim3(static_cast<unsigned>(ceil_div(r.rows, across))),
         static_cast<unsigned>(across * along), 0, r, inner, across);
}

template <class T, class Direction>
void run_rows(const char* name, const Rows<T>& r, int64_t inner) {
  using Rule = typename Direction::Rule;
  constexpr int64_t kMost = 1024, kEach = kHeld<T, Rule>;
  if (r.rows == 0 || r.n == 0) return;
  if (inner > 1) return launch_columns<T, Rule>(name, r, inner);
  const bool packs =
      r.n % kPackSize<T> == 0 && begins_pack(r.out) && begins_pack(r.x) && (!Rule::kTwo || begins_pack(r.z));
  if (!packs || r.n > kMost * kEach) {
    return launch_rows<T>(name, &softmax_walked<T, Rule>, r, r.rows, r.n, RowReads::kCached);
  }
  const int group =
      std::max(next_power(ceil_div(r.n, kEach), kMost), next_power(ceil_div(r.n, 2 * kPackSize<T>), kWarp));
  const int threads = std::max(group, 128);
  launch(name, Direction::kKernel, dim3(static_cast<unsigned>(ceil_div(r.rows, threads / group))),
         static_cast<unsigned>(threads), 0, r, static_cast<uint32_t>(group));
}

template <class T, bool kLog>
struct ForwardHeld {
  using Rule = Forward<Compute<T>, kLog>;
  static constexpr auto kKernel = &forward_held<T, kLog>;
};
template <class T, bool kLog>
struct BackwardHeld {
  using Rule = Backward<Compute<T>, kLog>;
  static constexpr auto kKernel = &backward_held<T, kLog>;
};

template <template <class, bool> class Direction>
void run(const char* name, View out, ConstView x, ConstView z, int64_t dim, bool log) {
  int64_t outer = 1, n = 1, inner = 1;
  for (int i = 0; i < x.ndim; ++i) (i < dim ? outer : i == dim ? n : inner) *= x.sizes[i];
  visit_floating(x.dtype, [&]<class T>() {
    const Rows<T> rows{out.as<T>(), x.as<T>(), z.as<T>(), outer * inner, n};
    log ? run_rows<T, Direction<T, true>>(name, rows, inner) : run_rows<T, Direction<T, false>>(name, rows, inner);
  });
}

void forward_cuda(View output, ConstView input, int64_t dim, bool log) {
  run<ForwardHeld>("softmax", output, input, input, dim, log);
}
void backward_cuda(View grad_input, ConstView grad_output, ConstView output, int64_t dim, bool log) {
  run<BackwardHeld>("softmax_backward", grad_input, grad_output, output, dim, log);
}

}  // namespace

GRADUS_CUDA_KERNEL(softmax_forward, forward_cuda)
GRADUS_CUDA_KERNEL(softmax_backward, backward_cuda)

}  // namespace gradus::inline v0::kernels::cuda
