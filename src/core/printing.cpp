// Printing in libtorch's text: tests/compat/printing.expected holds what that is.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <limits>
#include <vector>

#include <gradus/core/indexing.h>
#include <gradus/core/printing.h>
#include <gradus/core/tensor.h>

#include "accelerator.h"

namespace gradus::inline v0 {

namespace {

constexpr int64_t kLineSize = 80;

// Gives the stream its format back.
class FormatGuard {
 public:
  explicit FormatGuard(std::ostream& out) : out_(out), saved_(nullptr) { saved_.copyfmt(out); }
  ~FormatGuard() { out_.copyfmt(saved_); }
  FormatGuard(const FormatGuard&) = delete;
  FormatGuard& operator=(const FormatGuard&) = delete;

 private:
  std::ostream& out_;
  std::ios saved_;
};

struct Element {
  double re = 0, im = 0;
};

template <class T>
T load(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

Element read_element(const void* p, ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return {static_cast<double>(load<uint8_t>(p))};
    case ScalarType::Char:
      return {static_cast<double>(load<int8_t>(p))};
    case ScalarType::Short:
      return {static_cast<double>(load<int16_t>(p))};
    case ScalarType::Int:
      return {static_cast<double>(load<int32_t>(p))};
    case ScalarType::Long:
      return {static_cast<double>(load<int64_t>(p))};
    case ScalarType::UInt16:
      return {static_cast<double>(load<uint16_t>(p))};
    case ScalarType::UInt32:
      return {static_cast<double>(load<uint32_t>(p))};
    case ScalarType::UInt64:
      return {static_cast<double>(load<uint64_t>(p))};
    case ScalarType::Bool:
      return {load<uint8_t>(p) != 0 ? 1.0 : 0.0};
    case ScalarType::Half:
      return {static_cast<float>(load<Half>(p))};
    case ScalarType::BFloat16:
      return {static_cast<float>(load<BFloat16>(p))};
    case ScalarType::Float8_e4m3fn:
      return {static_cast<float>(load<Float8_e4m3fn>(p))};
    case ScalarType::Float8_e5m2:
      return {static_cast<float>(load<Float8_e5m2>(p))};
    case ScalarType::Float:
      return {load<float>(p)};
    case ScalarType::Double:
      return {load<double>(p)};
    case ScalarType::QInt8:
      return {static_cast<double>(load<int8_t>(p))};
    case ScalarType::QUInt8:
      return {static_cast<double>(load<uint8_t>(p))};
    case ScalarType::QInt32:
      return {static_cast<double>(load<int32_t>(p))};
    case ScalarType::ComplexHalf:
      return {static_cast<float>(load<Half>(p)), static_cast<float>(load<Half>(static_cast<const char*>(p) + 2))};
    case ScalarType::ComplexFloat: {
      const auto v = load<complex<float>>(p);
      return {v.re, v.im};
    }
    case ScalarType::ComplexDouble: {
      const auto v = load<complex<double>>(p);
      return {v.re, v.im};
    }
    case ScalarType::Undefined:
      break;
  }
  return {};
}

// All elements in logical order. No operator is called: printing must work inside an interposer and record nothing.
std::vector<Element> read_elements(const Tensor& t) {
  const int64_t numel = t.numel(), ndim = t.dim();
  std::vector<Element> elements;
  elements.reserve(static_cast<size_t>(numel));
  std::vector<int64_t> index(static_cast<size_t>(ndim), 0);
  const auto sizes = t.sizes(), strides = t.strides();
  const auto* data = static_cast<const char*>(t.data_ptr());
  const auto item = static_cast<int64_t>(t.itemsize());
  std::vector<char> on_host;
  if (!t.is_cpu()) {
    int64_t span = item;
    for (size_t d = 0; d < sizes.size(); ++d) span += (sizes[d] - 1) * strides[d] * item;
    on_host.resize(static_cast<size_t>(span));
    core::accelerator(t.device().type(), "print").copy(on_host.data(), kCPU, data, t.device(), on_host.size(), false);
    data = on_host.data();
  }
  int64_t offset = 0;
  for (int64_t n = 0; n < numel; ++n) {
    elements.push_back(read_element(data + offset * item, t.scalar_type()));
    for (int64_t d = ndim; d-- > 0;) {
      const auto u = static_cast<size_t>(d);
      offset += strides[u];
      if (++index[u] < sizes[u]) break;
      offset -= strides[u] * sizes[u];
      index[u] = 0;
    }
  }
  return elements;
}

// How a block of numbers is written: libtorch decides once per vector or matrix.
struct NumberFormat {
  double scale = 1;  // numbers are divided by it, and it stands above the block
  int width = 0;
  bool with_imaginary = false;
};

// floor(log10(|v|)) + 1, the digits before the decimal point; 1 for zero.
int digits_of(double v) {
  return v == 0 ? 1 : static_cast<int>(std::floor(std::log10(v))) + 1;
}

// Chooses the format and sets the stream to it.
NumberFormat choose_format(std::ostream& out, const Element* begin, const Element* end, bool is_complex) {
  bool whole = true, any = false;
  double smallest = 0, largest = 0;
  const auto look_at = [&](double v) {
    if (!std::isfinite(v)) return;
    whole = whole && v == std::ceil(v);
    smallest = any ? std::min(smallest, std::fabs(v)) : std::fabs(v);
    largest = any ? std::max(largest, v) : std::fabs(v);  // libtorch takes the sign off the first number only
    any = true;
  };
  for (const Element* e = begin; e != end; ++e) {
    look_at(e->re);
    if (is_complex) look_at(e->im);
  }
  const int low = digits_of(smallest), high = digits_of(largest);
  NumberFormat format;
  format.with_imaginary = is_complex;
  if (whole) {
    if (high > 9) {
      format.width = 11;
      out << std::scientific << std::setprecision(4);
    } else {
      format.width = high + 1;
      out << std::defaultfloat;
    }
  } else if (high - low > 4) {
    format.width = std::abs(high) > 99 || std::abs(low) > 99 ? 12 : 11;
    out << std::scientific << std::setprecision(4);
  } else {
    out << std::fixed << std::setprecision(4);
    if (high > 5 || high < 0) {
      format.width = 7;
      format.scale = std::pow(10.0, high - 1);
    } else {
      format.width = high == 0 ? 7 : high + 6;
    }
  }
  return format;
}

int64_t full_width(const NumberFormat& format) {
  return format.with_imaginary ? 2 * format.width + 2 : format.width;
}

void write_element(std::ostream& out, Element e, const NumberFormat& format) {
  out << std::setw(format.width) << e.re / format.scale;
  if (!format.with_imaginary) return;
  // The imaginary part directly behind the real one, with its sign, padded on the left of both by the real part's
  // width.
  const auto flags = out.flags();
  out << std::showpos << std::setw(format.width) << std::internal << e.im / format.scale << 'j';
  out.flags(flags);
}

void write_scale(std::ostream& out, double scale) {
  FormatGuard guard(out);
  out << std::defaultfloat << scale << " *\n";
}

void write_vector(std::ostream& out, const std::vector<Element>& elements, bool is_complex) {
  const NumberFormat format = choose_format(out, elements.data(), elements.data() + elements.size(), is_complex);
  if (format.scale != 1) write_scale(out, format.scale);
  for (const Element& e : elements) {
    write_element(out, e, format);
    out << '\n';
  }
}

struct Matrix {
  const Element* elements;
  int64_t rows, columns;
  bool is_complex;
};

void write_matrix(std::ostream& out, const Matrix& m, int64_t line_size, int indent) {
  const NumberFormat format = choose_format(out, m.elements, m.elements + m.rows * m.columns, m.is_complex);
  const std::string margin(static_cast<size_t>(indent), ' ');
  const int64_t per_line = std::max<int64_t>((line_size - indent) / (full_width(format) + 1), 1);
  out << margin;
  for (int64_t first = 0; first < m.columns; first += per_line) {
    const int64_t last = std::min(first + per_line, m.columns);
    if (per_line < m.columns) {
      if (first != 0) out << '\n';
      out << "Columns " << first + 1 << " to " << last << margin;
    }
    if (format.scale != 1) {
      write_scale(out, format.scale);
      out << margin;
    }
    for (int64_t row = 0; row < m.rows; ++row) {
      for (int64_t column = first; column < last; ++column) {
        write_element(out, m.elements[row * m.columns + column], format);
        if (column + 1 < last) out << ' ';
      }
      out << '\n';
      if (row + 1 < m.rows) out << (format.scale != 1 ? " " : "") << margin;
    }
  }
}

// One matrix per index of the leading dimensions; the first dimension counts fastest.
void write_matrices(std::ostream& out, const Tensor& t, const std::vector<Element>& elements, int64_t line_size) {
  const auto leading = static_cast<size_t>(t.dim() - 2);
  const auto sizes = t.sizes();
  const int64_t rows = sizes[leading], columns = sizes[leading + 1];
  int64_t count = 1;
  for (size_t d = 0; d < leading; ++d) count *= sizes[d];
  std::vector<int64_t> index(leading, 0);
  for (int64_t n = 0; n < count; ++n) {
    if (n != 0) out << '\n';
    int64_t matrix = 0;
    out << '(';
    for (size_t d = 0; d < leading; ++d) {
      matrix = matrix * sizes[d] + index[d];
      out << index[d] + 1 << ',';
    }
    out << ".,.) = \n";
    write_matrix(out, {elements.data() + matrix * rows * columns, rows, columns, t.is_complex()}, line_size, 1);
    for (size_t d = 0; d < leading && ++index[d] == sizes[d]; ++d) index[d] = 0;
  }
}

void write_elements(std::ostream& out, const Tensor& t, int64_t line_size) {
  const auto elements = read_elements(t);
  if (t.dim() == 0) {
    out << std::defaultfloat << elements[0].re;
    if (t.is_complex()) out << std::showpos << elements[0].im << std::noshowpos << 'j';
    out << '\n';
  } else if (t.dim() == 1) {
    write_vector(out, elements, t.is_complex());
  } else if (t.dim() == 2) {
    write_matrix(out, {elements.data(), t.size(0), t.size(1), t.is_complex()}, line_size, 0);
  } else {
    write_matrices(out, t, elements, line_size);
  }
}

}  // namespace

std::ostream& print(std::ostream& out, const Tensor& tensor, int64_t line_size) {
  FormatGuard guard(out);
  if (!tensor.defined()) return out << "[ Tensor (undefined) ]";
  // A meta tensor has no elements, and those of a user's device are not ours to read: only the last line is printed.
  if ((tensor.is_cpu() || tensor.is_cuda()) && tensor.layout() == Layout::Strided && tensor.numel() > 0)
    write_elements(out, tensor, line_size);
  out << "[ " << tensor.toString() << '{';
  for (int64_t d = 0; d < tensor.dim(); ++d) out << (d == 0 ? "" : ",") << tensor.size(d);
  return out << "} ]";
}

void print(const Tensor& tensor, int64_t line_size) {
  print(std::cout, tensor, line_size) << '\n';
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  return print(out, t, kLineSize);
}

std::string TensorBase::toString() const {
  if (!defined()) return "UndefinedType";
  std::string device = DeviceType::Meta == impl_->device_.type() ? "Meta" : Device(impl_->device_.type()).str();
  if (impl_->device_.is_cpu() || impl_->device_.is_cuda()) {
    for (char& c : device) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return (layout() == Layout::Strided ? "" : "Sparse") + device + to_string(scalar_type()) + "Type";
}

void Tensor::print() const {
  if (defined()) {
    std::cout << '[' << toString() << ' ' << sizes() << "]\n";
  } else {
    std::cout << "[UndefinedTensor]\n";
  }
}

std::ostream& operator<<(std::ostream& out, const Device& device) {
  return out << device.str();
}
std::ostream& operator<<(std::ostream& out, DeviceType type) {
  return out << Device(type).str();
}
std::ostream& operator<<(std::ostream& out, ScalarType type) {
  return out << to_string(type);
}
std::ostream& operator<<(std::ostream& out, TypeMeta type) {
  return out << type.name();
}
std::ostream& operator<<(std::ostream& out, Layout layout) {
  return out << detail::name(layout);
}
std::ostream& operator<<(std::ostream& out, MemoryFormat format) {
  return out << detail::name(format);
}

std::ostream& operator<<(std::ostream& out, const Scalar& value) {
  if (value.isBoolean()) return out << (value.toBool() ? "true" : "false");
  if (value.isIntegral(false)) return out << value.toLong();
  if (value.isComplex()) return out << '(' << value.as_complex().re << ',' << value.as_complex().im << ')';
  return out << value.toDouble();
}

namespace indexing {

std::ostream& operator<<(std::ostream& out, const Slice& slice) {
  return out << slice.start_.value_or(0) << ':' << slice.stop_.value_or(std::numeric_limits<int64_t>::max()) << ':'
             << slice.step_;
}

std::ostream& operator<<(std::ostream& out, const TensorIndex& index) {
  switch (index.type()) {
    case TensorIndexType::None:
      return out << "None";
    case TensorIndexType::Ellipsis:
      return out << "...";
    case TensorIndexType::Integer:
      return out << index.integer();
    case TensorIndexType::Boolean:
      return out << (index.boolean() ? "true" : "false");
    case TensorIndexType::Slice:
      return out << index.slice();
    case TensorIndexType::Tensor:
      return out << index.tensor();
  }
  return out;
}

}  // namespace indexing

}  // namespace gradus::inline v0
