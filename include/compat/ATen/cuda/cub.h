#error "Gradus: <ATen/cuda/cub.h>: this release of Gradus runs on the CPU; include <torch/torch.h> and ask torch::cuda::is_available()"
