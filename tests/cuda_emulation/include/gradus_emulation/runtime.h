// The calls of CUDA's runtime that Gradus makes, with CUDA 13's signatures and numbers.
#pragma once

#include "gradus_emulation/types.h"

#define CUDART_VERSION 13000
#define CUDART_CB

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorCudartUnloading = 4,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidHostPointer = 16,
  cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInsufficientDriver = 35,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorPeerAccessUnsupported = 217,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalState = 401,
  cudaErrorSymbolNotFound = 500,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorPeerAccessNotEnabled = 705,
  cudaErrorContextIsDestroyed = 709,
  cudaErrorAssert = 710,
  cudaErrorHostMemoryAlreadyRegistered = 712,
  cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotPermitted = 800,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureMerge = 902,
  cudaErrorStreamCaptureUnmatched = 903,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorStreamCaptureImplicit = 906,
  cudaErrorCapturedEvent = 907,
  cudaErrorStreamCaptureWrongThread = 908,
  cudaErrorUnknown = 999,
};
typedef enum cudaError cudaError_t;

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphNode_st* cudaGraphNode_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef void (*cudaHostFn_t)(void* data);

#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(0x1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(0x2))

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess 0x04
#define cudaEventRecordDefault 0x00
#define cudaEventRecordExternal 0x01
#define cudaEventWaitDefault 0x00
#define cudaEventWaitExternal 0x01
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceScheduleSpin 0x01
#define cudaDeviceScheduleYield 0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceMapHost 0x08
#define cudaGraphInstantiateFlagAutoFreeOnLaunch 1

enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};
enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel = 0,
  cudaGraphNodeTypeMemcpy = 1,
  cudaGraphNodeTypeMemset = 2,
  cudaGraphNodeTypeHost = 3,
  cudaGraphNodeTypeGraph = 4,
  cudaGraphNodeTypeEmpty = 5,
  cudaGraphNodeTypeWaitEvent = 6,
  cudaGraphNodeTypeEventRecord = 7,
};
struct cudaGraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes;
  size_t constSizeBytes;
  size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
  int cacheModeCA;
  int maxDynamicSharedSizeBytes;
  int preferredShmemCarveout;
};

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8,
};
union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative;
  int priority;
  int programmaticStreamSerializationAllowed;
  struct {
    unsigned int x, y, z;
  } clusterDim;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
};

struct cudaUUID_t {
  char bytes[16];
};
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  size_t totalConstMem;
  int major;
  int minor;
  size_t textureAlignment;
  int multiProcessorCount;
  int integrated;
  int canMapHostMemory;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int asyncEngineCount;
  int unifiedAddressing;
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int managedMemory;
  int isMultiGpuBoard;
  int pageableMemoryAccess;
  int concurrentManagedAccess;
  int cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int maxBlocksPerMultiProcessor;
  size_t reservedSharedMemPerBlock;
  int memoryPoolsSupported;
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX = 2,
  cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4,
  cudaDevAttrMaxGridDimX = 5,
  cudaDevAttrMaxGridDimY = 6,
  cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrTotalConstantMemory = 9,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrClockRate = 13,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrEccEnabled = 32,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrAsyncEngineCount = 40,
  cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrStreamPrioritiesSupported = 78,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrManagedMemory = 83,
  cudaDevAttrPageableMemoryAccess = 88,
  cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrMaxBlocksPerMultiprocessor = 106,
  cudaDevAttrReservedSharedMemoryPerBlock = 111,
  cudaDevAttrMemoryPoolsSupported = 115,
};
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2,  // so spelled by CUDA
};

// A call of the C interface, visible outside of the library that holds the emulation.
#define GRADUS_EMULATED_CALL __attribute__((visibility("default")))
extern "C" {
// Errors
GRADUS_EMULATED_CALL const char* cudaGetErrorString(cudaError_t error);
GRADUS_EMULATED_CALL const char* cudaGetErrorName(cudaError_t error);
GRADUS_EMULATED_CALL cudaError_t cudaGetLastError();
GRADUS_EMULATED_CALL cudaError_t cudaPeekAtLastError();

// Devices
GRADUS_EMULATED_CALL cudaError_t cudaGetDeviceCount(int* count);
GRADUS_EMULATED_CALL cudaError_t cudaSetDevice(int device);
GRADUS_EMULATED_CALL cudaError_t cudaGetDevice(int* device);
GRADUS_EMULATED_CALL cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
GRADUS_EMULATED_CALL cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
GRADUS_EMULATED_CALL cudaError_t cudaDeviceSynchronize();
GRADUS_EMULATED_CALL cudaError_t cudaDeviceReset();
GRADUS_EMULATED_CALL cudaError_t cudaSetDeviceFlags(unsigned int flags);
GRADUS_EMULATED_CALL cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
GRADUS_EMULATED_CALL cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
GRADUS_EMULATED_CALL cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
GRADUS_EMULATED_CALL cudaError_t cudaDeviceDisablePeerAccess(int peer);
GRADUS_EMULATED_CALL cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
GRADUS_EMULATED_CALL cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device);
GRADUS_EMULATED_CALL cudaError_t cudaRuntimeGetVersion(int* version);
GRADUS_EMULATED_CALL cudaError_t cudaDriverGetVersion(int* version);
GRADUS_EMULATED_CALL cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                                         cudaDriverEntryPointQueryResult* status = nullptr);
GRADUS_EMULATED_CALL cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                                                  unsigned int version, unsigned long long flags,
                                                                  cudaDriverEntryPointQueryResult* status = nullptr);

// Memory
GRADUS_EMULATED_CALL cudaError_t cudaMalloc(void** data, size_t size);
GRADUS_EMULATED_CALL cudaError_t cudaFree(void* data);
GRADUS_EMULATED_CALL cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
GRADUS_EMULATED_CALL cudaError_t cudaHostAlloc(void** data, size_t size, unsigned int flags);
GRADUS_EMULATED_CALL cudaError_t cudaMallocHost(void** data, size_t size);
GRADUS_EMULATED_CALL cudaError_t cudaFreeHost(void* data);
GRADUS_EMULATED_CALL cudaError_t cudaHostRegister(void* data, size_t size, unsigned int flags);
GRADUS_EMULATED_CALL cudaError_t cudaHostUnregister(void* data);
GRADUS_EMULATED_CALL cudaError_t cudaHostGetDevicePointer(void** device_data, void* data, unsigned int flags);
GRADUS_EMULATED_CALL cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data);
GRADUS_EMULATED_CALL cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind);
GRADUS_EMULATED_CALL cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                                                 cudaStream_t stream = nullptr);
GRADUS_EMULATED_CALL cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                                                size_t size);
GRADUS_EMULATED_CALL cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                                     size_t size, cudaStream_t stream = nullptr);
GRADUS_EMULATED_CALL cudaError_t cudaMemset(void* data, int value, size_t size);
GRADUS_EMULATED_CALL cudaError_t cudaMemsetAsync(void* data, int value, size_t size, cudaStream_t stream = nullptr);

// Streams and events
GRADUS_EMULATED_CALL cudaError_t cudaStreamCreate(cudaStream_t* stream);
GRADUS_EMULATED_CALL cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
GRADUS_EMULATED_CALL cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
GRADUS_EMULATED_CALL cudaError_t cudaStreamDestroy(cudaStream_t stream);
GRADUS_EMULATED_CALL cudaError_t cudaStreamSynchronize(cudaStream_t stream);
GRADUS_EMULATED_CALL cudaError_t cudaStreamQuery(cudaStream_t stream);
GRADUS_EMULATED_CALL cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
GRADUS_EMULATED_CALL cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
GRADUS_EMULATED_CALL cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
GRADUS_EMULATED_CALL cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
GRADUS_EMULATED_CALL cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id);
GRADUS_EMULATED_CALL cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
GRADUS_EMULATED_CALL cudaError_t cudaEventCreate(cudaEvent_t* event);
GRADUS_EMULATED_CALL cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
GRADUS_EMULATED_CALL cudaError_t cudaEventDestroy(cudaEvent_t event);
GRADUS_EMULATED_CALL cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
GRADUS_EMULATED_CALL cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr,
                                                          unsigned int flags = 0);
GRADUS_EMULATED_CALL cudaError_t cudaEventQuery(cudaEvent_t event);
GRADUS_EMULATED_CALL cudaError_t cudaEventSynchronize(cudaEvent_t event);
GRADUS_EMULATED_CALL cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// Kernels
GRADUS_EMULATED_CALL cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
GRADUS_EMULATED_CALL cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
GRADUS_EMULATED_CALL cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                                               int threads, size_t shared);

// Graphs
GRADUS_EMULATED_CALL cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
GRADUS_EMULATED_CALL cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
GRADUS_EMULATED_CALL cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
GRADUS_EMULATED_CALL cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                          unsigned long long* id = nullptr,
                                                          cudaGraph_t* graph = nullptr,
                                                          const cudaGraphNode_t** dependencies = nullptr,
                                                          const cudaGraphEdgeData** edges = nullptr,
                                                          size_t* dependency_count = nullptr);
GRADUS_EMULATED_CALL cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode);
GRADUS_EMULATED_CALL cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
GRADUS_EMULATED_CALL cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
GRADUS_EMULATED_CALL cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
GRADUS_EMULATED_CALL cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                      unsigned long long flags = 0);
GRADUS_EMULATED_CALL cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                               unsigned long long flags = 0);
GRADUS_EMULATED_CALL cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
GRADUS_EMULATED_CALL cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
GRADUS_EMULATED_CALL cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
GRADUS_EMULATED_CALL cudaError_t cudaGraphDestroy(cudaGraph_t graph);
}

// C++ forms
template <class T>
cudaError_t cudaMalloc(T** data, size_t size) {
  return cudaMalloc(reinterpret_cast<void**>(data), size);
}
template <class T>
cudaError_t cudaMallocHost(T** data, size_t size, unsigned int flags = 0) {
  return cudaHostAlloc(reinterpret_cast<void**>(data), size, flags);
}
template <class T>
cudaError_t cudaHostAlloc(T** data, size_t size, unsigned int flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(data), size, flags);
}
