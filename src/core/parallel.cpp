// The library's threads. The only file that speaks of OpenMP.
#include <kernels/parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include <omp.h>

#include <gradus/core/error.h>

#if defined(__SANITIZE_THREAD__)
extern "C" {
void __tsan_acquire(void* addr);
void __tsan_release(void* addr);
}
#define GRADUS_TSAN_ACQUIRE(p) __tsan_acquire(p)
#define GRADUS_TSAN_RELEASE(p) __tsan_release(p)
#else
#define GRADUS_TSAN_ACQUIRE(p) (void)(p)
#define GRADUS_TSAN_RELEASE(p) (void)(p)
#endif

namespace gradus::inline v0 {

namespace {
std::atomic<int> wanted_threads{0};  // 0: OpenMP's own choice
std::atomic<int> callers{0};         // user threads inside a parallel loop now
thread_local bool inside = false;
}  // namespace

int get_num_threads() {
  const int n = wanted_threads.load(std::memory_order_relaxed);
  return n > 0 ? n : std::max(1, omp_get_max_threads());
}

void set_num_threads(int n) {
  GRADUS_CHECK_AS(ValueError, n >= 1 && n <= 4096, "set_num_threads: ", n, " was given; expected 1..4096");
  wanted_threads.store(n, std::memory_order_relaxed);
  omp_set_num_threads(n);
}

bool in_parallel_region() {
  return inside;
}

namespace kernels::detail {
namespace {

// What the threads of one loop share.
struct Team {
  int64_t begin, end;
  RangeFn fn;
  void* context;
  std::exception_ptr error;
  std::mutex error_mutex;
  char forked = 0, joined = 0;
};

__attribute__((noinline)) void run_member(Team& team, int64_t members, int64_t me) {
  GRADUS_TSAN_ACQUIRE(&team.forked);
  const int64_t part = (team.end - team.begin + members - 1) / members;
  const int64_t b = team.begin + me * part, e = std::min(team.end, b + part);
  if (b < e) {
    inside = true;
    try {
      team.fn(team.context, b, e);
    } catch (...) {
      std::lock_guard lock(team.error_mutex);
      if (!team.error) team.error = std::current_exception();
    }
    inside = false;
  }
  GRADUS_TSAN_RELEASE(&team.joined);
}

// TSan does not see libgomp hand its arguments over, so nothing is instrumented here and everything else in run_member.
__attribute__((noinline, no_sanitize("thread"))) void fork_team(Team& team, int threads) {
#pragma omp parallel num_threads(threads)
  run_member(team, omp_get_num_threads(), omp_get_thread_num());
}

}  // namespace

void parallel_run(int64_t begin, int64_t end, int64_t grain, RangeFn fn, void* context) {
  const int64_t length = end - begin;
  const int64_t parts_wanted = grain > 0 ? (length + grain - 1) / grain : length;
  const int others = callers.load(std::memory_order_relaxed);
  // Many user threads share the cores instead of growing a team each.
  int64_t threads = std::max(1, get_num_threads() / (others + 1));
  threads = std::min(threads, parts_wanted);
  if (threads <= 1 || inside || omp_in_parallel()) {
    fn(context, begin, end);
    return;
  }
  callers.fetch_add(1, std::memory_order_relaxed);
  Team team{begin, end, fn, context, nullptr, {}};
  GRADUS_TSAN_RELEASE(&team.forked);
  fork_team(team, static_cast<int>(threads));
  GRADUS_TSAN_ACQUIRE(&team.joined);
  callers.fetch_sub(1, std::memory_order_relaxed);
  if (team.error) std::rethrow_exception(team.error);
}

}  // namespace kernels::detail
}  // namespace gradus::inline v0
