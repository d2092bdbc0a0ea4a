#include <gradus/serialize/archive.h>

#include <algorithm>
#include <istream>
#include <map>
#include <ostream>
#include <set>

#include <gradus/autograd/grad_mode.h>
#include <gradus/core/ivalue.h>
#include <gradus/ops/ops.h>

#include "serialize/mismatches.h"
#include "serialize/tensor_io.h"
#include "serialize/values.h"
#include "utils/file.h"

namespace gradus::inline v0::serialize {
namespace {

// An archive's file is a safetensors file with these metadata keys.
constexpr std::string_view kValue = "gradus.value:";         // + name: the value's text
constexpr std::string_view kArchive = "gradus.archive:";     // + name: a nested archive without entries
constexpr std::string_view kGrad = "gradus.requires_grad:";  // + name of a tensor
constexpr uint64_t kStreamChunk = 1u << 20;

const std::string& name_of(const std::string& name) {
  return name;
}
template <class T>
const std::string& name_of(const std::pair<const std::string, T>& item) {
  return item.first;
}
// The entries of a sorted container whose names begin with `prefix`.
template <class Names, class F>
void for_each_below(const Names& names, const std::string& prefix, F f) {
  for (auto it = names.lower_bound(prefix); it != names.end() && name_of(*it).compare(0, prefix.size(), prefix) == 0;
       ++it) {
    f(*it);
  }
}
template <class Names>
bool any_below(const Names& names, const std::string& prefix) {
  const auto it = names.lower_bound(prefix);
  return it != names.end() && name_of(*it).compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

// ---- writing ----

struct OutputArchive::State {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> values;
  std::set<std::string> archives;

  void check_new(const std::string& key) const {
    GRADUS_CHECK(tensors.count(key) + values.count(key) + archives.count(key) == 0, "OutputArchive: the key ", key,
                 " was written before; expected each key once");
  }

  void write_to(const std::string& what, const Sink& sink) const {
    std::map<std::string, std::string> metadata{{"format", "gradus"}};
    for (const auto& [name, text] : values) metadata[std::string(kValue) + name] = text;
    for (const auto& name : archives) metadata[std::string(kArchive) + name] = "";
    for (const auto& [name, tensor] : tensors) {
      if (tensor.defined() && tensor.requires_grad()) metadata[std::string(kGrad) + name] = "";
    }
    write_tensors(what, tensors, metadata, sink);
  }
};

OutputArchive::OutputArchive() : state_(std::make_unique<State>()) {}
OutputArchive::~OutputArchive() = default;
OutputArchive::OutputArchive(OutputArchive&&) noexcept = default;
OutputArchive& OutputArchive::operator=(OutputArchive&&) noexcept = default;

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool) {
  state_->check_new(key);
  state_->tensors[key] = tensor;
}

void OutputArchive::write(const std::string& key, const IValue& value) {
  if (value.isTensor()) return write(key, value.toTensor());
  state_->check_new(key);
  if (value.isTensorList()) {
    const auto& tensors = value.toTensorVector();
    for (size_t i = 0; i < tensors.size(); ++i) write(key + "." + std::to_string(i), tensors[i]);
  }
  state_->values[key] = value_to_text("OutputArchive: key " + key, value);
}

void OutputArchive::write(const std::string& key, OutputArchive& nested) {
  state_->check_new(key);
  const State& other = *nested.state_;
  for (const auto& [name, tensor] : other.tensors) write(key + "." + name, tensor);
  for (const auto& [name, text] : other.values) {
    state_->check_new(key + "." + name);
    state_->values[key + "." + name] = text;
  }
  for (const auto& name : other.archives) state_->archives.insert(key + "." + name);
  if (other.tensors.empty() && other.values.empty() && other.archives.empty()) state_->archives.insert(key);
}

void OutputArchive::save_to(const std::string& path) {
  utils::AtomicFile file("save", path);
  state_->write_to("save: " + path, [&file](const void* data, uint64_t bytes) { file.write(data, bytes); });
  file.commit();
}

void OutputArchive::save_to(std::ostream& stream) {
  state_->write_to("save: a stream", [&stream](const void* data, uint64_t bytes) {
    stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  });
  GRADUS_CHECK(stream.good(), "save: the stream took not all bytes; expected one that can be written");
}

void OutputArchive::save_to(const std::function<size_t(const void*, size_t)>& write) {
  state_->write_to("save: a function", [&write](const void* data, uint64_t bytes) {
    const size_t taken = write(data, bytes);
    GRADUS_CHECK(taken == bytes, "save: the function took ", taken, " of ", bytes, " bytes; expected all");
  });
}

// ---- reading ----

struct InputArchive::State {
  std::unique_ptr<utils::ByteSource> source;
  Container container;
  std::map<std::string, const TensorEntry*> tensors;
  std::map<std::string, std::string> values;
  std::set<std::string> archives, requires_grad;
  std::optional<Device> device;
  LoadTransaction::Work* work = nullptr;

  State(std::unique_ptr<utils::ByteSource> bytes, std::optional<Device> where)
      : source(std::move(bytes)), container(parse_container(*source)), device(where) {
    for (const auto& entry : container.tensors) tensors[entry.name] = &entry;
    for (const auto& [key, text] : container.metadata) {
      const auto rest = [&key = key](std::string_view prefix) { return key.substr(prefix.size()); };
      if (key.compare(0, kValue.size(), kValue) == 0) values[rest(kValue)] = text;
      if (key.compare(0, kArchive.size(), kArchive) == 0) archives.insert(rest(kArchive));
      if (key.compare(0, kGrad.size(), kGrad) == 0) requires_grad.insert(rest(kGrad));
    }
  }

  Tensor read(const TensorEntry& entry) const {
    Tensor tensor = read_tensor(*source, container, entry);
    return device && !device->is_cpu() ? tensor.to(*device) : tensor;
  }
};

struct LoadTransaction::Work {
  std::vector<std::pair<Tensor, Tensor>> copies;  // target, value
  std::set<std::string> seen;
  Mismatches mismatches;
};

InputArchive::InputArchive() = default;
InputArchive::~InputArchive() = default;
InputArchive::InputArchive(InputArchive&&) noexcept = default;
InputArchive& InputArchive::operator=(InputArchive&&) noexcept = default;

std::string InputArchive::message_for(const std::string& key) const {
  if (!state_) return "InputArchive: nothing was loaded; call load_from() first";
  std::string names;
  for (const auto& name : const_cast<InputArchive*>(this)->keys()) names += (names.empty() ? "" : ", ") + name;
  return str(state_->source->what(), ": has no entry ", prefix_, key, "; expected one of: ", names);
}

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool) {
  if (!state_) return false;
  const auto found = state_->tensors.find(prefix_ + key);
  if (found == state_->tensors.end()) return false;
  const TensorEntry& entry = *found->second;
  if (state_->work != nullptr) state_->work->seen.insert(entry.name);
  if (state_->work != nullptr && tensor.defined()) {
    Mismatches& mismatches = state_->work->mismatches;
    const size_t before = mismatches.shapes.size() + mismatches.dtypes.size();
    mismatches.compare(entry.name, entry.shape, dtype_of(entry.dtype), tensor);
    if (mismatches.shapes.size() + mismatches.dtypes.size() == before) {
      state_->work->copies.emplace_back(tensor, state_->read(entry));
    }
    return true;
  }
  Tensor value = state_->read(entry);
  if (tensor.defined()) {
    tensor.set_data(value);
  } else {
    tensor = std::move(value);
    if (state_->requires_grad.count(entry.name) != 0 && is_differentiable(tensor.scalar_type())) {
      tensor.set_requires_grad(true);
    }
  }
  return true;
}

void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) {
  if (try_read(key, tensor, is_buffer)) return;
  GRADUS_CHECK(state_ && state_->work != nullptr && tensor.defined(), message_for(key));
  state_->work->mismatches.missing.push_back(prefix_ + key);
}

bool InputArchive::try_read(const std::string& key, IValue& value) {
  if (!state_) return false;
  const auto found = state_->values.find(prefix_ + key);
  if (found == state_->values.end()) {
    Tensor tensor;
    if (!try_read(key, tensor)) return false;
    value = std::move(tensor);
    return true;
  }
  size_t count = 0;
  IValue read_value = value_from_text(str(state_->source->what(), ": ", prefix_, key), found->second, count);
  if (read_value.isTensorList()) {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < count; ++i) read(key + "." + std::to_string(i), tensors.emplace_back());
    read_value = std::move(tensors);
  }
  value = std::move(read_value);
  return true;
}

void InputArchive::read(const std::string& key, IValue& value) {
  GRADUS_CHECK(try_read(key, value), message_for(key));
}

bool InputArchive::try_read(const std::string& key, InputArchive& nested) {
  if (!state_) return false;
  const std::string below = prefix_ + key + ".";
  if (!any_below(state_->tensors, below) && !any_below(state_->values, below) && !any_below(state_->archives, below) &&
      state_->archives.count(prefix_ + key) == 0) {
    return false;
  }
  nested.state_ = state_;
  nested.prefix_ = below;
  return true;
}

void InputArchive::read(const std::string& key, InputArchive& nested) {
  if (try_read(key, nested)) return;
  // Inside a transaction every missing tensor is to be listed by its own name, so that reading goes on.
  GRADUS_CHECK(state_ && state_->work != nullptr, message_for(key));
  nested.state_ = state_;
  nested.prefix_ = prefix_ + key + ".";
}

std::vector<std::string> InputArchive::keys() {
  if (!state_) return {};
  std::set<std::string> names;
  const auto add = [&](const auto& item) {
    const std::string rest = name_of(item).substr(prefix_.size());
    names.insert(rest.substr(0, rest.find('.')));
  };
  for_each_below(state_->tensors, prefix_, add);
  for_each_below(state_->values, prefix_, add);
  for_each_below(state_->archives, prefix_, add);
  return {names.begin(), names.end()};
}

void InputArchive::load_from(const std::string& path, std::optional<Device> device) {
  state_ = std::make_shared<State>(utils::open_file("load", path), device);
  prefix_.clear();
}

void InputArchive::load_from(std::istream& stream, std::optional<Device> device) {
  auto bytes = std::make_shared<std::string>();
  std::string chunk(kStreamChunk, '\0');
  while (stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || stream.gcount() > 0) {
    bytes->append(chunk, 0, static_cast<size_t>(stream.gcount()));
  }
  state_ = std::make_shared<State>(utils::open_memory("load: a stream", bytes->data(), bytes->size(), bytes), device);
  prefix_.clear();
}

void InputArchive::load_from(const char* data, size_t size, std::optional<Device> device) {
  state_ = std::make_shared<State>(utils::open_memory("load: bytes in memory", data, size), device);
  prefix_.clear();
}

void InputArchive::load_from(const std::function<size_t(uint64_t, void*, size_t)>& read,
                             const std::function<size_t()>& size, std::optional<Device> device) {
  auto bytes = std::make_shared<std::string>();
  const size_t total = size();
  while (bytes->size() < total) {  // grown in steps: a wrong size must not take memory that no byte fills
    const size_t before = bytes->size(), part = std::min<size_t>(kStreamChunk, total - before);
    bytes->resize(before + part);
    const size_t got = read(before, bytes->data() + before, part);
    GRADUS_CHECK(got > 0 && got <= part, "load: the read function gave ", got, " of ", part, " bytes at ", before,
                 "; expected ", total, " bytes in all");
    bytes->resize(before + got);
  }
  state_ =
      std::make_shared<State>(utils::open_memory("load: a read function", bytes->data(), bytes->size(), bytes), device);
  prefix_.clear();
}

// ---- all or nothing ----

LoadTransaction::LoadTransaction(InputArchive& archive) : state_(archive.state_), prefix_(archive.prefix_) {
  GRADUS_CHECK(state_, "LoadTransaction: the archive is empty; call load_from() first");
  if (state_->work != nullptr) return;
  work_ = std::make_unique<Work>();
  state_->work = work_.get();
}

LoadTransaction::~LoadTransaction() {
  if (work_) state_->work = nullptr;
}

void LoadTransaction::commit() {
  if (!work_) return;
  for_each_below(state_->tensors, prefix_, [this](const auto& item) {
    if (work_->seen.count(item.first) == 0) work_->mismatches.unexpected.push_back(item.first);
  });
  work_->mismatches.throw_if_any(state_->source->what(), true);
  NoGradGuard no_grad;
  for (auto& [target, value] : work_->copies) target.copy_(value);
  work_->copies.clear();
}

OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor) {
  archive.write("0", tensor);
  return archive;
}

InputArchive& operator>>(InputArchive& archive, Tensor& tensor) {
  archive.read("0", tensor);
  return archive;
}

}  // namespace gradus::inline v0::serialize
