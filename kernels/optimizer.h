// Optimizer steps, fused over a group of parameters.
#pragma once

#include <kernels/table.h>

#include <gradus/core/scalar_type.h>

namespace gradus::inline v0::kernels {

/// One parameter's arrays, all dense in the same order and of the same dtype.
struct AdamTensor {
  void* param;
  const void* grad;
  void* exp_avg;
  void* exp_avg_sq;
  void* max_exp_avg_sq;  // null without amsgrad
  int64_t numel;
  int64_t step;  // counted from 1, this one included
  ScalarType dtype;
  Device device = {};
};
struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;  // the weight shrinks by lr * weight_decay instead of adding to the gradient
  bool maximize;
  // Loss scaling: numbers on the tensors' device, or null. Gradients are divided by *grad_scale; where *found_inf is
  // not zero nothing is done.
  const float* grad_scale = nullptr;
  const float* found_inf = nullptr;
};

struct SgdTensor {
  void* param;
  const void* grad;
  void* momentum;  // null without
  int64_t numel;
  bool first;  // the momentum buffer becomes the gradient
  ScalarType dtype;
  Device device = {};
};
struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  const float* grad_scale = nullptr;  // as in AdamStep
  const float* found_inf = nullptr;
};

GRADUS_TABLES_BEGIN
extern KernelTable<void(const AdamTensor*, int64_t, const AdamStep&)> adam_step;
extern KernelTable<void(const SgdTensor*, int64_t, const SgdStep&)> sgd_step;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
