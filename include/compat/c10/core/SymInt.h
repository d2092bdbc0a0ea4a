#error "Gradus: <c10/core/SymInt.h>: an internal header of libtorch's that Gradus has no part for; include <torch/torch.h> for the public API"
