#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>
#include <gradus/serialize/safetensors.h>

#include "serialize/mismatches.h"
#include "serialize/tensor_io.h"
#include "utils/file.h"

namespace gradus::inline v0 {

TensorMap load_safetensors(const std::string& path) {
  const auto source = utils::open_file("load_safetensors", path);
  const serialize::Container container = serialize::parse_container(*source);
  TensorMap tensors;
  for (const auto& entry : container.tensors) {
    tensors[entry.name] = serialize::read_tensor(*source, container, entry);
  }
  return tensors;
}

MetadataMap load_safetensors_metadata(const std::string& path) {
  const auto source = utils::open_file("load_safetensors_metadata", path);
  return serialize::parse_container(*source).metadata;
}

void save_safetensors(const TensorMap& tensors, const std::string& path, const MetadataMap& metadata) {
  const std::string what = "save_safetensors: " + path;
  for (const auto& [name, tensor] : tensors) {
    GRADUS_CHECK(
        !tensor.defined() || tensor.scalar_type() != kComplexDouble, what, ": tensor ", name,
        " has the dtype ComplexDouble, which safetensors does not have; expected ComplexFloat or real numbers");
  }
  utils::AtomicFile file("save_safetensors", path);
  serialize::write_tensors(what, tensors, metadata,
                           [&file](const void* data, uint64_t bytes) { file.write(data, bytes); });
  file.commit();
}

namespace serialize {

LoadReport load_safetensors_into(const NamedTensors& targets, const std::string& path, const LoadOptions& options) {
  const auto source = utils::open_file("load_safetensors", path);
  const Container container = parse_container(*source);
  std::map<std::string, const TensorEntry*> entries;
  for (const auto& entry : container.tensors) {
    const auto renamed = options.rename.find(entry.name);
    const std::string& name = renamed == options.rename.end() ? entry.name : renamed->second;
    GRADUS_CHECK(entries.emplace(name, &entry).second, source->what(), ": two tensors are renamed to ", name,
                 "; expected different names");
  }

  Mismatches mismatches;
  std::vector<std::pair<Tensor, const TensorEntry*>> found;
  for (const auto& [name, target] : targets) {
    const auto entry = entries.find(name);
    if (entry == entries.end()) {
      mismatches.missing.push_back(name);
      continue;
    }
    const ScalarType dtype = dtype_of(entry->second->dtype);
    mismatches.compare(name, entry->second->shape, options.convert_dtype ? target.scalar_type() : dtype, target);
    found.emplace_back(target, entry->second);
    entries.erase(entry);
  }
  for (const auto& [name, entry] : entries) mismatches.unexpected.push_back(name);
  mismatches.throw_if_any(source->what(), options.strict);

  // All is read before the first tensor changes: a file that cannot be read to its end changes nothing.
  std::vector<Tensor> values;
  for (const auto& [target, entry] : found) values.push_back(read_tensor(*source, container, *entry));
  NoGradGuard no_grad;
  for (size_t i = 0; i < found.size(); ++i) found[i].first.copy_(values[i]);
  return {std::move(mismatches.missing), std::move(mismatches.unexpected)};
}

}  // namespace serialize
}  // namespace gradus::inline v0
