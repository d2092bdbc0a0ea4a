// Negative log likelihood of class indices.
#include <kernels/loss.h>

#include <kernels/visit.h>

#include "kernels/cuda/class_targets.h"
#include "kernels/cuda/scratch.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 1024;

template <class T>
__global__ void __launch_bounds__(kThreads)
    each_kernel(T* output, T* total_weight, const T* input, const T* weight, Targets targets, DataErrorSlot errors) {
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < targets.count; i += step) {
    const int64_t c = targets.counted(i, errors);
    store(output + i, c < 0 ? Compute<T>(0) : -weight_of(weight, c) * load(input + targets.at(i, c)));
  }
  if (first == 0) store(total_weight, Compute<T>(0));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    parts_kernel(Weighed<Compute<T>>* parts, const T* input, const T* weight, Targets targets, DataErrorSlot errors) {
  using C = Compute<T>;
  GRADUS_SHARED(Weighed<C>, shared, [kThreads / kWarp]);
  Weighed<C> sum = {0, 0};
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < targets.count; i += step) {
    const int64_t c = targets.counted(i, errors);
    if (c < 0) continue;
    const C w = weight_of(weight, c);
    sum.loss -= w * load(input + targets.at(i, c));
    sum.weight += w;
  }
  sum = group_reduce(sum, kThreads, AddWeighed(), shared);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    join_kernel(T* output, T* total_weight, const Weighed<Compute<T>>* parts, int count, bool mean) {
  using C = Compute<T>;
  GRADUS_SHARED(Weighed<C>, shared, [kThreads / kWarp]);
  Weighed<C> sum = {0, 0};
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    sum.loss += parts[i].loss;
    sum.weight += parts[i].weight;
  }
  sum = group_reduce(sum, kThreads, AddWeighed(), shared);
  if (threadIdx.x != 0) return;
  store(output, mean ? sum.loss / sum.weight : sum.loss);
  store(total_weight, sum.weight);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    gradient_kernel(T* grad_input, const T* grad_output, const T* weight, const T* total_weight, Targets targets,
                    bool each, bool mean, DataErrorSlot errors) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  Compute<T> scale = each ? Compute<T>(1) : load(grad_output);
  if (mean) scale /= load(total_weight);
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < targets.count; i += step) {
    const int64_t c = targets.counted(i, errors);
    if (c < 0) continue;
    store(grad_input + targets.at(i, c), -weight_of(weight, c) * (each ? load(grad_output + i) : scale));
  }
}

BadIndex forward(View output, View total_weight, ConstView input, ConstView target, ConstView weight,
                 LossReduction reduction, int64_t ignore_index) {
  const Targets targets(target, input, ignore_index);
  const DataErrorSlot errors = data_error_slot("nll_loss");
  visit_floating(input.dtype, [&]<class T>() {
    const T *x = input.as<T>(), *w = weight.as<T>();
    T *out = output.as<T>(), *total = total_weight.as<T>();
    if (reduction == LossReduction::None) {
      const unsigned blocks = std::max(1u, blocks_for(targets.count, kThreads));
      return launch("nll_loss_each", &each_kernel<T>, dim3(blocks), dim3(kThreads), 0, out, total, x, w, targets,
                    errors);
    }
    using Part = Weighed<Compute<T>>;
    const auto blocks = static_cast<unsigned>(std::clamp<int64_t>(ceil_div(targets.count, kThreads), 1, kMostBlocks));
    const Scratch parts(blocks * sizeof(Part));
    launch("nll_loss_parts", &parts_kernel<T>, dim3(blocks), dim3(kThreads), 0, parts.as<Part>(), x, w, targets,
           errors);
    launch("nll_loss_join", &join_kernel<T>, dim3(1), dim3(kThreads), 0, out, total, parts.as<Part>(),
           static_cast<int>(blocks), reduction == LossReduction::Mean);
  });
  return {};
}

BadIndex backward(View grad_input, ConstView grad_output, ConstView target, ConstView weight, ConstView total_weight,
                  LossReduction reduction, int64_t ignore_index) {
  const Targets targets(target, grad_input, ignore_index);
  const DataErrorSlot errors = data_error_slot("nll_loss_backward");
  visit_floating(grad_input.dtype, [&]<class T>() {
    const int64_t elements = targets.count * targets.classes;
    if (elements == 0) return;
    check(cudaMemsetAsync(grad_input.data, 0, static_cast<size_t>(elements) * sizeof(T), context().stream),
          "nll_loss_backward");
    launch("nll_loss_backward", &gradient_kernel<T>, dim3(blocks_for(targets.count, kThreads)), dim3(kThreads), 0,
           grad_input.as<T>(), grad_output.as<T>(), weight.as<T>(), total_weight.as<T>(), targets,
           reduction == LossReduction::None, reduction == LossReduction::Mean, errors);
  });
  return {};
}

}  // namespace

GRADUS_CUDA_KERNEL(nll_loss_forward, forward)
GRADUS_CUDA_KERNEL(nll_loss_backward, backward)

}  // namespace gradus::inline v0::kernels::cuda
