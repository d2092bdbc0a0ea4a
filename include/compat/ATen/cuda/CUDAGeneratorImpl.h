#pragma once
#include <torch/detail/macros.h>

namespace gradus {
inline namespace v0 {

using cuda::CUDAGeneratorImpl;

}  // namespace v0
}  // namespace gradus
