#error "Gradus: <torch/data/samplers/distributed.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
