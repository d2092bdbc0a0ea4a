#include <kernels/gemm.h>

#include <algorithm>
#include <climits>
#include <utility>

#include <gradus/core/error.h>

#include <kernels/cpu/denormals.h>
#include <kernels/cpu/gemm_tile.h>
#include <kernels/scratch.h>
#include <kernels/parallel.h>
#include <src/backends/blas/blas.h>
#include <src/backends/onednn/matmul.h>

namespace gradus::inline v0::kernels {

namespace {

namespace blas = backends::blas;

/// One product. bias(i, j) = bias[i * bias_row + j * bias_column].
template <class T>
struct Product {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row, b_column;
  T* c;
  int64_t c_row, c_column;
  const T* bias;
  int64_t bias_row, bias_column;
  T alpha, beta;

  /// The same product as c^T = b^T a^T.
  void transpose() {
    std::swap(m, n);
    std::swap(a, b);
    std::swap(a_row, b_column);
    std::swap(a_column, b_row);
    std::swap(c_row, c_column);
    std::swap(bias_row, bias_column);
  }
  Product rows(int64_t begin, int64_t end) const {
    Product p = *this;
    p.m = end - begin;
    p.a += begin * a_row, p.c += begin * c_row;
    if (bias) p.bias += begin * bias_row;
    return p;
  }
  Product columns(int64_t begin, int64_t end) const {
    Product p = *this;
    p.n = end - begin;
    p.b += begin * b_column, p.c += begin * c_column;
    if (bias) p.bias += begin * bias_column;
    return p;
  }
};

// A part of a product that is worth a thread: about 5 us of work.
constexpr int64_t kWorthAThread = 262144;

// Above this many multiplications BLAS's blocking for the caches pays; below, the library's own tiles are as fast or
// faster in every orientation (benchmarks/gemm_choice.cpp, ours / OpenBLAS 0.3.21 on one thread of an EPYC 9004, us):
//                  f32 NN        NT            TN            f64 NN
//     8x8x8        0.02 / 0.05   0.04 / 0.11   0.02 / 0.10   0.03 / 0.05
//     32x16x32     0.29 / 0.32   0.32 / 0.56   0.29 / 0.31   0.57 / 0.61
//     64x64x64     4.7 / 4.6     5.0 / 6.2     4.7 / 4.6     9.1 / 9.1
//     256x256x256  290 / 320     297 / 324     290 / 321     590 / 645
//     512^3        2350 / 2550   2420 / 2570   2400 / 2590   5160 / 5330
//     1024^3       22900 / 21900 21700 / 22000 23900 / 21400
constexpr int64_t kTileWork = int64_t{512} * 512 * 512;

template <class T>
constexpr bool kHasTiles = std::is_same_v<T, float> || std::is_same_v<T, double>;

/// c + x b; integers narrower than int wrap as the wide ones do.
template <class T>
T multiply_add(T c, T x, T b) {
  if constexpr (std::is_integral_v<T> && sizeof(T) < 4) {
    return static_cast<T>(uint32_t{c} + uint32_t{x} * uint32_t{b});
  } else {
    return c + x * b;
  }
}

/// c = beta c + bias: what is left of a product without its matrices.
template <class T>
void scale_and_add_bias(const Product<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      T& c = p.c[i * p.c_row + j * p.c_column];
      const T bias = p.bias ? p.bias[i * p.bias_row + j * p.bias_column] : T(0);
      c = p.beta == T(0) ? bias : multiply_add(bias, p.beta, c);
    }
  }
}

/// The operand's layout as BLAS takes it: rows contiguous (No) or columns (Yes).
struct BlasLayout {
  blas::Transpose transpose;
  int64_t leading;
};
bool blas_layout(int64_t rows, int64_t columns, int64_t row, int64_t column, BlasLayout& out) {
  if (columns == 1 || column == 1) {
    const int64_t leading = rows == 1 ? std::max(columns, int64_t{1}) : row;
    if (leading >= columns && leading <= INT_MAX) return out = {blas::Transpose::No, leading}, true;
  }
  if (rows == 1 || row == 1) {
    const int64_t leading = columns == 1 ? std::max(rows, int64_t{1}) : column;
    if (leading >= rows && leading <= INT_MAX) return out = {blas::Transpose::Yes, leading}, true;
  }
  return false;
}

template <class From, class To>
void copy_matrix(int64_t rows, int64_t columns, const From* from, int64_t row, int64_t column, To* to) {
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(columns, 1));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (column == 1) {
        for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = static_cast<To>(from[i * row + j]);
      } else {
        for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = static_cast<To>(from[i * row + j * column]);
      }
    }
  });
}

/// Calls f on parts of the product on several threads, along its longer side.
template <class T, class F>
void in_parts(const Product<T>& p, const F& f) {
  const int64_t work = p.m * p.n * p.k;
  if (work < 2 * kWorthAThread) return f(p);
  const bool by_rows = p.m >= p.n;
  const int64_t unit = by_rows ? 8 : 32, length = by_rows ? p.m : p.n;
  const int64_t units = (length + unit - 1) / unit;
  const int64_t grain = std::max<int64_t>(1, kWorthAThread / std::max<int64_t>(1, work / units));
  parallel_for(0, units, grain, [&](int64_t begin, int64_t end) {
    const FlushDenormals flush;
    const int64_t b = begin * unit, e = std::min(length, end * unit);
    f(by_rows ? p.rows(b, e) : p.columns(b, e));
  });
}

/// By BLAS, c's rows contiguous, both operands as BLAS takes them. Bias goes in first, as c's initial value.
template <class T>
void by_blas(Product<T> p, BlasLayout a, BlasLayout b) {
  if (p.bias) {
    scale_and_add_bias(p);
    p.beta = T(1);
  }
  const int64_t ldc = p.m == 1 ? std::max(p.n, int64_t{1}) : p.c_row;
  blas::gemm(a.transpose, b.transpose, p.m, p.n, p.k, p.alpha, p.a, a.leading, p.b, b.leading, p.beta, p.c, ldc);
}

/// By plain loops over rows of b: the integer types, and any type where there is no BLAS.
template <class T>
void by_loops(const Product<T>& p) {
  scale_and_add_bias(p);
  for (int64_t i = 0; i < p.m; ++i) {
    T* c = p.c + i * p.c_row;
    for (int64_t q = 0; q < p.k; ++q) {
      const T x = multiply_add(T(0), p.alpha, p.a[i * p.a_row + q * p.a_column]);
      const T* b = p.b + q * p.b_row;
      if (p.b_column == 1 && p.c_column == 1) {
        for (int64_t j = 0; j < p.n; ++j) c[j] = multiply_add(c[j], x, b[j]);
      } else {
        for (int64_t j = 0; j < p.n; ++j) {
          T& y = c[j * p.c_column];
          y = multiply_add(y, x, b[j * p.b_column]);
        }
      }
    }
  }
}

template <class T>
void by_tiles(Product<T> p) {
  if constexpr (kHasTiles<T>) {
    if (p.bias && !(p.bias_row == 0 && (p.bias_column == 1 || p.n == 1))) {
      scale_and_add_bias(p);
      p.bias = nullptr;
      p.beta = T(1);
    }
    tile_product(TileProduct<T>{p.m, p.n, p.k, p.a, p.a_row, p.a_column, p.b, p.b_row, p.b_column, p.c, p.c_row,
                                p.alpha, p.beta, p.bias});
  } else {
    by_loops(p);
  }
}

/// c's rows are contiguous and all sizes positive from here on.
template <class T>
void with_contiguous_rows(const Product<T>& p) {
  if constexpr (kHasTiles<T>) {
    // A product of one row is bound by b's memory, which tiles read once, as BLAS does.
    if (p.m == 1 || p.m * p.n * p.k <= kTileWork) return in_parts(p, [](const Product<T>& part) { by_tiles(part); });
  }
  if (!blas::available() || std::max({p.m, p.n, p.k, p.c_row}) > INT_MAX) {
    return in_parts(p, [](const Product<T>& part) { by_tiles(part); });
  }
  Product<T> q = p;
  BlasLayout a, b;
  ScratchArray<T> packed_a, packed_b;
  if (!blas_layout(q.m, q.k, q.a_row, q.a_column, a)) {
    packed_a.reserve(static_cast<size_t>(q.m * q.k) * sizeof(T));
    copy_matrix(q.m, q.k, q.a, q.a_row, q.a_column, packed_a.data());
    q.a = packed_a.data(), q.a_row = q.k, q.a_column = 1;
    a = {blas::Transpose::No, q.k};
  }
  if (!blas_layout(q.k, q.n, q.b_row, q.b_column, b)) {
    packed_b.reserve(static_cast<size_t>(q.k * q.n) * sizeof(T));
    copy_matrix(q.k, q.n, q.b, q.b_row, q.b_column, packed_b.data());
    q.b = packed_b.data(), q.b_row = q.n, q.b_column = 1;
    b = {blas::Transpose::No, q.n};
  }
  in_parts(q, [&](const Product<T>& part) { by_blas(part, a, b); });
}

/// A matrix times a column: dot products where the matrix's rows are contiguous.
template <class T>
bool by_dots(const Product<T>& p) {
  if constexpr (kHasTiles<T>) {
    if (p.n != 1 || (p.a_column != 1 && p.k != 1)) return false;
    ScratchArray<T> packed;
    const T* x = p.b;
    if (p.b_row != 1 && p.k != 1) {
      packed.reserve(static_cast<size_t>(p.k) * sizeof(T));
      copy_matrix(p.k, 1, p.b, p.b_row, 1, packed.data());
      x = packed.data();
    }
    parallel_for(0, p.m, std::max<int64_t>(1, kWorthAThread / 4 / p.k), [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      const Product<T> q = p.rows(begin, end);
      row_dots(RowDots<T>{q.m, q.k, q.a, q.a_row, x, q.c, q.c_row, q.alpha, q.beta, q.bias, q.bias_row});
    });
    return true;
  } else {
    return false;
  }
}

template <class T>
void run(Product<T> p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) return scale_and_add_bias(p);
  if (p.m == 1 && p.n != 1 && p.b_column != 1 && (p.b_row == 1 || p.k == 1)) p.transpose();
  if (by_dots(p)) return;
  if (p.n == 1 && p.m != 1 && p.a_row == 1) p.transpose();
  if (p.n == 1 || p.c_column == 1) return with_contiguous_rows(p);
  if (p.c_row == 1 || p.m == 1) {
    if (p.m == 1 && p.c_row != 1) p.c_row = 1;  // one row: its stride is free
    p.transpose();
    return with_contiguous_rows(p);
  }
  const ScratchArray<T> product(static_cast<size_t>(p.m * p.n));
  Product<T> q = p;
  q.c = product.data(), q.c_row = p.n, q.c_column = 1;
  q.beta = T(0);
  with_contiguous_rows(q);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      T& c = p.c[i * p.c_row + j * p.c_column];
      const T y = product[static_cast<size_t>(i * p.n + j)];
      c = p.beta == T(0) ? y : multiply_add(y, p.beta, c);
    }
  }
}

/// 16-bit floats where the CPU multiplies them (benchmarks/gemm_choice.cpp's bf16 part).
template <class H>
bool by_onednn(const Product<H>& p, float alpha, float beta) {
  namespace onednn = backends::onednn;
  constexpr ScalarType kType = CppTypeToScalarType<H>::value;
  constexpr int64_t kLeastWork = 64 * 64 * 64;  // below, preparing the call costs more than widening
  const auto unit = [](int64_t row, int64_t column) { return (row == 1 || column == 1) && row > 0 && column > 0; };
  if (alpha != 1 || beta != 0 || p.m * p.n * p.k < kLeastWork || in_parallel_region() || !onednn::has_matmul(kType))
    return false;
  if (!unit(p.a_row, p.a_column) || !unit(p.b_row, p.b_column) || p.c_column != 1 || p.c_row < p.n) return false;
  if (std::min({p.m, p.n, p.k}) < 8 || (p.bias && p.bias_column != 1)) return false;
  onednn::matmul(
      {p.m, p.n, p.k, p.a_row, p.a_column, p.b_row, p.b_column, p.c_row, p.c_column, kType, p.bias != nullptr}, p.a,
      p.b, p.bias, p.c);
  return true;
}

/// 16-bit floats: in float, rounded once at the end.
template <class H>
void run_half(const Product<H>& p, float alpha, float beta) {
  if (p.m == 0 || p.n == 0 || by_onednn(p, alpha, beta)) return;
  const ScratchArray<float> a(static_cast<size_t>(p.m * p.k)), b(static_cast<size_t>(p.k * p.n));
  const ScratchArray<float> c(static_cast<size_t>(p.m * p.n)), bias(p.bias ? static_cast<size_t>(p.n) : 0);
  copy_matrix(p.m, p.k, p.a, p.a_row, p.a_column, a.data());
  // A transposed b is converted along its contiguous side and stays transposed.
  const bool b_transposed = p.b_row == 1 && p.b_column != 1;
  if (b_transposed) {
    copy_matrix(p.n, p.k, p.b, p.b_column, p.b_row, b.data());
  } else {
    copy_matrix(p.k, p.n, p.b, p.b_row, p.b_column, b.data());
  }
  if (p.bias) copy_matrix(p.n, 1, p.bias, p.bias_column, 1, bias.data());
  if (beta != 0) copy_matrix(p.m, p.n, p.c, p.c_row, p.c_column, c.data());
  run(Product<float>{p.m, p.n, p.k, a.data(), p.k, 1, b.data(), b_transposed ? 1 : p.n, b_transposed ? p.k : 1,
                     c.data(), p.n, 1, p.bias ? bias.data() : nullptr, 0, 1, alpha, beta});
  const int64_t grain = std::max<int64_t>(1, 32768 / p.n);
  parallel_for(0, p.m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < p.n; ++j) p.c[i * p.c_row + j * p.c_column] = H(c[static_cast<size_t>(i * p.n + j)]);
    }
  });
}

template <class T>
T scalar_as(const Scalar& s) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(s.as_int());
  } else if constexpr (std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>) {
    return T(s.as_complex());
  } else {
    return static_cast<T>(s.as_double());
  }
}

template <class T>
Product<T> make_product(const View& c, const ConstView& a, const ConstView& b, const ConstView& bias, int dim) {
  Product<T> p{};
  p.m = c.sizes[dim], p.n = c.sizes[dim + 1], p.k = a.sizes[dim + 1];
  p.a = a.as<T>(), p.a_row = a.strides[dim], p.a_column = a.strides[dim + 1];
  p.b = b.as<T>(), p.b_row = b.strides[dim], p.b_column = b.strides[dim + 1];
  p.c = c.as<T>(), p.c_row = c.strides[dim], p.c_column = c.strides[dim + 1];
  p.bias = bias.as<T>();
  p.bias_column = bias.data ? bias.strides[0] : 0;
  return p;
}

template <class T, class Run>
void batched(const View& c, const ConstView& a, const ConstView& b, const ConstView& bias, Run run_one) {
  const FlushDenormals flush;
  if (c.ndim == 2) return run_one(make_product<T>(c, a, b, bias, 0));
  const Product<T> first = make_product<T>(c, a, b, bias, 1);
  const int64_t batch = c.sizes[0], work = std::max<int64_t>(1, first.m * first.n * first.k);
  auto range = [&](int64_t begin, int64_t end) {
    const FlushDenormals flush_here;
    for (int64_t i = begin; i < end; ++i) {
      Product<T> p = first;
      p.a += i * a.strides[0], p.b += i * b.strides[0], p.c += i * c.strides[0];
      run_one(p);
    }
  };
  // A few large products are split inside instead.
  if (batch < get_num_threads() && work > kWorthAThread) return range(0, batch);
  parallel_for(0, batch, std::max<int64_t>(1, kWorthAThread / work), range);
}

/// Unsigned arithmetic of the same width, so that overflow wraps as it does in PyTorch.
template <class T>
void dispatch_as(const View& c, const ConstView& a, const ConstView& b, const ConstView& bias, const Scalar& alpha,
                 const Scalar& beta) {
  batched<T>(c, a, b, bias, [&](Product<T> p) {
    p.alpha = scalar_as<T>(alpha), p.beta = scalar_as<T>(beta);
    if constexpr (std::is_integral_v<T>) {
      if (p.m == 0 || p.n == 0) return;
      in_parts(p, [](const Product<T>& part) { by_loops(part); });
    } else {
      run(p);
    }
  });
}
template <class H>
void dispatch_half(const View& c, const ConstView& a, const ConstView& b, const ConstView& bias, const Scalar& alpha,
                   const Scalar& beta) {
  batched<H>(c, a, b, bias, [&](const Product<H>& p) {
    run_half(p, static_cast<float>(alpha.as_double()), static_cast<float>(beta.as_double()));
  });
}

/// The ordinary small product, which the general path's cases would cost more than its arithmetic (8x8x8: 25 ns).
bool small_f32(const View& c, const ConstView& a, const ConstView& b, const ConstView& bias, const Scalar& alpha,
               const Scalar& beta) {
  if (c.dtype != ScalarType::Float || c.ndim != 2) return false;
  const int64_t m = c.sizes[0], n = c.sizes[1], k = a.sizes[1];
  if (m < 2 || n < 2 || k < 1 || c.strides[1] != 1 || m * n * k >= 2 * kWorthAThread) return false;
  if (bias.data && bias.strides[0] != 1) return false;
  const FlushDenormals flush;
  tile_product(TileProduct<float>{m, n, k, a.as<float>(), a.strides[0], a.strides[1], b.as<float>(), b.strides[0],
                                  b.strides[1], c.as<float>(), c.strides[0], static_cast<float>(alpha.as_double()),
                                  static_cast<float>(beta.as_double()), bias.as<float>()});
  return true;
}

void gemm_cpu(View c, ConstView a, ConstView b, ConstView bias, const Scalar& alpha, const Scalar& beta) {
  if (small_f32(c, a, b, bias, alpha, beta)) return;
  switch (c.dtype) {
    case ScalarType::Float:
      return dispatch_as<float>(c, a, b, bias, alpha, beta);
    case ScalarType::Double:
      return dispatch_as<double>(c, a, b, bias, alpha, beta);
    case ScalarType::Half:
      return dispatch_half<Half>(c, a, b, bias, alpha, beta);
    case ScalarType::BFloat16:
      return dispatch_half<BFloat16>(c, a, b, bias, alpha, beta);
    case ScalarType::ComplexFloat:
      return dispatch_as<complex<float>>(c, a, b, bias, alpha, beta);
    case ScalarType::ComplexDouble:
      return dispatch_as<complex<double>>(c, a, b, bias, alpha, beta);
    case ScalarType::Byte:
    case ScalarType::Char:
      return dispatch_as<uint8_t>(c, a, b, bias, alpha, beta);
    case ScalarType::Short:
      return dispatch_as<uint16_t>(c, a, b, bias, alpha, beta);
    case ScalarType::Int:
      return dispatch_as<uint32_t>(c, a, b, bias, alpha, beta);
    case ScalarType::Long:
      return dispatch_as<uint64_t>(c, a, b, bias, alpha, beta);
    default:
      GRADUS_CHECK_AS(NotImplementedError, false, "gemm: dtype ", c.dtype,
                      " was given; expected a floating, complex or integer type of 8 to 64 bits");
  }
}

}  // namespace

constinit KernelTable<void(View, ConstView, ConstView, ConstView, const Scalar&, const Scalar&)> gemm("gemm",
                                                                                                      &gemm_cpu);

}  // namespace gradus::inline v0::kernels
