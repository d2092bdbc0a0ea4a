#error "Gradus: <torch/custom_class_detail.h>: this part of libtorch is not in Gradus yet; include <torch/torch.h> for what is"
