// Numerical checks of gradients.
#pragma once

#include <gradus/autograd/node.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

/// A function under test: tensors to tensors.
using CheckedFunction = std::function<variable_list(const variable_list&)>;

struct GradcheckOptions {
  double eps = 1e-6;  // step of the central differences
  double atol = 1e-5;
  double rtol = 1e-3;
  bool raise = true;  // throw a report instead of returning false
};

/// Compares the gradients of `f` at `inputs` with central differences, entry by entry, for random cotangents (a plain
/// sum is blind to softmax and to normalisations). Inputs that require a gradient must be double and contiguous. See
/// https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html
GRADUS_API bool gradcheck(const CheckedFunction& f, const variable_list& inputs, const GradcheckOptions& options = {});

/// The same for the gradients of the gradients.
GRADUS_API bool gradgradcheck(const CheckedFunction& f, const variable_list& inputs,
                              const GradcheckOptions& options = {});

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
