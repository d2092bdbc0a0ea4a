#include <kernels/random.h>

#include <gradus/ops/ops.h>

#include "ops/surface/generated/ops_random.h"

#include "pointwise_plan.h"
#include "random_source.h"

namespace gradus::inline v0::ops {

namespace {

/// The elements behind each other, without history.
Tensor dense(const Tensor& t) {
  return t.is_contiguous() ? t : copy_into(core::empty(t.sizes(), t.scalar_type(), t.device()), t);
}

void check_weights(kernels::WeightError error) {
  static constexpr const char* kTexts[] = {"", "there is one below zero (or NaN)", "there is an infinite one",
                                           "a row sums to zero"};
  GRADUS_CHECK_AS(ValueError, error == kernels::WeightError::kNone, "multinomial: of the weights ",
                  kTexts[static_cast<int>(error)], "; expected finite weights >= 0 with a positive sum");
}

}  // namespace

Tensor multinomial(const Dest& dest, const Tensor& self, int64_t num_samples, bool replacement,
                   const std::optional<Generator>& generator) {
  const ScalarType t = self.scalar_type();
  GRADUS_CHECK(self.dim() == 1 || self.dim() == 2, "multinomial: self has shape ", self.sizes(),
               "; expected 1 or 2 dimensions");
  GRADUS_CHECK_AS(TypeError, t == kFloat || t == kDouble || t == kHalf || t == kBFloat16, "multinomial: self is ", t,
                  "; expected a floating dtype");
  const int64_t n = self.size(-1), rows = self.dim() == 2 ? self.size(0) : 1;
  GRADUS_CHECK_AS(ValueError, num_samples > 0 && (replacement || num_samples <= n), "multinomial: num_samples is ",
                  num_samples, "; expected 1 ", replacement ? "or more" : "to the number of weights, ",
                  replacement ? "" : str(n));
  GRADUS_CHECK_AS(ValueError, n >= 1 && n <= int64_t{1} << 24, "multinomial: there are ", n,
                  " weights; expected 1 to 2^24");
  const DimVector sizes = self.dim() == 2 ? DimVector{rows, num_samples} : DimVector{num_samples};
  const bool direct = !dest.is_out() || dest.target().is_contiguous();
  Tensor out = (direct ? dest : Dest()).result("multinomial", sizes, kLong, self.device());
  if (!out.is_meta() && out.numel() != 0) {
    const Tensor weights = dense(self);
    const int64_t shape[] = {rows, n}, strides[] = {n, 1};
    const int64_t out_shape[] = {rows, num_samples}, out_strides[] = {num_samples, 1};
    const kernels::ConstView in(weights.data_ptr(), shape, strides, 2, t, weights.device());
    const kernels::View result{out.data_ptr(), out_shape, out_strides, 2, kLong, out.device()};
    if (replacement && num_samples != 1) {
      const RandomSource source("multinomial", generator, self.device());
      check_weights(kernels::multinomial_draw(self.device(), result, in, *source));
    } else {
      // Drawn in the memory order of self, as PyTorch draws it.
      Tensor drawn = core::empty_like(self, t);
      draw_into("multinomial", drawn, generator, [](Device device, const kernels::View& view, GeneratorImpl& g) {
        kernels::exponential_fill(device, view, 1, g);
      });
      drawn = dense(drawn);
      check_weights(kernels::multinomial_pick(self.device(), result, in,
                                              kernels::View{drawn.data_ptr(), shape, strides, 2, t, drawn.device()}));
    }
  }
  return direct ? out : dest.deliver("multinomial", std::move(out));
}

}  // namespace gradus::inline v0::ops
