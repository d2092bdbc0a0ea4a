// Capturing streams into graphs, and replaying these.
#include <pthread.h>

#include "machine.h"

namespace gradus_emulation {

struct Capture : InArena {
  uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  pthread_t thread = {};
  cudaStream_t origin = nullptr;
  cudaGraph_t graph = nullptr;
  bool invalidated = false;
};

}  // namespace gradus_emulation

using namespace gradus_emulation;

struct CUgraphNode_st : InArena {
  int number = 0;
  Work work;
  uint64_t lane = 0;  // the stream it was captured from
  int device = 0;
  Vector<cudaGraphNode_t> after;
  Edge edge;
};
struct CUgraph_st : InArena {
  int references = 1;
  Vector<cudaGraphNode_t> nodes;
};
struct CUgraphExec_st : InArena {
  int references = 1;
  cudaGraph_t graph = nullptr;
  Map<uint64_t, cudaStream_t> lanes;  // for the sanitizer: what runs at the same time is not one fiber
};

namespace {

bool is_own(const Capture* capture) {
  return pthread_equal(capture->thread, pthread_self()) != 0;
}

// The members of a capture go back to normal.
void end(Capture* capture) {
  Machine& m = machine();
  for (const auto& [id, stream] : m.streams) {
    if (stream->capture != capture) continue;
    stream->capture = nullptr;
    stream->frontier.clear();
  }
  for (size_t i = 0; i < m.captures.size(); ++i) {
    if (m.captures[i] == capture) m.captures.erase(m.captures.begin() + static_cast<long>(i));
  }
  delete capture;
}

void release_graph(cudaGraph_t graph) {
  if (--graph->references > 0) return;
  for (cudaGraphNode_t node : graph->nodes) {
    destroy(node->work);
    delete node;
  }
  delete graph;
}

Capture* find_capture(uint64_t id) {
  for (Capture* capture : machine().captures) {
    if (capture->id == id) return capture;
  }
  return nullptr;
}

void add_unique(Vector<cudaGraphNode_t>& nodes, cudaGraphNode_t node) {
  for (cudaGraphNode_t known : nodes) {
    if (known == node) return;
  }
  nodes.push_back(node);
}

// Whether all of the graph comes before the nodes.
bool joined(const CUgraph_st& graph, const Vector<cudaGraphNode_t>& last) {
  Vector<char> reached(graph.nodes.size(), 0);
  for (cudaGraphNode_t node : last) reached[static_cast<size_t>(node->number)] = 1;
  for (size_t n = graph.nodes.size(); n-- > 0;) {  // nodes come after what they depend on
    if (!reached[n]) return false;
    for (cudaGraphNode_t before : graph.nodes[n]->after) reached[static_cast<size_t>(before->number)] = 1;
  }
  return true;
}

cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (cudaError_t error = device_error()) return error;
  stream = resolve(stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  Machine& m = machine();
  if (stream == m.devices[stream->device].legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture != nullptr) return cudaErrorIllegalState;
  Capture* capture = new Capture;
  capture->id = m.next_id++;
  capture->mode = mode;
  capture->thread = pthread_self();
  capture->origin = stream;
  capture->graph = new CUgraph_st;
  m.captures.push_back(capture);
  stream->capture = capture;
  return cudaSuccess;
}

cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  if (cudaError_t error = device_error()) return error;
  *graph = nullptr;
  stream = resolve(stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  Capture* capture = stream->capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->mode != cudaStreamCaptureModeRelaxed && !is_own(capture)) return cudaErrorStreamCaptureWrongThread;
  cudaError_t error = cudaSuccess;
  if (capture->origin != stream) {
    error = cudaErrorStreamCaptureUnmatched;
  } else if (capture->invalidated) {
    error = cudaErrorStreamCaptureInvalidated;
  } else if (!joined(*capture->graph, stream->frontier)) {
    error = cudaErrorStreamCaptureUnjoined;
  }
  if (error == cudaSuccess) {
    *graph = capture->graph;
  } else {
    release_graph(capture->graph);
  }
  end(capture);
  return error;
}

// A random order that keeps what nodes depend on before them.
cudaGraphNode_t choose(const Vector<cudaGraphNode_t>& nodes, const Vector<char>& done, size_t left) {
  const bool random = machine().order == StreamOrder::Random;
  size_t skip = random ? next_random() % left : 0;
  cudaGraphNode_t chosen = nullptr;
  for (cudaGraphNode_t node : nodes) {
    if (done[static_cast<size_t>(node->number)]) continue;
    bool ready = true;
    for (cudaGraphNode_t before : node->after) ready = ready && done[static_cast<size_t>(before->number)];
    if (!ready) continue;
    chosen = node;
    if (skip-- == 0) break;
  }
  return chosen;
}

void run_node(cudaGraphExec_t exec, cudaGraphNode_t node, cudaStream_t stream) {
  cudaStream_t lane = exec->lanes[node->lane];
  if (has_tsan()) {
    tsan_switch(lane->tsan_fiber);
    lane->in.acquire();
    for (cudaGraphNode_t before : node->after) before->edge.acquire();
  }
  if (node->work.kind == WorkKind::HostCall) {
    run_host_call(node->work, stream);
  } else {
    perform(node->work, lane);
  }
  if (has_tsan()) {
    node->edge.release();
    lane->out.release();
    tsan_switch(stream->tsan_fiber);
    lane->out.acquire();
  }
}

}  // namespace

namespace gradus_emulation {

void invalidate(Capture* capture) {
  capture->invalidated = true;
}

cudaError_t check_unsafe_call() {
  const cudaStreamCaptureMode mode = thread_state().capture_mode;
  if (mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (Capture* capture : machine().captures) {
    const bool forbids = is_own(capture)
                             ? capture->mode != cudaStreamCaptureModeRelaxed
                             : capture->mode == cudaStreamCaptureModeGlobal && mode == cudaStreamCaptureModeGlobal;
    if (!forbids) continue;
    invalidate(capture);
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

cudaError_t check_implicit_use(cudaStream_t stream, bool invalidates) {
  Machine& m = machine();
  const int device = stream == nullptr ? thread_state().device : stream->device;
  if (stream != nullptr && stream != m.devices[device].legacy) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (Capture* capture : m.captures) {
    bool concerned = false;
    for (const auto& [id, other] : m.streams) {
      const bool counts = stream == nullptr || !(other->flags & cudaStreamNonBlocking);
      concerned = concerned || (other->capture == capture && other->device == device && counts);
    }
    if (!concerned) continue;
    if (invalidates) invalidate(capture);
    error = stream == nullptr ? cudaErrorStreamCaptureUnsupported : cudaErrorStreamCaptureImplicit;
  }
  return error;
}

cudaError_t add_node(cudaStream_t stream, Work work) {
  Capture* capture = stream->capture;
  if (capture->invalidated) {
    destroy(work);
    return cudaErrorStreamCaptureInvalidated;
  }
  cudaGraphNode_t node = new CUgraphNode_st;
  node->number = static_cast<int>(capture->graph->nodes.size());
  node->work = work;
  node->lane = stream->id;
  node->device = stream->device;
  node->after = stream->frontier;
  capture->graph->nodes.push_back(node);
  stream->frontier.assign(1, node);
  return cudaSuccess;
}

cudaError_t record_captured(cudaEvent_t event, cudaStream_t stream) {
  if (stream->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  event->capture = stream->capture->id;
  event->nodes = stream->frontier;
  return cudaSuccess;
}

cudaError_t wait_captured(cudaStream_t stream, cudaEvent_t event) {
  if (event->capture == 0) {
    if (event->last == nullptr) return cudaSuccess;
    invalidate(stream->capture);
    return cudaErrorStreamCaptureIsolation;
  }
  Capture* capture = find_capture(event->capture);
  if (capture == nullptr) return cudaErrorInvalidValue;  // it has ended
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (stream->capture == nullptr) {
    if (cudaError_t error = check_implicit_use(stream)) return error;
    stream->capture = capture;
    stream->frontier.clear();
  } else if (stream->capture != capture) {
    invalidate(stream->capture);
    invalidate(capture);
    return cudaErrorStreamCaptureMerge;
  }
  for (cudaGraphNode_t node : event->nodes) add_unique(stream->frontier, node);
  return cudaSuccess;
}

void run_graph(cudaGraphExec_t exec, cudaStream_t stream) {
  const Vector<cudaGraphNode_t>& nodes = exec->graph->nodes;
  for (const auto& [id, lane] : exec->lanes) lane->in.release();
  Vector<char> done(nodes.size(), 0);
  for (size_t left = nodes.size(); left > 0; --left) {
    cudaGraphNode_t node = choose(nodes, done, left);
    run_node(exec, node, stream);
    done[static_cast<size_t>(node->number)] = 1;
  }
}

void retain_exec(cudaGraphExec_t exec) {
  ++exec->references;
}
void release_exec(cudaGraphExec_t exec) {
  if (--exec->references > 0) return;
  release_graph(exec->graph);
  for (const auto& [id, lane] : exec->lanes) {
    if (lane->tsan_fiber != nullptr) __tsan_destroy_fiber(lane->tsan_fiber);
    machine().streams.erase(lane->id);
    delete lane;
  }
  delete exec;
}

}  // namespace gradus_emulation

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  Guard guard;
  return result(begin_capture(stream, mode));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  Guard guard;
  return result(end_capture(stream, graph));
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(stream, status);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* dependency_count) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  stream = resolve(stream);
  if (stream == nullptr) return result(cudaErrorInvalidResourceHandle);
  if (cudaError_t error = check_implicit_use(stream, false)) return result(error);
  const Capture* capture = stream->capture;
  *status = capture == nullptr     ? cudaStreamCaptureStatusNone
            : capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
  if (capture == nullptr) return cudaSuccess;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->graph;
  if (dependencies != nullptr) *dependencies = stream->frontier.data();
  if (edges != nullptr) *edges = nullptr;
  if (dependency_count != nullptr) *dependency_count = stream->frontier.size();
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr) return result(cudaErrorInvalidValue);
  cudaStreamCaptureMode& own = thread_state().capture_mode;
  const cudaStreamCaptureMode before = own;
  own = *mode;
  *mode = before;
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int) {
  Guard guard;
  if (graph == nullptr) return result(cudaErrorInvalidValue);
  *graph = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  Guard guard;
  if (graph == nullptr || count == nullptr) return result(cudaErrorInvalidValue);
  if (nodes != nullptr) {
    for (size_t n = 0; n < *count; ++n) nodes[n] = n < graph->nodes.size() ? graph->nodes[n] : nullptr;
  }
  if (nodes == nullptr || *count > graph->nodes.size()) *count = graph->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  Guard guard;
  if (node == nullptr || type == nullptr) return result(cudaErrorInvalidValue);
  switch (node->work.kind) {
    case WorkKind::Empty:
      *type = cudaGraphNodeTypeEmpty;
      break;
    case WorkKind::Kernel:
      *type = cudaGraphNodeTypeKernel;
      break;
    case WorkKind::Copy:
      *type = cudaGraphNodeTypeMemcpy;
      break;
    case WorkKind::Fill:
      *type = cudaGraphNodeTypeMemset;
      break;
    case WorkKind::HostCall:
      *type = cudaGraphNodeTypeHost;
      break;
    case WorkKind::Record:
      *type = cudaGraphNodeTypeEventRecord;
      break;
    case WorkKind::Wait:
      *type = cudaGraphNodeTypeWaitEvent;
      break;
    case WorkKind::Graph:
      *type = cudaGraphNodeTypeGraph;
      break;
  }
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  if (exec == nullptr || graph == nullptr) return result(cudaErrorInvalidValue);
  *exec = new CUgraphExec_st;
  (*exec)->graph = graph;
  ++graph->references;
  for (cudaGraphNode_t node : graph->nodes) {
    cudaStream_t& lane = (*exec)->lanes[node->lane];
    if (lane == nullptr) lane = make_stream(node->device, cudaStreamNonBlocking, 0);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t) {
  return exec == nullptr ? result(cudaErrorInvalidValue) : cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  stream = resolve(stream);
  if (stream == nullptr) return result(cudaErrorInvalidResourceHandle);
  if (exec == nullptr) return result(cudaErrorInvalidValue);
  retain_exec(exec);
  Work work;
  work.kind = WorkKind::Graph;
  work.exec = exec;
  return result(enqueue(stream, work));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  Guard guard;
  if (exec == nullptr) return result(cudaErrorInvalidValue);
  release_exec(exec);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  Guard guard;
  if (graph == nullptr) return result(cudaErrorInvalidValue);
  release_graph(graph);
  return cudaSuccess;
}

}  // extern "C"
