// cuBLASLt for builds without a GPU: reads every descriptor that a call is given, refuses what the real library
// refuses, and computes plainly, in the stream's order. Sums are made in double and rounded once; TF32 rounds operands
// first.
#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include <cublasLt.h>

#include <gradus/core/scalar_type.h>

#include "libraries.h"
#include "library_support.h"

struct cublasLtContext {
  uint64_t magic;
};

namespace gradus_emulation::cublaslt {

State& state() {
  static State& instance = *new State;
  return instance;
}

namespace {

constexpr uint64_t kHandle = 0x68616e646c65, kOperation = 0x6f7065726174, kLayout = 0x6c61796f7574,
                   kPreference = 0x70726566, kAlgorithm = 0x616c676f;

struct Operation {
  uint64_t magic;
  int32_t compute, scale, pointer_mode, transpose_a, transpose_b, bias_type;
  uint32_t epilogue;
  const void* bias;
  int64_t bias_batch;
};
struct Layout {
  uint64_t magic;
  uint32_t type;
  int32_t order, batch;
  uint64_t rows, columns;
  int64_t leading, batch_stride;
};
struct Preference {
  uint64_t magic, workspace;
  uint32_t reduction_mask, alignments[4];
};
struct AlgorithmData {
  uint64_t magic, problem, workspace;
  int32_t which;
  uint32_t alignment;
};
static_assert(sizeof(Operation) <= sizeof(cublasLtMatmulDescOpaque_t) && sizeof(Layout) <= 64 &&
              sizeof(Preference) <= 64 && sizeof(AlgorithmData) <= 64);

template <class T, class Opaque>
T read(const Opaque* opaque) {
  T t;
  std::memcpy(&t, opaque, sizeof t);
  return t;
}
template <class Opaque, class T>
void write(Opaque* opaque, const T& t) {
  std::memset(static_cast<void*>(opaque), 0xee, sizeof *opaque);
  std::memcpy(static_cast<void*>(opaque), &t, sizeof t);
}

template <class T>
cublasStatus_t set(T& field, const void* value, size_t size) {
  if (size != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

bool is_complex(uint32_t type) {
  return type == CUDA_C_32F || type == CUDA_C_64F;
}
size_t size_of(uint32_t type) {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 4;
  }
}

/// A call's descriptors, read.
struct Problem {
  Operation op;
  Layout a, b, c, d;

  int64_t m() const { return static_cast<int64_t>(d.rows); }
  int64_t n() const { return static_cast<int64_t>(d.columns); }
  int64_t k() const { return static_cast<int64_t>(op.transpose_a == CUBLAS_OP_N ? a.columns : a.rows); }

  cublasStatus_t check() const;
  uint64_t hash() const;
};

bool valid(const Layout& l) {
  const uint64_t contiguous = l.order == CUBLASLT_ORDER_COL ? l.rows : l.columns;
  return l.magic == kLayout && l.rows > 0 && l.columns > 0 && l.leading > 0 &&
         static_cast<uint64_t>(l.leading) >= contiguous && l.batch > 0 && l.batch_stride >= 0 &&
         (l.order == CUBLASLT_ORDER_COL || l.order == CUBLASLT_ORDER_ROW);
}
bool same(const Layout& x, const Layout& y) {
  return x.type == y.type && x.order == y.order && x.batch == y.batch && x.rows == y.rows && x.columns == y.columns &&
         x.leading == y.leading && x.batch_stride == y.batch_stride;
}
bool fits_int(const Layout& l) {
  return l.rows <= INT32_MAX && l.columns <= INT32_MAX;
}

cublasStatus_t Problem::check() const {
  if (op.magic != kOperation || !valid(a) || !valid(b) || !valid(c) || !valid(d)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool ta = op.transpose_a != CUBLAS_OP_N, tb = op.transpose_b != CUBLAS_OP_N;
  if ((ta ? a.columns : a.rows) != d.rows || (tb ? b.rows : b.columns) != d.columns) return CUBLAS_STATUS_INVALID_VALUE;
  if ((ta ? a.rows : a.columns) != (tb ? b.columns : b.rows)) return CUBLAS_STATUS_INVALID_VALUE;
  if (a.batch != d.batch || b.batch != d.batch || !same(c, d)) return CUBLAS_STATUS_INVALID_VALUE;
  if (d.batch > 1 && d.batch_stride == 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (!fits_int(a) || !fits_int(b) || !fits_int(d)) return CUBLAS_STATUS_NOT_SUPPORTED;
  struct Combination {
    int32_t compute, scale;
    uint32_t operands, result;
  };
  constexpr Combination kTypes[] = {
      {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
      {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F},
      {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF},
      {CUBLAS_COMPUTE_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
      {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
      {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
      {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
      {CUBLAS_COMPUTE_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
  };
  const bool known = std::any_of(std::begin(kTypes), std::end(kTypes), [&](const Combination& t) {
    return t.compute == op.compute && t.scale == op.scale && t.operands == a.type && a.type == b.type &&
           t.result == d.type;
  });
  if (!known) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (is_complex(d.type) && op.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_NOT_SUPPORTED;
  if ((op.epilogue & CUBLASLT_EPILOGUE_BIAS) && op.bias_type != -1 && static_cast<uint32_t>(op.bias_type) != d.type)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (d.order != CUBLASLT_ORDER_COL && (op.epilogue & CUBLASLT_EPILOGUE_BIAS)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

/// Of all but the pointers.
uint64_t Problem::hash() const {
  uint64_t h = 1469598103934665603u;
  const auto add = [&](auto v) { h = (h ^ static_cast<uint64_t>(v)) * 1099511628211u; };
  for (int32_t v : {op.compute, op.scale, op.pointer_mode, op.transpose_a, op.transpose_b, op.bias_type}) add(v);
  add(op.epilogue), add(op.bias_batch);
  for (const Layout& l : {a, b, c, d}) {
    add(l.type), add(l.order), add(l.batch), add(l.rows), add(l.columns), add(l.leading), add(l.batch_stride);
  }
  return h;
}

bool read_problem(Problem& p, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                  cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  if (!op || !a || !b || !c || !d) return false;
  p = {read<Operation>(op), read<Layout>(a), read<Layout>(b), read<Layout>(c), read<Layout>(d)};
  return true;
}

using Number = std::complex<double>;

Number load(uint32_t type, const void* data, int64_t i) {
  switch (type) {
    case CUDA_R_16F:
      return static_cast<double>(static_cast<const gradus::Half*>(data)[i]);
    case CUDA_R_16BF:
      return static_cast<double>(static_cast<const gradus::BFloat16*>(data)[i]);
    case CUDA_R_64F:
      return static_cast<const double*>(data)[i];
    case CUDA_C_32F:
      return static_cast<const std::complex<float>*>(data)[i];
    case CUDA_C_64F:
      return static_cast<const std::complex<double>*>(data)[i];
    default:
      return static_cast<const float*>(data)[i];
  }
}
void store(uint32_t type, void* data, int64_t i, Number v) {
  switch (type) {
    case CUDA_R_16F:
      static_cast<gradus::Half*>(data)[i] = gradus::Half(static_cast<float>(v.real()));
      break;
    case CUDA_R_16BF:
      static_cast<gradus::BFloat16*>(data)[i] = gradus::BFloat16(static_cast<float>(v.real()));
      break;
    case CUDA_R_64F:
      static_cast<double*>(data)[i] = v.real();
      break;
    case CUDA_C_32F:
      static_cast<std::complex<float>*>(data)[i] = std::complex<float>(v);
      break;
    case CUDA_C_64F:
      static_cast<std::complex<double>*>(data)[i] = v;
      break;
    default:
      static_cast<float*>(data)[i] = static_cast<float>(v.real());
  }
}

int64_t offset(const Layout& l, int64_t z, int64_t row, int64_t column) {
  return z * l.batch_stride + (l.order == CUBLASLT_ORDER_COL ? row + column * l.leading : row * l.leading + column);
}

/// op(operand)'s elements, `rows` x `columns`, row after row.
std::vector<Number> gather(const Problem& p, const Layout& l, const void* data, int64_t z, int32_t transpose,
                           int64_t rows, int64_t columns) {
  std::vector<Number> r(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const bool swap = transpose != CUBLAS_OP_N;
      Number v = load(l.type, data, offset(l, z, swap ? j : i, swap ? i : j));
      if (transpose == CUBLAS_OP_C) v = std::conj(v);
      if (p.op.compute == CUBLAS_COMPUTE_32F_FAST_TF32) {
        v = Number(to_tf32(static_cast<float>(v.real())), to_tf32(static_cast<float>(v.imag())));
      }
      r[static_cast<size_t>(i * columns + j)] = v;
    }
  }
  return r;
}

double activate(uint32_t epilogue, double v) {
  if (epilogue & CUBLASLT_EPILOGUE_RELU) return v > 0 || v != v ? v : 0;
  if (epilogue & CUBLASLT_EPILOGUE_GELU) {
    return 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  }
  return v;
}

struct Arguments {
  const void *a, *b, *c;
  void* d;
  Number alpha, beta;
};

void compute(const Problem& p, const Arguments& args, bool reduce_in_output) {
  const int64_t m = p.m(), n = p.n(), k = p.k();
  const bool complex = is_complex(p.d.type);
  for (int64_t z = 0; z < p.d.batch; ++z) {
    const std::vector<Number> a = gather(p, p.a, args.a, z, p.op.transpose_a, m, k);
    const std::vector<Number> b = gather(p, p.b, args.b, z, p.op.transpose_b, k, n);
    std::vector<Number> sums(static_cast<size_t>(n));
    for (int64_t i = 0; i < m; ++i) {
      std::fill(sums.begin(), sums.end(), Number());
      for (int64_t q = 0; q < k; ++q) {
        const Number x = a[static_cast<size_t>(i * k + q)];
        const Number* row = b.data() + q * n;
        if (complex) {
          for (int64_t j = 0; j < n; ++j) sums[static_cast<size_t>(j)] += x * row[j];
        } else {
          for (int64_t j = 0; j < n; ++j) sums[static_cast<size_t>(j)] += x.real() * row[j].real();
        }
        if (reduce_in_output && q == k / 2) {
          for (Number& s : sums) {
            uint16_t rounded;
            store(p.d.type, &rounded, 0, s);
            s = load(p.d.type, &rounded, 0);
          }
        }
      }
      for (int64_t j = 0; j < n; ++j) {
        Number y = args.alpha * sums[static_cast<size_t>(j)];
        if (args.beta != Number()) y += args.beta * load(p.c.type, args.c, offset(p.c, z, i, j));
        if (p.op.epilogue & CUBLASLT_EPILOGUE_BIAS) y += load(p.d.type, p.op.bias, z * p.op.bias_batch + i);
        if (!complex) y = activate(p.op.epilogue, y.real());
        store(p.d.type, args.d, offset(p.d, z, i, j), y);
      }
    }
  }
}

bool aligned(const void* p, uint64_t bytes) {
  return reinterpret_cast<uintptr_t>(p) % bytes == 0;
}

Number scalar(int32_t type, const void* p) {
  return load(static_cast<uint32_t>(type), p, 0);
}

}  // namespace
}  // namespace gradus_emulation::cublaslt

using namespace gradus_emulation::cublaslt;  // NOLINT: this file is that namespace's

extern "C" {

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}
const char* cublasLtGetStatusString(cublasStatus_t) {
  return "said by the emulated library";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasLtContext{kHandle};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t desc, cublasComputeType_t compute, cudaDataType_t scale) {
  if (!desc) return CUBLAS_STATUS_INVALID_VALUE;
  write(desc, Operation{kOperation, compute, scale, CUBLASLT_POINTER_MODE_HOST, CUBLAS_OP_N, CUBLAS_OP_N, -1,
                        CUBLASLT_EPILOGUE_DEFAULT, nullptr, 0});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t size) {
  if (!desc || !value || read<Operation>(desc).magic != kOperation) return CUBLAS_STATUS_INVALID_VALUE;
  Operation op = read<Operation>(desc);
  cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      status = set(op.compute, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      status = set(op.scale, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      status = set(op.pointer_mode, value, size);
      if (op.pointer_mode != CUBLASLT_POINTER_MODE_HOST && op.pointer_mode != CUBLASLT_POINTER_MODE_DEVICE)
        status = CUBLAS_STATUS_NOT_SUPPORTED;
      break;
    case CUBLASLT_MATMUL_DESC_TRANSA:
      status = set(op.transpose_a, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      status = set(op.transpose_b, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE: {
      status = set(op.epilogue, value, size);
      constexpr uint32_t kKnown[] = {1, 2, 4, 6, 32, 36};
      if (std::find(std::begin(kKnown), std::end(kKnown), op.epilogue) == std::end(kKnown))
        status = CUBLAS_STATUS_INVALID_VALUE;
      break;
    }
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      status = set(op.bias, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      status = set(op.bias_batch, value, size);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      status = set(op.bias_type, value, size);
      break;
    default:
      break;
  }
  if (status == CUBLAS_STATUS_SUCCESS) write(desc, op);
  return status;
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType_t type, uint64_t rows,
                                        uint64_t columns, int64_t leading) {
  if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
  write(layout, Layout{kLayout, static_cast<uint32_t>(type), CUBLASLT_ORDER_COL, 1, rows, columns, leading, 0});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t size) {
  if (!layout || !value || read<Layout>(layout).magic != kLayout) return CUBLAS_STATUS_INVALID_VALUE;
  Layout l = read<Layout>(layout);
  const auto finish = [&](cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) write(layout, l);
    return status;
  };
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return finish(set(l.type, value, size));
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return finish(set(l.order, value, size));
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return finish(set(l.rows, value, size));
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return finish(set(l.columns, value, size));
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return finish(set(l.leading, value, size));
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return finish(set(l.batch, value, size));
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return finish(set(l.batch_stride, value, size));
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  if (!preference) return CUBLAS_STATUS_INVALID_VALUE;
  write(preference, Preference{kPreference, 0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t size) {
  if (!preference || !value || read<Preference>(preference).magic != kPreference) return CUBLAS_STATUS_INVALID_VALUE;
  Preference p = read<Preference>(preference);
  cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    status = set(p.workspace, value, size);
  } else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
    status = set(p.reduction_mask, value, size);
  } else if (attribute >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
             attribute <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) {
    uint32_t& bytes = p.alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES];
    status = set(bytes, value, size);
    if (bytes == 0 || (bytes & (bytes - 1)) != 0) status = CUBLAS_STATUS_INVALID_VALUE;
  }
  if (status == CUBLAS_STATUS_SUCCESS) write(preference, p);
  return status;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t* results, int* returned) {
  Problem p;
  if (!handle || handle->magic != kHandle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!read_problem(p, desc, a, b, c, d) || !preference || requested <= 0 || !results || !returned)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Preference wish = read<Preference>(preference);
  if (wish.magic != kPreference) return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t status = p.check(); status != CUBLAS_STATUS_SUCCESS) return status;
  ++state().heuristics;
  *returned = 0;
  if (state().refuse_all || (state().refuse_epilogues && p.op.epilogue != CUBLASLT_EPILOGUE_DEFAULT))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const uint32_t alignment = *std::min_element(std::begin(wish.alignments), std::end(wish.alignments));
  const size_t element = size_of(p.d.type);
  const auto offer = [&](int which, uint32_t scheme, uint64_t workspace, uint32_t needs) {
    if (*returned == requested || workspace > wish.workspace || needs > alignment) return;
    if (scheme != CUBLASLT_REDUCTION_SCHEME_NONE && !(wish.reduction_mask & scheme)) return;
    cublasLtMatmulHeuristicResult_t& r = results[(*returned)++];
    write(&r.algo, AlgorithmData{kAlgorithm, p.hash(), workspace, which, needs});
    r.workspaceSize = workspace, r.state = CUBLAS_STATUS_SUCCESS, r.wavesCount = 1;
  };
  if (element == 2 && p.k() >= 2048) offer(kReducedInOutput, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 0, 16);
  const auto result = static_cast<uint64_t>(p.m() * p.n() * p.d.batch) * 4;
  offer(kWithWorkspace, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, result, 16);
  offer(kPlain, CUBLASLT_REDUCTION_SCHEME_NONE, 0, static_cast<uint32_t>(std::min<size_t>(element, 8)));
  return *returned > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_size, cudaStream_t stream) {
  Problem p;
  if (!handle || handle->magic != kHandle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!read_problem(p, desc, a_layout, b_layout, c_layout, d_layout)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!alpha || !beta || !a || !b || !d || !algorithm) return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t status = p.check(); status != CUBLAS_STATUS_SUCCESS) return status;
  const auto chosen = read<AlgorithmData>(algorithm);
  if (chosen.magic != kAlgorithm || chosen.problem != p.hash()) return CUBLAS_STATUS_INVALID_VALUE;
  if (workspace_size < chosen.workspace || (workspace_size > 0 && !workspace) || !aligned(workspace, 256))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!aligned(a, chosen.alignment) || !aligned(b, chosen.alignment) || !aligned(d, chosen.alignment) ||
      !aligned(c, chosen.alignment))
    return CUBLAS_STATUS_INVALID_VALUE;
  if ((p.op.epilogue & CUBLASLT_EPILOGUE_BIAS) && !p.op.bias) return CUBLAS_STATUS_INVALID_VALUE;
  const bool on_host = p.op.pointer_mode == CUBLASLT_POINTER_MODE_HOST;
  Arguments args{a, b, c, d, {}, {}};
  if (on_host) {
    args.alpha = scalar(p.op.scale, alpha), args.beta = scalar(p.op.scale, beta);
    if (args.beta != Number() && !c) return CUBLAS_STATUS_INVALID_VALUE;
  }
  ++state().products;
  state().last_algorithm = chosen.which;
  state().last_epilogue = p.op.epilogue;
  const cudaError_t error = gradus_emulation::enqueue(stream, [=]() mutable {
    if (!on_host) args.alpha = scalar(p.op.scale, alpha), args.beta = scalar(p.op.scale, beta);
    if (chosen.workspace) std::memset(workspace, 0xff, chosen.workspace);
    compute(p, args, chosen.which == kReducedInOutput);
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
