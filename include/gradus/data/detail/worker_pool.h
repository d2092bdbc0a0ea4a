// The threads behind a DataLoader. Not for programs.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {
namespace data {
namespace detail {

/// Runs requests on threads of its own and hands their results back, in the order of push() if asked to. Requests and
/// results are type-erased so that threads and locks stay out of every program's translation units.
class GRADUS_API WorkerPool {
 public:
  using Box = std::shared_ptr<void>;
  /// Called on worker thread `worker`; calls with the same number never overlap.
  using Work = std::function<Box(size_t worker, const Box& request)>;

  WorkerPool(size_t workers, bool ordered, Work work);
  /// Finishes what is running, drops the rest and joins the threads.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void push(Box request);
  /// Requests that were pushed and whose results were not popped.
  size_t in_flight() const;
  /// The next result. Throws WorkerException where its work threw, Error after `timeout`.
  Box pop(std::optional<std::chrono::milliseconds> timeout);
  /// Drops waiting requests and all results; waits for running ones.
  void drain();
  /// Stops the threads for good.
  void join();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace detail
}  // namespace data
}  // namespace v0
}  // namespace gradus
