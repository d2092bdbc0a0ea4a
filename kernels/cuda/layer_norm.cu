// Layer normalisation.
//
// Note [Regimes of layer normalisation]
// held    rows and parameters begin at multiples of 16 bytes and a row fits into the registers of a group of threads:
// read
//         once, written once. Backward, a group goes on to further rows and adds up its columns' share of the
//         parameters' gradients beside; a second kernel joins the groups.
// walked  other rows, and parameters of other dtypes: a row's sums in a first walk, the result in a second. Where rows
// are
//         too few to fill the device several groups share one, in two launches. The parameters' gradients by columns.
#include <cmath>

#include <kernels/normalization.h>
#include <kernels/visit.h>

#include "kernels/cuda/row.h"
#include "kernels/cuda/vector.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kColumnThreads = 256, kMostThreads = 1024, kUnroll = 2;

/// How many numbers of a row a thread holds: as many as leave it within 64 registers.
template <class T, bool kBackward>
constexpr uint32_t kHeld = kBackward ? (sizeof(T) == 8 ? 2 : 8) : (sizeof(T) == 8 ? 8 : 16);

/// V parameters of type P, or `otherwise` where there are none.
template <class P, int V, class C>
__device__ inline void parameters(C (&of)[V], const FloatVector& v, uint32_t e, uint32_t n, C otherwise) {
  if (v.data) {
    Compute<P> own[V];
    hold(own, static_cast<const P*>(v.data), e, n, Compute<P>(0));
#pragma unroll
    for (int i = 0; i < V; ++i) of[i] = own[i];
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) of[i] = otherwise;
  }
}

template <class T>
struct Forward {
  T* out;
  const T* x;
  int64_t rows, n;
  FloatVector weight, bias;
  FloatResults mean, rstd;
  Compute<T> eps;
};

// Parameters are of type P.
template <class T, class P>
__global__ void __launch_bounds__(kMostThreads) forward_held(const Forward<T> a, const uint32_t group) {
  using C = Compute<T>;
  constexpr int V = kPackSize<T>;
  constexpr uint32_t K = kHeld<T, false> / V;
  GRADUS_SHARED(C, shared, [kWarp]);
  const uint32_t lane = threadIdx.x & (group - 1);
  const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x / group) + threadIdx.x / group;
  const uint32_t n = row < a.rows ? static_cast<uint32_t>(a.n) : 0;
  C x[K][V], sum = 0, squares = 0;
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) hold(x[k], a.x + row * a.n, (lane + k * group) * V, n, C(0));
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) sum += fold<C>(x[k], Itself(), Plus());
  const C mean = group_reduce(sum, static_cast<int>(group), Plus(), shared) / static_cast<C>(a.n);
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) {
    if ((lane + k * group) * V < n) squares += fold<C>(x[k], SquareAround<C>{mean}, Plus());
  }
  squares = group_reduce(squares, static_cast<int>(group), Plus(), shared);
  const C rstd = 1 / std::sqrt(squares / static_cast<C>(a.n) + a.eps);
#pragma unroll
  for (uint32_t k = 0; k < K; ++k) {
    const uint32_t e = (lane + k * group) * V;
    if (e >= n) break;
    C w[V], b[V];
    parameters<P>(w, a.weight, e, n, C(1));
    parameters<P>(b, a.bias, e, n, C(0));
#pragma unroll
    for (int v = 0; v < V; ++v) x[k][v] = (x[k][v] - mean) * rstd * w[v] + b[v];
    store_row<T, V, 1>(a.out + row * a.n + e, 0, x[k]);
  }
  if (n > 0 && lane == 0) {
    a.mean.put(row, mean);
    a.rstd.put(row, rstd);
  }
}

template <class T>
__global__ void __launch_bounds__(kRowThreads)
    forward_walked(const Forward<T> a, const RowPieces pieces, Moments<Compute<T>>* partial) {
  using C = Compute<T>;
  GRADUS_SHARED(Moments<C>, shared, [kRowThreads / kWarp]);
  const RowPiece p(pieces);
  const uint32_t group = static_cast<uint32_t>(pieces.group);
  const T* x = a.x + p.row * a.n + p.begin;
  T* out = a.out + p.row * a.n + p.begin;
  const uint32_t head = apart(x) == apart(out) ? apart(x) : p.n;
  Moments<C> m = {0, 0, 0};
  if (pieces.stage != RowStage::kWrite) {
    walk_row<T, kUnroll>(p.n, head, p.lane, group, [&]<int V, int kLoads>(uint32_t e, uint32_t step) {
      m = join(m, moments_of(load_row<T, V, kLoads>(x + e, step).x));
    });
  }
  m = join_row(m, pieces, p, partial, Join(), shared);
  if (pieces.stage == RowStage::kMeasure) {
    if (p.n > 0 && p.lane == 0) partial[p.number] = m;
    return;
  }
  const C rstd = 1 / std::sqrt(m.squares / static_cast<C>(a.n) + a.eps);
  walk_row<T, 1>(p.n, head, p.lane, group, [&]<int V, int kLoads>(uint32_t e, uint32_t) {
    auto of = load_row<T, V, 1>(x + e, 0);
    C w[V], b[V];
    a.weight.get(w, p.begin + e, C(1));
    a.bias.get(b, p.begin + e, C(0));
#pragma unroll
    for (int v = 0; v < V; ++v) of.x[v] = (of.x[v] - m.mean) * rstd * w[v] + b[v];
    store_row<T, V, 1>(out + e, 0, of.x);
  });
  if (p.n > 0 && p.lane == 0 && p.begin == 0) {
    a.mean.put(p.row, m.mean);
    a.rstd.put(p.row, rstd);
  }
}

template <class T>
struct Backward {
  T* out;  // the input's gradient, or null
  const T *grad, *x;
  int64_t rows, n;
  FloatVector mean, rstd, weight;
};

/// Sums of h and of h (x - mean), h being the gradient times the weight.
template <class C>
struct RowSums {
  C h, hx;
};
template <class C>
__device__ inline RowSums<C> join(const RowSums<C>& a, const RowSums<C>& b) {
  return {a.h + b.h, a.hx + b.hx};
}

// kSums: adds up the gradients of weight and bias and leaves, in columns[block][2][n], what this block's rows give.
template <class T, class P, bool kSums>
__global__ void __launch_bounds__(kMostThreads)
    backward_held(const Backward<T> a, const uint32_t group, Compute<T>* columns) {
  using C = Compute<T>;
  constexpr int V = kPackSize<T>;
  constexpr uint32_t K = kHeld<T, true> / V;
  GRADUS_SHARED(RowSums<C>, shared, [kWarp]);
  GRADUS_DYNAMIC_SHARED(C, side);  // kSums, more than one group: V of every thread
  const uint32_t lane = threadIdx.x & (group - 1), groups = blockDim.x / group;
  C of_weight[K][V] = {}, of_bias[K][V] = {};
#pragma unroll 1
  for (int64_t base = blockIdx.x * static_cast<int64_t>(groups); base < a.rows;
       base += gridDim.x * static_cast<int64_t>(groups)) {
    const int64_t row = base + threadIdx.x / group;
    const uint32_t n = row < a.rows ? static_cast<uint32_t>(a.n) : 0;
    const C mean = n ? a.mean.at(row, C(0)) : C(0), rstd = n ? a.rstd.at(row, C(0)) : C(0);
    C x[K][V], h[K][V];
#pragma unroll
    for (uint32_t k = 0; k < K; ++k) {
      const uint32_t e = (lane + k * group) * V;
      hold(x[k], a.x + row * a.n, e, n, mean);
      hold(h[k], a.grad + row * a.n, e, n, C(0));
    }
    RowSums<C> sums = {0, 0};
#pragma unroll
    for (uint32_t k = 0; k < K; ++k) {
      const uint32_t e = (lane + k * group) * V;
      C w[V];
      parameters<P>(w, a.weight, e, n, C(1));
#pragma unroll
      for (int v = 0; v < V; ++v) {
        x[k][v] -= mean;
        if constexpr (kSums) {
          of_weight[k][v] += h[k][v] * (x[k][v] * rstd);
          of_bias[k][v] += h[k][v];
        }
        h[k][v] *= w[v];
        sums.h += h[k][v];
        sums.hx += h[k][v] * x[k][v];
      }
    }
    if (!a.out) continue;
    sums = group_reduce(sums, static_cast<int>(group), Join(), shared);
    const C mean_h = sums.h / static_cast<C>(a.n), slope = sums.hx * rstd * rstd / static_cast<C>(a.n);
#pragma unroll
    for (uint32_t k = 0; k < K; ++k) {
      const uint32_t e = (lane + k * group) * V;
      if (e >= n) break;
#pragma unroll
      for (int v = 0; v < V; ++v) h[k][v] = rstd * (h[k][v] - mean_h - x[k][v] * slope);
      store_row<T, V, 1>(a.out + row * a.n + e, 0, h[k]);
    }
  }
  if constexpr (kSums) {
    C* to = columns + static_cast<int64_t>(blockIdx.x) * 2 * a.n;
#pragma unroll
    for (uint32_t k = 0; k < 2 * K; ++k) {
      C(&own)[V] = k < K ? of_weight[k % K] : of_bias[k % K];
      if (groups > 1) {
        __syncthreads();
        for (uint32_t v = 0; v < V; ++v) side[v * blockDim.x + threadIdx.x] = own[v];
        __syncthreads();
        for (uint32_t v = 0; v < V; ++v) {
#pragma unroll 1
          for (uint32_t g = 1; threadIdx.x < group && g < groups; ++g) {
            own[v] += side[v * blockDim.x + g * group + threadIdx.x];
          }
        }
      }
      const uint32_t e = (lane + k % K * group) * V;
      if (threadIdx.x < group && e < static_cast<uint32_t>(a.n)) {
        for (uint32_t v = 0; v < V; ++v) to[k / K * a.n + e + v] = own[v];
      }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kRowThreads)
    backward_walked(const Backward<T> a, const RowPieces pieces, RowSums<Compute<T>>* partial) {
  using C = Compute<T>;
  GRADUS_SHARED(RowSums<C>, shared, [kRowThreads / kWarp]);
  const RowPiece p(pieces);
  const uint32_t group = static_cast<uint32_t>(pieces.group);
  const T* grad = a.grad + p.row * a.n + p.begin;
  T* out = a.out + p.row * a.n + p.begin;
  const int64_t second = reinterpret_cast<const char*>(a.x) - reinterpret_cast<const char*>(a.grad);
  const uint32_t head = apart(grad) == apart(out) && second % 16 == 0 ? apart(grad) : p.n;
  const C mean = p.n ? a.mean.at(p.row, C(0)) : C(0), rstd = p.n ? a.rstd.at(p.row, C(0)) : C(0);
  RowSums<C> sums = {0, 0};
  if (pieces.stage != RowStage::kWrite) {
    walk_row<T, 1>(p.n, head, p.lane, group, [&]<int V, int kLoads>(uint32_t e, uint32_t) {
      const auto of = load_row<T, V, 1, true>(grad + e, 0, second);
      RowSums<C> own = {0, 0};
      C w[V];
      a.weight.get(w, p.begin + e, C(1));
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const C h = of.x[v] * w[v];
        own = join(own, RowSums<C>{h, h * (of.z[v] - mean)});
      }
      sums = join(sums, own);
    });
  }
  sums = join_row(sums, pieces, p, partial, Join(), shared);
  if (pieces.stage == RowStage::kMeasure) {
    if (p.n > 0 && p.lane == 0) partial[p.number] = sums;
    return;
  }
  const C mean_h = sums.h / static_cast<C>(a.n), slope = sums.hx * rstd * rstd / static_cast<C>(a.n);
  walk_row<T, 1>(p.n, head, p.lane, group, [&]<int V, int kLoads>(uint32_t e, uint32_t) {
    auto of = load_row<T, V, 1, true>(grad + e, 0, second);
    C w[V];
    a.weight.get(w, p.begin + e, C(1));
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const C h = of.x[v] * w[v];
      of.x[v] = rstd * (h - mean_h - (of.z[v] - mean) * slope);
    }
    store_row<T, V, 1>(out + e, 0, of.x);
  });
}

/// The gradients of weight and bias from rows blockIdx.y, blockIdx.y + gridDim.y, ...: a column a thread,
/// kColumnThreads / kWarp rows at a time. Into columns[blockIdx.y][2][n].
template <class T>
__global__ void __launch_bounds__(kColumnThreads) backward_columns(const Backward<T> a, Compute<T>* columns) {
  using C = Compute<T>;
  constexpr int kRows = kColumnThreads / kWarp;
  GRADUS_SHARED(C, side, [2][kRows][kWarp]);
  const int x = static_cast<int>(threadIdx.x) % kWarp, y = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t column = blockIdx.x * static_cast<int64_t>(kWarp) + x;
  C of_weight = 0, of_bias = 0;
  if (column < a.n) {
#pragma unroll 4
    for (int64_t row = blockIdx.y * static_cast<int64_t>(kRows) + y; row < a.rows; row += int64_t{gridDim.y} * kRows) {
      const C g = load(a.grad + row * a.n + column);
      of_weight += g * ((load(a.x + row * a.n + column) - a.mean.at(row, C(0))) * a.rstd.at(row, C(0)));
      of_bias += g;
    }
  }
  side[0][y][x] = of_weight;
  side[1][y][x] = of_bias;
  __syncthreads();
  if (y < 2 && column < a.n) {
    C sum = 0;
    for (int i = 0; i < kRows; ++i) sum += side[y][i][x];
    columns[(static_cast<int64_t>(blockIdx.y) * 2 + y) * a.n + column] = sum;
  }
}

/// Joins columns[pieces][2][n]. Without pieces, the gradients are zero.
template <class C>
__global__ void __launch_bounds__(kColumnThreads) join_columns(const C* columns, const int64_t pieces, const int64_t n,
                                                               const FloatResults weight, const FloatResults bias) {
  constexpr int kRows = kColumnThreads / kWarp;
  GRADUS_SHARED(C, side, [kRows][kWarp]);
  const int x = static_cast<int>(threadIdx.x) % kWarp, y = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t column = blockIdx.x * static_cast<int64_t>(kWarp) + x;
  C sum = 0;
  if (column < 2 * n) {
#pragma unroll 4
    for (int64_t i = y; i < pieces; i += kRows) sum += columns[i * 2 * n + column];
  }
  side[y][x] = sum;
  __syncthreads();
  if (y == 0 && column < 2 * n) {
    for (int i = 1; i < kRows; ++i) sum += side[i][x];
    column < n ? weight.put(column, sum) : bias.put(column - n, sum);
  }
}

/// Threads for a row of the held kernels; 0 where rows are to be walked. *wide: the parameters are of the type that is
/// computed in, not of T.
template <class T, bool kBackward>
int group_of(int64_t n, std::initializer_list<const void*> rows, std::initializer_list<FloatVector> all, bool* wide) {
  constexpr ScalarType kOwn = CppTypeToScalarType<T>::value, kComputed = CppTypeToScalarType<Compute<T>>::value;
  constexpr int64_t kEach = kHeld<T, kBackward>;
  bool packs = n % kPackSize<T> == 0 && n <= kMostThreads * kEach, own = true, computed = true;
  for (const void* p : rows) packs &= begins_pack(p);
  for (const FloatVector& p : all) {
    packs &= begins_pack(p.data);
    own &= !p.data || p.dtype == kOwn;
    computed &= !p.data || p.dtype == kComputed;
  }
  *wide = !own;
  if (!packs || !(own || computed)) return 0;
  return std::max(next_power(ceil_div(n, kEach), kMostThreads), next_power(ceil_div(n, 2 * kPackSize<T>), kWarp));
}

int64_t rows_of(const ConstView& v, int64_t row) {
  int64_t n = 1;
  for (int i = 0; i < v.ndim; ++i) n *= v.sizes[i];
  return row == 0 ? 0 : n / row;
}

template <class T>
void forward(const Forward<T>& a) {
  const char* name = "layer_norm";
  bool wide;
  const int group = group_of<T, false>(a.n, {a.out, a.x}, {a.weight, a.bias}, &wide);
  if (group == 0) return launch_rows<T>(name, &forward_walked<T>, a, a.rows, a.n);
  const int threads = std::max(group, 128);
  launch(name, wide ? &forward_held<T, Compute<T>> : &forward_held<T, T>,
         dim3(static_cast<unsigned>(ceil_div(a.rows, threads / group))), static_cast<unsigned>(threads), 0, a,
         static_cast<uint32_t>(group));
}

/// Sums of columns, of so many blocks.
struct Columns {
  Scratch memory;
  int64_t pieces = 0;
};

template <class T, bool kSums>
Columns launch_backward_held(const char* name, const Backward<T>& a, int group, bool wide) {
  using C = Compute<T>;
  const int threads = std::max(group, 256), groups = threads / group;
  Columns columns;
  columns.pieces = ceil_div(a.rows, groups);
  if constexpr (kSums) {
    // As many as run at once: each leaves columns to be joined.
    columns.pieces = std::min<int64_t>(columns.pieces, context().multiprocessors * (1024 / threads));
    columns.memory = Scratch(sizeof(C) * 2 * static_cast<size_t>(columns.pieces * a.n));
  }
  const size_t side = kSums && groups > 1 ? sizeof(C) * kPackSize<T> * static_cast<size_t>(threads) : 0;
  launch(name, wide ? &backward_held<T, C, kSums> : &backward_held<T, T, kSums>,
         dim3(static_cast<unsigned>(columns.pieces)), static_cast<unsigned>(threads), side, a,
         static_cast<uint32_t>(group), columns.memory.template as<C>());
  return columns;
}

template <class T>
Columns launch_backward_columns(const char* name, const Backward<T>& a) {
  using C = Compute<T>;
  const int64_t blocks = ceil_div(a.n, kWarp), at_once = int64_t{context().multiprocessors} * 8;
  Columns columns;
  columns.pieces = std::clamp<int64_t>(std::min(at_once / blocks, a.rows / 64), 1, 512);
  columns.memory = Scratch(sizeof(C) * 2 * static_cast<size_t>(columns.pieces * a.n));
  launch(name, &backward_columns<T>, dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(columns.pieces)),
         kColumnThreads, 0, a, columns.memory.template as<C>());
  return columns;
}

template <class T>
void backward(const Backward<T>& a, const FloatResults& grad_weight, const FloatResults& grad_bias) {
  using C = Compute<T>;
  const char* name = "layer_norm_backward";
  const bool sums = grad_weight.data || grad_bias.data;
  bool wide;
  const int group = group_of<T, true>(a.n, {a.out, a.grad, a.x}, {a.weight}, &wide);
  Columns columns;
  if (a.rows > 0 && group > 0) {
    columns = sums ? launch_backward_held<T, true>(name, a, group, wide)
                   : launch_backward_held<T, false>(name, a, group, wide);
  } else if (a.rows > 0) {
    if (a.out) launch_rows<T>(name, &backward_walked<T>, a, a.rows, a.n);
    if (sums) columns = launch_backward_columns(name, a);
  }
  if (!sums) return;
  launch(name, &join_columns<C>, dim3(static_cast<unsigned>(ceil_div(2 * a.n, kWarp))), kColumnThreads, 0,
         columns.memory.as<C>(), columns.pieces, a.n, grad_weight, grad_bias);
}

void forward_cuda(View output, View mean, View rstd, ConstView input, ConstView weight, ConstView bias, int64_t row,
                  double eps) {
  const int64_t rows = rows_of(input, row);
  if (rows == 0) return;
  visit_floating(input.dtype, [&]<class T>() {
    forward(Forward<T>{output.as<T>(), input.as<T>(), rows, row, FloatVector(weight), FloatVector(bias),
                       FloatResults(mean), FloatResults(rstd), static_cast<Compute<T>>(eps)});
  });
}

void backward_cuda(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                   ConstView mean, ConstView rstd, ConstView weight, int64_t row) {
  visit_floating(input.dtype, [&]<class T>() {
    backward(Backward<T>{grad_input.as<T>(), grad_output.as<T>(), input.as<T>(), rows_of(input, row), row,
                         FloatVector(mean), FloatVector(rstd), FloatVector(weight)},
             FloatResults(grad_weight), FloatResults(grad_bias));
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(layer_norm_forward, forward_cuda)
GRADUS_CUDA_KERNEL(layer_norm_backward, backward_cuda)

}  // namespace gradus::inline v0::kernels::cuda
