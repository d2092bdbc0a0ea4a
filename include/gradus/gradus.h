// All of Gradus.
#pragma once

#include <gradus/autograd/autograd.h>
#include <gradus/autograd/function.h>
#include <gradus/autograd/gradcheck.h>
#include <gradus/autograd/hooks.h>
#include <gradus/autograd/saved_tensors_hooks.h>
#include <gradus/core/allocator.h>
#include <gradus/core/determinism.h>
#include <gradus/core/from_data.h>
#include <gradus/core/indexing.h>
#include <gradus/core/parallel.h>
#include <gradus/cuda/backends.h>
#include <gradus/cuda/cuda.h>
#include <gradus/cuda/event.h>
#include <gradus/cuda/generator.h>
#include <gradus/cuda/graph.h>
#include <gradus/cuda/guard.h>
#include <gradus/cuda/memory.h>
#include <gradus/cuda/stream.h>
#include <gradus/data/data.h>
#include <gradus/nn/nn.h>
#include <gradus/ops/ops.h>
#include <gradus/optim/optim.h>
#include <gradus/serialize/archive.h>
#include <gradus/serialize/safetensors.h>
#include <gradus/serialize/serialize.h>
