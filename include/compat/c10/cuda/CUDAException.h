// Checks of CUDA calls. The macros use names of CUDA's own headers, which the program includes: Gradus' include none.
#pragma once
#include <c10/cuda/CUDAMacros.h>

namespace gradus {
inline namespace v0 {

class CUDAError : public Error {
  using Error::Error;
};

}  // namespace v0
}  // namespace gradus

#define C10_CUDA_CHECK(EXPR)                                                                               \
  do {                                                                                                     \
    const auto c10_cuda_error = EXPR;                                                                      \
    if (GRADUS_UNLIKELY(c10_cuda_error != cudaSuccess)) {                                                  \
      (void)cudaGetLastError();                                                                            \
      throw ::gradus::CUDAError(std::string(#EXPR ": CUDA error: ") + cudaGetErrorString(c10_cuda_error)); \
    }                                                                                                      \
  } while (false)
#define C10_CUDA_CHECK_WARN(EXPR)                                                                 \
  do {                                                                                            \
    const auto c10_cuda_error = EXPR;                                                             \
    if (GRADUS_UNLIKELY(c10_cuda_error != cudaSuccess)) {                                         \
      (void)cudaGetLastError();                                                                   \
      ::gradus::warn(std::string(#EXPR ": CUDA warning: ") + cudaGetErrorString(c10_cuda_error)); \
    }                                                                                             \
  } while (false)
#define C10_CUDA_ERROR_HANDLED(EXPR) EXPR
#define C10_CUDA_IGNORE_ERROR(EXPR)                    \
  do {                                                 \
    if (EXPR != cudaSuccess) (void)cudaGetLastError(); \
  } while (false)
#define C10_CUDA_CLEAR_ERROR() (void)cudaGetLastError()
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
