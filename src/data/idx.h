// IDX, the file format of MNIST and its relatives: unsigned bytes with a shape, plain or gzip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::inline v0::data {

struct Idx {
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};

// Reads a whole file of `dims` dimensions. `op` begins the messages. The data is read, never mapped, and memory is
// taken only for bytes that exist.
Idx read_idx(const std::string& op, const std::string& path, int dims);

// `folder`/`name`, or the same with ".gz". Throws, saying where the data sets come from, if neither exists.
std::string find_idx(const std::string& op, const std::string& folder, const std::string& name);

}  // namespace gradus::inline v0::data
