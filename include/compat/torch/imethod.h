#error "Gradus: <torch/imethod.h>: Gradus has no Python bindings; include <torch/torch.h> for the C++ API"
