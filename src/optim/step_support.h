// What the fused steps share: gradients in the parameters' memory order, checks, counted writes.
#pragma once

#include <algorithm>
#include <vector>

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

/// Calls step(device, first, count) once for each device that the group's parameters are on.
template <class Work, class Step>
void by_device(std::vector<Work>& work, Step&& step) {
  for (auto begin = work.begin(); begin != work.end();) {
    const Device device = begin->device;
    const auto end = std::stable_partition(begin, work.end(), [device](const Work& w) { return w.device == device; });
    step(device, &*begin, static_cast<int64_t>(end - begin));
    begin = end;
  }
}

}  // namespace gradus::inline v0::optim
