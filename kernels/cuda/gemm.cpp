#include <kernels/gemm.h>

#include <algorithm>
#include <cstdint>

#include <gradus/core/error.h>

#include <kernels/cuda/gemm_plain.h>
#include <kernels/cuda/launch.h>
#include <kernels/cuda/layout.h>
#include <kernels/cuda/scratch.h>
#include <src/backends/cublas/matmul.h>

namespace gradus::inline v0::kernels::cuda {

namespace {

namespace cublas = backends::cublas;

// Up to this many multiplications, along a short k, a product on our own kernel is one launch of a few microseconds;
// cuBLASLt needs as long on the device and twice as long on the host.
constexpr int64_t kSmallWork = 64 * 64 * 64, kSmallDepth = 128;

MatrixProduct make_product(const View& c, const ConstView& a, const ConstView& b, const ConstView& bias,
                           const Scalar& alpha, const Scalar& beta) {
  const int o = c.ndim - 2;  // 1 for batches
  MatrixProduct p{};
  p.dtype = c.dtype;
  p.batch = o ? c.sizes[0] : 1;
  p.m = c.sizes[o], p.n = c.sizes[o + 1], p.k = a.sizes[o + 1];
  p.a = a.data, p.a_row = a.strides[o], p.a_column = a.strides[o + 1];
  p.b = b.data, p.b_row = b.strides[o], p.b_column = b.strides[o + 1];
  p.c = c.data, p.c_row = c.strides[o], p.c_column = c.strides[o + 1];
  if (p.batch > 1) p.a_batch = a.strides[0], p.b_batch = b.strides[0], p.c_batch = c.strides[0];
  p.bias = bias.data;
  p.bias_column = bias.data ? bias.strides[0] : 0;
  p.alpha = alpha, p.beta = beta;
  return p;
}

bool is_integer(ScalarType t) {
  return !is_floating_point(t) && !is_complex(t);
}

/// Batches that are rows of one matrix: one b for all, a's and c's matrices one below the other.
void fold_batch(MatrixProduct& p) {
  if (p.batch == 1 || p.b_batch != 0) return;
  if (p.m == 1 && p.a_batch > 0) p.a_row = p.a_batch, p.c_row = p.c_batch;  // the stride of one row is free
  if (p.a_batch != p.m * p.a_row || p.c_batch != p.m * p.c_row) return;
  p.m *= p.batch;
  p.batch = 1;
  p.a_batch = p.c_batch = 0;
}

/// Whether the rows are contiguous and apart, so that `leading`, the distance between them, describes the matrix.
bool has_rows(int64_t rows, int64_t columns, int64_t row, int64_t column, int64_t& leading) {
  if (columns != 1 && column != 1) return false;
  leading = rows == 1 ? columns : row;
  return leading >= columns;
}

/// An operand as cuBLASLt takes it: itself, or packed.
struct Operand {
  const void* data;
  int64_t leading, batch_stride;
  bool transposed;
  Scratch packed;

  Operand(ScalarType dtype, int64_t batch, int64_t rows, int64_t columns, const void* source, int64_t batch_step,
          int64_t row, int64_t column)
      : data(source), batch_stride(batch_step), transposed(false) {
    if (has_rows(rows, columns, row, column, leading)) return;
    transposed = has_rows(columns, rows, column, row, leading);
    if (transposed) return;
    const int64_t sizes[] = {batch_step == 0 ? 1 : batch, rows, columns}, from[] = {batch_step, row, column};
    const int64_t to[] = {rows * columns, columns, 1};
    const size_t element = element_size(dtype);
    packed = Scratch(static_cast<size_t>(sizes[0] * rows * columns) * element);
    copy_layout(element, 3, sizes, source, from, packed.as<void>(), to);
    data = packed.as<void>(), leading = columns, batch_stride = batch_step == 0 ? 0 : rows * columns;
  }
};

/// A bias of n contiguous elements: itself, or packed.
struct Bias {
  const void* data;
  Scratch packed;

  explicit Bias(const MatrixProduct& p) : data(p.bias) {
    if (!p.bias || p.n == 1 || p.bias_column == 1) return;
    const size_t element = element_size(p.dtype);
    const int64_t dense = 1;
    packed = Scratch(static_cast<size_t>(p.n) * element);
    copy_layout(element, 1, &p.n, p.bias, &p.bias_column, packed.as<void>(), &dense);
    data = packed.as<void>();
  }
};

/// c's rows are contiguous; `leading` apart. False where cuBLASLt has no algorithm, with or without the bias.
bool by_cublas(const MatrixProduct& p, int64_t leading) {
  const Operand a(p.dtype, p.batch, p.m, p.k, p.a, p.a_batch, p.a_row, p.a_column);
  const Operand b(p.dtype, p.batch, p.k, p.n, p.b, p.b_batch, p.b_row, p.b_column);
  cublas::MatmulShape s{
      p.batch,        p.m,       p.n,     p.k,          a.leading,    b.leading, leading, a.batch_stride,
      b.batch_stride, p.c_batch, p.dtype, a.transposed, b.transposed, false};
  if (p.bias && !is_complex(p.dtype)) {
    const Bias bias(p);
    s.bias = true;
    if (cublas::matmul(s, a.data, b.data, bias.data, p.c, p.alpha, p.beta)) return true;
    s.bias = false;
  }
  if (!cublas::matmul(s, a.data, b.data, nullptr, p.c, p.alpha, p.beta)) return false;
  if (p.bias) {  // c = c + bias
    MatrixProduct rest = p;
    rest.k = 0, rest.beta = Scalar(1.0);
    plain_product(rest);
  }
  return true;
}

/// Through a c of our own where cuBLASLt cannot write the caller's.
bool by_packed_cublas(const MatrixProduct& p) {
  const size_t element = element_size(p.dtype);
  const int64_t sizes[] = {p.batch, p.m, p.n}, strides[] = {p.c_batch, p.c_row, p.c_column};
  const int64_t dense[] = {p.m * p.n, p.n, 1};
  const Scratch packed(static_cast<size_t>(p.batch * p.m * p.n) * element);
  MatrixProduct q = p;
  q.c = packed.as<void>(), q.c_batch = dense[0], q.c_row = p.n, q.c_column = 1;
  if (p.beta.as_complex() != complex<double>()) copy_layout(element, 3, sizes, p.c, strides, q.c, dense);
  if (!by_cublas(q, p.n)) return false;
  copy_layout(element, 3, sizes, q.c, dense, p.c, strides);
  return true;
}

void gemm_cuda(View c, ConstView a, ConstView b, ConstView bias, const Scalar& alpha, const Scalar& beta) {
  MatrixProduct p = make_product(c, a, b, bias, alpha, beta);
  if (p.batch == 0 || p.m == 0 || p.n == 0) return;
  const bool small = p.k <= kSmallDepth && p.m <= kSmallWork && p.n <= kSmallWork && p.batch <= kSmallWork &&
                     p.m * p.n <= kSmallWork && p.batch * p.m * p.n * p.k <= kSmallWork;
  if (is_integer(p.dtype) || p.k == 0 || small) return plain_product(p);
  fold_batch(p);
  if (std::max({p.batch, p.m, p.n, p.k}) > INT32_MAX) return plain_product(p);
  int64_t leading = 0;
  if (!has_rows(p.m, p.n, p.c_row, p.c_column, leading) && !p.bias &&
      has_rows(p.n, p.m, p.c_column, p.c_row, leading)) {
    p.transpose();
  }
  const bool written = has_rows(p.m, p.n, p.c_row, p.c_column, leading) ? by_cublas(p, leading) : by_packed_cublas(p);
  if (!written) plain_product(p);
}

}  // namespace

GRADUS_CUDA_KERNEL(gemm, gemm_cuda)

}  // namespace gradus::inline v0::kernels::cuda
