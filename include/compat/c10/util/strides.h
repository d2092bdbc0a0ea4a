#error "Gradus: <c10/util/strides.h>: an internal header of libtorch's that Gradus has no part for; include <torch/torch.h> for the public API"
