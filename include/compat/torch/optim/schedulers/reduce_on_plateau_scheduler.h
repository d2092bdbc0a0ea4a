#error "Gradus: <torch/optim/schedulers/reduce_on_plateau_scheduler.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
