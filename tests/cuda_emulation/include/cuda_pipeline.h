// Copies into shared memory that a thread goes on beside (cp.async), by CUDA's functions for C.
#pragma once

#include "cuda_pipeline_primitives.h"
