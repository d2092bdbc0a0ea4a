// cuBLASLt's interface as far as Gradus calls it, for builds without CUDA: names, numbers and signatures are NVIDIA's
// (library_values.h compares them), the rest is tests/cuda_emulation/cublaslt.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "library_types.h"

enum cublasStatus_t : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasComputeType_t : int {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};

using cublasLtHandle_t = struct cublasLtContext*;

// The descriptors' storage is the caller's; its size is NVIDIA's of CUDA 13.
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
struct cublasLtMatmulDescOpaque_t {
  uint64_t data[32];
};
struct cublasLtMatrixLayoutOpaque_t {
  uint64_t data[8];
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t data[8];
};
using cublasLtMatmulDesc_t = cublasLtMatmulDescOpaque_t*;
using cublasLtMatrixLayout_t = cublasLtMatrixLayoutOpaque_t*;
using cublasLtMatmulPreference_t = cublasLtMatmulPreferenceOpaque_t*;

enum cublasLtOrder_t : int { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1, CUBLASLT_ORDER_COL32 = 2 };
enum cublasLtPointerMode_t : int {
  CUBLASLT_POINTER_MODE_HOST = 0,
  CUBLASLT_POINTER_MODE_DEVICE = 1,
  CUBLASLT_POINTER_MODE_DEVICE_VECTOR = 2,
};
enum cublasLtEpilogue_t : int {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_BIAS = 36,
};
enum cublasLtReductionScheme_t : int {
  CUBLASLT_REDUCTION_SCHEME_NONE = 0,
  CUBLASLT_REDUCTION_SCHEME_INPLACE = 1,
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
  CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4,
  CUBLASLT_REDUCTION_SCHEME_MASK = 7,
};

enum cublasLtMatrixLayoutAttribute_t : int {
  CUBLASLT_MATRIX_LAYOUT_TYPE = 0,                  // uint32_t
  CUBLASLT_MATRIX_LAYOUT_ORDER = 1,                 // int32_t, COL
  CUBLASLT_MATRIX_LAYOUT_ROWS = 2,                  // uint64_t
  CUBLASLT_MATRIX_LAYOUT_COLS = 3,                  // uint64_t
  CUBLASLT_MATRIX_LAYOUT_LD = 4,                    // int64_t
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,           // int32_t, 1
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,  // int64_t, 0
};
enum cublasLtMatmulDescAttributes_t : int {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,        // int32_t
  CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,          // int32_t
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,        // int32_t, HOST
  CUBLASLT_MATMUL_DESC_TRANSA = 3,              // int32_t, N
  CUBLASLT_MATMUL_DESC_TRANSB = 4,              // int32_t, N
  CUBLASLT_MATMUL_DESC_TRANSC = 5,              // int32_t, N
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,            // uint32_t, DEFAULT
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,        // const void*, null
  CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE = 10,  // int64_t, 0
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,     // int32_t, -1: as D
};
enum cublasLtMatmulPreferenceAttributes_t : int {
  CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,            // uint32_t, 0
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,    // uint64_t, 0
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,  // uint32_t, MASK
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,  // uint32_t, 256
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

extern "C" {

GRADUS_EMULATED_CALL const char* cublasLtGetStatusName(cublasStatus_t status);
GRADUS_EMULATED_CALL const char* cublasLtGetStatusString(cublasStatus_t status);

GRADUS_EMULATED_CALL cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle);
GRADUS_EMULATED_CALL cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);

GRADUS_EMULATED_CALL cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t desc, cublasComputeType_t compute,
                                                           cudaDataType_t scale);
GRADUS_EMULATED_CALL cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                                   cublasLtMatmulDescAttributes_t attribute,
                                                                   const void* value, size_t size);
GRADUS_EMULATED_CALL cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType_t type,
                                                             uint64_t rows, uint64_t columns, int64_t leading);
GRADUS_EMULATED_CALL cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                                     cublasLtMatrixLayoutAttribute_t attribute,
                                                                     const void* value, size_t size);
GRADUS_EMULATED_CALL cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference);
GRADUS_EMULATED_CALL cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                                         cublasLtMatmulPreferenceAttributes_t attribute,
                                                                         const void* value, size_t size);

GRADUS_EMULATED_CALL cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                                   cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                                   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                                   cublasLtMatmulPreference_t preference, int requested,
                                                                   cublasLtMatmulHeuristicResult_t* results,
                                                                   int* returned);
GRADUS_EMULATED_CALL cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                   const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                                   const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                                                   const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                                   cublasLtMatrixLayout_t d_layout,
                                                   const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                                   size_t workspace_size, cudaStream_t stream);

}  // extern "C"
