// What the fused steps share: gradients in the parameters' memory order, checks, counted writes.
#pragma once

#include <gradus/core/tensor.h>

namespace gradus::inline v0::optim {

/// The parameter's gradient, dense in the same order and of the same dtype as the parameter; made so where it is not.
Tensor matching_grad(const char* optimizer, const Tensor& p);
/// Zeros like `p`, in its memory order.
Tensor zeros_beside(const Tensor& p);
/// Makes `state` a buffer that a kernel may walk beside `p`: zeros where there is none yet, the parameter's memory
/// order where a file, a program or a new layout brought another. Refuses another shape, type or device. True if it was
/// new.
bool fit_state(const char* optimizer, const Tensor& p, Tensor& state);
/// Refuses parameters whose memory the fused kernels cannot walk, counts the write.
void begin_step(const char* optimizer, const Tensor& p);

}  // namespace gradus::inline v0::optim
