// Helpers for training loops.
#pragma once

#include <vector>

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {
namespace nn {
namespace utils {

/// Scales the gradients of `parameters` down so that the norm of all together is at most max_norm; returns the norm
/// before. Computed in double with scaling, so that finite gradients give a finite norm. With error_if_nonfinite a norm
/// that is not finite throws Error naming the parameters, and nothing is changed; without it such gradients are left
/// alone. See https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
GRADUS_API double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2.0,
                                  bool error_if_nonfinite = false);
GRADUS_API double clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2.0,
                                  bool error_if_nonfinite = false);
/// Clamps every gradient element to [-clip_value, clip_value].
GRADUS_API void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);

/// All parameters as one vector, in order.
GRADUS_API Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
/// The reverse: writes slices of `vec` into the parameters.
GRADUS_API void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters);

}  // namespace utils
}  // namespace nn
}  // namespace v0
}  // namespace gradus
