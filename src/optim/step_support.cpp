#include "step_support.h"

#include <gradus/ops/ops.h>

#include "../core/dest.h"
#include "../core/make_tensor.h"

namespace gradus::inline v0::optim {

Tensor matching_grad(const char* optimizer, const Tensor& p) {
  const Tensor& g = p.grad();
  GRADUS_CHECK_AS(NotImplementedError, g.layout() == Layout::Strided, optimizer, ": a gradient of layout ", g.layout(),
                  " was given; expected Strided");
  GRADUS_CHECK(g.sizes() == p.sizes(), optimizer, ": a gradient of shape ", g.sizes(),
               " was given for a parameter of shape ", p.sizes());
  if (g.scalar_type() == p.scalar_type() && (g.strides() == p.strides() || (g.is_contiguous() && p.is_contiguous())))
    return g;
  Tensor ordered = core::empty_strided(p.sizes(), p.strides(), p.scalar_type(), p.device());
  ordered.copy_(g.detach());
  return ordered;
}

Tensor zeros_beside(const Tensor& p) {
  Tensor z = core::empty_strided(p.sizes(), p.strides(), p.scalar_type(), p.device());
  z.zero_();
  return z;
}

bool fit_state(const char* optimizer, const Tensor& p, Tensor& state) {
  if (!state.defined()) {
    state = zeros_beside(p);
    return true;
  }
  GRADUS_CHECK(state.sizes() == p.sizes() && state.scalar_type() == p.scalar_type() && state.device() == p.device(),
               optimizer, ": the state of a parameter of shape ", p.sizes(), ", type ", p.dtype(), " on ", p.device(),
               " has shape ", state.sizes(), ", type ", state.dtype(), " on ", state.device(),
               "; expected equal ones (a parameter that changed needs a new optimizer)");
  if (state.strides() == p.strides() || (state.is_contiguous() && p.is_contiguous())) return false;
  Tensor ordered = zeros_beside(p);
  ordered.copy_(state.detach());
  state = ordered;
  return false;
}

void begin_step(const char* optimizer, const Tensor& p) {
  GRADUS_CHECK_AS(TypeError, is_floating_point(p.scalar_type()), optimizer, ": a parameter of type ", p.dtype(),
                  " was given; expected a floating type");
  GRADUS_CHECK(p.is_non_overlapping_and_dense(), optimizer, ": a parameter of shape ", p.sizes(), " and strides ",
               p.strides(), " has gaps in memory; expected a dense one");
  ops::begin_write(optimizer, p, StorageImpl::Writer::kOther);
}

}  // namespace gradus::inline v0::optim
