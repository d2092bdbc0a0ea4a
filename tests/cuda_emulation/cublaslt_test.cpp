// The emulated cuBLASLt: what descriptors say is what it computes, and wrong ones are refused.
#include <cublasLt.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "libraries.h"

namespace {

template <class T>
class Memory {
 public:
  explicit Memory(const std::vector<T>& values, size_t offset = 0) : count_(values.size()), offset_(offset) {
    EXPECT_EQ(cudaMalloc(&data_, (count_ + offset) * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data(), values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  T* data() const { return static_cast<T*>(data_) + offset_; }
  std::vector<T> read() const {
    std::vector<T> v(count_);
    EXPECT_EQ(cudaMemcpy(v.data(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return v;
  }

 private:
  size_t count_, offset_;
  void* data_ = nullptr;
};

/// A call of 2 x 3 times 3 x 2 in columns, which tests change before it is made.
struct Call {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDescOpaque_t op;
  cublasLtMatrixLayoutOpaque_t a, b, c, d;
  cublasLtMatmulPreferenceOpaque_t preference;
  cublasLtMatmulHeuristicResult_t found{};
  Memory<float> xa{{1, 2, 3, 4, 5, 6}}, xb{{1, 0, 2, 0, 1, 1}}, xc{{10, 20, 30, 40}}, bias{{100, 200}};
  float alpha = 1, beta = 0;
  size_t workspace_size = 0;
  void* workspace = nullptr;
  const void* a_data = xa.data();

  Call() {
    EXPECT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulDescInit(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayoutInit(&a, CUDA_R_32F, 2, 3, 2);
    cublasLtMatrixLayoutInit(&b, CUDA_R_32F, 3, 2, 3);
    cublasLtMatrixLayoutInit(&c, CUDA_R_32F, 2, 2, 2);
    cublasLtMatrixLayoutInit(&d, CUDA_R_32F, 2, 2, 2);
    cublasLtMatmulPreferenceInit(&preference);
  }
  ~Call() {
    cublasLtDestroy(handle);
    cudaFree(workspace);
  }
  template <class T>
  cublasStatus_t set(cublasLtMatmulDescAttributes_t name, T value) {
    return cublasLtMatmulDescSetAttribute(&op, name, &value, sizeof value);
  }
  template <class T>
  cublasStatus_t set(cublasLtMatrixLayoutOpaque_t& l, cublasLtMatrixLayoutAttribute_t name, T value) {
    return cublasLtMatrixLayoutSetAttribute(&l, name, &value, sizeof value);
  }
  template <class T>
  cublasStatus_t prefer(cublasLtMatmulPreferenceAttributes_t name, T value) {
    return cublasLtMatmulPreferenceSetAttribute(&preference, name, &value, sizeof value);
  }
  cublasStatus_t find() {
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle, &op, &a, &b, &c, &d, &preference, 1, &found, &count);
  }
  cublasStatus_t multiply() {
    return cublasLtMatmul(handle, &op, &alpha, a_data, &a, xb.data(), &b, &beta, xc.data(), &c, xc.data(), &d,
                          &found.algo, workspace, workspace_size, nullptr);
  }
  cublasStatus_t run() {
    const cublasStatus_t status = find();
    return status == CUBLAS_STATUS_SUCCESS ? multiply() : status;
  }
};
using Numbers = std::vector<float>;

TEST(EmulatedCublasLt, Columns) {
  Call call;
  ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.xc.read(), (Numbers{11, 14, 8, 10}));
}

TEST(EmulatedCublasLt, AlphaAndBeta) {
  Call call;
  call.alpha = 2, call.beta = 0.5;
  ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.xc.read(), (Numbers{27, 38, 31, 40}));
}

TEST(EmulatedCublasLt, Transposes) {
  Call call;
  cublasLtMatrixLayoutInit(&call.a, CUDA_R_32F, 3, 2, 3);
  call.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
  ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.xc.read(), (Numbers{7, 16, 5, 11}));
}

TEST(EmulatedCublasLt, RowsByOrder) {
  Call call;
  for (cublasLtMatrixLayoutOpaque_t* l : {&call.a, &call.b, &call.c, &call.d})
    call.set(*l, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_ROW});
  call.set(call.a, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{3});
  call.set(call.b, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{2});
  ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.xc.read(), (Numbers{8, 3, 20, 6}));
}

TEST(EmulatedCublasLt, Epilogues) {
  Call call;
  call.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(call.bias.data()));
  call.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BIAS});
  ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.xc.read(), (Numbers{111, 214, 108, 210}));  // one for each row
  call.alpha = -10;
  call.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_RELU_BIAS});
  ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.xc.read(), (Numbers{0, 60, 20, 100}));
  call.alpha = 0.1f;
  call.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_GELU});
  ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_NEAR(call.xc.read()[3], 0.841192, 1e-6);
}

TEST(EmulatedCublasLt, Batches) {
  Call call;
  const Memory<float> a({1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6}), c(Numbers(8));
  for (cublasLtMatrixLayoutOpaque_t* l : {&call.a, &call.b, &call.c, &call.d})
    call.set(*l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2});
  call.set(call.a, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{6});
  EXPECT_EQ(call.find(), CUBLAS_STATUS_INVALID_VALUE) << "results on top of each other";
  call.set(call.c, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{4});
  call.set(call.d, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{4});
  ASSERT_EQ(call.find(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasLtMatmul(call.handle, &call.op, &call.alpha, a.data(), &call.a, call.xb.data(), &call.b, &call.beta,
                           c.data(), &call.c, c.data(), &call.d, &call.found.algo, nullptr, 0, nullptr),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c.read(), (Numbers{11, 14, 8, 10, -11, -14, -8, -10}));
}

TEST(EmulatedCublasLt, TensorFloats) {
  Call call;
  const Memory<float> fine({1 + 1.0f / 4096, 1, 1, 1, 1, 1});
  call.a_data = fine.data();
  ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.xc.read()[0], 3 + 1.0f / 4096);
  call.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, int32_t{CUBLAS_COMPUTE_32F_FAST_TF32});
  ASSERT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call.xc.read()[0], 3);
}

TEST(EmulatedCublasLt, WrongDescriptorsAreRefused) {
  struct Fault {
    const char* what;
    std::function<void(Call&)> make;
    cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
  };
  const auto other_type = [](cudaDataType_t type) {
    return [type](Call& c) {
      for (cublasLtMatrixLayoutOpaque_t* l : {&c.a, &c.b, &c.c, &c.d})
        c.set(*l, CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<uint32_t>(type));
    };
  };
  const Fault faults[] = {
      {"leading dimension below the rows", [](Call& c) { c.set(c.a, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{1}); }},
      {"no rows", [](Call& c) { c.set(c.a, CUBLASLT_MATRIX_LAYOUT_ROWS, uint64_t{0}); }},
      {"sizes that do not fit", [](Call& c) { c.set(c.a, CUBLASLT_MATRIX_LAYOUT_COLS, uint64_t{2}); }},
      {"a transpose that does not fit", [](Call& c) { c.set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{CUBLAS_OP_T}); }},
      {"batches of one operand", [](Call& c) { c.set(c.a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2}); }},
      {"c unlike d", [](Call& c) { c.set(c.d, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{4}); }},
      {"an uninitialised layout", [](Call& c) { c.a = {}; }},
      {"an uninitialised operation", [](Call& c) { c.op = {}; }},
      {"an uninitialised preference", [](Call& c) { c.preference = {}; }},
      {"no handle", [](Call& c) { cublasLtDestroy(c.handle), c.handle = nullptr; }, CUBLAS_STATUS_NOT_INITIALIZED},
      {"operands of another type than the computation", other_type(CUDA_R_64F), CUBLAS_STATUS_NOT_SUPPORTED},
      {"complex operands, real scale", other_type(CUDA_C_32F), CUBLAS_STATUS_NOT_SUPPORTED},
      {"operands of two types", [](Call& c) { c.set(c.b, CUBLASLT_MATRIX_LAYOUT_TYPE, uint32_t{CUDA_R_16F}); },
       CUBLAS_STATUS_NOT_SUPPORTED},
      {"half computed in half",
       [&](Call& c) {
         other_type(CUDA_R_16F)(c);
         c.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, int32_t{CUBLAS_COMPUTE_16F});
       },
       CUBLAS_STATUS_NOT_SUPPORTED},
      {"a bias of another type",
       [](Call& c) {
         c.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BIAS});
         c.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, int32_t{CUDA_R_16F});
       },
       CUBLAS_STATUS_NOT_SUPPORTED},
      {"an epilogue for complex numbers",
       [&](Call& c) {
         other_type(CUDA_C_32F)(c);
         c.set(CUBLASLT_MATMUL_DESC_SCALE_TYPE, int32_t{CUDA_C_32F});
         c.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_RELU});
       },
       CUBLAS_STATUS_NOT_SUPPORTED},
  };
  for (const Fault& fault : faults) {
    Call call;
    fault.make(call);
    EXPECT_EQ(call.find(), fault.status) << fault.what;
    if (call.handle) {
      EXPECT_NE(call.multiply(), CUBLAS_STATUS_SUCCESS) << fault.what;
    }
  }
}

TEST(EmulatedCublasLt, WrongAttributesAreRefused) {
  Call call;
  EXPECT_EQ(call.set(CUBLASLT_MATMUL_DESC_TRANSA, int64_t{0}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{3}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, int32_t{CUBLASLT_POINTER_MODE_DEVICE_VECTOR}),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(call.set(call.a, CUBLASLT_MATRIX_LAYOUT_ROWS, uint32_t{2}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call.set(call.a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int64_t{2}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint32_t{0}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t{12}), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(EmulatedCublasLt, WrongCallsAreRefused) {
  {
    Call call;  // an algorithm for another problem
    ASSERT_EQ(call.find(), CUBLAS_STATUS_SUCCESS);
    call.set(call.a, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{3});
    EXPECT_EQ(call.multiply(), CUBLAS_STATUS_INVALID_VALUE);
  }
  {
    Call call;  // less aligned than was said
    ASSERT_EQ(cudaMalloc(&call.workspace, 64), cudaSuccess);
    call.workspace_size = 64;
    call.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{64});
    ASSERT_EQ(call.find(), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(call.multiply(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(gradus_emulation::cublaslt::state().last_algorithm, gradus_emulation::cublaslt::kWithWorkspace);
    const Memory<float> shifted({1, 2, 3, 4, 5, 6}, 1);
    call.a_data = shifted.data();
    EXPECT_EQ(call.multiply(), CUBLAS_STATUS_INVALID_VALUE);
    call.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t{4});
    EXPECT_EQ(call.run(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(gradus_emulation::cublaslt::state().last_algorithm, gradus_emulation::cublaslt::kPlain);
  }
  {
    Call call;  // less workspace than the algorithm needs
    call.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{64});
    ASSERT_EQ(call.find(), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(call.found.workspaceSize, 16u);
    EXPECT_EQ(call.multiply(), CUBLAS_STATUS_INVALID_VALUE);
  }
  {
    Call call;  // an epilogue without its bias, an absent operand
    call.set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BIAS});
    ASSERT_EQ(call.find(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(call.multiply(), CUBLAS_STATUS_INVALID_VALUE);
    call.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(call.bias.data()));
    call.a_data = nullptr;
    EXPECT_EQ(call.multiply(), CUBLAS_STATUS_INVALID_VALUE);
  }
}

}  // namespace
