#error "Gradus: <c10/util/logging_is_not_google_glog.h>: an internal header of libtorch's that Gradus has no part for; include <torch/torch.h> for the public API"
