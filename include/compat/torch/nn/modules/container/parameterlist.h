#error "Gradus: <torch/nn/modules/container/parameterlist.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
