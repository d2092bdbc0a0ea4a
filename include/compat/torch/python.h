#error "Gradus: <torch/python.h>: Gradus has no Python bindings; include <torch/torch.h> for the C++ API"
