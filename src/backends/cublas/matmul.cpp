#include <src/backends/cublas/matmul.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <cublasLt.h>

#include <gradus/core/error.h>
#include <gradus/cuda/backends.h>

#include <kernels/cuda/launch.h>
#include <kernels/cuda/scratch.h>

namespace gradus::inline v0::backends::cublas {

namespace {

using kernels::cuda::Context;
using kernels::cuda::Scratch;

// Note [Rows and columns]
// cuBLASLt is called with its default order, column-major, which is what its fastest kernels are made for and the only
// order its bias epilogue fits: the bias has one element for each row of its result. A row-major c [m, n] is, in
// columns, c^T [n, m], and c^T = b^T a^T. So our b is its A, our a its B, n its rows; row-major operands enter as they
// are, transposed ones with CUBLAS_OP_T; the bias [n] goes along its rows, as it should.

[[noreturn]] void fail(cublasStatus_t status, const char* call, const MatmulShape& s, int device) {
  const std::string text =
      str("matmul: ", call, " failed with ", cublasLtGetStatusName(status), " (", cublasLtGetStatusString(status),
          ") for ", s.batch, " x [", s.m, ", ", s.k, "]", s.a_transposed ? "^T" : "", " [", s.k, ", ", s.n, "]",
          s.b_transposed ? "^T" : "", s.bias ? " + bias" : "", " of ", s.dtype, ", leading dimensions ", s.a_leading,
          ", ", s.b_leading, ", ", s.c_leading, ", on cuda:", device);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemoryError(text);
  throw Error(text);
}

/// What a dtype's products are computed and scaled in.
struct Types {
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
};
Types types_of(ScalarType dtype) {
  const cublasComputeType_t single = cuda::get_matmul_allow_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  switch (dtype) {
    case ScalarType::Float:
      return {CUDA_R_32F, CUDA_R_32F, single};
    case ScalarType::Double:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case ScalarType::Half:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case ScalarType::BFloat16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case ScalarType::ComplexFloat:
      return {CUDA_C_32F, CUDA_C_32F, single};
    case ScalarType::ComplexDouble:
      return {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
    default:
      throw Error(str("matmul: cuBLASLt was asked for a product of ", dtype));
  }
}

/// alpha or beta in the scale type.
struct ScaleFactor {
  union {
    float f[2];
    double d[2];
  };
  ScaleFactor(const Scalar& s, cudaDataType_t type) {
    const complex<double> v = s.as_complex();
    if (type == CUDA_R_64F || type == CUDA_C_64F) {
      d[0] = v.re, d[1] = v.im;
    } else {
      f[0] = static_cast<float>(v.re), f[1] = static_cast<float>(v.im);
    }
  }
};

/// The largest power of two that divides the address, up to what the heuristic asks about.
uint32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return address % 256 == 0 ? 256 : static_cast<uint32_t>(address & (~address + 1));
}

/// What an algorithm is chosen by, in whole words: compared and hashed as such.
struct Key {
  std::array<int64_t, 13> words;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (const int64_t w : key.words) {
      h = (h ^ static_cast<uint64_t>(w)) * 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
    return h;
  }
};

struct Choice {
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace = 0;
  bool found = false;
};

struct Operands {
  const void *a, *b, *bias;
  void* c;
};

/// One call's descriptors. They live on the stack: making them anew costs less than looking them up.
class Call {
 public:
  Call(const MatmulShape& s, const Types& t, const Operands& o, int device) : shape_(s), device_(device) {
    check(cublasLtMatmulDescInit(&operation, t.compute, t.scale), "cublasLtMatmulDescInit");
    set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{s.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N});
    set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{s.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N});
    if (s.bias || s.activation != Activation::kNone) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue());
      if (s.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, o.bias);  // of the result's type, by default
    }
    layout(a, t.data, s.b_transposed ? s.k : s.n, s.b_transposed ? s.n : s.k, s.b_leading, s.b_batch);
    layout(b, t.data, s.a_transposed ? s.m : s.k, s.a_transposed ? s.k : s.m, s.a_leading, s.a_batch);
    layout(c, t.data, s.n, s.m, s.c_leading, s.c_batch);
  }

  void check(cublasStatus_t status, const char* call) const {
    if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
      fail(status, call, shape_, device_);
  }

  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a, b, c;  // cuBLASLt's, see Note [Rows and columns]

 private:
  uint32_t epilogue() const {
    switch (shape_.activation) {
      case Activation::kRelu:
        return shape_.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
      case Activation::kGeluTanh:
        return shape_.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
      default:
        return CUBLASLT_EPILOGUE_BIAS;
    }
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(cublasLtMatmulDescSetAttribute(&operation, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }
  void layout(cublasLtMatrixLayoutOpaque_t& l, cudaDataType_t type, int64_t rows, int64_t columns, int64_t leading,
              int64_t batch_stride) {
    check(cublasLtMatrixLayoutInit(&l, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), leading),
          "cublasLtMatrixLayoutInit");
    if (shape_.batch == 1) return;
    const auto set_batch = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
      check(cublasLtMatrixLayoutSetAttribute(&l, attribute, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute");
    };
    set_batch(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(shape_.batch));
    set_batch(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride);
  }

  const MatmulShape& shape_;
  int device_;
};

/// A device's handle, which threads may share, and its choices. Never destroyed: a program's last destructors may still
/// multiply.
class Library {
 public:
  static Library& of(const MatmulShape& s, int device) {
    static std::array<std::atomic<Library*>, 128> all;
    static std::mutex making;
    std::atomic<Library*>& slot = all.at(static_cast<size_t>(device));
    if (Library* l = slot.load(std::memory_order_acquire)) return *l;
    const std::lock_guard lock(making);
    if (Library* l = slot.load(std::memory_order_relaxed)) return *l;
    auto made = std::make_unique<Library>();
    if (const cublasStatus_t status = cublasLtCreate(&made->handle_); status != CUBLAS_STATUS_SUCCESS) {
      fail(status, "cublasLtCreate", s, device);
    }
    int major = 0;
    kernels::cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                         "cudaDeviceGetAttribute");
    // PyTorch's sizes: from Hopper on, algorithms profit from room to split sums in.
    made->workspace_limit_ = size_t{major >= 9 ? 32u : 8u} << 20;
    slot.store(made.get(), std::memory_order_release);
    return *made.release();
  }

  cublasLtHandle_t handle() const { return handle_; }
  size_t workspace_limit() const { return workspace_limit_; }

  /// The algorithm for a problem, asked for once.
  template <class Ask>
  Choice choose(const Key& key, const Ask& ask) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto it = choices_.find(key); it != choices_.end()) return it->second;
    }
    const Choice choice = ask();  // outside of the lock: two threads may both ask
    const std::lock_guard lock(mutex_);
    if (choices_.size() >= kMostChoices) choices_.clear();
    choices_.insert_or_assign(key, choice);
    return choice;
  }

 private:
  static constexpr size_t kMostChoices = 8192;
  cublasLtHandle_t handle_ = nullptr;
  size_t workspace_limit_ = 0;
  std::mutex mutex_;
  std::unordered_map<Key, Choice, KeyHash> choices_;
};

/// Whether partial sums must stay in float (backends.h).
bool full_precision_reduction(ScalarType dtype) {
  return (dtype == ScalarType::Half && !cuda::get_matmul_allow_fp16_reduction()) ||
         (dtype == ScalarType::BFloat16 && !cuda::get_matmul_allow_bf16_reduction());
}

Choice ask(const Library& library, Call& call, const Operands& o, size_t workspace_limit, bool full_precision) {
  cublasLtMatmulPreferenceOpaque_t preference;
  call.check(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    call.check(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value),
               "cublasLtMatmulPreferenceSetAttribute");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{workspace_limit});
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(o.b));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(o.a));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(o.c));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(o.c));
  if (full_precision) {
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  }
  cublasLtMatmulHeuristicResult_t results[4] = {};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library.handle(), &call.operation, &call.a, &call.b, &call.c, &call.c, &preference,
                                     static_cast<int>(std::size(results)), results, &count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) call.check(status, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i) {
    if (results[i].state == CUBLAS_STATUS_SUCCESS && results[i].workspaceSize <= workspace_limit) {
      return {results[i].algo, results[i].workspaceSize, true};
    }
  }
  return {};
}

}  // namespace

bool matmul(const MatmulShape& shape, const void* a, const void* b, const void* bias, void* c, const Scalar& alpha,
            const Scalar& beta) {
  const Context& where = kernels::cuda::context();
  Library& library = Library::of(shape, where.device);
  const Types types = types_of(shape.dtype);
  const Operands operands{a, b, bias, c};
  const bool full_precision = full_precision_reduction(shape.dtype);
  Call call(shape, types, operands, where.device);

  const int64_t alignments = int64_t{alignment_of(a)} | int64_t{alignment_of(b)} << 10 |
                             int64_t{alignment_of(c)} << 20 | int64_t{shape.bias ? alignment_of(bias) : 0} << 30;
  const int64_t kind = static_cast<int64_t>(shape.dtype) | int64_t{types.compute} << 8 |
                       int64_t{static_cast<uint8_t>(shape.activation)} << 16 | int64_t{shape.a_transposed} << 24 |
                       int64_t{shape.b_transposed} << 25 | int64_t{shape.bias} << 26 | int64_t{full_precision} << 27;
  for (size_t limit = library.workspace_limit();; limit = 0) {
    const Key key{{shape.batch, shape.m, shape.n, shape.k, shape.a_leading, shape.b_leading, shape.c_leading,
                   shape.a_batch, shape.b_batch, shape.c_batch, alignments, kind, static_cast<int64_t>(limit)}};
    const Choice choice = library.choose(key, [&] { return ask(library, call, operands, limit, full_precision); });
    if (!choice.found) return false;
    Scratch workspace;
    try {
      workspace = Scratch(choice.workspace);
    } catch (const OutOfMemoryError&) {
      if (limit == 0) throw;
      continue;  // slower, but without a workspace
    }
    const ScaleFactor alpha_value(alpha, types.scale), beta_value(beta, types.scale);
    call.check(
        cublasLtMatmul(library.handle(), &call.operation, &alpha_value, b, &call.a, a, &call.b, &beta_value, c, &call.c,
                       c, &call.c, &choice.algorithm, workspace.as<void>(), choice.workspace, where.stream),
        "cublasLtMatmul");
    kernels::cuda::launched(where, "cublasLtMatmul");
    return true;
  }
}

}  // namespace gradus::inline v0::backends::cublas
