#error "Gradus: <torch/nested.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
