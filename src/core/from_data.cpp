// tensor(), from_vector() and from_blob().
#include <gradus/core/from_data.h>

#include <cstring>
#include <memory>

#include "core/make_tensor.h"

namespace gradus::inline v0 {
namespace detail {

namespace {

// libtorch's rule: int literals make kLong, floating ones the default dtype; everything else keeps its type.
ScalarType default_type_for(ScalarType type) {
  if (type == ScalarType::Undefined) return get_default_dtype();
  if (type == ScalarType::Int || type == ScalarType::Long) return ScalarType::Long;
  if (type == ScalarType::Float || type == ScalarType::Double) return get_default_dtype();
  if (type == ScalarType::ComplexFloat || type == ScalarType::ComplexDouble) {
    return get_default_dtype() == ScalarType::Double ? ScalarType::ComplexDouble : ScalarType::ComplexFloat;
  }
  return type;
}

template <class T>
Scalar load(const void* array, size_t i) {
  return Scalar(static_cast<const T*>(array)[i]);
}

Scalar element_of(const void* array, size_t i, ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return load<uint8_t>(array, i);
    case ScalarType::Char:
      return load<int8_t>(array, i);
    case ScalarType::Short:
      return load<int16_t>(array, i);
    case ScalarType::Int:
      return load<int32_t>(array, i);
    case ScalarType::Long:
      return load<int64_t>(array, i);
    case ScalarType::UInt16:
      return load<uint16_t>(array, i);
    case ScalarType::UInt32:
      return load<uint32_t>(array, i);
    case ScalarType::UInt64:
      return load<uint64_t>(array, i);
    case ScalarType::Half:
      return load<Half>(array, i);
    case ScalarType::BFloat16:
      return load<BFloat16>(array, i);
    case ScalarType::Float:
      return load<float>(array, i);
    case ScalarType::Double:
      return load<double>(array, i);
    case ScalarType::Bool:
      return load<bool>(array, i);
    case ScalarType::ComplexFloat:
      return load<complex<float>>(array, i);
    case ScalarType::ComplexDouble:
      return load<complex<double>>(array, i);
    default:
      throw TypeError(str("tensor: elements of type ", type, " were given; expected numbers"));
  }
}

template <class T>
void put(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

void store(void* out, const Scalar& v, ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return put(out, static_cast<uint8_t>(v.as_int()));
    case ScalarType::Char:
      return put(out, static_cast<int8_t>(v.as_int()));
    case ScalarType::Short:
      return put(out, static_cast<int16_t>(v.as_int()));
    case ScalarType::Int:
      return put(out, static_cast<int32_t>(v.as_int()));
    case ScalarType::Long:
      return put(out, v.as_int());
    case ScalarType::UInt16:
      return put(out, static_cast<uint16_t>(v.as_int()));
    case ScalarType::UInt32:
      return put(out, static_cast<uint32_t>(v.as_int()));
    case ScalarType::UInt64:
      return put(out, static_cast<uint64_t>(v.as_int()));
    case ScalarType::Half:
      return put(out, Half(static_cast<float>(v.as_double())));
    case ScalarType::BFloat16:
      return put(out, BFloat16(static_cast<float>(v.as_double())));
    case ScalarType::Float8_e4m3fn:
      return put(out, Float8_e4m3fn(static_cast<float>(v.as_double())));
    case ScalarType::Float8_e5m2:
      return put(out, Float8_e5m2(static_cast<float>(v.as_double())));
    case ScalarType::Float:
      return put(out, static_cast<float>(v.as_double()));
    case ScalarType::Double:
      return put(out, v.as_double());
    case ScalarType::Bool:
      return put(out, v.isIntegral(true) ? v.as_int() != 0 : v.as_double() != 0);
    case ScalarType::ComplexFloat:
      return put(out, complex<float>(v.as_complex()));
    case ScalarType::ComplexDouble:
      return put(out, v.as_complex());
    default:
      throw TypeError(str("tensor: numbers cannot be stored as ", type));
  }
}

}  // namespace

// Follows the first element of each list down; write() checks that the others agree.
void TensorData::shape(std::vector<int64_t>& sizes, ScalarType& type) const {
  if (kind_ != Kind::kNumber) sizes.push_back(static_cast<int64_t>(count_));
  if (kind_ != Kind::kList) {
    type = type_;
  } else if (count_ != 0) {
    list_[0].shape(sizes, type);
  }
}

char* TensorData::write(char* out, ScalarType type, const std::vector<int64_t>& sizes, size_t depth) const {
  const size_t item = element_size(type);
  if (kind_ == Kind::kNumber) {
    GRADUS_CHECK_AS(ValueError, depth == sizes.size(), "tensor: a number stands at depth ", depth,
                    " where the first element there is a list; expected lists of one depth");
    store(out, number_, type);
    return out + item;
  }
  GRADUS_CHECK_AS(ValueError, depth < sizes.size(), "tensor: a list stands at depth ", depth,
                  " where the first element there is a number; expected lists of one depth");
  GRADUS_CHECK_AS(ValueError, static_cast<int64_t>(count_) == sizes[depth], "tensor: a list of length ", count_,
                  " at depth ", depth, "; expected ", sizes[depth], " as of the first list there");
  if (kind_ == Kind::kList) {
    for (size_t i = 0; i < count_; ++i) {
      GRADUS_CHECK_AS(
          TypeError, list_[i].kind_ == Kind::kList || list_[0].kind_ == Kind::kList || list_[i].type_ == list_[0].type_,
          "tensor: numbers of type ", list_[0].type_, " and ", list_[i].type_, " in one list; expected one type");
      out = list_[i].write(out, type, sizes, depth + 1);
    }
    return out;
  }
  GRADUS_CHECK_AS(ValueError, depth + 1 == sizes.size(), "tensor: an array stands at depth ", depth,
                  " where the first element there is a list; expected lists of one depth");
  if (type == type_) {
    if (count_ != 0) std::memcpy(out, array_, count_ * item);
    return out + count_ * item;
  }
  for (size_t i = 0; i < count_; ++i, out += item) store(out, element_of(array_, i, type_), type);
  return out;
}

Tensor TensorData::make(const TensorOptions& options) const {
  std::vector<int64_t> sizes;
  ScalarType type = ScalarType::Undefined;
  shape(sizes, type);
  const ScalarType dtype = options.has_dtype() ? options.scalar_type() : default_type_for(type);
  Tensor result = core::empty(sizes, dtype, kCPU);
  write(static_cast<char*>(result.data_ptr()), dtype, sizes, 0);
  if (!options.device().is_cpu()) result = result.to(options.device(), dtype);
  if (options.requires_grad()) result.set_requires_grad(true);
  return result;
}

Tensor make_tensor(const TensorData& data, const TensorOptions& options) {
  return data.make(options);
}

void check_vector(size_t count, ScalarType dtype, const OptionalIntArrayRef& sizes, const TensorOptions& options) {
  GRADUS_CHECK_AS(ValueError, !options.has_dtype() || options.scalar_type() == dtype, "from_vector: dtype ",
                  options.scalar_type(), " for a vector of ", dtype, "; expected ", dtype,
                  ": convert the tensor with to()");
  GRADUS_CHECK_AS(ValueError, !options.has_device() || options.device().is_cpu(), "from_vector: device ",
                  options.device(), " for a vector; expected cpu: copy the tensor with to()");
  if (!sizes) return;
  const int64_t numel = core::checked_numel(*sizes, dtype, "from_vector");
  GRADUS_CHECK_AS(ValueError, numel == static_cast<int64_t>(count), "from_vector: sizes ", *sizes, " need ", numel,
                  " elements; the vector has ", count);
}

Tensor borrow(void* data, ScalarType pointed_to, IntArrayRef sizes, const IntArrayRef* given_strides,
              std::function<void(void*)> deleter, const TensorOptions& options) {
  const bool typed = !options.has_dtype() && pointed_to != ScalarType::Undefined;
  const ScalarType dtype = typed ? pointed_to : options.scalar_type();
  const int64_t numel = core::checked_numel(sizes, dtype, "from_blob");
  GRADUS_CHECK_AS(ValueError, data || numel == 0, "from_blob: a null pointer for sizes ", sizes, "; expected memory");
  DimVector strides(sizes.size());
  if (given_strides) {
    GRADUS_CHECK_AS(ValueError, given_strides->size() == sizes.size(), "from_blob: strides ", *given_strides,
                    " for sizes ", sizes, "; expected as many of the one as of the other");
    for (size_t d = 0; d < sizes.size(); ++d) {
      strides[d] = (*given_strides)[d];
      GRADUS_CHECK_AS(ValueError, strides[d] >= 0, "from_blob: strides ", *given_strides, "; expected none below 0");
    }
  } else {
    core::dense_strides(sizes, MemoryFormat::Contiguous, strides.data());
  }
  int64_t last = 0;
  bool overflow = false;
  for (size_t d = 0; d < sizes.size() && numel != 0; ++d) {
    int64_t step = 0;
    overflow |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &step);
    overflow |= __builtin_add_overflow(last, step, &last);
  }
  int64_t bytes = 0;
  overflow |= __builtin_mul_overflow(numel == 0 ? 0 : last + 1, static_cast<int64_t>(element_size(dtype)), &bytes);
  GRADUS_CHECK_AS(ValueError, !overflow, "from_blob: sizes ", sizes, " and strides ", IntArrayRef(strides),
                  " reach beyond what 63 bits can address");

  struct Owner {
    void* data;
    std::function<void(void*)> deleter;
  };
  auto owner = deleter ? std::make_unique<Owner>(Owner{data, std::move(deleter)}) : nullptr;
  void (*release)(void*) = [](void*) {};
  if (owner) {
    release = [](void* context) {
      std::unique_ptr<Owner> dying(static_cast<Owner*>(context));
      dying->deleter(dying->data);
    };
  }
  const Device device = options.has_device() ? options.device() : Device(kCPU);
  Storage storage = Storage::borrow(data, static_cast<size_t>(bytes), device, release, owner.release());
  Tensor result = core::from_storage(std::move(storage), sizes, strides, 0, dtype, device);
  if (options.requires_grad()) result.set_requires_grad(true);
  return result;
}

}  // namespace detail
}  // namespace gradus::inline v0
