// CUDA graphs.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "cuda/interface.h"

namespace gradus::inline v0::cuda::runtime {

/// Of this process, on any stream.
extern constinit std::atomic<int> captures_under_way;

std::unique_ptr<GraphImpl> make_graph();
/// An id under which several graphs share a memory pool.
std::pair<uint64_t, uint64_t> new_graph_pool();

}  // namespace gradus::inline v0::cuda::runtime
