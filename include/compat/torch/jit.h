#error "Gradus: <torch/jit.h>: TorchScript is not part of Gradus; call the modules from C++, or keep this file on libtorch"
