// The random state of a CUDA device, as kernels see it.
#pragma once

#include <gradus/cuda/generator.h>
