// Tensors into and out of a safetensors container.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <gradus/core/tensor.h>

#include "serialize/container.h"

namespace gradus::inline v0::serialize {

/// Takes bytes, all of them or an exception.
using Sink = std::function<void(const void* data, uint64_t bytes)>;

/// The format's name of a dtype; empty for those that files cannot hold.
std::string_view dtype_name(ScalarType dtype);
ScalarType dtype_of(std::string_view name);

/// A new CPU tensor with an entry's elements.
Tensor read_tensor(const utils::ByteSource& source, const Container& container, const TensorEntry& entry);

/// Writes a whole file. Every tensor is checked before the first byte is written.
void write_tensors(const std::string& what, const std::map<std::string, Tensor>& tensors,
                   const std::map<std::string, std::string>& metadata, const Sink& sink);

}  // namespace gradus::inline v0::serialize
