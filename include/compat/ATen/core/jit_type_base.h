#error "Gradus: <ATen/core/jit_type_base.h>: an internal header of libtorch's that Gradus has no part for; include <torch/torch.h> for the public API"
