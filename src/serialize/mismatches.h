// What does not fit between a file and the tensors it is loaded into, told in one message.
#pragma once

#include <string>
#include <vector>

#include <gradus/core/tensor.h>

namespace gradus::inline v0::serialize {

struct Mismatches {
  std::vector<std::string> missing, unexpected, shapes, dtypes;

  // Notes where a stored tensor's shape or dtype is not the target's.
  void compare(const std::string& name, IntArrayRef shape, ScalarType dtype, const Tensor& target) {
    if (shape != target.sizes()) {
      shapes.push_back(str(name, " is ", shape, " in the file, expected ", target.sizes()));
    }
    if (dtype != target.scalar_type()) {
      dtypes.push_back(str(name, " is ", dtype, " in the file, expected ", target.scalar_type()));
    }
  }

  // `strict` counts names that only one side has as errors.
  void throw_if_any(const std::string& what, bool strict) const {
    std::string text;
    if (strict) add(text, "missing in the file", missing);
    if (strict) add(text, "unexpected in the file", unexpected);
    add(text, "wrong shape", shapes);
    add(text, "wrong dtype", dtypes);
    GRADUS_CHECK(text.empty(), what, ": does not fit what it is loaded into, which stays as it was; ", text);
  }

 private:
  static void add(std::string& text, const char* kind, const std::vector<std::string>& entries) {
    if (entries.empty()) return;
    text += str(text.empty() ? "" : "; ", kind, ": ");
    for (size_t i = 0; i < entries.size(); ++i) text += (i > 0 ? ", " : "") + entries[i];
  }
};

}  // namespace gradus::inline v0::serialize
