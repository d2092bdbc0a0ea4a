#error "Gradus: <torch/detail/TensorDataContainer.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
