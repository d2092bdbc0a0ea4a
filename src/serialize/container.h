// The safetensors container over bytes: eight bytes of header length, a JSON header, then the tensors' data without
// gaps. No Tensor here; this is the part that meets hostile files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "utils/file.h"

namespace gradus::inline v0::serialize {

struct TensorEntry {
  std::string name;
  std::string dtype;  // the format's name: F32, I64, BOOL, ...
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // bytes from the start of the data
};

struct Container {
  std::vector<TensorEntry> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
  uint64_t data_offset = 0;  // of the data's first byte in the file
};

// Bytes of one element; 0 for a dtype that Gradus does not read.
int64_t dtype_bytes(std::string_view dtype);

// Reads and checks a header. Throws Error, which names the file and what is wrong, for everything but a file whose
// tensors cover the data exactly once.
Container parse_container(const utils::ByteSource& source);

// Orders the entries (wide elements first, so that all data is aligned), sets begin and end, and returns the bytes
// that precede the data. `what` begins the messages.
std::string lay_out(const std::string& what, std::vector<TensorEntry>& tensors,
                    const std::map<std::string, std::string>& metadata);

}  // namespace gradus::inline v0::serialize
