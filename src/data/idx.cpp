#include "data/idx.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <gradus/core/error.h>

namespace gradus::inline v0::data {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr int64_t kDeflateRatio = 1032;  // no gzip file expands further
constexpr size_t kChunk = 8u << 20;

// A file that zlib reads, whether compressed or not.
class GzipReader {
 public:
  explicit GzipReader(std::string what, const std::string& path) : what_(std::move(what)) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not make us wait
    GRADUS_CHECK(fd >= 0, what_, ": cannot be opened: ", std::strerror(errno), "; expected a readable IDX file");
    struct stat info {};
    if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
      size_ = info.st_size;
      file_ = ::gzdopen(fd, "rb");
    }
    if (file_ == nullptr) {
      ::close(fd);
      GRADUS_CHECK(false, what_, ": is not a regular file; expected an IDX file, plain or gzip");
    }
    ::gzbuffer(file_, 1u << 18);
  }
  ~GzipReader() { ::gzclose_r(file_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Up to `bytes`; less only at the end of the data.
  size_t read(void* to, size_t bytes) {
    const int got = ::gzread(file_, to, static_cast<unsigned>(bytes));
    int code = Z_OK;
    const char* message = ::gzerror(file_, &code);
    GRADUS_CHECK(got >= 0 && (code == Z_OK || code == Z_STREAM_END), what_, ": its gzip data is damaged (", message,
                 "); expected a complete file: copy or download it again");
    return static_cast<size_t>(got);
  }

  // The most bytes that this file can hold.
  int64_t capacity() const { return ::gzdirect(file_) != 0 ? size_ : size_ * kDeflateRatio; }
  const std::string& what() const { return what_; }

 private:
  std::string what_;
  gzFile file_ = nullptr;
  int64_t size_ = 0;
};

std::vector<int64_t> read_shape(GzipReader& in, int dims) {
  std::array<uint8_t, 4> magic{};
  const size_t got = in.read(magic.data(), magic.size());
  GRADUS_CHECK(got == magic.size(), in.what(), ": has ", got, " bytes; expected an IDX file, which has at least 8");
  GRADUS_CHECK(magic[0] == 0 && magic[1] == 0, in.what(), ": begins with bytes ", int{magic[0]}, ", ", int{magic[1]},
               "; expected 0, 0: this is not an IDX file");
  GRADUS_CHECK(magic[2] == kUnsignedByte, in.what(), ": has element type ", int{magic[2]},
               "; expected 8, unsigned bytes");
  GRADUS_CHECK(magic[3] == dims, in.what(), ": has ", int{magic[3]}, " dimensions; expected ", dims,
               dims == 1 ? ", as a file of labels has" : ", as a file of images has");
  std::vector<int64_t> shape;
  for (int i = 0; i < dims; ++i) {
    std::array<uint8_t, 4> size{};
    GRADUS_CHECK(in.read(size.data(), size.size()) == size.size(), in.what(), ": ends inside its header; expected ",
                 dims, " sizes: copy or download it again");
    shape.push_back(int64_t{size[0]} << 24 | int64_t{size[1]} << 16 | int64_t{size[2]} << 8 | int64_t{size[3]});
  }
  return shape;
}

// The product of the sizes, held against what the file can contain before any memory is taken.
int64_t checked_total(const GzipReader& in, const std::vector<int64_t>& shape) {
  int64_t total = 1;
  for (const int64_t size : shape) {
    GRADUS_CHECK(!__builtin_mul_overflow(total, size, &total), in.what(),
                 ": its header's sizes overflow 63 bits; expected the sizes of the data");
  }
  GRADUS_CHECK(total <= in.capacity(), in.what(), ": its header promises ", total, " bytes; the file can hold at most ",
               in.capacity(), ": it is truncated or not an IDX file");
  return total;
}

}  // namespace

Idx read_idx(const std::string& op, const std::string& path, int dims) {
  GzipReader in(op + ": " + path, path);
  Idx out;
  out.shape = read_shape(in, dims);
  const auto total = static_cast<size_t>(checked_total(in, out.shape));
  while (out.bytes.size() < total) {
    const size_t before = out.bytes.size(), part = std::min(kChunk, total - before);
    out.bytes.resize(before + part);
    const size_t got = in.read(out.bytes.data() + before, part);
    GRADUS_CHECK(got == part, in.what(), ": has ", before + got, " bytes of data; expected ", total,
                 ", which its header promises: copy or download it again");
  }
  uint8_t extra = 0;
  GRADUS_CHECK(in.read(&extra, 1) == 0, in.what(), ": has more data than the ", total,
               " bytes that its header promises; expected exactly these");
  return out;
}

std::string find_idx(const std::string& op, const std::string& folder, const std::string& name) {
  for (const char* suffix : {"", ".gz"}) {
    std::string path = folder + "/" + name + suffix;
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  struct stat info {};
  const bool exists = ::stat(folder.c_str(), &info) == 0;
  GRADUS_CHECK(false, op, ": ", folder, exists ? " has no file " : " does not exist; expected a folder with ", name,
               " or ", name,
               ".gz; give the folder of an MNIST-like data set (Debian's package dataset-fashion-mnist installs ",
               "/usr/share/datasets/fashion-mnist)");
  return {};
}

}  // namespace gradus::inline v0::data
