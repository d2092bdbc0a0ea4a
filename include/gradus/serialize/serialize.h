// gradus::save and gradus::load: tensors, lists of tensors, modules, optimizers and whatever has << and >> for
// archives.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gradus/serialize/archive.h>

namespace gradus {
inline namespace v0 {

/// Saves `value` to a file name, an output stream or a write function.
template <class Value, class... To>
void save(const Value& value, To&&... to) {
  serialize::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<To>(to)...);
}

/// Loads `value` from a file name, an input stream, bytes in memory or read functions; a device may follow.
template <class Value, class... From>
void load(Value& value, From&&... from) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  archive >> value;
}

/// Tensors under the keys "0", "1", ...
template <class... To>
void save(const std::vector<Tensor>& tensors, To&&... to) {
  serialize::OutputArchive archive;
  for (size_t i = 0; i < tensors.size(); ++i) archive.write(std::to_string(i), tensors[i]);
  archive.save_to(std::forward<To>(to)...);
}

/// Appends the tensors to `tensors`, as libtorch does.
template <class... From>
void load(std::vector<Tensor>& tensors, From&&... from) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  Tensor tensor;
  for (size_t i = 0; archive.try_read(std::to_string(i), tensor); ++i) {
    tensors.push_back(std::move(tensor));
    tensor = Tensor();
  }
}

}  // namespace v0
}  // namespace gradus
