#error "Gradus: <torch/script.h>: TorchScript is not part of Gradus; call the modules from C++, or keep this file on libtorch"
