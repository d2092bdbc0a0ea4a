#error "Gradus: <ATen/core/ATenOpList.h>: an internal header of libtorch's that Gradus has no part for; include <torch/torch.h> for the public API"
