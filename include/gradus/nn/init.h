// Filling parameters before training. Every function writes in place, records no gradient and returns the tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <variant>

#include <gradus/core/tensor.h>
#include <gradus/nn/enum.h>

namespace gradus {
inline namespace v0 {
namespace nn {
namespace init {

/// The activations that calculate_gain knows.
using NonlinearityType =
    std::variant<enumtype::kLinear, enumtype::kConv1D, enumtype::kConv2D, enumtype::kConv3D, enumtype::kConvTranspose1D,
                 enumtype::kConvTranspose2D, enumtype::kConvTranspose3D, enumtype::kSigmoid, enumtype::kTanh,
                 enumtype::kReLU, enumtype::kLeakyReLU>;
/// Whether the variance is kept in the forward (fan in) or in the backward direction (fan out).
using FanModeType = std::variant<enumtype::kFanIn, enumtype::kFanOut>;

/// The factor by which an activation shrinks its input's standard deviation; `param` is the leaky ReLU's slope.
GRADUS_API double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);

/// Uniform in [low, high).
GRADUS_API Tensor uniform_(Tensor tensor, double low = 0, double high = 1,
                           const std::optional<Generator>& generator = std::nullopt);
/// Normal.
GRADUS_API Tensor normal_(Tensor tensor, double mean = 0, double std = 1,
                          const std::optional<Generator>& generator = std::nullopt);
/// Normal, cut to [a, b].
GRADUS_API Tensor trunc_normal_(Tensor tensor, double mean = 0, double std = 1, double a = -2, double b = 2,
                                const std::optional<Generator>& generator = std::nullopt);
/// All elements `value`, one, zero.
GRADUS_API Tensor constant_(Tensor tensor, Scalar value);
GRADUS_API Tensor ones_(Tensor tensor);
GRADUS_API Tensor zeros_(Tensor tensor);
/// The identity, for 2 dimensions.
GRADUS_API Tensor eye_(Tensor matrix);
/// A convolution weight (3 to 5 dimensions) that passes as many channels on as it can; each of `groups` on its own.
GRADUS_API Tensor dirac_(Tensor tensor, int64_t groups = 1);
/// Uniform with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010).
GRADUS_API Tensor xavier_uniform_(Tensor tensor, double gain = 1.0,
                                  const std::optional<Generator>& generator = std::nullopt);
/// The same, normal.
GRADUS_API Tensor xavier_normal_(Tensor tensor, double gain = 1.0,
                                 const std::optional<Generator>& generator = std::nullopt);
/// Uniform with standard deviation gain / sqrt(fan) (He et al., 2015); `a` is the leaky ReLU's slope.
GRADUS_API Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                                   NonlinearityType nonlinearity = kLeakyReLU,
                                   const std::optional<Generator>& generator = std::nullopt);
/// The same, normal.
GRADUS_API Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                                  NonlinearityType nonlinearity = kLeakyReLU,
                                  const std::optional<Generator>& generator = std::nullopt);
/// A matrix with orthonormal rows or columns, whichever are fewer (Saxe et al., 2013); trailing dimensions are
/// flattened.
GRADUS_API Tensor orthogonal_(Tensor tensor, double gain = 1.0,
                              const std::optional<Generator>& generator = std::nullopt);
/// A matrix with a share `sparsity` of each column zero, the rest normal (Martens, 2010).
GRADUS_API Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01,
                          const std::optional<Generator>& generator = std::nullopt);

/// How many inputs an output element of a layer with this weight has, and how many outputs an input one.
GRADUS_API std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace init
}  // namespace nn
}  // namespace v0
}  // namespace gradus
