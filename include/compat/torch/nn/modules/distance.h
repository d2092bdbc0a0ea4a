#error "Gradus: <torch/nn/modules/distance.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
