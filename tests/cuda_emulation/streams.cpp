// Queues of work, and when it is done.
#include <pthread.h>
#include <time.h>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <cstring>

#include "machine.h"
#include "protection.h"
#include "text.h"

namespace gradus_emulation {

/// A function of the host that a stream waits for. It runs on a thread of its own, as with CUDA: it may take locks that
/// a thread holds that enqueues or waits.
struct HostCall : InArena {
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
  bool done = false;
  Edge edge;
};

namespace {

constexpr uint64_t kLongestQueue = 4096;  // longer ones are worked off, as with CUDA a launch then waits

Gate host_call_done, host_call_wanted;
Deque<HostCall*>* host_calls = nullptr;

void* run_host_calls(void*) {
  for (;;) {
    const int seen = host_call_wanted.now();
    HostCall* call = nullptr;
    {
      Guard guard;
      if (!host_calls->empty()) {
        call = host_calls->front();
        host_calls->pop_front();
      }
    }
    if (call == nullptr) {
      host_call_wanted.wait(seen);
      continue;
    }
    call->edge.acquire();
    call->function(call->data);
    call->edge.release();
    {
      Guard guard;
      call->done = true;
    }
    host_call_done.open();
  }
}

void start_host_call(HostCall* call) {
  if (host_calls == nullptr) {
    host_calls = new (arena_allocate(sizeof(*host_calls))) Deque<HostCall*>;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, run_host_calls, nullptr) != 0) std::abort();
    pthread_detach(thread);
  }
  host_calls->push_back(call);
  host_call_wanted.open();
}

cudaStream_t find_stream(uint64_t id) {
  const auto& streams = machine().streams;
  const auto found = streams.find(id);
  return found == streams.end() ? nullptr : found->second;
}

// A stream that must go on before the first work of this one may begin.
cudaStream_t blocker(const Queued& first) {
  for (const Point& point : first.after) {
    cudaStream_t stream = find_stream(point.stream);
    if (stream != nullptr && stream->completed < point.position) return stream;
  }
  if (first.work.kind == WorkKind::Wait && first.work.completion != nullptr && !first.work.completion->done) {
    return find_stream(first.work.completion->stream);
  }
  return nullptr;
}

// Code between its construction and destruction runs as the stream, not as the host thread.
class AsStream {
 public:
  explicit AsStream(cudaStream_t stream) {
    if (has_tsan()) {
      host_fiber_ = __tsan_get_current_fiber();
      tsan_switch(stream->tsan_fiber);
    }
    stream->in.acquire();
  }
  ~AsStream() { tsan_switch(host_fiber_); }

 private:
  void* host_fiber_ = nullptr;
};

void finish_first(cudaStream_t stream) {
  stream->out.release();
  destroy(stream->queue.front().work);
  stream->queue.pop_front();
  ++stream->completed;
}

void run_first(cudaStream_t stream) {
  Queued& first = stream->queue.front();
  AsStream as(stream);
  for (const Point& point : first.after) {
    if (cudaStream_t other = find_stream(point.stream)) other->out.acquire();
  }
  if (first.work.kind == WorkKind::HostCall && machine().devices[stream->device].sticky == cudaSuccess) {
    first.call = new HostCall;
    first.call->function = first.work.function;
    first.call->data = first.work.data;
    first.call->edge.release();
    start_host_call(first.call);
    return;
  }
  perform(first.work, stream);
  finish_first(stream);
}

enum class Step { Ran, WaitsForHost, Idle };
Step step(cudaStream_t stream) {
  while (!stream->queue.empty()) {
    Queued& first = stream->queue.front();
    if (first.busy) return Step::WaitsForHost;
    if (first.call != nullptr) {
      if (!first.call->done) return Step::WaitsForHost;
      AsStream as(stream);
      first.call->edge.acquire();
      delete first.call;
      finish_first(stream);
      return Step::Ran;
    }
    cudaStream_t other = blocker(first);
    if (other == nullptr) {
      run_first(stream);
      return Step::Ran;
    }
    stream = other;
  }
  return Step::Idle;
}

// One piece of work of any stream.
void run_random() {
  const auto& streams = machine().streams;
  auto chosen = streams.begin();
  std::advance(chosen, static_cast<long>(next_random() % streams.size()));
  step(chosen->second);
}

void go_on(cudaStream_t stream) {
  if (machine().order == StreamOrder::Random && next_random() % 2 == 0) run_random();
  const int seen = host_call_done.now();
  if (step(stream) != Step::WaitsForHost) return;
  emulation_lock.unlock();
  host_call_done.wait(seen);
  emulation_lock.lock();
}

void add_implicit_order(cudaStream_t stream, Vector<Point>& after) {
  Device& device = machine().devices[stream->device];
  if (stream->flags & cudaStreamNonBlocking) return;
  if (stream != device.legacy) {
    if (device.legacy->completed < device.legacy->enqueued) {
      after.push_back({device.legacy->id, device.legacy->enqueued});
    }
    return;
  }
  for (const auto& [id, other] : machine().streams) {
    const bool orders = other != stream && other->device == stream->device && !(other->flags & cudaStreamNonBlocking);
    // Also where it is empty: the sanitizer must learn that this comes after.
    if (orders && (has_tsan() || other->completed < other->enqueued)) after.push_back({id, other->enqueued});
  }
}

// Copies as the sanitizers' user would, or, for memory of the emulation itself, unseen by them.
void copy_watched(void* to, const void* from, size_t size, bool watch_from) {
  if (!has_tsan()) {
    std::memmove(to, from, size);
    return;
  }
  if (watch_from) __tsan_read_range(const_cast<void*>(from), size);
  __tsan_write_range(to, size);
  copy_bytes(to, from, size);
}

}  // namespace

Completion* retain(Completion* completion) {
  if (completion != nullptr) ++completion->references;
  return completion;
}
void release(Completion* completion) {
  if (completion != nullptr && --completion->references == 0) delete completion;
}

void destroy(Work& work) {
  if (work.kind == WorkKind::Kernel) arena_free(const_cast<void*>(work.launch.arguments), work.argument_bytes);
  if (work.staged) arena_free(const_cast<void*>(work.from), work.size);
  release(work.completion);
  if (work.exec != nullptr) release_exec(work.exec);
  work = Work{};
}

void run_host_call(const Work& work, cudaStream_t stream) {
  HostCall* call = new HostCall;
  call->function = work.function;
  call->data = work.data;
  call->edge.release();
  start_host_call(call);
  stream->queue.front().busy = true;
  while (!call->done) {
    const int seen = host_call_done.now();
    emulation_lock.unlock();
    host_call_done.wait(seen);
    emulation_lock.lock();
  }
  stream->queue.front().busy = false;
  call->edge.acquire();
  delete call;
  host_call_done.open();  // who waits for this stream looks again
}

double now_milliseconds() {
  timespec t;
#ifdef __linux__
  // Past ThreadSanitizer, which would see the stream write to this thread's stack.
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
#else
  clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

cudaStream_t make_stream(int device, unsigned flags, int priority) {
  cudaStream_t stream = new CUstream_st;
  stream->id = machine().next_id++;
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  if (has_tsan()) {
    stream->tsan_fiber = __tsan_create_fiber(0);
    char name[64];
    append(append(append(append(name, "stream "), stream->id), " of device "), static_cast<uint64_t>(device));
    __tsan_set_fiber_name(stream->tsan_fiber, name);
  }
  machine().streams[stream->id] = stream;
  return stream;
}

cudaStream_t resolve(cudaStream_t stream) {
  Device& device = machine().devices[thread_state().device];
  if (stream == nullptr || stream == cudaStreamLegacy) return device.legacy;
  if (stream == cudaStreamPerThread) return device.per_thread;
  return stream->magic == kStreamMagic ? stream : nullptr;
}

cudaError_t enqueue(cudaStream_t stream, Work work) {
  if (stream->capture != nullptr) return add_node(stream, work);
  if (cudaError_t error = check_implicit_use(stream)) {
    destroy(work);
    return error;
  }
  Queued queued;
  queued.work = work;
  add_implicit_order(stream, queued.after);
  stream->queue.push_back(std::move(queued));
  ++stream->enqueued;
  stream->in.release();
  after_enqueue(stream);
  return machine().devices[stream->device].sticky;
}

void after_enqueue(cudaStream_t stream) {
  switch (machine().order) {
    case StreamOrder::Eager:
      while (step(stream) == Step::Ran && !stream->queue.empty()) continue;
      break;
    case StreamOrder::Lazy:
      break;
    case StreamOrder::Random:
      for (uint64_t n = next_random() % 3; n > 0; --n) run_random();
      break;
  }
  while (stream->queue.size() > kLongestQueue) go_on(stream);
}

void run_until(cudaStream_t stream, uint64_t position) {
  while (stream->completed < position) go_on(stream);
}
void run_until(Completion& completion) {
  while (!completion.done) go_on(find_stream(completion.stream));
}

void run_some(cudaStream_t stream) {
  if (machine().order == StreamOrder::Random && next_random() % 2 == 0) run_random();
  step(stream);
}

void synchronize(int device) {
  // A host call of one stream may enqueue into another one, so that the set is read anew each time.
  for (;;) {
    cudaStream_t busy = nullptr;
    for (const auto& [id, stream] : machine().streams) {
      if (stream->device == device && stream->completed < stream->enqueued) busy = stream;
    }
    if (busy == nullptr) break;
    run_until(busy, busy->enqueued);
  }
  for (const auto& [id, stream] : machine().streams) {
    if (stream->device == device) stream->out.acquire();
  }
}

void perform(Work& work, cudaStream_t stream) {
  Machine& m = machine();
  Device& device = m.devices[stream->device];
  if (work.kind == WorkKind::Record || work.kind == WorkKind::Wait) {
    Completion* completion = work.completion != nullptr ? work.completion : work.event->last;
    if (work.kind == WorkKind::Wait) {
      if (completion != nullptr) completion->edge.acquire();
      return;
    }
    completion->milliseconds = now_milliseconds();
    completion->edge.release();
    completion->done = true;
    return;
  }
  if (device.sticky != cudaSuccess) return;
  switch (work.kind) {
    case WorkKind::Kernel: {
      ++m.counters.kernels;
      DeviceAccess access(stream->device, device.peers);
      device.sticky = run_kernel(work.launch, stream->id);
      break;
    }
    case WorkKind::Copy: {
      ++m.counters.copies;
      DeviceAccess access;
      copy_watched(work.to, work.from, work.size, !work.staged);
      break;
    }
    case WorkKind::Fill: {
      ++m.counters.fills;
      DeviceAccess access;
      if (has_tsan()) {
        __tsan_write_range(work.to, work.size);
        fill_bytes(work.to, work.value, work.size);
      } else {
        std::memset(work.to, work.value, work.size);
      }
      break;
    }
    case WorkKind::Graph:
      run_graph(work.exec, stream);
      break;
    default:
      break;
  }
}

}  // namespace gradus_emulation
