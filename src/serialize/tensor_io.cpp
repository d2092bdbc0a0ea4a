#include "serialize/tensor_io.h"

#include <array>

#include <gradus/autograd/grad_mode.h>
#include <gradus/ops/ops.h>

#include "core/make_tensor.h"

namespace gradus::inline v0::serialize {
namespace {

struct Name {
  ScalarType dtype;
  std::string_view name;
};
constexpr std::array<Name, 17> kNames{{{kBool, "BOOL"},
                                       {kByte, "U8"},
                                       {kChar, "I8"},
                                       {kFloat8_e4m3fn, "F8_E4M3"},
                                       {kFloat8_e5m2, "F8_E5M2"},
                                       {kShort, "I16"},
                                       {kUInt16, "U16"},
                                       {kHalf, "F16"},
                                       {kBFloat16, "BF16"},
                                       {kInt, "I32"},
                                       {kUInt32, "U32"},
                                       {kFloat, "F32"},
                                       {kLong, "I64"},
                                       {kUInt64, "U64"},
                                       {kDouble, "F64"},
                                       {kComplexFloat, "C64"},
                                       {kComplexDouble, "C128"}}};

}  // namespace

std::string_view dtype_name(ScalarType dtype) {
  for (const auto& known : kNames) {
    if (known.dtype == dtype) return known.name;
  }
  return {};
}

ScalarType dtype_of(std::string_view name) {
  for (const auto& known : kNames) {
    if (known.name == name) return known.dtype;
  }
  return ScalarType::Undefined;
}

Tensor read_tensor(const utils::ByteSource& source, const Container& container, const TensorEntry& entry) {
  const ScalarType dtype = dtype_of(entry.dtype);
  Tensor out = core::empty(entry.shape, dtype, Device(kCPU));
  const uint64_t bytes = entry.end - entry.begin;
  if (bytes == 0) return out;
  source.read_at(container.data_offset + entry.begin, out.data_ptr(), bytes);
  if (dtype == kBool) {  // a byte other than 0 and 1 would be no value of bool
    auto* data = static_cast<uint8_t*>(out.data_ptr());
    for (uint64_t i = 0; i < bytes; ++i) data[i] = data[i] != 0 ? 1 : 0;
  }
  return out;
}

void write_tensors(const std::string& what, const std::map<std::string, Tensor>& tensors,
                   const std::map<std::string, std::string>& metadata, const Sink& sink) {
  NoGradGuard no_grad;
  std::vector<TensorEntry> entries;
  entries.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    GRADUS_CHECK(tensor.defined(), what, ": tensor ", name, " is undefined; expected one with elements");
    const std::string_view dtype = dtype_name(tensor.scalar_type());
    GRADUS_CHECK(!dtype.empty(), what, ": tensor ", name, " has the dtype ", tensor.scalar_type(),
                 ", which the file format cannot hold; expected a plain number type");
    GRADUS_CHECK(tensor.layout() == Layout::Strided && !tensor.is_meta(), what, ": tensor ", name,
                 " is sparse or on the meta device; expected one that holds its elements");
    entries.push_back({name, std::string(dtype), tensor.sizes().vec()});
  }
  const std::string head = lay_out(what, entries, metadata);
  sink(head.data(), head.size());
  for (const auto& entry : entries) {
    const Tensor& tensor = tensors.at(entry.name);
    const Tensor elements = (tensor.is_cpu() ? tensor : tensor.cpu()).contiguous();
    if (entry.end > entry.begin) sink(elements.const_data_ptr(), entry.end - entry.begin);
  }
}

}  // namespace gradus::inline v0::serialize
