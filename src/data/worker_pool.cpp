#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gradus/core/error.h>
#include <gradus/data/dataloader_options.h>
#include <gradus/data/detail/worker_pool.h>
#include <gradus/data/worker_exception.h>

namespace gradus::inline v0::data {
namespace detail {

struct WorkerPool::State {
  struct Job {
    uint64_t number;
    Box request;
  };
  struct Result {
    Box value;
    std::exception_ptr error;
  };

  State(bool ordered, Work work) : ordered(ordered), work(std::move(work)) {}

  void run(size_t worker) {
    std::unique_lock lock(mutex);
    while (true) {
      work_waits.wait(lock, [this] { return stopping || !jobs.empty(); });
      if (stopping) return;
      Job job = std::move(jobs.front());
      jobs.pop_front();
      ++running;
      lock.unlock();
      Result result = call(worker, job.request);
      job.request.reset();  // may hold the user's objects: freed outside the lock
      lock.lock();
      --running;
      results.emplace(job.number, std::move(result));
      result_waits.notify_all();
    }
  }

  Result call(size_t worker, const Box& request) const {
    try {
      return {work(worker, request), nullptr};
    } catch (...) {
      return {nullptr, std::current_exception()};
    }
  }

  // The result that pop() is to return, if it is there.
  auto ready() { return ordered ? results.find(next_out) : results.begin(); }

  const bool ordered;
  const Work work;
  std::mutex mutex;
  std::condition_variable work_waits, result_waits;
  std::deque<Job> jobs;
  std::map<uint64_t, Result> results;  // by the number of their request
  uint64_t next_in = 0, next_out = 0;
  size_t running = 0;
  bool stopping = false;
  std::vector<std::thread> threads;
};

WorkerPool::WorkerPool(size_t workers, bool ordered, Work work)
    : state_(std::make_unique<State>(ordered, std::move(work))) {
  try {
    for (size_t i = 0; i < workers; ++i) state_->threads.emplace_back([state = state_.get(), i] { state->run(i); });
  } catch (...) {  // no more threads to be had: the ones that run must not outlive the object
    join();
    throw;
  }
}

WorkerPool::~WorkerPool() {
  join();
}

void WorkerPool::push(Box request) {
  {
    std::lock_guard lock(state_->mutex);
    state_->jobs.push_back({state_->next_in++, std::move(request)});
  }
  state_->work_waits.notify_one();
}

size_t WorkerPool::in_flight() const {
  std::lock_guard lock(state_->mutex);
  return state_->jobs.size() + state_->running + state_->results.size();
}

WorkerPool::Box WorkerPool::pop(std::optional<std::chrono::milliseconds> timeout) {
  State::Result result;
  {
    std::unique_lock lock(state_->mutex);
    const auto is_ready = [this] { return state_->stopping || state_->ready() != state_->results.end(); };
    if (!timeout) {
      state_->result_waits.wait(lock, is_ready);
    } else if (!state_->result_waits.wait_for(lock, *timeout, is_ready)) {
      GRADUS_CHECK(false, "DataLoader: no batch came within the timeout of ", static_cast<int64_t>(timeout->count()),
                   " ms; expected faster samples, more workers or a longer timeout");
    }
    GRADUS_CHECK(!state_->stopping, "DataLoader: a batch was asked for after join()");
    const auto found = state_->ready();
    result = std::move(found->second);
    state_->results.erase(found);
    ++state_->next_out;
  }
  if (result.error) throw WorkerException(result.error);
  return result.value;
}

void WorkerPool::drain() {
  std::deque<State::Job> dropped_jobs;  // destroyed outside the lock, as their objects are the user's
  std::map<uint64_t, State::Result> dropped_results;
  std::unique_lock lock(state_->mutex);
  dropped_jobs.swap(state_->jobs);
  state_->result_waits.wait(lock, [this] { return state_->running == 0; });
  dropped_results.swap(state_->results);
  state_->next_out = state_->next_in;
  lock.unlock();
}

void WorkerPool::join() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work_waits.notify_all();
  state_->result_waits.notify_all();
  for (auto& thread : state_->threads) thread.join();
  state_->threads.clear();
}

void batch_size_from_bool(bool given) {
  GRADUS_CHECK_AS(
      ValueError, false, "DataLoaderOptions: the bool ", given,
      " was given; expected options or a batch size. drop_last() and enforce_ordering() without an argument "
      "read the option: write drop_last(true)");
  std::terminate();  // never reached: the check above throws
}

}  // namespace detail

namespace {

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an object that is no std::exception";
  }
}

}  // namespace

WorkerException::WorkerException(std::exception_ptr original)
    : Error("Caught exception in DataLoader worker thread. Original message: " + message_of(original)),
      original_exception(std::move(original)) {}

WorkerException::~WorkerException() = default;

void DataLoaderOptions::set_batch_size(long long value) {
  GRADUS_CHECK_AS(ValueError, value > 0, "DataLoaderOptions: batch_size ", value, "; expected at least 1");
  batch_size_ = static_cast<size_t>(value);
}

void DataLoaderOptions::set_workers(long long value) {
  constexpr long long kMost = 4096;
  GRADUS_CHECK_AS(ValueError, value >= 0 && value <= kMost, "DataLoaderOptions: workers ", value, "; expected 0 to ",
                  kMost);
  workers_ = static_cast<size_t>(value);
}

}  // namespace gradus::inline v0::data
