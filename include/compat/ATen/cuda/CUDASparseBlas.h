#error "Gradus: <ATen/cuda/CUDASparseBlas.h>: a header of libtorch's CUDA kernels that Gradus has no part for; include <torch/torch.h> and <ATen/cuda/CUDAContext.h> for what programs use"
