// The named choices that options take: kMean, kZeros, kTanh, ...
#pragma once

#include <cstdint>
#include <variant>

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {

// A type and a constant for each, so that a variant of them says which choices an option has.
#define GRADUS_ENUM(name)            \
  namespace enumtype {               \
  struct name {};                    \
  }                                  \
  constexpr enumtype::name name {}
GRADUS_ENUM(kLinear);
GRADUS_ENUM(kConv1D);
GRADUS_ENUM(kConv2D);
GRADUS_ENUM(kConv3D);
GRADUS_ENUM(kConvTranspose1D);
GRADUS_ENUM(kConvTranspose2D);
GRADUS_ENUM(kConvTranspose3D);
GRADUS_ENUM(kSigmoid);
GRADUS_ENUM(kTanh);
GRADUS_ENUM(kReLU);
GRADUS_ENUM(kGELU);
GRADUS_ENUM(kSiLU);
GRADUS_ENUM(kLeakyReLU);
GRADUS_ENUM(kFanIn);
GRADUS_ENUM(kFanOut);
GRADUS_ENUM(kConstant);
GRADUS_ENUM(kReflect);
GRADUS_ENUM(kReplicate);
GRADUS_ENUM(kCircular);
GRADUS_ENUM(kZeros);
GRADUS_ENUM(kSame);
GRADUS_ENUM(kValid);
GRADUS_ENUM(kNone);
GRADUS_ENUM(kMean);
GRADUS_ENUM(kSum);
GRADUS_ENUM(kBatchMean);
#undef GRADUS_ENUM

namespace nn {
using LossReduction = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum>;
/// The number that the operators take.
inline int64_t reduction_number(const LossReduction& r) { return static_cast<int64_t>(r.index()); }
}  // namespace nn

}  // namespace v0
}  // namespace gradus
