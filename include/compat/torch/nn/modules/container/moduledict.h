#error "Gradus: <torch/nn/modules/container/moduledict.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
