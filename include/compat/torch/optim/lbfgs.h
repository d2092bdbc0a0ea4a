#error "Gradus: <torch/optim/lbfgs.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
