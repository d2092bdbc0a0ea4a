#pragma once
#include <c10/cuda/CUDAMacros.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

inline const char* get_cuda_check_suffix() noexcept {
  return "";
}

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
