// How a DataLoader works: batch size, workers, order.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <type_traits>

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {
namespace data {

namespace detail {
[[noreturn]] GRADUS_API void batch_size_from_bool(bool given);
}  // namespace detail

/// Options of a DataLoader. Converts from a batch size: `make_data_loader(dataset, 64)`.
///
/// Each option has a setter that returns the options and a getter of the same name. A forgotten argument
/// (`options.drop_last()`) is a getter's bool, which the loader refuses with a message rather than take it for a size.
struct GRADUS_API DataLoaderOptions {
  DataLoaderOptions() = default;
  template <class Int, std::enable_if_t<std::is_integral<Int>::value && !std::is_same<Int, bool>::value, int> = 0>
  DataLoaderOptions(Int batch_size) : DataLoaderOptions() {  // NOLINT: implicit, as in libtorch
    set_batch_size(static_cast<long long>(batch_size));
  }
  template <class Bool, std::enable_if_t<std::is_same<Bool, bool>::value, long> = 0>
  DataLoaderOptions(Bool given) {  // NOLINT
    detail::batch_size_from_bool(given);
  }

  /// Samples of one batch. Throws ValueError below 1.
  template <class Int, std::enable_if_t<std::is_integral<Int>::value, int> = 0>
  DataLoaderOptions& batch_size(Int value) {
    set_batch_size(static_cast<long long>(value));
    return *this;
  }
  size_t batch_size() const noexcept { return batch_size_; }

  /// Threads that prepare batches; 0 prepares them on the caller's thread, when asked for.
  template <class Int, std::enable_if_t<std::is_integral<Int>::value, int> = 0>
  DataLoaderOptions& workers(Int value) {
    set_workers(static_cast<long long>(value));
    return *this;
  }
  size_t workers() const noexcept { return workers_; }

  /// Batches that may be under way at once; twice the workers where unset.
  DataLoaderOptions& max_jobs(std::optional<size_t> value) {
    max_jobs_ = value;
    return *this;
  }
  std::optional<size_t> max_jobs() const noexcept { return max_jobs_; }

  /// How long to wait for a worker's batch before giving up with an Error.
  DataLoaderOptions& timeout(std::optional<std::chrono::milliseconds> value) {
    timeout_ = value;
    return *this;
  }
  std::optional<std::chrono::milliseconds> timeout() const noexcept { return timeout_; }

  /// Whether batches come in the sampler's order also when workers finish out of order.
  DataLoaderOptions& enforce_ordering(bool value) {
    enforce_ordering_ = value;
    return *this;
  }
  bool enforce_ordering() const noexcept { return enforce_ordering_; }

  /// Whether a last batch of fewer samples is left out.
  DataLoaderOptions& drop_last(bool value) {
    drop_last_ = value;
    return *this;
  }
  bool drop_last() const noexcept { return drop_last_; }

 private:
  void set_batch_size(long long value);
  void set_workers(long long value);

  size_t batch_size_ = 1, workers_ = 0;
  std::optional<size_t> max_jobs_;
  std::optional<std::chrono::milliseconds> timeout_;
  bool enforce_ordering_ = true, drop_last_ = false;
};

/// Options with every default filled in.
struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(const DataLoaderOptions& options)
      : batch_size(options.batch_size()),
        workers(options.workers()),
        max_jobs(options.max_jobs().value_or(2 * workers)),
        timeout(options.timeout()),
        enforce_ordering(options.enforce_ordering()),
        drop_last(options.drop_last()) {
    if (max_jobs < 1) max_jobs = 1;
  }

  size_t batch_size, workers, max_jobs;
  std::optional<std::chrono::milliseconds> timeout;
  bool enforce_ordering, drop_last;
};

}  // namespace data
}  // namespace v0
}  // namespace gradus
