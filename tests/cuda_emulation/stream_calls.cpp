// Calls about streams, events and kernels.
#include <cstdlib>
#include <cstring>

#include "machine.h"

using namespace gradus_emulation;

namespace {

// The stream of a handle, or an error.
cudaError_t find(cudaStream_t& stream) {
  if (cudaError_t error = device_error()) return error;
  stream = resolve(stream);
  return stream == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}
cudaError_t find(cudaEvent_t event) {
  if (cudaError_t error = device_error()) return error;
  return event == nullptr || event->magic != kEventMagic ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

// A capturing stream can be neither waited for nor asked.
cudaError_t check_not_captured(cudaStream_t stream) {
  if (stream->capture != nullptr) {
    invalidate(stream->capture);
    return cudaErrorStreamCaptureUnsupported;
  }
  return check_implicit_use(stream);
}

cudaError_t record(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (cudaError_t error = find(event)) return error;
  if (cudaError_t error = find(stream)) return error;
  if (event->device != stream->device) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr && !(flags & cudaEventRecordExternal)) return record_captured(event, stream);
  Completion* completion = new Completion;
  completion->stream = stream->id;
  Work work;
  work.kind = WorkKind::Record;
  if (stream->capture != nullptr) {
    work.event = event;
    completion->done = true;
  } else {
    if (cudaError_t error = check_implicit_use(stream)) {
      release(completion);
      return error;
    }
    work.completion = retain(completion);
  }
  release(event->last);
  event->last = completion;
  event->capture = 0;
  event->nodes.clear();
  return enqueue(stream, work);
}

cudaError_t wait(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (cudaError_t error = find(event)) return error;
  if (cudaError_t error = find(stream)) return error;
  if (flags & cudaEventWaitExternal) {
    if (stream->capture == nullptr) return cudaErrorInvalidValue;
    Work work;
    work.kind = WorkKind::Wait;
    work.event = event;
    return enqueue(stream, work);
  }
  if (event->capture != 0 || stream->capture != nullptr) return wait_captured(stream, event);
  if (event->last == nullptr) return cudaSuccess;
  Work work;
  work.kind = WorkKind::Wait;
  work.completion = retain(event->last);
  return enqueue(stream, work);
}

cudaError_t check_dimensions(const cudaLaunchConfig_t& config) {
  const dim3& grid = config.gridDim;
  const dim3& block = config.blockDim;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0 ||
      grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      uint64_t{block.x} * block.y * block.z > 1024) {
    return cudaErrorInvalidConfiguration;
  }
  return cudaSuccess;
}

int max_dynamic_shared(const void* kernel) {
  const auto& known = machine().max_dynamic_shared;
  const auto found = known.find(kernel);
  return found == known.end() ? static_cast<int>(kMaxStaticShared) : found->second;
}

cudaError_t check_attributes(const cudaLaunchConfig_t& config) {
  for (unsigned a = 0; a < config.numAttrs; ++a) {
    switch (config.attrs[a].id) {
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        break;
      default:
        return cudaErrorNotSupported;
    }
  }
  return cudaSuccess;
}

cudaError_t launch_kernel(const cudaLaunchConfig_t& config, AnyFunction kernel, Invoke invoke, const void* arguments,
                          size_t size) {
  cudaStream_t stream = config.stream;
  if (cudaError_t error = find(stream)) return error;
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  if (cudaError_t error = check_dimensions(config)) return error;
  if (cudaError_t error = check_attributes(config)) return error;
  if (stream->device != thread_state().device) return cudaErrorInvalidResourceHandle;
  if (config.dynamicSmemBytes > static_cast<size_t>(max_dynamic_shared(reinterpret_cast<const void*>(kernel)))) {
    return cudaErrorInvalidValue;
  }
  Work work;
  work.kind = WorkKind::Kernel;
  void* copy = arena_allocate(size);
  copy_bytes(copy, arguments, size);
  work.launch = {config.gridDim, config.blockDim, config.dynamicSmemBytes, kernel, invoke, copy};
  work.argument_bytes = size;
  return enqueue(stream, work);
}

// With GRADUS_EMULATION_LAUNCHES=empty kernels do nothing, and cost next to nothing to launch: what is left of a
// program's time is the host's work. benchmarks/gpu_check.sh --rehearse measures it so.
bool launches_are_empty() {
  const char* text = std::getenv("GRADUS_EMULATION_LAUNCHES");
  return text != nullptr && std::strcmp(text, "empty") == 0;
}

}  // namespace

namespace gradus_emulation {

cudaError_t launch(const cudaLaunchConfig_t* config, AnyFunction kernel, Invoke invoke, const void* arguments,
                   size_t size) {
  static const bool empty = launches_are_empty();
  if (empty) return cudaSuccess;
  Guard guard;
  return result(launch_kernel(*config, kernel, invoke, arguments, size));
}

}  // namespace gradus_emulation

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  if (stream == nullptr || (flags & ~static_cast<unsigned>(cudaStreamNonBlocking))) {
    return result(cudaErrorInvalidValue);
  }
  *stream = make_stream(thread_state().device, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread ||
      stream->magic != kStreamMagic) {
    return result(cudaErrorInvalidResourceHandle);
  }
  if (stream->capture != nullptr) invalidate(stream->capture);
  run_until(stream, stream->enqueued);
  machine().streams.erase(stream->id);
  if (stream->tsan_fiber != nullptr) __tsan_destroy_fiber(stream->tsan_fiber);
  stream->magic = 0;
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Guard guard;
  if (cudaError_t error = find(stream)) return result(error);
  if (cudaError_t error = check_not_captured(stream)) return result(error);
  ++machine().counters.host_waits;
  run_until(stream, stream->enqueued);
  stream->out.acquire();
  return result(machine().devices[stream->device].sticky);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Guard guard;
  if (cudaError_t error = find(stream)) return result(error);
  if (cudaError_t error = check_not_captured(stream)) return result(error);
  if (stream->completed < stream->enqueued) {
    run_some(stream);
    if (cudaError_t error = machine().devices[stream->device].sticky) return result(error);
    return result(cudaErrorNotReady);
  }
  stream->out.acquire();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  Guard guard;
  return result(wait(stream, event, flags));
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  Guard guard;
  if (cudaError_t error = find(stream)) return result(error);
  *priority = stream->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  Guard guard;
  if (cudaError_t error = find(stream)) return result(error);
  *flags = stream->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  Guard guard;
  if (cudaError_t error = find(stream)) return result(error);
  *device = stream->device;
  return cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  Guard guard;
  if (cudaError_t error = find(stream)) return result(error);
  *id = stream->id;
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  Guard guard;
  if (cudaError_t error = find(stream)) return result(error);
  if (function == nullptr) return result(cudaErrorInvalidValue);
  Work work;
  work.kind = WorkKind::HostCall;
  work.function = function;
  work.data = data;
  return result(enqueue(stream, work));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  if (event == nullptr || flags > 7) return result(cudaErrorInvalidValue);
  *event = new CUevent_st;
  (*event)->id = machine().next_id++;
  (*event)->device = thread_state().device;
  (*event)->flags = flags;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Guard guard;
  if (cudaError_t error = find(event)) return result(error);
  release(event->last);
  event->magic = 0;
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  Guard guard;
  return result(record(event, stream, flags));
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  Guard guard;
  if (cudaError_t error = find(event)) return result(error);
  if (cudaError_t error = check_unsafe_call()) return result(error);
  if (event->capture != 0) return result(cudaErrorCapturedEvent);
  Completion* last = event->last;
  if (last == nullptr) return cudaSuccess;
  if (!last->done) {
    run_some(machine().streams[last->stream]);
    if (cudaError_t error = machine().devices[event->device].sticky) return result(error);
    return result(cudaErrorNotReady);
  }
  last->edge.acquire();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Guard guard;
  if (cudaError_t error = find(event)) return result(error);
  if (event->capture != 0) return result(cudaErrorCapturedEvent);
  ++machine().counters.host_waits;
  if (event->last == nullptr) return cudaSuccess;
  Completion* last = retain(event->last);  // the event may be recorded anew while a function of the host runs
  run_until(*last);
  last->edge.acquire();
  release(last);
  return result(machine().devices[thread_state().device].sticky);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  Guard guard;
  if (cudaError_t error = find(start)) return result(error);
  if (cudaError_t error = find(end)) return result(error);
  if (start->capture != 0 || end->capture != 0) return result(cudaErrorCapturedEvent);
  if (((start->flags | end->flags) & cudaEventDisableTiming) || start->device != end->device ||
      start->last == nullptr || end->last == nullptr) {
    return result(cudaErrorInvalidResourceHandle);
  }
  if (!start->last->done || !end->last->done) return result(cudaErrorNotReady);
  *milliseconds = static_cast<float>(end->last->milliseconds - start->last->milliseconds);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  if (kernel == nullptr) return result(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || value > static_cast<int>(kMaxShared)) {
    return result(cudaErrorInvalidValue);
  }
  machine().max_dynamic_shared[kernel] = value;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  if (kernel == nullptr) return result(cudaErrorInvalidDeviceFunction);
  *attributes = cudaFuncAttributes{};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = max_dynamic_shared(kernel);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads, size_t shared) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  if (kernel == nullptr) return result(cudaErrorInvalidDeviceFunction);
  if (threads <= 0) return result(cudaErrorInvalidValue);
  const int whole_warps = (threads + 31) / 32 * 32;
  int fit = threads > 1024 || shared > kMaxShared ? 0 : 2048 / whole_warps;
  if (fit > 32) fit = 32;
  const int by_shared = static_cast<int>(size_t{228} * 1024 / (shared + 1024));
  *blocks = fit < by_shared ? fit : by_shared;
  return cudaSuccess;
}

}  // extern "C"
