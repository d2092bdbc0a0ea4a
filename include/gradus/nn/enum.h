// Names for choices in module options, as types: an option that takes some of them is a std::variant of those.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {

// One type per choice in enumtype, one constant of it beside: kReLU is of type enumtype::kReLU. As in libtorch, so that
// an option's setter takes `kReLU` and std::get_if<enumtype::kReLU>(&option) asks for it.
#define GRADUS_CHOICE(choice)                                   \
  namespace enumtype {                                          \
  struct k##choice {                                            \
    constexpr k##choice() {}                                    \
    static constexpr const char* name() { return "k" #choice; } \
  };                                                            \
  }                                                             \
  inline constexpr enumtype::k##choice k##choice
GRADUS_CHOICE(Linear);
GRADUS_CHOICE(Conv1D);
GRADUS_CHOICE(Conv2D);
GRADUS_CHOICE(Conv3D);
GRADUS_CHOICE(ConvTranspose1D);
GRADUS_CHOICE(ConvTranspose2D);
GRADUS_CHOICE(ConvTranspose3D);
GRADUS_CHOICE(Sigmoid);
GRADUS_CHOICE(Tanh);
GRADUS_CHOICE(ReLU);
GRADUS_CHOICE(GELU);
GRADUS_CHOICE(SiLU);
GRADUS_CHOICE(Mish);
GRADUS_CHOICE(LeakyReLU);
GRADUS_CHOICE(FanIn);
GRADUS_CHOICE(FanOut);
GRADUS_CHOICE(Constant);
GRADUS_CHOICE(Reflect);
GRADUS_CHOICE(Replicate);
GRADUS_CHOICE(Circular);
GRADUS_CHOICE(Nearest);
GRADUS_CHOICE(Bilinear);
GRADUS_CHOICE(Bicubic);
GRADUS_CHOICE(Trilinear);
GRADUS_CHOICE(Area);
GRADUS_CHOICE(NearestExact);
GRADUS_CHOICE(Sum);
GRADUS_CHOICE(Mean);
GRADUS_CHOICE(Max);
GRADUS_CHOICE(None);
GRADUS_CHOICE(BatchMean);
GRADUS_CHOICE(Zeros);
GRADUS_CHOICE(Border);
GRADUS_CHOICE(Reflection);
GRADUS_CHOICE(RNN_TANH);
GRADUS_CHOICE(RNN_RELU);
GRADUS_CHOICE(LSTM);
GRADUS_CHOICE(GRU);
GRADUS_CHOICE(Valid);
GRADUS_CHOICE(Same);
#undef GRADUS_CHOICE

namespace enumtype {
/// "kReLU": the name of the choice that an option holds.
template <class... Choices>
std::string get_enum_name(const std::variant<Choices...>& option) {
  return std::visit([](const auto& choice) { return std::string(choice.name()); }, option);
}
}  // namespace enumtype

namespace nn {
/// How a loss over many elements becomes one number.
using LossReduction = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum>;
/// The number that the operators take for it.
inline int64_t reduction_number(const LossReduction& r) {
  return static_cast<int64_t>(r.index());
}
}  // namespace nn

}  // namespace v0
}  // namespace gradus
