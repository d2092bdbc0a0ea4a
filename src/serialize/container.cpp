#include "serialize/container.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <gradus/core/error.h>
#include <nlohmann/json.hpp>

namespace gradus::inline v0::serialize {
namespace {

constexpr uint64_t kLargestHeader = 100'000'000;  // the format's own limit
constexpr size_t kMostDims = 1024;
constexpr uint64_t kAlignment = 8;
constexpr const char* kMetadata = "__metadata__";

struct Dtype {
  std::string_view name;
  int64_t bytes;
};

// C128 is not in the format: archives of gradus::save use it, save_safetensors refuses it.
constexpr std::array<Dtype, 17> kDtypes{{{"BOOL", 1},
                                         {"U8", 1},
                                         {"I8", 1},
                                         {"F8_E4M3", 1},
                                         {"F8_E5M2", 1},
                                         {"I16", 2},
                                         {"U16", 2},
                                         {"F16", 2},
                                         {"BF16", 2},
                                         {"I32", 4},
                                         {"U32", 4},
                                         {"F32", 4},
                                         {"I64", 8},
                                         {"U64", 8},
                                         {"F64", 8},
                                         {"C64", 8},
                                         {"C128", 16}}};

// A name from a file, fit for a message: short and printable.
std::string shown(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 80)) out += (static_cast<unsigned char>(c) < 32 || c == 127) ? '?' : c;
  return out + (text.size() > 80 ? "...\"" : "\"");
}

// Accepts exactly {name: {dtype, shape, data_offsets}, "__metadata__": {text: text}}. A stream of events rather than a
// document, so that duplicate keys are seen and deep nesting is refused at once.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(const std::string& what, Container& out) : what_(what), out_(out) {}

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a fractional or huge number"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) return unexpected("a number");
    numbers_.push_back(value);
    const size_t most = place_ == Place::kShape ? kMostDims : 2;
    GRADUS_CHECK(numbers_.size() <= most, what_, ": tensor ", shown(entry_.name), " has more than ", most,
                 " numbers in ", shown(key_), "; expected at most ", most);
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      out_.metadata[key_] = value;
    } else if (place_ == Place::kTensor && key_ == "dtype") {
      entry_.dtype = value;
    } else {
      return unexpected("a string");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && key_ == kMetadata) {
      place_ = Place::kMetadata;
      keys_.clear();
    } else if (place_ == Place::kTop) {
      place_ = Place::kTensor;
      keys_.clear();
      entry_ = {};
      entry_.name = key_;
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    const bool fresh = place_ == Place::kTop ? names_.insert(value).second : keys_.insert(value).second;
    GRADUS_CHECK(fresh, what_, ": the header has the key ", shown(value), " twice; expected each once");
    if (place_ == Place::kTensor) {
      GRADUS_CHECK(value == "dtype" || value == "shape" || value == "data_offsets", what_, ": tensor ",
                   shown(entry_.name), " has the key ", shown(value), "; expected dtype, shape and data_offsets");
    }
    key_ = value;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      GRADUS_CHECK(keys_.size() == 3, what_, ": tensor ", shown(entry_.name), " lacks ", missing_key(),
                   "; expected dtype, shape and data_offsets");
      out_.tensors.push_back(std::move(entry_));
    }
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") return unexpected("an array");
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    if (place_ == Place::kShape) {
      for (const uint64_t size : numbers_) {
        GRADUS_CHECK(size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), what_, ": tensor ",
                     shown(entry_.name), " has the size ", size, "; expected less than 2^63");
        entry_.shape.push_back(static_cast<int64_t>(size));
      }
    } else {
      GRADUS_CHECK(numbers_.size() == 2, what_, ": tensor ", shown(entry_.name), " has ", numbers_.size(),
                   " data_offsets; expected 2");
      entry_.begin = numbers_[0];
      entry_.end = numbers_[1];
    }
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    GRADUS_CHECK(false, what_, ": the header is not valid JSON at byte ", position,
                 "; expected a safetensors file that was written completely");
    return false;
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };
  bool unexpected(const char* given) const {
    GRADUS_CHECK(false, what_, ": the header has ", given, " at key ", shown(key_),
                 "; expected tensors of dtype, shape and data_offsets, and metadata of strings");
    return false;
  }

  const char* missing_key() const {
    for (const char* key : {"dtype", "shape", "data_offsets"}) {
      if (keys_.count(key) == 0) return key;
    }
    return "nothing";
  }

  const std::string& what_;
  Container& out_;
  Place place_ = Place::kStart;
  std::string key_;
  TensorEntry entry_;
  std::vector<uint64_t> numbers_;
  std::set<std::string, std::less<>> names_, keys_;
};

// Bytes of a tensor of this dtype and shape; throws where they do not fit 63 bits. Sizes of 0 do not hide an overflow
// in the others.
uint64_t bytes_of(const std::string& what, const TensorEntry& entry) {
  const int64_t width = dtype_bytes(entry.dtype);
  GRADUS_CHECK(width > 0, what, ": tensor ", shown(entry.name), " has the dtype ", shown(entry.dtype),
               "; expected BOOL, U8 to U64, I8 to I64, F8_E4M3, F8_E5M2, F16, BF16, F32, F64 or C64");
  int64_t product = width;
  bool empty = false;
  for (const int64_t size : entry.shape) {
    empty = empty || size == 0;
    GRADUS_CHECK(!__builtin_mul_overflow(product, std::max<int64_t>(size, 1), &product), what, ": tensor ",
                 shown(entry.name), " has a shape whose bytes overflow 63 bits; expected one that fits in memory");
  }
  return empty ? 0 : static_cast<uint64_t>(product);
}

void check_coverage(const std::string& what, Container& container, uint64_t data_size) {
  auto& tensors = container.tensors;
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t covered = 0;
  for (const auto& entry : tensors) {
    const uint64_t bytes = bytes_of(what, entry);
    GRADUS_CHECK(entry.begin <= entry.end && entry.end - entry.begin == bytes, what, ": tensor ", shown(entry.name),
                 " has the data_offsets [", entry.begin, ", ", entry.end, "]; expected ", bytes,
                 " bytes, which its dtype and shape take");
    GRADUS_CHECK(entry.begin == covered, what, ": tensor ", shown(entry.name), " begins at byte ", entry.begin,
                 entry.begin < covered ? ", inside another tensor" : ", after a hole", "; expected byte ", covered);
    covered = entry.end;
  }
  GRADUS_CHECK(covered == data_size, what, ": has ", data_size, " bytes of data; the header describes ", covered,
               covered > data_size ? ": the file is truncated, copy or download it again" : "; expected no more");
}

std::string quoted(const std::string& what, const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    GRADUS_CHECK(false, what, ": ", shown(text), " is not valid UTF-8; expected names and metadata that are");
  }
  return {};
}

}  // namespace

int64_t dtype_bytes(std::string_view dtype) {
  for (const auto& known : kDtypes) {
    if (known.name == dtype) return known.bytes;
  }
  return 0;
}

Container parse_container(const utils::ByteSource& source) {
  const std::string& what = source.what();
  GRADUS_CHECK(source.size() >= 8, what, ": has ", source.size(),
               " bytes; expected a safetensors file, which has at least 8");
  std::array<unsigned char, 8> prefix{};
  source.read_at(0, prefix.data(), prefix.size());
  uint64_t header_size = 0;
  for (size_t i = prefix.size(); i-- > 0;) header_size = header_size << 8 | prefix[i];
  GRADUS_CHECK(header_size <= kLargestHeader, what, ": says its header has ", header_size, " bytes; expected at most ",
               kLargestHeader, ": this is not a safetensors file");
  GRADUS_CHECK(header_size <= source.size() - 8, what, ": has ", source.size(), " bytes; its header alone needs ",
               header_size + 8, ": the file is truncated, copy or download it again");
  std::string header(header_size, '\0');
  source.read_at(8, header.data(), header_size);
  GRADUS_CHECK(!header.empty() && header[0] == '{', what,
               ": its header does not begin with '{'; expected a safetensors file");

  Container out;
  HeaderReader reader(what, out);
  nlohmann::json::sax_parse(header, &reader);
  out.data_offset = 8 + header_size;
  check_coverage(what, out, source.size() - out.data_offset);
  return out;
}

std::string lay_out(const std::string& what, std::vector<TensorEntry>& tensors,
                    const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    const int64_t wide_a = dtype_bytes(a.dtype), wide_b = dtype_bytes(b.dtype);
    return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
  });
  std::string json = "{";
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) json += quoted(what, key) + ":" + quoted(what, value) + ",";
    json.back() = '}';
    json += ',';
  }
  uint64_t offset = 0;
  for (auto& entry : tensors) {
    GRADUS_CHECK(entry.name != kMetadata, what, ": a tensor is named ", kMetadata, "; expected another name");
    entry.begin = offset;
    entry.end = offset += bytes_of(what, entry);
    json += quoted(what, entry.name) + ":{\"dtype\":\"" + entry.dtype + "\",\"shape\":[";
    for (size_t i = 0; i < entry.shape.size(); ++i) {
      if (i > 0) json += ',';
      json += std::to_string(entry.shape[i]);
    }
    json += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," + std::to_string(entry.end) + "]},";
  }
  if (json.back() == ',') json.pop_back();
  json += '}';
  json.resize((json.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  GRADUS_CHECK(json.size() <= kLargestHeader, what, ": names and metadata take ", json.size(),
               " bytes; expected at most ", kLargestHeader);
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return out + json;
}

}  // namespace gradus::inline v0::serialize
