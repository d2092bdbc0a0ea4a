#error "Gradus: <torch/data/detail/data_shuttle.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
