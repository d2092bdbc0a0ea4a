#error "Gradus: <torch/nn/utils/convert_parameters.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
