// How a loss is reduced, with ATen's numbers.
#pragma once

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {
namespace Reduction {

enum Reduction { None, Mean, Sum, END };

}  // namespace Reduction
}  // namespace v0
}  // namespace gradus
