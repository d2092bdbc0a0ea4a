# Matrix products in libgradus_cuda.so: C++20 that g++ compiles against CUDA's headers or the emulation's. Paths are
# relative to the repository's root. Links CUDA::cublasLt.
set(gradus_cuda_blas_sources
    kernels/cuda/gemm.cpp
    src/backends/cublas/matmul.cpp)
