// softmax and log_softmax.
#include <gradus/ops/ops.h>

#include <kernels/softmax.h>

#include "../autograd/recording.h"
#include "kernel_view.h"
#include "ops/surface/generated/ops_activation.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

// A plain backward runs the fused kernel; one that is differentiated itself is written with operators.
Tensor softmax_gradient(const Tensor& grad, const Tensor& out, int64_t dim, bool log) {
  if (grad_mode_enabled()) {
    if (log) return grad.sub(out.exp().mul(grad.sum(dim, true)));
    return out.mul(grad.sub(grad.mul(out).sum(dim, true)));
  }
  Tensor g = grad.contiguous(), y = out.contiguous();
  Tensor result = core::empty(g.sizes(), y.scalar_type(), g.device());
  if (g.numel()) kernels::softmax_backward(g.device(), writable(result), readable(g), readable(y), dim, log);
  return result;
}

Tensor softmax_of(const Dest& dest, const char* op, const char* node, const Tensor& self, int64_t dim,
                  std::optional<ScalarType> dtype, bool log) {
  GRADUS_CHECK(self.defined(), op, ": the input is an undefined tensor; expected one with data");
  const int64_t n = self.dim();
  dim = dim >= 0 && dim < n ? dim : gradus::detail::wrap_dim_slow(dim, n, op);
  const ScalarType type = dtype.value_or(self.scalar_type());
  GRADUS_CHECK_AS(TypeError, is_floating_point(type), op, ": the input is ", self.scalar_type(),
                  "; expected a floating type, or dtype to name one");
  auto r = recording(dest, self);
  Tensor x;
  {
    autograd::GradModeOff off;
    x = cast(self, type).contiguous();
  }
  // The kernel reads a row before it writes it, so self may be the target where it is read as it is.
  const bool aside =
      !dest.is_fresh() && (dest.shares_memory(self) || !dest.target().defined() || !dest.target().is_contiguous());
  Tensor out = aside ? core::empty(x.sizes(), type, x.device()) : dest.result(op, x.sizes(), type, x.device());
  if (x.numel()) {
    kernels::View to = writable(out);
    kernels::ConstView from = readable(x);
    static constexpr int64_t kOne[] = {1};
    if (n == 0)
      to = {out.data_ptr(), kOne, kOne, 1, type, out.device()}, from = {x.data_ptr(), kOne, kOne, 1, type, x.device()};
    kernels::softmax_forward(x.device(), to, from, dim, log);
  }
  if (aside) out = dest.deliver(op, std::move(out));
  if (r) {
    r.node(node, out, [y = r.save_output(out), dim, log](const GradIn& g, GradOut& d) {
      d[0] = softmax_gradient(g[0], d.unpack(y), dim, log);
    });
  }
  return out;
}

}  // namespace

Tensor softmax(const Dest& dest, const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return softmax_of(dest, "softmax", "SoftmaxBackward0", self, dim, dtype, false);
}

Tensor log_softmax(const Dest& dest, const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return softmax_of(dest, "log_softmax", "LogSoftmaxBackward0", self, dim, dtype, true);
}

}  // namespace gradus::inline v0::ops
