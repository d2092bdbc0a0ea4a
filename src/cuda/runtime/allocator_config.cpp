#include "allocator_config.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

#include <gradus/core/error.h>

#include "blocks.h"

namespace gradus::inline v0::cuda::runtime {

namespace {

constexpr const char* kVariable = "GRADUS_CUDA_ALLOC_CONF";
constexpr const char* kKnown =
    "max_split_size_mb, garbage_collection_threshold, expandable_segments, roundup_power2_divisions and passthrough";

using Pieces = std::vector<std::string>;

// Splits at `separator` where no bracket is open; blanks go.
Pieces split(const std::string& text, char separator) {
  Pieces pieces(1);
  int open = 0;
  for (const char c : text) {
    open += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == separator && open == 0) {
      pieces.emplace_back();
    } else if (c != ' ') {
      pieces.back() += c;
    }
  }
  return pieces;
}

[[noreturn]] void bad_value(const std::string& key, const std::string& value, const char* expected) {
  throw ValueError(str(kVariable, ": ", key, " is \"", value, "\"; expected ", expected));
}

bool as_bool(const std::string& key, const std::string& value) {
  if (value == "true" || value == "True" || value == "1") return true;
  if (value == "false" || value == "False" || value == "0") return false;
  bad_value(key, value, "true or false");
}

size_t as_count(const std::string& key, const std::string& value, const char* expected) {
  const bool digits = !value.empty() && value.size() <= 9 &&
                      std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) bad_value(key, value, expected);
  return static_cast<size_t>(std::strtoull(value.c_str(), nullptr, 10));
}

constexpr const char* kDivisions =
    "a power of two up to 64, or [size:divisions,...] with sizes in MB that are powers of two from 1 to 65536 and `>` "
    "for "
    "all above";

size_t as_divisions(const std::string& key, const std::string& value) {
  const size_t n = as_count(key, value, kDivisions);
  if (n != 0 && (!std::has_single_bit(n) || n > 64)) bad_value(key, value, kDivisions);
  return n;
}

void read_divisions(const std::string& key, const std::string& value, AllocatorConfig* config) {
  auto& all = config->roundup_power2_divisions;
  if (value.empty() || value[0] != '[') {
    all.fill(as_divisions(key, value));
    return;
  }
  if (value.back() != ']') bad_value(key, value, kDivisions);
  size_t next = 0, last = 0;
  for (const std::string& item : split(value.substr(1, value.size() - 2), ',')) {
    const Pieces pair = split(item, ':');
    if (pair.size() != 2) bad_value(key, value, kDivisions);
    const size_t divisions = as_divisions(key, pair[1]);
    if (pair[0] == ">") {
      for (size_t i = next; i < all.size(); ++i) all[i] = divisions;
      last = divisions;
      next = all.size();
      continue;
    }
    const size_t mb = as_count(key, pair[0], kDivisions);
    if (!std::has_single_bit(mb) || mb > 65536) bad_value(key, value, kDivisions);
    const auto power = static_cast<size_t>(std::countr_zero(mb));
    // Sizes below the first one named are rounded as it is.
    if (next == 0) std::fill(all.begin(), all.begin() + static_cast<int64_t>(power), divisions);
    all[power] = last = divisions;
    next = power + 1;
  }
  for (size_t i = next; i < all.size(); ++i) all[i] = last;
}

void read_pair(const std::string& item, AllocatorConfig* config) {
  const size_t colon = item.find(':');
  const std::string key = item.substr(0, colon);
  const std::string value = colon == std::string::npos ? std::string() : item.substr(colon + 1);
  if (key == "max_split_size_mb") {
    constexpr const char* kExpected = "a number of MB above 20, what the large pool splits";
    const size_t mb = as_count(key, value, kExpected);
    if (mb <= kLargeSegment >> 20) bad_value(key, value, kExpected);
    config->max_split_size = mb << 20;
  } else if (key == "garbage_collection_threshold") {
    char* end = nullptr;
    const double v = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(v > 0 && v < 1)) bad_value(key, value, "a number between 0 and 1");
    config->garbage_collection_threshold = v;
  } else if (key == "expandable_segments") {
    config->expandable_segments = as_bool(key, value);
  } else if (key == "roundup_power2_divisions") {
    read_divisions(key, value, config);
  } else if (key == "passthrough") {
    config->passthrough = as_bool(key, value);
  } else {
    throw ValueError(str(kVariable, ": there is no setting \"", key, "\"; known are ", kKnown));
  }
}

}  // namespace

AllocatorConfig parse_allocator_config(const std::string& text) {
  AllocatorConfig config;
  try {
    for (const std::string& item : split(text, ',')) {
      if (!item.empty()) read_pair(item, &config);
    }
  } catch (const ValueError& e) {
    config = AllocatorConfig();
    config.error = e.what();
  }
  return config;
}

const AllocatorConfig& allocator_config() {
  static const AllocatorConfig& config = *new AllocatorConfig([] {
    const char* text = std::getenv(kVariable);
    return parse_allocator_config(text ? text : "");
  }());
  return config;
}

size_t round_size(size_t nbytes, const AllocatorConfig& config) {
  const size_t top = std::bit_floor(std::max<size_t>(nbytes, 1));
  const int power =
      std::clamp(std::countr_zero(top) - 20, 0, static_cast<int>(config.roundup_power2_divisions.size()) - 1);
  const size_t divisions = config.roundup_power2_divisions[static_cast<size_t>(power)];
  if (divisions > 1 && nbytes > kRound * divisions) {
    const size_t step = top / divisions;
    return (nbytes + step - 1) / step * step;
  }
  return (nbytes + kRound - 1) / kRound * kRound;
}

}  // namespace gradus::inline v0::cuda::runtime
