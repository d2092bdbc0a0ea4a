#error "Gradus: <c10/util/quint2x4.h>: an internal header of libtorch's that Gradus has no part for; include <torch/torch.h> for the public API"
