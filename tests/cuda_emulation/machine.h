// The emulated machine: devices, streams and what is queued in them, events, graphs. All of it is used with the
// emulation's lock held.
#pragma once

#include "arena.h"
#include "gradus_emulation/runtime.h"
#include "gradus_emulation/testing.h"
#include "sanitizers.h"
#include "scheduler.h"

namespace gradus_emulation {

struct Capture;

/// One recording of an event; what waits for it holds a reference.
struct Completion : InArena {
  int references = 1;
  bool done = false;
  double milliseconds = 0;
  uint64_t stream = 0;  // where it is queued
  Edge edge;
};
Completion* retain(Completion* completion);
void release(Completion* completion);

enum class WorkKind { Empty, Kernel, Copy, Fill, HostCall, Record, Wait, Graph };
/// Something a stream does. Copies share what they point to; `destroy` frees it.
struct Work {
  WorkKind kind = WorkKind::Empty;
  Launch launch = {};         // Kernel; its arguments are the work's own
  size_t argument_bytes = 0;  // Kernel
  void* to = nullptr;         // Copy, Fill
  const void* from = nullptr;
  size_t size = 0;
  bool staged = false;  // Copy: `from` is the work's own
  int value = 0;        // Fill
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
  Completion* completion = nullptr;  // Record, Wait
  cudaEvent_t event = nullptr;       // Record and Wait within a graph, of an event outside of it
  cudaGraphExec_t exec = nullptr;
};
void destroy(Work& work);

/// The end of what a stream had been given at some time.
struct Point {
  uint64_t stream;
  uint64_t position;
};
struct HostCall;
struct Queued {
  Work work;
  Vector<Point> after;  // of other streams: the default stream's implicit order
  HostCall* call = nullptr;
  bool busy = false;  // a graph that waits for a function of the host
};

}  // namespace gradus_emulation

constexpr unsigned kStreamMagic = 0x53545245, kEventMagic = 0x45564e54;

struct CUstream_st : gradus_emulation::InArena {
  uint64_t id = 0;
  unsigned magic = kStreamMagic;
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  gradus_emulation::Deque<gradus_emulation::Queued> queue;
  uint64_t enqueued = 0, completed = 0;  // counts of work
  void* tsan_fiber = nullptr;
  gradus_emulation::Edge in, out;  // from the host, and to who waits for the stream
  // While the stream is captured: the nodes that the next one comes after.
  gradus_emulation::Capture* capture = nullptr;
  gradus_emulation::Vector<cudaGraphNode_t> frontier;
};

struct CUevent_st : gradus_emulation::InArena {
  uint64_t id = 0;
  unsigned magic = kEventMagic;
  int device = 0;
  unsigned flags = 0;
  gradus_emulation::Completion* last = nullptr;
  uint64_t capture = 0;  // the capture that it was last recorded in
  gradus_emulation::Vector<cudaGraphNode_t> nodes;
};

namespace gradus_emulation {

struct Device {
  cudaError_t sticky = cudaSuccess;
  size_t used = 0;
  cudaStream_t legacy = nullptr, per_thread = nullptr;
  uint64_t peers = 0;  // bits: devices whose memory its kernels may touch
};

struct Machine {
  Vector<Device> devices;
  size_t memory = 0;  // bytes of each device
  Map<uint64_t, cudaStream_t> streams;
  Vector<Capture*> captures;
  uint64_t next_id = 1;
  StreamOrder order = StreamOrder::Eager;
  uint64_t random = 0;
  Counters counters = {};
  Map<const void*, int> max_dynamic_shared;  // by kernel
};
/// Made on first use, from the environment.
Machine& machine();
uint64_t next_random();

/// The calling thread's.
struct ThreadState {
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
};
ThreadState& thread_state();
/// Notes an error for cudaGetLastError.
cudaError_t result(cudaError_t error);
/// An error of the current device that no call gets around.
cudaError_t device_error();

// Streams
cudaStream_t make_stream(int device, unsigned flags, int priority);
/// The stream that a handle means on the current device; nullptr for a handle that is none.
cudaStream_t resolve(cudaStream_t stream);
/// Takes over what `work` owns. Queues it, runs it, or makes it a node of a graph.
cudaError_t enqueue(cudaStream_t stream, Work work);
/// Runs work until the stream has done all that it held up to `position`.
void run_until(cudaStream_t stream, uint64_t position);
void run_until(Completion& completion);
void synchronize(int device);
/// Runs one piece of work that the stream is to do next, or that this waits for.
void run_some(cudaStream_t stream);
/// What eager and random order run when work has been enqueued.
void after_enqueue(cudaStream_t stream);
double now_milliseconds();
/// Does the work in the sanitizer's fiber that is current; an error belongs to the device.
void perform(Work& work, cudaStream_t stream);
/// Within a graph: waits for a function of the host. Others may use the emulation meanwhile.
void run_host_call(const Work& work, cudaStream_t stream);

// Memory
enum class Place { Pageable, Pinned, Device };
struct Allocation {
  size_t size;
  char* pages;
  size_t mapped;
  Place place;
  int device;
};
/// What an address lies in; nullptr for pageable memory.
const Allocation* find_allocation(const void* data, const char** begin = nullptr);
Place place_of(const void* data);
void free_device_memory(int device);

// Graphs
/// An error if the calling thread may now make no call that a capture forbids; ends the captures concerned.
cudaError_t check_unsafe_call();
/// For calls that use the default stream implicitly or wait for a device.
cudaError_t check_implicit_use(cudaStream_t stream, bool invalidates = true);
cudaError_t add_node(cudaStream_t stream, Work work);
void invalidate(Capture* capture);
/// Event calls while streams are captured.
cudaError_t record_captured(cudaEvent_t event, cudaStream_t stream);
cudaError_t wait_captured(cudaStream_t stream, cudaEvent_t event);
void run_graph(cudaGraphExec_t exec, cudaStream_t stream);
void retain_exec(cudaGraphExec_t exec);
void release_exec(cudaGraphExec_t exec);

}  // namespace gradus_emulation
