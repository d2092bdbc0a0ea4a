#include <gradus/data/transforms.h>
#include <gradus/ops/ops.h>

#include "core/make_tensor.h"

namespace gradus::inline v0::data::transforms::detail {

Tensor stack_tensors(const std::vector<Tensor>& tensors) {
  GRADUS_CHECK_AS(ValueError, !tensors.empty(),
                  "transforms::Stack: an empty batch was given; expected a sample or more");
  return stack(tensors);
}

Tensor channel_values(ArrayRef<double> values, const char* name, bool is_deviation) {
  GRADUS_CHECK_AS(ValueError, !values.empty(), "transforms::Normalize: ", name,
                  " is empty; expected a number per channel, or one for all");
  Tensor out = core::empty({static_cast<int64_t>(values.size()), 1, 1}, kFloat, Device(kCPU));
  auto* to = out.data_ptr<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    GRADUS_CHECK_AS(ValueError, !is_deviation || values[i] != 0, "transforms::Normalize: ", name, " of channel ", i,
                    " is 0; expected a number to divide by");
    to[i] = static_cast<float>(values[i]);
  }
  return out;
}

Tensor normalize(const Tensor& input, const Tensor& mean, const Tensor& stddev) {
  return input.sub(mean).div(stddev);
}

}  // namespace gradus::inline v0::data::transforms::detail
