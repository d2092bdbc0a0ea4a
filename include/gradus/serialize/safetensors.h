// The safetensors format, which Python programs read and write too: named tensors and a few strings.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {

using TensorMap = std::map<std::string, Tensor>;
using MetadataMap = std::map<std::string, std::string>;

/// The tensors of a safetensors file, on the CPU. Throws Error, naming the file and what is wrong, for any file that
/// does not follow the format exactly.
GRADUS_API TensorMap load_safetensors(const std::string& path);
/// The strings stored beside the tensors.
GRADUS_API MetadataMap load_safetensors_metadata(const std::string& path);

/// Writes each tensor's own elements. The file appears in one step: a reader, or a crash, finds the old one or the new
/// one. Throws Error where that cannot be done.
GRADUS_API void save_safetensors(const TensorMap& tensors, const std::string& path, const MetadataMap& metadata = {});

/// How load_safetensors fills a module.
struct LoadOptions {
  bool strict = true;          ///< missing or unexpected names are an error, not only reported
  bool convert_dtype = false;  ///< convert to the module's dtype instead of refusing another one
  MetadataMap rename;          ///< a name in the file -> the module's name for it
};
/// The names that only one side has.
struct LoadReport {
  std::vector<std::string> missing;     ///< in the module, not in the file
  std::vector<std::string> unexpected;  ///< in the file, not in the module
};

namespace serialize {
/// Name and tensor, in a module's order.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
/// Copies the tensors of a file into `targets` by name: into all of them, or, where anything does not fit, into none;
/// the Error then lists every mismatch.
GRADUS_API LoadReport load_safetensors_into(const NamedTensors& targets, const std::string& path,
                                            const LoadOptions& options);

namespace detail {
template <class Module>
NamedTensors state_of(const Module& module) {
  NamedTensors state;
  for (const auto& item : module.named_parameters()) state.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.emplace_back(item.key(), item.value());
  return state;
}
// A module, or what points to one: std::shared_ptr, a module holder.
template <class T, class = void>
struct is_module : std::false_type {};
template <class T>
struct is_module<T, std::void_t<decltype(std::declval<const T&>().named_parameters())>> : std::true_type {};
template <class T, class = void>
struct points_to_module : std::false_type {};
template <class T>
struct points_to_module<T, std::void_t<decltype(std::declval<const T&>()->named_parameters())>> : std::true_type {};
}  // namespace detail
}  // namespace serialize

/// Writes a module's parameters and buffers under the names that Python's state_dict gives them.
template <class Module, std::enable_if_t<serialize::detail::is_module<Module>::value, int> = 0>
void save_safetensors(const Module& module, const std::string& path, const MetadataMap& metadata = {}) {
  TensorMap tensors;
  for (auto& item : serialize::detail::state_of(module)) tensors.insert(std::move(item));
  save_safetensors(tensors, path, metadata);
}
template <class Pointer, std::enable_if_t<serialize::detail::points_to_module<Pointer>::value, int> = 0>
void save_safetensors(const Pointer& module, const std::string& path, const MetadataMap& metadata = {}) {
  save_safetensors(*module, path, metadata);
}

/// Fills a module's parameters and buffers by name. Where a name, shape or dtype does not fit, the module stays as it
/// is and the Error lists every mismatch.
template <class Module, std::enable_if_t<serialize::detail::is_module<Module>::value, int> = 0>
LoadReport load_safetensors(Module& module, const std::string& path, const LoadOptions& options = {}) {
  return serialize::load_safetensors_into(serialize::detail::state_of(module), path, options);
}
template <class Pointer, std::enable_if_t<serialize::detail::points_to_module<Pointer>::value, int> = 0>
LoadReport load_safetensors(const Pointer& module, const std::string& path, const LoadOptions& options = {}) {
  return serialize::load_safetensors_into(serialize::detail::state_of(*module), path, options);
}

}  // namespace v0
}  // namespace gradus
