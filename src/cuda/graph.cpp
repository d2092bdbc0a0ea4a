#include <gradus/cuda/graph.h>

#include "interface.h"

namespace gradus::inline v0::cuda {

CUDAGraph::CUDAGraph() : impl_(require_runtime("CUDAGraph").make_graph()) {}
CUDAGraph::~CUDAGraph() = default;

void CUDAGraph::capture_begin(MempoolId_t pool, int mode) {
  GRADUS_CHECK_AS(ValueError, mode >= kCaptureGlobal && mode <= kCaptureRelaxed, "CUDAGraph::capture_begin: mode ",
                  mode, " was given; expected kCaptureGlobal, kCaptureThreadLocal or kCaptureRelaxed");
  impl_->capture_begin(pool, mode);
}
void CUDAGraph::capture_end() {
  impl_->capture_end();
}
void CUDAGraph::replay() {
  impl_->replay();
}
void CUDAGraph::reset() {
  impl_->reset();
}
MempoolId_t CUDAGraph::pool() const {
  return impl_->pool();
}
void CUDAGraph::register_generator_state(const Generator& generator) {
  impl_->register_generator(generator);
}

MempoolId_t graph_pool_handle() {
  return require_runtime("graph_pool_handle").new_graph_pool();
}

}  // namespace gradus::inline v0::cuda
