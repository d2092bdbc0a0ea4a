#include "kernels/cuda/gemm_plain.h"

#include <algorithm>
#include <utility>

#include <gradus/core/error.h>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kSide = 16;             // threads of a block: kSide x kSide
constexpr int kDepth = 16;            // of k, between two barriers
constexpr int64_t kMostRows = 65535;  // of a grid's second dimension

/// A complex element. Unlike gradus::complex it may lie in shared memory, which nothing constructs.
template <class T>
struct Pair {
  T re, im;
};
template <class T>
__device__ inline Pair<T> operator+(Pair<T> a, Pair<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
__device__ inline Pair<T> operator*(Pair<T> a, Pair<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// What sums are made in: unsigned integers wrap, and the narrow ones would be promoted to int, which does not.
template <class T>
struct SumOf {
  using type = Compute<T>;
};
template <>
struct SumOf<uint8_t> {
  using type = uint32_t;
};
template <>
struct SumOf<uint16_t> {
  using type = uint32_t;
};
template <class T>
using Sum = typename SumOf<T>::type;

template <class T>
__device__ inline Sum<T> fetch(const T* p) {
  return Sum<T>(load(p));
}
template <class T>
__device__ inline void put(T* p, Sum<T> v) {
  if constexpr (std::is_same_v<T, Sum<T>>) {
    *p = v;
  } else {
    store(p, v);
  }
}

template <class T>
struct Args {
  int64_t batch, m, n, k;
  const T* a;
  int64_t a_batch, a_row, a_column;
  const T* b;
  int64_t b_batch, b_row, b_column;
  T* c;
  int64_t c_batch, c_row, c_column;
  const T* bias;
  int64_t bias_row, bias_column;
  Sum<T> alpha, beta;
  bool reads_c;
};

/// Which elements of an operand's tile a thread loads: neighbouring threads load neighbours in memory, which lie along
/// k or along the other side.
struct Loader {
  int side, depth, side_step, depth_step;
  __device__ Loader(bool along_k, int tile) {
    const int t = static_cast<int>(threadIdx.x);
    side = along_k ? t / kDepth : t % tile, side_step = along_k ? kSide * kSide / kDepth : 0;
    depth = along_k ? t % kDepth : t / tile, depth_step = along_k ? 0 : kSide * kSide / tile;
  }
};

/// A tile of kSide * R rows and columns a block; thread (x, y) has the rows y + kSide i and the columns x + kSide j.
template <class T, int R>
__global__ void __launch_bounds__(kSide* kSide) product(Args<T> p) {
  constexpr int kTile = kSide * R;
  GRADUS_SHARED(Sum<T>, left, [kDepth][kTile + 1]);
  GRADUS_SHARED(Sum<T>, right, [kDepth][kTile + 1]);
  const int x = static_cast<int>(threadIdx.x) % kSide, y = static_cast<int>(threadIdx.x) / kSide;
  const int64_t tiles_across = (p.n + kTile - 1) / kTile;
  const int64_t row0 = blockIdx.x / tiles_across * kTile, column0 = blockIdx.x % tiles_across * kTile;
  const Loader from_a(p.a_column <= p.a_row, kTile), from_b(p.b_row < p.b_column, kTile);
  for (int64_t z = blockIdx.y; z < p.batch; z += gridDim.y) {
    const T* a = p.a + z * p.a_batch + (row0 + from_a.side) * p.a_row + from_a.depth * p.a_column;
    const T* b = p.b + z * p.b_batch + (column0 + from_b.side) * p.b_column + from_b.depth * p.b_row;
    const int64_t a_step = from_a.side_step * p.a_row + from_a.depth_step * p.a_column;
    const int64_t b_step = from_b.side_step * p.b_column + from_b.depth_step * p.b_row;
    Sum<T> sum[R][R] = {};
    for (int64_t k0 = 0; k0 < p.k; k0 += kDepth) {
#pragma unroll
      for (int i = 0; i < R; ++i) {
        const int row = from_a.side + i * from_a.side_step, depth_a = from_a.depth + i * from_a.depth_step;
        const int column = from_b.side + i * from_b.side_step, depth_b = from_b.depth + i * from_b.depth_step;
        left[depth_a][row] = row0 + row < p.m && k0 + depth_a < p.k ? fetch(a + i * a_step) : Sum<T>{};
        right[depth_b][column] = column0 + column < p.n && k0 + depth_b < p.k ? fetch(b + i * b_step) : Sum<T>{};
      }
      a += kDepth * p.a_column;
      b += kDepth * p.b_row;
      __syncthreads();
#pragma unroll 4
      for (int q = 0; q < kDepth; ++q) {
        Sum<T> u[R], v[R];
#pragma unroll
        for (int i = 0; i < R; ++i) u[i] = left[q][y + kSide * i], v[i] = right[q][x + kSide * i];
#pragma unroll
        for (int i = 0; i < R; ++i) {
#pragma unroll
          for (int j = 0; j < R; ++j) sum[i][j] = sum[i][j] + u[i] * v[j];
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int j = 0; j < R; ++j) {
        const int64_t row = row0 + y + kSide * i, column = column0 + x + kSide * j;
        if (row >= p.m || column >= p.n) continue;
        T* c = p.c + z * p.c_batch + row * p.c_row + column * p.c_column;
        Sum<T> r = p.alpha * sum[i][j];
        if (p.reads_c) r = r + p.beta * fetch(c);
        if (p.bias) r = r + fetch(p.bias + row * p.bias_row + column * p.bias_column);
        put(c, r);
      }
    }
  }
}

template <class T>
Sum<T> scale(const Scalar& s) {
  if constexpr (std::is_same_v<T, Pair<float>> || std::is_same_v<T, Pair<double>>) {
    using Real = decltype(T::re);
    const complex<double> v = s.as_complex();
    return {static_cast<Real>(v.re), static_cast<Real>(v.im)};
  } else {
    return as<Sum<T>>(s);
  }
}
template <class T>
bool is_zero(Sum<T> v) {
  if constexpr (std::is_same_v<T, Pair<float>> || std::is_same_v<T, Pair<double>>) {
    return v.re == 0 && v.im == 0;
  } else {
    return v == Sum<T>(0);
  }
}

template <class T, int R>
void launch_product(const Args<T>& args) {
  constexpr int64_t kTile = kSide * R;
  const int64_t tiles = ceil_div(args.m, kTile) * ceil_div(args.n, kTile);
  GRADUS_CHECK_AS(NotImplementedError, tiles <= INT32_MAX, "matmul: a product of ", args.m, " x ", args.n,
                  " elements is too large for one launch");
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(std::min(args.batch, kMostRows)));
  launch("plain_product", product<T, R>, grid, dim3(kSide * kSide), 0, args);
}

template <class T>
void run(const MatrixProduct& p) {
  Args<T> args{p.batch,
               p.m,
               p.n,
               p.k,
               static_cast<const T*>(p.a),
               p.a_batch,
               p.a_row,
               p.a_column,
               static_cast<const T*>(p.b),
               p.b_batch,
               p.b_row,
               p.b_column,
               static_cast<T*>(p.c),
               p.c_batch,
               p.c_row,
               p.c_column,
               static_cast<const T*>(p.bias),
               p.bias_row,
               p.bias_column,
               scale<T>(p.alpha),
               scale<T>(p.beta),
               false};
  args.reads_c = !is_zero<T>(args.beta);
  // Large tiles read less, small ones fill the device sooner. Only integers come here with large products as a rule.
  constexpr int kLarge = std::is_integral_v<T> ? 4 : 2;
  const int64_t large_tiles = ceil_div(p.m, kLarge * kSide) * ceil_div(p.n, kLarge * kSide) * p.batch;
  if (large_tiles >= context().multiprocessors) {
    launch_product<T, kLarge>(args);
  } else {
    launch_product<T, 1>(args);
  }
}

}  // namespace

void MatrixProduct::transpose() {
  std::swap(m, n);
  std::swap(a, b);
  std::swap(a_batch, b_batch);
  std::swap(a_row, b_column);
  std::swap(a_column, b_row);
  std::swap(c_row, c_column);
  std::swap(bias_row, bias_column);
}

void plain_product(MatrixProduct p) {
  if (p.batch == 0 || p.m == 0 || p.n == 0) return;
  if (p.c_row < p.c_column) p.transpose();  // writes along c's contiguous side
  switch (p.dtype) {
    case ScalarType::Float:
      return run<float>(p);
    case ScalarType::Double:
      return run<double>(p);
    case ScalarType::Half:
      return run<Half>(p);
    case ScalarType::BFloat16:
      return run<BFloat16>(p);
    case ScalarType::ComplexFloat:
      return run<Pair<float>>(p);
    case ScalarType::ComplexDouble:
      return run<Pair<double>>(p);
    case ScalarType::Byte:
    case ScalarType::Char:
      return run<uint8_t>(p);
    case ScalarType::Short:
      return run<uint16_t>(p);
    case ScalarType::Int:
      return run<uint32_t>(p);
    case ScalarType::Long:
      return run<uint64_t>(p);
    default:
      GRADUS_CHECK_AS(NotImplementedError, false, "gemm: dtype ", p.dtype,
                      " was given; expected a floating, complex or integer type of 8 to 64 bits");
  }
}

}  // namespace gradus::inline v0::kernels::cuda
