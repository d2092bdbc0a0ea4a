// What save() fills and load() reads: tensors and values under names, nested by dots. The file is a safetensors file;
// values stand in its metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gradus/core/device.h>
#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {

class IValue;

namespace serialize {

/// Accepted and ignored where libtorch's programs pass one on.
struct CompilationUnit {};

/// Collects what is to be saved. save_to() writes the elements that the tensors have at that time.
class GRADUS_API OutputArchive {
 public:
  OutputArchive();
  explicit OutputArchive(std::shared_ptr<CompilationUnit>) : OutputArchive() {}
  ~OutputArchive();
  OutputArchive(OutputArchive&&) noexcept;
  OutputArchive& operator=(OutputArchive&&) noexcept;

  std::shared_ptr<CompilationUnit> compilation_unit() const { return nullptr; }

  /// None, numbers, strings and lists of numbers. Throws Error for other kinds and for a key that was written before.
  void write(const std::string& key, const IValue& value);
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  /// Takes over what `nested` holds at this time, as `key.name`.
  void write(const std::string& key, OutputArchive& nested);
  template <class... Args>
  void operator()(Args&&... args) {
    write(std::forward<Args>(args)...);
  }

  /// The file appears in one step: a reader, or a crash, finds the old one or the new one.
  void save_to(const std::string& path);
  void save_to(std::ostream& stream);
  /// `write(data, bytes)` returns how many bytes it took; fewer than all are an error.
  void save_to(const std::function<size_t(const void*, size_t)>& write);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads what an OutputArchive wrote. read() throws Error where a key is missing; try_read() returns false.
class GRADUS_API InputArchive {
 public:
  InputArchive();
  ~InputArchive();
  InputArchive(InputArchive&&) noexcept;
  InputArchive& operator=(InputArchive&&) noexcept;

  bool try_read(const std::string& key, IValue& value);
  void read(const std::string& key, IValue& value);
  /// An undefined tensor becomes a new one; a defined one takes over what was read. Inside a LoadTransaction, a defined
  /// tensor is checked and filled at the end.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  bool try_read(const std::string& key, InputArchive& nested);
  void read(const std::string& key, InputArchive& nested);
  template <class... Args>
  void operator()(Args&&... args) {
    read(std::forward<Args>(args)...);
  }
  /// The names in this archive, those of nested archives once and without what they contain.
  std::vector<std::string> keys();

  void load_from(const std::string& path, std::optional<Device> device = std::nullopt);
  void load_from(std::istream& stream, std::optional<Device> device = std::nullopt);
  /// The bytes must stay until the archive is gone.
  void load_from(const char* data, size_t size, std::optional<Device> device = std::nullopt);
  /// `read(position, buffer, bytes)` returns how many bytes it gave, `size()` how many there are.
  void load_from(const std::function<size_t(uint64_t, void*, size_t)>& read, const std::function<size_t()>& size,
                 std::optional<Device> device = std::nullopt);

 private:
  friend class LoadTransaction;
  struct State;
  std::string message_for(const std::string& key) const;

  std::shared_ptr<State> state_;  // shared with nested archives
  std::string prefix_;            // of this archive's keys: "" or "a.b."
};

/// Makes loading into existing tensors all or nothing: while it lives, read() into a defined tensor of `archive`, or of
/// archives nested in it, only notes what is to be done; commit() does it, or throws one Error that lists all missing,
/// unexpected and misfitting entries. One begun inside another leaves the work to the outer one.
class GRADUS_API LoadTransaction {
 public:
  explicit LoadTransaction(InputArchive& archive);
  ~LoadTransaction();
  LoadTransaction(const LoadTransaction&) = delete;
  LoadTransaction& operator=(const LoadTransaction&) = delete;
  void commit();

 private:
  friend class InputArchive;
  struct Work;
  std::shared_ptr<InputArchive::State> state_;
  std::string prefix_;
  std::unique_ptr<Work> work_;  // null inside another transaction
};

/// A tensor stands under the key "0", as in libtorch.
GRADUS_API OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor);
GRADUS_API InputArchive& operator>>(InputArchive& archive, Tensor& tensor);

}  // namespace serialize
}  // namespace v0
}  // namespace gradus
