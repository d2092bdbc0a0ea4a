// IValues as JSON texts, for an archive's metadata. Doubles keep every bit.
#pragma once

#include <string>

#include <gradus/core/ivalue.h>

namespace gradus::inline v0::serialize {

// Throws Error for kinds that archives do not hold. A tensor list's text says only its length.
std::string value_to_text(const std::string& what, const IValue& value);
// Throws Error for a text that value_to_text did not write. `tensors` is set to the length of a tensor list.
IValue value_from_text(const std::string& what, const std::string& text, size_t& tensors);

}  // namespace gradus::inline v0::serialize
