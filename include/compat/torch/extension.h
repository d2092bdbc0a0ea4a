#error "Gradus: <torch/extension.h>: Gradus has no Python bindings; include <torch/torch.h> for the C++ API"
