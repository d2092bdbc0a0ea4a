// Stream output of the core types, in libtorch's text.
#pragma once

#include <iosfwd>

#include <gradus/core/array_ref.h>
#include <gradus/core/device.h>
#include <gradus/core/scalar.h>

namespace gradus {
inline namespace v0 {

class Tensor;

/// "cpu", "cuda:1".
GRADUS_API std::ostream& operator<<(std::ostream& out, const Device& device);
/// "cpu", "cuda".
GRADUS_API std::ostream& operator<<(std::ostream& out, DeviceType type);
/// "Float", "Long".
GRADUS_API std::ostream& operator<<(std::ostream& out, ScalarType type);
/// "float", "long int": the C++ type's name.
GRADUS_API std::ostream& operator<<(std::ostream& out, TypeMeta type);
/// "Strided".
GRADUS_API std::ostream& operator<<(std::ostream& out, Layout layout);
/// "Contiguous", "ChannelsLast".
GRADUS_API std::ostream& operator<<(std::ostream& out, MemoryFormat format);
/// The number; "true" or "false" of a bool.
GRADUS_API std::ostream& operator<<(std::ostream& out, const Scalar& value);

/// "[2, 3]". The stream is a template parameter so that this header does without <ostream>.
template <class T, class Stream = std::ostream>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> values) {
  Stream& stream = out;
  stream << '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) stream << ", ";
    stream << values[i];
  }
  stream << ']';
  return out;
}

/// libtorch's layout: columns, scale factor, and a line with type and sizes. Lines hold up to `line_size` characters; a
/// wider matrix is printed in groups of columns.
GRADUS_API std::ostream& print(std::ostream& out, const Tensor& tensor, int64_t line_size);
/// To stdout, with the line end that operator<< leaves out.
GRADUS_API void print(const Tensor& tensor, int64_t line_size = 80);

}  // namespace v0
}  // namespace gradus
