// What other parts of libgradus_cuda.so tell the runtime about the libraries that they wrap.
#pragma once

#include <cstdint>

#include <gradus/core/macros.h>

namespace gradus::inline v0::cuda {

/// cuDNN's version, 0 where it cannot be loaded. Set, when the library is loaded, by the file that calls cuDNN; nullptr
/// without it. Defined in src/cuda/runtime.
extern int64_t (*library_version_of_cudnn)();

}  // namespace gradus::inline v0::cuda
