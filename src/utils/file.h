// Files, read and written without surprises: whole reads at an offset, and replacement in one step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace gradus::inline v0::utils {

// Bytes that can be read at any offset. A short read is an error that starts with what().
class ByteSource {
 public:
  explicit ByteSource(std::string what) : what_(std::move(what)) {}
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  virtual void read_at(uint64_t offset, void* to, uint64_t bytes) const = 0;
  // "operation: file", the beginning of every message about these bytes.
  const std::string& what() const { return what_; }

 private:
  std::string what_;
};

// A file that stays open while it is read. `op` names the caller in messages.
std::unique_ptr<ByteSource> open_file(const std::string& op, const std::string& path);

// Bytes in memory; `owner` keeps them alive and may be null.
std::unique_ptr<ByteSource> open_memory(const std::string& op, const void* data, uint64_t size,
                                        std::shared_ptr<const void> owner = nullptr);

// Writes beside `path` and moves the result over it in commit(): a reader sees the old file or the new one, also after
// a crash. Without commit() the destructor removes what was written. Symbolic links stay and lead to the new file,
// which keeps the old one's mode. A device or a pipe cannot be replaced: it is written directly.
class AtomicFile {
 public:
  AtomicFile(std::string op, std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, uint64_t bytes);
  void commit();

 private:
  [[noreturn]] void fail(const char* action) const;
  void flush();

  bool direct() const { return temporary_.empty(); }

  std::string op_, path_, target_;  // the path as given, and without symbolic links at its end
  std::string temporary_, buffer_;
  int fd_ = -1;
};

}  // namespace gradus::inline v0::utils
