// Switches for the libraries behind matrix products and convolutions on CUDA devices. They are the process's, may be
// set at any time, also before CUDA is used, and hold for operations that begin afterwards. Defaults are PyTorch's.
#pragma once

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {
namespace cuda {

/// Whether float matrix products may round their operands to TF32 (10 bits of mantissa) for the tensor cores:
/// `torch.backends.cuda.matmul.allow_tf32`. False by default.
GRADUS_API bool get_matmul_allow_tf32();
GRADUS_API void set_matmul_allow_tf32(bool allow);

/// Whether partial sums of half products may be added up in half where a product is split along its inner dimension:
/// `torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction`. True by default. Sums of each part are float
/// ones.
GRADUS_API bool get_matmul_allow_fp16_reduction();
GRADUS_API void set_matmul_allow_fp16_reduction(bool allow);

/// The same for bfloat16: `torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction`. True by default.
GRADUS_API bool get_matmul_allow_bf16_reduction();
GRADUS_API void set_matmul_allow_bf16_reduction(bool allow);

/// Whether convolutions run through cuDNN: `torch.backends.cudnn.enabled`. True by default. Without it they run on
/// Gradus' own kernels, which need no library and are much slower.
GRADUS_API bool get_cudnn_enabled();
GRADUS_API void set_cudnn_enabled(bool enabled);

/// Whether float convolutions may use TF32: `torch.backends.cudnn.allow_tf32`. True by default.
GRADUS_API bool get_cudnn_allow_tf32();
GRADUS_API void set_cudnn_allow_tf32(bool allow);

/// Whether the first convolution of each shape tries several algorithms and keeps the fastest, instead of the one that
/// cuDNN expects to be fastest: `torch.backends.cudnn.benchmark`. False by default.
GRADUS_API bool get_cudnn_benchmark();
GRADUS_API void set_cudnn_benchmark(bool benchmark);

/// How many algorithms a benchmark tries, 0 for all: `torch.backends.cudnn.benchmark_limit`. 10 by default.
GRADUS_API int get_cudnn_benchmark_limit();
GRADUS_API void set_cudnn_benchmark_limit(int limit);

/// Whether only convolution algorithms are used that give the same bits each time:
/// `torch.backends.cudnn.deterministic`. False by default.
GRADUS_API bool get_cudnn_deterministic();
GRADUS_API void set_cudnn_deterministic(bool deterministic);

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
