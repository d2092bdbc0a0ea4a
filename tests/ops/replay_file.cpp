#include "ops/replay_file.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace replay {
namespace {

using gradus::IValue;
using gradus::ScalarType;
using gradus::SchemaType;
using gradus::Tensor;

ScalarType type_of(const std::string& name) {
  static const std::map<std::string, ScalarType> types = {
      {"BOOL", gradus::kBool},  {"U8", gradus::kByte},          {"I8", gradus::kChar},
      {"I16", gradus::kShort},  {"I32", gradus::kInt},          {"I64", gradus::kLong},
      {"F16", gradus::kHalf},   {"BF16", gradus::kBFloat16},    {"F32", gradus::kFloat},
      {"F64", gradus::kDouble}, {"C64", gradus::kComplexFloat}, {"C128", gradus::kComplexDouble}};
  return types.at(name);
}

double number_of(const std::string& text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "inf" ? infinity : -infinity;
}

// Makes the values of one call.
class Maker {
 public:
  Maker(const ReferenceFile& file, Making making, Arguments& arguments)
      : file_(file), making_(making), arguments_(arguments) {}

  IValue value(const json& v, const SchemaType& type, const std::string& name, bool first) {
    if (v.is_null()) return {};
    if (v.is_array()) return type.base == SchemaType::Base::Tensor ? tensors(v, type, name) : list(v, type);
    if (v.is_boolean()) return v.get<bool>();
    if (v.is_number_integer()) return v.get<int64_t>();
    if (v.is_number()) return v.get<double>();
    if (v.is_string()) return v.get<std::string>();
    if (v.contains("t") || v.contains("empty")) return tensor(v, name, first);
    if (v.contains("f")) return number_of(v["f"]);
    if (v.contains("c")) return gradus::complex<double>(v["c"][0].get<double>(), v["c"][1].get<double>());
    if (v.contains("device")) {
      const gradus::Device device(v["device"].get<std::string>());
      return device.is_cpu() ? replay_device() : device;
    }
    return v.begin().value().get<int64_t>();  // dtype, layout, memory_format
  }

 private:
  IValue list(const json& v, const SchemaType& type) {
    if (type.base == SchemaType::Base::Float) return v.get<std::vector<double>>();
    if (type.base == SchemaType::Base::Bool) return v.get<std::vector<bool>>();
    return v.get<std::vector<int64_t>>();
  }

  IValue tensors(const json& v, const SchemaType& type, const std::string& name) {
    if (!type.optional_element) {
      std::vector<Tensor> result;
      for (const json& item : v) result.push_back(tensor(item, name, false));
      return result;
    }
    IValue::OptionalTensors result;
    for (const json& item : v)
      result.push_back(item.is_null() ? std::nullopt : std::optional(tensor(item, name, false)));
    return result;
  }

  Tensor tensor(const json& v, const std::string& name, bool first) {
    Tensor t = v.contains("sizes") ? view(v) : v.contains("empty") ? destination(v) : on_device(file_.tensor(v["t"]));
    if (making_.with_gradients && v.contains("grad")) {
      t.requires_grad_(true);
      arguments_.leaves.push_back(t);
      arguments_.gradient_keys.push_back(v["grad"].is_null() ? "" : v["grad"].get<std::string>());
      if (first && making_.copy_first)
        t = gradus::call("aten::clone", {t, gradus::MemoryFormat::Preserve})[0].toTensor();
    }
    arguments_.tensors.emplace_back(name, t);
    return t;
  }

  // The stored tensor is the memory; the argument looks at it through sizes, strides and offset.
  Tensor view(const json& v) {
    Tensor memory;
    if (v.contains("storage")) {
      Tensor& shared = shared_[v["storage"]];
      if (!shared.defined()) shared = on_device(file_.tensor(v["t"]));
      memory = shared;
    } else {
      memory = on_device(file_.tensor(v["t"]));
    }
    return strided(memory, v["sizes"], v["strides"], v["offset"].get<int64_t>());
  }

  Tensor destination(const json& v) {
    const auto sizes = v["empty"].get<std::vector<int64_t>>();
    const auto dtype = static_cast<ScalarType>(v["dtype"].get<int>());
    if (!v.contains("strides")) return on_device(make_tensor(sizes, dtype));
    int64_t count = 1;
    for (size_t d = 0; d < sizes.size(); ++d) count += (sizes[d] - 1) * v["strides"][d].get<int64_t>();
    return strided(on_device(make_tensor({count}, dtype)), v["empty"], v["strides"], 0);
  }

  static Tensor strided(const Tensor& memory, const json& sizes, const json& strides, int64_t offset) {
    const auto n = sizes.get<std::vector<int64_t>>(), s = strides.get<std::vector<int64_t>>();
    return gradus::call("aten::as_strided", {memory, n, s, offset})[0].toTensor();
  }

  const ReferenceFile& file_;
  Making making_;
  Arguments& arguments_;
  std::map<int, Tensor> shared_;
};

}  // namespace

ReferenceFile::ReferenceFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(in), {});
  if (bytes_.size() < 8) throw std::runtime_error(path + " cannot be read");
  uint64_t length = 0;
  std::memcpy(&length, bytes_.data(), 8);
  data_ = 8 + length;
  header_ = json::parse(bytes_.begin() + 8, bytes_.begin() + static_cast<std::ptrdiff_t>(data_));
}

json ReferenceFile::metadata(const std::string& name) const {
  return json::parse(header_["__metadata__"].at(name).get<std::string>());
}

Tensor ReferenceFile::tensor(const std::string& key) const {
  const json& entry = header_.at(key);
  const Tensor t = make_tensor(entry["shape"].get<std::vector<int64_t>>(), type_of(entry["dtype"]));
  if (t.numel()) std::memcpy(t.data_ptr(), bytes_.data() + data_ + entry["data_offsets"][0].get<size_t>(), t.nbytes());
  return t;
}

gradus::Device replay_device() {
  static const gradus::Device device = [] {
    const char* text = std::getenv("GRADUS_REPLAY_DEVICE");
    return text ? gradus::Device(text) : gradus::Device(gradus::kCPU);
  }();
  return device;
}
Tensor on_device(const Tensor& t) {
  return replay_device().is_cpu()
             ? t
             : gradus::call("aten::to.device", {t, replay_device(), t.scalar_type()})[0].toTensor();
}
Tensor on_cpu(const Tensor& t) {
  if (!t.defined() || t.is_cpu()) return t;
  return gradus::call("aten::to.device", {t, gradus::Device(gradus::kCPU), t.scalar_type()})[0].toTensor();
}

Tensor make_tensor(const std::vector<int64_t>& sizes, ScalarType dtype) {
  return gradus::call("aten::empty.memory_format", {sizes, dtype})[0].toTensor();
}

Arguments make_arguments(const ReferenceFile& file, const json& call, const gradus::FunctionSchema& schema,
                         Making making) {
  Arguments arguments;
  Maker maker(file, making, arguments);
  const json& args = call["args"];
  for (size_t i = 0; i < args.size(); ++i) {
    const gradus::SchemaArgument& a = schema.arguments.at(i);
    arguments.values.push_back(maker.value(args[i], a.type, a.name, i == 0));
  }
  return arguments;
}

}  // namespace replay
