// What a call throws.
#pragma once

#include <string>

#include <gradus/core/error.h>

namespace support {

/// The text of what `f` throws as E; "nothing was thrown" otherwise.
template <class E, class F>
std::string thrown(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}
template <class F>
std::string error_of(F&& f) {
  return thrown<gradus::Error>(f);
}

}  // namespace support
