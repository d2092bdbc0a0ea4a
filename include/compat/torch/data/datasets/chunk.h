#error "Gradus: <torch/data/datasets/chunk.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
