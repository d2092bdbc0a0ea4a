// The real cuDNN and Gradus' descriptors, without a GPU: cuDNN plans for a device that is described to it (since 9.11),
// so that all but the execution of a convolution can be tried on any machine with the library. This program is compiled
// with NVIDIA's headers and the code that calls cuDNN; the functions below stand between the two. They give the
// description where that code gives a handle, and execute nothing.
//
// With an argument, prints the engine and workspace of each convolution.
#include <src/backends/cudnn/convolution.h>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cudnn.h>

#include <gradus/cuda/backends.h>
#include <gradus/core/error.h>

#include <kernels/cuda/launch.h>
#include <kernels/cuda/scratch.h>

namespace {

// An H200, as cuDNN describes one.
constexpr const char* kDevice =
    R"({"deviceVer":900,"driverVer":13000,"cudaDeviceId":0,"totalGlobalMem":150000000000,)"
    R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
    R"("multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
    R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
    R"("maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,)"
    R"("memClockRateKHz":3201000,"l2CacheSize":62914560,"deviceName":"NVIDIA H200"})";

struct Real {
  void* file = nullptr;
  decltype(&cudnnGetVersion) version;
  decltype(&cudnnGetErrorString) error;
  decltype(&cudnnGetLastErrorString) last_error;
  decltype(&cudnnBackendCreateDescriptor) create;
  decltype(&cudnnBackendDestroyDescriptor) destroy;
  decltype(&cudnnBackendSetAttribute) set;
  decltype(&cudnnBackendGetAttribute) get;
  decltype(&cudnnBackendFinalize) finalize;
  cudnnBackendDescriptor_t device = nullptr;

  bool load() {
    file = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (!file) return false;
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
    };
    find("cudnnGetVersion", version), find("cudnnGetErrorString", error);
    find("cudnnGetLastErrorString", last_error);
    find("cudnnBackendCreateDescriptor", create), find("cudnnBackendDestroyDescriptor", destroy);
    find("cudnnBackendSetAttribute", set), find("cudnnBackendGetAttribute", get);
    find("cudnnBackendFinalize", finalize);
    return version() >= 91100 && create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device) == CUDNN_STATUS_SUCCESS &&
           set(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
               static_cast<int64_t>(std::strlen(kDevice)), kDevice) == CUDNN_STATUS_SUCCESS &&
           finalize(device) == CUDNN_STATUS_SUCCESS;
  }
};
Real real;

int64_t last_engine = -1, last_workspace = -1;
int plans = 0;

}  // namespace

extern "C" {

size_t cudnnGetVersion() {
  return real.version();
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return real.error(status);
}
void cudnnGetLastErrorString(char* message, size_t size) {
  real.last_error(message, size);
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(&real);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  return real.create(type, descriptor);
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return real.destroy(descriptor);
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  const auto describe = [&](cudnnBackendAttributeName_t attribute) {
    return real.set(descriptor, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &real.device);
  };
  switch (name) {
    case CUDNN_ATTR_OPERATIONGRAPH_HANDLE:
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_HANDLE:
      return describe(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
      if (const cudnnStatus_t status = describe(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP); status != CUDNN_STATUS_SUCCESS)
        return status;
      break;
    default:
      break;
  }
  return real.set(descriptor, name, type, count, values);
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, int64_t* there, void* values) {
  return real.get(descriptor, name, type, count, there, values);
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return real.finalize(descriptor);
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t) {
  int64_t there = 0;
  ++plans;
  cudnnBackendDescriptor_t configuration = nullptr, engine = nullptr;
  real.create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configuration);
  real.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
  real.get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &there, &last_workspace);
  real.get(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &there, &configuration);
  real.get(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &there, &engine);
  real.get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &there, &last_engine);
  real.destroy(engine), real.destroy(configuration);
  return CUDNN_STATUS_SUCCESS;
}

// The CUDA runtime that the code calls.
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = size_t{140} << 30;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return cudaSuccess;
}

}  // extern "C"

namespace gradus::inline v0::kernels::cuda {

const Context& context() {
  static const Context here{nullptr, 0, 132, 2048, 232448};
  return here;
}
void fail(cudaError_t, const char* what, const cudaLaunchConfig_t*) {
  throw Error(what);
}
void launched(const Context&, const char*, const cudaLaunchConfig_t*) {}
void* allocate_scratch(size_t) {
  static char place[256];
  return place;
}
void free_scratch(void*) noexcept {}

}  // namespace gradus::inline v0::kernels::cuda

namespace gradus::inline v0::backends::cudnn {
namespace {

int faults = 0;

struct Case {
  const char* name;
  int64_t batch, in, out, groups;
  std::vector<int64_t> size, kernel, stride, padding, dilation;
};

void check(const Case& c, ScalarType dtype, bool channels_last, bool show) {
  ConvolutionShape s{};
  s.batch = c.batch, s.in_channels = c.in, s.out_channels = c.out, s.groups = c.groups;
  s.spatial = static_cast<int64_t>(c.size.size());
  s.dtype = dtype, s.channels_last = channels_last;
  for (size_t i = 0; i < c.size.size(); ++i) {
    s.in[i] = c.size[i], s.kernel[i] = c.kernel[i], s.stride[i] = c.stride[i];
    s.padding[i] = c.padding[i], s.dilation[i] = c.dilation[i];
    s.out[i] = (s.in[i] + 2 * s.padding[i] - s.dilation[i] * (s.kernel[i] - 1) - 1) / s.stride[i] + 1;
  }
  static constexpr const char* kDirections[] = {"output", "input", "weight"};
  char* const aligned = reinterpret_cast<char*>(uintptr_t{1} << 20);  // nothing reads it
  for (int offset : {0, static_cast<int>(element_size(dtype))}) {
    for (int d = 0; d < 3; ++d) {
      char* const p = aligned + offset;
      std::string fault;
      try {
        if (!convolution(static_cast<Direction>(d), s, {p, p, p})) fault = "no plan";
      } catch (const std::exception& e) {
        fault = e.what();
      }
      if (show || !fault.empty()) {
        std::printf("%-28s %-8s %-13s %-6s %s engine %3ld workspace %11ld %s\n", c.name, str(dtype).c_str(),
                    channels_last ? "channels last" : "contiguous", kDirections[d], offset ? "odd" : "   ", last_engine,
                    last_workspace, fault.c_str());
      }
      faults += !fault.empty();
    }
  }
}

const Case kCases[] = {
    {"ResNet-50 first", 64, 3, 64, 1, {224, 224}, {7, 7}, {2, 2}, {3, 3}, {1, 1}},
    {"ResNet-50 3x3, 64", 64, 64, 64, 1, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"ResNet-50 1x1, 64 to 256", 64, 64, 256, 1, {56, 56}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"ResNet-50 1x1, stride 2", 64, 256, 512, 1, {56, 56}, {1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {"ResNet-50 3x3, stride 2", 64, 128, 128, 1, {56, 56}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"ResNet-50 3x3, 512", 64, 512, 512, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"MobileNet depthwise", 32, 96, 96, 96, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"ResNeXt groups", 32, 128, 128, 32, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"dilated", 8, 32, 48, 1, {31, 33}, {3, 5}, {1, 2}, {2, 4}, {2, 2}},
    {"odd channels", 2, 5, 7, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"one channel", 1, 1, 1, 1, {5, 5}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one dimension", 16, 64, 80, 1, {1, 300}, {1, 5}, {1, 2}, {0, 2}, {1, 1}},
    {"three dimensions", 4, 16, 32, 1, {8, 14, 14}, {3, 3, 3}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}},
    {"three dimensions, groups", 2, 6, 9, 3, {5, 6, 7}, {2, 3, 2}, {1, 1, 1}, {1, 0, 1}, {1, 1, 2}},
};

}  // namespace
}  // namespace gradus::inline v0::backends::cudnn

int main(int argc, char**) {
  using namespace gradus;
  if (!real.load()) {
    std::printf("skipped: there is no cuDNN 9.11 or newer here\n");
    return 0;
  }
  const bool show = argc > 1;
  for (const bool allow_tf32 : {true, false}) {
    cuda::set_cudnn_allow_tf32(allow_tf32);
    cuda::set_cudnn_deterministic(!allow_tf32);
    if (show) std::printf(allow_tf32 ? "" : "\nwithout TF32, deterministic\n");
    for (const auto& c : backends::cudnn::kCases) {
      for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
        for (const bool last : {false, true}) {
          if (dtype != kDouble || !last) backends::cudnn::check(c, dtype, last, show);
        }
      }
    }
  }
  cuda::set_cudnn_benchmark(true);
  backends::cudnn::check(backends::cudnn::kCases[1], kBFloat16, true, show);
  std::printf("cuDNN %zu: %d plans, %d faults\n", real.version(), plans, backends::cudnn::faults);
  return backends::cudnn::faults ? 1 : 0;
}
