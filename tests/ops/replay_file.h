// A file of tests/references/data: its JSON and its tensors, and JSON values as arguments of operators.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <gradus/autograd/autograd.h>
#include <gradus/core/tensor.h>
#include <gradus/ops/operator.h>

namespace replay {

using nlohmann::json;

class ReferenceFile {
 public:
  explicit ReferenceFile(const std::string& path);
  // What stands under `name` in the header's metadata.
  json metadata(const std::string& name) const;
  // A new tensor with the values under `key`.
  gradus::Tensor tensor(const std::string& key) const;

 private:
  std::string bytes_;
  json header_;
  size_t data_ = 0;
};

// The arguments of one call, made afresh for every way in which it is replayed.
struct Arguments {
  std::vector<gradus::IValue> values;
  // The tensors that want gradients, in order, each with the key of PyTorch's gradient ("" where it gave none).
  std::vector<gradus::Tensor> leaves;
  std::vector<std::string> gradient_keys;
  // All tensors, by the argument's name.
  std::vector<std::pair<std::string, gradus::Tensor>> tensors;
};

struct Making {
  bool with_gradients = false;
  // The first argument is a copy of its leaf, as an operator that works in place needs it.
  bool copy_first = false;
};

Arguments make_arguments(const ReferenceFile& file, const json& call, const gradus::FunctionSchema& schema,
                         Making making);

// Where calls are replayed: GRADUS_REPLAY_DEVICE, else the CPU.
gradus::Device replay_device();
gradus::Tensor on_device(const gradus::Tensor& t);
gradus::Tensor on_cpu(const gradus::Tensor& t);

// A fresh contiguous tensor of that shape and type, its memory not set.
gradus::Tensor make_tensor(const std::vector<int64_t>& sizes, gradus::ScalarType dtype);

}  // namespace replay
