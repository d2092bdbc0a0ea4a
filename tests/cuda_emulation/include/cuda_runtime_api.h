// CUDA's own headers let this one stand for the calls alone; here it is the same as cuda_runtime.h.
#pragma once

#include "cuda_runtime.h"
