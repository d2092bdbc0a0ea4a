// Where a tensor lives, how its elements are laid out.
#pragma once

#include <cstdint>
#include <string>

#include <gradus/core/error.h>

namespace gradus {
inline namespace v0 {

/// The kinds of device, with libtorch's numbers.
enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 14, PrivateUse1 = 20 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
constexpr DeviceType kMeta = DeviceType::Meta;
constexpr DeviceType kPrivateUse1 = DeviceType::PrivateUse1;
using DeviceIndex = int8_t;

/// A device: its kind and, where there are several, which one (-1: the current one).
class Device {
 public:
  constexpr Device() = default;
  constexpr Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}  // NOLINT
  /// Reads "cpu", "cuda", "cuda:1", "meta". Throws Error that says what is wrong with the text.
  GRADUS_API Device(const std::string& text);              // NOLINT
  Device(const char* text) : Device(std::string(text)) {}  // NOLINT
  constexpr DeviceType type() const { return type_; }
  constexpr DeviceIndex index() const { return index_; }
  constexpr bool has_index() const { return index_ != -1; }
  void set_index(DeviceIndex index) { index_ = index; }
  constexpr bool is_cpu() const { return type_ == DeviceType::CPU; }
  constexpr bool is_cuda() const { return type_ == DeviceType::CUDA; }
  constexpr bool is_meta() const { return type_ == DeviceType::Meta; }
  constexpr bool operator==(const Device& o) const { return type_ == o.type_ && index_ == o.index_; }
  constexpr bool operator!=(const Device& o) const { return !(*this == o); }
  /// "cpu", "cuda:1".
  GRADUS_API std::string str() const;

 private:
  DeviceType type_ = DeviceType::CPU;
  DeviceIndex index_ = -1;
};

/// Strided is the ordinary one.
enum class Layout : int8_t { Strided = 0, Sparse = 1, SparseCsr = 2 };
constexpr Layout kStrided = Layout::Strided;
constexpr Layout kSparse = Layout::Sparse;
constexpr Layout kSparseCsr = Layout::SparseCsr;

/// The order of a dense tensor's dimensions in memory, with libtorch's numbers.
enum class MemoryFormat : int8_t { Contiguous = 0, Preserve = 1, ChannelsLast = 2, ChannelsLast3d = 3 };

inline void append_text(std::string& s, const Device& d) {
  s.append(d.str());
}
namespace detail {
GRADUS_API const char* name(Layout layout);
GRADUS_API const char* name(MemoryFormat format);
}  // namespace detail
inline void append_text(std::string& s, Layout v) {
  s.append(detail::name(v));
}
inline void append_text(std::string& s, MemoryFormat v) {
  s.append(detail::name(v));
}

}  // namespace v0
}  // namespace gradus
