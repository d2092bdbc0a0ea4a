// The devices' default generators.
#pragma once

#include <gradus/cuda/generator.h>

namespace gradus::inline v0::cuda::runtime {

const Generator& generator_of(int device);

}  // namespace gradus::inline v0::cuda::runtime
