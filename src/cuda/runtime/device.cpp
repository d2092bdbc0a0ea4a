#include "device.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "streams.h"

namespace gradus::inline v0 {

namespace cuda::runtime {

int device_count = 0;
constinit thread_local ThreadState tls;

namespace {

struct DeviceState {
  std::once_flag read;
  DeviceProperties properties;
  std::atomic<bool> context_made{false};
};
// Never destroyed: tensors of static objects are freed after any destructor that we could have.
DeviceState* devices() {
  static DeviceState* const states = new DeviceState[kMaxDevices];
  return states;
}

std::string uuid_text(const unsigned char* bytes) {
  std::string s = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", bytes[i]);
    s += two;
    if (i == 3 || i == 5 || i == 7 || i == 9) s += '-';
  }
  return s;
}

void read_properties(int device, DeviceProperties* p) {
  cudaDeviceProp d;
  check(cudaGetDeviceProperties(&d, device), "cudaGetDeviceProperties");
  p->name = d.name;
  p->uuid = uuid_text(reinterpret_cast<const unsigned char*>(&d.uuid));
  p->major = d.major;
  p->minor = d.minor;
  p->totalGlobalMem = d.totalGlobalMem;
  p->multiProcessorCount = d.multiProcessorCount;
  p->maxThreadsPerMultiProcessor = d.maxThreadsPerMultiProcessor;
  p->maxThreadsPerBlock = d.maxThreadsPerBlock;
  p->warpSize = d.warpSize;
  p->sharedMemPerBlock = d.sharedMemPerBlock;
  p->sharedMemPerBlockOptin = d.sharedMemPerBlockOptin;
  p->sharedMemPerMultiprocessor = d.sharedMemPerMultiprocessor;
  p->regsPerMultiprocessor = d.regsPerMultiprocessor;
  p->l2CacheSize = d.l2CacheSize;
  p->pciDomainID = d.pciDomainID;
  p->pciBusID = d.pciBusID;
  p->pciDeviceID = d.pciDeviceID;
  p->integrated = d.integrated != 0;
}

}  // namespace

const DeviceProperties& properties(int device) {
  DeviceState& s = devices()[device];
  std::call_once(s.read, [&] { read_properties(device, &s.properties); });
  return s.properties;
}

bool has_context(int device) {
  return devices()[device].context_made.load(std::memory_order_relaxed);
}

void switch_runtime(int device) {
  ThreadState& t = tls;
  std::atomic<bool>& made = devices()[device].context_made;
  const bool first = !made.load(std::memory_order_relaxed);
  if (t.runtime_device != device || first) {
    check(cudaSetDevice(device), "cudaSetDevice");
    t.runtime_device = device;
    if (first) made.store(true, std::memory_order_relaxed);
  }
}

void RuntimeDevice::restore() noexcept {
  if (cudaSetDevice(before_) == cudaSuccess) tls.runtime_device = before_;
}

void check_device(const char* op, int device) {
  GRADUS_CHECK_AS(ValueError, device >= 0 && device < device_count, op, ": device cuda:", device,
                  " was given; this machine has ", device_count, device_count == 1 ? " CUDA device" : " CUDA devices",
                  ", cuda:0", device_count > 1 ? str(" to cuda:", device_count - 1) : std::string());
}

void prepare(Context& c, int device) {
  check_device("context", device);
  switch_runtime(device);
  if (c.multiprocessors != 0) return;
  const DeviceProperties& p = properties(device);
  c.device = device;
  c.threads_per_multiprocessor = p.maxThreadsPerMultiProcessor;
  c.max_shared = static_cast<int>(p.sharedMemPerBlockOptin);
  c.multiprocessors = p.multiProcessorCount;
}

const Context& context_of(int device) {
  Context& c = tls.contexts[device];
  if (c.multiprocessors == 0) [[unlikely]] {
    const RuntimeDevice scope(device);
    prepare(c, device);
  }
  return c;
}

}  // namespace cuda::runtime

namespace kernels::cuda {

namespace own = gradus::cuda::runtime;

const Context& context() {
  own::ThreadState& t = own::tls;
  const int device = launch_device;
  Context& c = t.contexts[device];
  if (c.multiprocessors == 0 || t.runtime_device != device) [[unlikely]]
    own::prepare(c, device);
  return c;
}

namespace {
bool synchronous() {
  static const bool on = [] {
    const char* v = std::getenv("GRADUS_CUDA_SYNC");
    return v != nullptr && *v != '\0' && !(v[0] == '0' && v[1] == '\0');
  }();
  return on;
}
const bool wait_for_launches = synchronous();
}  // namespace

void launched(const Context& c, const char* kernel, const cudaLaunchConfig_t* launch) {
  if (!wait_for_launches) [[likely]]
    return;
  if (own::is_capturing(c.stream)) return;
  check(cudaStreamSynchronize(c.stream), kernel, launch);
  own::throw_data_errors(c.device);
}

}  // namespace kernels::cuda

}  // namespace gradus::inline v0
