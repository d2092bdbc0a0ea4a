// Dense products and LAPACK of the BLAS library found on this machine, loaded on first use.
#pragma once

#include <cstdint>

#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::backends::blas {

enum class Transpose : char { No = 'N', Yes = 'T', Conjugate = 'C' };

/// Whether a BLAS could be loaded. Loads it at the first call (3-4 ms).
bool available();

/// One line for diagnostics: the library's file and, for OpenBLAS, the core it chose.
const char* description();

/// Row-major c[m x n] = alpha op(a)[m x k] op(b)[k x n] + beta c on the calling thread alone; beta == 0 ignores c's
/// content. Leading dimensions are in elements. All sizes and leading dimensions must be below 2^31, and positive.
/// Callers check available() first.
void gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
          const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
void gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
          const double* b, int64_t ldb, double beta, double* c, int64_t ldc);
void gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, complex<float> alpha, const complex<float>* a,
          int64_t lda, const complex<float>* b, int64_t ldb, complex<float> beta, complex<float>* c, int64_t ldc);
void gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, complex<double> alpha, const complex<double>* a,
          int64_t lda, const complex<double>* b, int64_t ldb, complex<double> beta, complex<double>* c, int64_t ldc);

/// The address of a Fortran BLAS or LAPACK routine ("dgesv_"), or nullptr where the library lacks it.
void* symbol(const char* name);

}  // namespace gradus::inline v0::backends::blas
