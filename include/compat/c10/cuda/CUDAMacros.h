#pragma once
#include <torch/detail/macros.h>

#define C10_CUDA_API
#define C10_CUDA_EXPORT
#define C10_CUDA_IMPORT
#define TORCH_CUDA_CU_API
