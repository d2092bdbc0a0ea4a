#include "cuda/library_versions.h"

namespace gradus::inline v0::cuda {

int64_t (*library_version_of_cudnn)() = nullptr;

}  // namespace gradus::inline v0::cuda
