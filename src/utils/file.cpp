#include "utils/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <gradus/core/error.h>

namespace gradus::inline v0::utils {
namespace {

constexpr uint64_t kLargestRead = 1u << 30;  // one read(2) transfers at most 2 GB
constexpr size_t kBuffer = 1u << 16;

class FileSource final : public ByteSource {
 public:
  FileSource(std::string what, int fd, uint64_t size) : ByteSource(std::move(what)), fd_(fd), size_(size) {}
  ~FileSource() override { ::close(fd_); }
  uint64_t size() const override { return size_; }

  void read_at(uint64_t offset, void* to, uint64_t bytes) const override {
    auto* out = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = ::pread(fd_, out, std::min(bytes, kLargestRead), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      GRADUS_CHECK(got >= 0, what(), ": cannot be read: ", std::strerror(errno));
      GRADUS_CHECK(got > 0, what(), ": the file became shorter while it was read; expected ", size_, " bytes");
      out += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<uint64_t>(got);
    }
  }

 private:
  int fd_;
  uint64_t size_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string what, const void* data, uint64_t size, std::shared_ptr<const void> owner)
      : ByteSource(std::move(what)), data_(static_cast<const char*>(data)), size_(size), owner_(std::move(owner)) {}
  uint64_t size() const override { return size_; }

  void read_at(uint64_t offset, void* to, uint64_t bytes) const override {
    GRADUS_CHECK(offset <= size_ && bytes <= size_ - offset, what(), ": ends after ", size_, " bytes; expected ", bytes,
                 " bytes at offset ", offset);
    if (bytes > 0) std::memcpy(to, data_ + offset, bytes);
  }

 private:
  const char* data_;
  uint64_t size_;
  std::shared_ptr<const void> owner_;
};

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where the links at the end of the path lead, also if nothing is there yet. A circle stays what it is: a link.
std::string behind_links(std::string path) {
  constexpr int kMostLinks = 40;  // Linux follows as many
  for (int i = 0; i < kMostLinks; ++i) {
    char to[4096];
    const ssize_t n = ::readlink(path.c_str(), to, sizeof to);
    if (n <= 0 || n == sizeof to) break;
    const std::string next(to, static_cast<size_t>(n));
    path = next[0] == '/' ? next : folder_of(path) + "/" + next;
  }
  return path;
}

}  // namespace

std::unique_ptr<ByteSource> open_file(const std::string& op, const std::string& path) {
  std::string what = op + ": " + path;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not make us wait
  GRADUS_CHECK(fd >= 0, what, ": cannot be opened: ", std::strerror(errno), "; expected a readable file");
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    GRADUS_CHECK(false, what, ": is not a regular file; expected one");
  }
  return std::make_unique<FileSource>(std::move(what), fd, static_cast<uint64_t>(info.st_size));
}

std::unique_ptr<ByteSource> open_memory(const std::string& op, const void* data, uint64_t size,
                                        std::shared_ptr<const void> owner) {
  return std::make_unique<MemorySource>(op, data, size, std::move(owner));
}

AtomicFile::AtomicFile(std::string op, std::string path)
    : op_(std::move(op)), path_(std::move(path)), target_(behind_links(path_)) {
  buffer_.reserve(kBuffer);
  struct stat old {};
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail("be opened");
  if (exists && !S_ISREG(old.st_mode)) {
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd_ < 0) fail("be opened");
    return;
  }
  // Process and counter in the name: neither two processes nor two threads write into each other's file.
  static std::atomic<uint64_t> counter{0};
  temporary_ = target_ + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".tmp";
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? old.st_mode & 0777 : 0666);
  if (fd_ < 0) fail("be created");
  // open() took the umask's bits away, which the old file may have had. A file system without modes is no error.
  if (exists) ::fchmod(fd_, old.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!direct()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action) const {
  const int error = errno;
  GRADUS_CHECK(false, op_, ": ", path_, ": cannot ", action, ": ", std::strerror(error), "; expected ",
               direct() ? "a file, or a device or pipe that takes all bytes"
                        : "a writable folder with enough space (an existing file is left as it was)");
  std::abort();  // never reached: the check above throws
}

void AtomicFile::flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t put = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("be written");
    done += static_cast<size_t>(put);
  }
  buffer_.clear();
}

void AtomicFile::write(const void* data, uint64_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const uint64_t part = std::min<uint64_t>(bytes, kBuffer - buffer_.size());
    buffer_.append(from, part);
    from += part;
    bytes -= part;
    if (buffer_.size() == kBuffer) flush();
  }
}

void AtomicFile::commit() {
  flush();
  // Pipes and many devices have nothing to bring to disk and say EINVAL.
  if (::fsync(fd_) != 0 && !(direct() && errno == EINVAL)) fail("be written to disk");
  if (!direct() && ::rename(temporary_.c_str(), target_.c_str()) != 0) fail("be replaced");
  ::close(fd_);
  fd_ = -1;
  if (direct()) return;
  // The rename itself lasts only once the folder is on disk; a file system that cannot do that is not an error.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace gradus::inline v0::utils
