// How modules print their options.
#pragma once

#include <string>

#include <gradus/nn/arg.h>

namespace gradus::inline v0::nn {

inline const char* boolean(bool v) {
  return v ? "true" : "false";
}
inline std::string list(const ExpandingArray<2>& v) {
  return str(v);
}

}  // namespace gradus::inline v0::nn
