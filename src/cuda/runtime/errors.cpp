// Errors of CUDA's calls, and of the data that kernels saw.
#include <exception>
#include <mutex>
#include <string>

#include "device.h"
#include "kernels/cuda/data_record.h"
#include "kernels/elementwise.h"
#include "kernels/indexing.h"

namespace gradus::inline v0 {

namespace cuda::runtime {

namespace {

// What to do about an error; nullptr where CUDA's own text says all there is.
const char* advice(cudaError_t error) {
  switch (error) {
    case cudaErrorNoKernelImageForDevice:
      return "libgradus_cuda.so has no code for this device; build it with its architecture in "
             "CMAKE_CUDA_ARCHITECTURES";
    case cudaErrorInsufficientDriver:
      return "the driver is older than the CUDA runtime that Gradus was built with; install a newer driver";
    case cudaErrorMemoryAllocation:
      return "free tensors or use a smaller batch";
    case cudaErrorLaunchOutOfResources:
      return "the kernel needs more registers or shared memory than a block may have here";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureImplicit:
      return "the call is not possible while a CUDA graph is captured: in a capture nothing may wait for the device, "
             "and "
             "copies need pinned memory and non_blocking";
    case cudaErrorStreamCaptureInvalidated:
      return "an earlier call broke the capture of a CUDA graph; the first error has the cause";
    case cudaErrorCudartUnloading:
      return "the process is ending";
    default:
      return is_sticky(error) ? "the device's context is lost and nothing more can be computed on it in this process; "
                                "errors of kernels are seen late: GRADUS_CUDA_SYNC=1 reports them at their launch"
                              : nullptr;
  }
}

struct Records {
  std::once_flag made[kMaxDevices];
  kernels::cuda::DataError* host[kMaxDevices] = {};
  kernels::cuda::DataError* device[kMaxDevices] = {};
};
Records& records() {
  static Records& r = *new Records;  // kernels may report to it until the process has ended
  return r;
}
// Of devices whose record was ever handed to a kernel.
constinit std::atomic<kernels::cuda::DataError*> handed_out[kMaxDevices] = {};

void make_record(int device) {
  const RuntimeDevice scope(device);
  const RelaxedCapture relaxed;
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, sizeof(kernels::cuda::DataError), cudaHostAllocPortable | cudaHostAllocMapped),
        "cudaHostAlloc");
  auto* record = new (memory) kernels::cuda::DataError{};
  void* there = nullptr;
  check(cudaHostGetDevicePointer(&there, memory, 0), "cudaHostGetDevicePointer");
  records().host[device] = record;
  records().device[device] = static_cast<kernels::cuda::DataError*>(there);
  handed_out[device].store(record, std::memory_order_release);
}

unsigned int read_now(const unsigned int& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

}  // namespace

bool is_sticky(cudaError_t error) {
  const int e = error;  // by number: not every version of CUDA has a name for each
  constexpr int kEccUncorrectable = 214, kHardwareStack = 714, kInvalidProgramCounter = 718;
  return e == kEccUncorrectable || e == cudaErrorIllegalAddress || e == cudaErrorLaunchTimeout ||
         e == cudaErrorAssert || (e >= kHardwareStack && e <= kInvalidProgramCounter) || e == cudaErrorLaunchFailure;
}

void throw_data_errors(int device) {
  const kernels::cuda::DataError* record = handed_out[device].load(std::memory_order_acquire);
  if (record == nullptr || read_now(record->taken) == 0) [[likely]]
    return;
  // Another stream's kernel may still be writing the report.
  {
    const RuntimeDevice scope(device);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  kernels::cuda::throw_data_error(device);
}

}  // namespace cuda::runtime

namespace kernels::cuda {

namespace own = gradus::cuda::runtime;

namespace {

/// What fail() throws: a slot knows by it that the error is one of its own call.
class CallError final : public Error {
 public:
  using Error::Error;
};

std::string describe(const cudaLaunchConfig_t& launch) {
  const auto numbers = [](dim3 d) { return str("(", d.x, ", ", d.y, ", ", d.z, ")"); };
  return str(", grid ", numbers(launch.gridDim), ", block ", numbers(launch.blockDim), ", ", launch.dynamicSmemBytes,
             " bytes of shared memory");
}

}  // namespace

void fail(cudaError_t error, const char* what, const cudaLaunchConfig_t* launch) {
  cudaGetLastError();  // so that the next call does not see this error again, where it can be forgotten
  const char* todo = own::advice(error);
  std::string text = launch_operation ? str(launch_operation, ": ") : std::string();
  text += str(what, " on cuda:", own::tls.runtime_device, launch ? describe(*launch) : std::string(), ": ",
              cudaGetErrorName(error), ": ", cudaGetErrorString(error));
  if (todo != nullptr) text += str("; ", todo);
  if (error == cudaErrorMemoryAllocation) throw OutOfMemoryError(text);
  throw CallError(text);
}

// --- operands ---

namespace {

// Sizes as (2, 3); `size(d)` of the dimensions 0 .. ndim - 1, outermost first.
template <class Size>
void append_operand(std::string& text, ScalarType dtype, int ndim, const Size& size) {
  text += str(text.empty() ? "" : ", ", dtype, " (");
  for (int d = 0; d < ndim; ++d) text += str(d ? ", " : "", size(d));
  text += ")";
}

void append_view(std::string& text, const void* operand) {
  const auto& v = *static_cast<const ConstView*>(operand);
  if (v.sizes != nullptr) append_operand(text, v.dtype, v.ndim, [&](int d) { return v.sizes[d]; });
}
void append_mutable_view(std::string& text, const void* operand) {
  const ConstView v = *static_cast<const View*>(operand);
  append_view(text, &v);
}
// Neighbouring dimensions were merged; where an operand stands still, it has one element there.
void append_loop(std::string& text, const void* operand) {
  const auto& l = *static_cast<const Loop*>(operand);
  for (int k = 0; k < l.operands; ++k) {
    const int ndim = (l.on_host >> k & 1) != 0 ? 0 : l.ndim;
    append_operand(text, k == 0 ? l.out_dtype : l.dtype, ndim, [&](int d) {
      const int from_inside = ndim - 1 - d;
      return l.strides[from_inside][k] == 0 ? 1 : l.sizes[from_inside];
    });
  }
}
// The values' side.
void append_plan(std::string& text, const void* operand) {
  const auto& p = *static_cast<const IndexPlan*>(operand);
  append_operand(text, p.dtype, p.before + 1 + p.after, [&](int d) {
    return d < p.before ? p.before_size[d] : d == p.before ? p.positions : p.after_size[d - p.before - 1];
  });
  for (int k = 0; k < p.index_count; ++k) text += str(k ? ", " : " at indices below ", p.index_size[k]);
}

}  // namespace

ShownOperand::ShownOperand(const ConstView& v) : append(&append_view), operand(&v) {}
ShownOperand::ShownOperand(const View& v) : append(&append_mutable_view), operand(&v) {}
ShownOperand::ShownOperand(const Loop& l) : append(&append_loop), operand(&l) {}
ShownOperand::ShownOperand(const IndexPlan& p) : append(&append_plan), operand(&p) {}

void rethrow_with_operands(const char* table, const ShownOperand* operands, size_t count) {
  std::string shown;
  for (size_t i = 0; i < count; ++i) {
    if (operands[i].append) operands[i].append(shown, operands[i].operand);
  }
  try {
    throw;
  } catch (const CallError& e) {
    // fail() named an operator that has another name than its table.
    throw Error(
        str(launch_operation ? std::string() : str(table, ": "), e.what(), shown.empty() ? "" : "; operands: ", shown));
  } catch (const OutOfMemoryError& e) {
    throw OutOfMemoryError(
        str(launch_operation ? launch_operation : table, shown.empty() ? "" : " of ", shown, ": ", e.what()));
  }
}

DataError* data_error_record() {
  const Context& c = context();
  own::Records& r = own::records();
  std::call_once(r.made[c.device], own::make_record, c.device);
  return r.device[c.device];
}

void throw_data_error(int device) {
  DataError* record = own::handed_out[device].load(std::memory_order_acquire);
  if (record == nullptr || own::read_now(record->taken) == 0) return;
  const DataError e = *record;
  __atomic_store_n(&record->taken, 0u, __ATOMIC_RELEASE);
  switch (e.what) {
    case kIndexOutOfRange:
      throw IndexError(str(e.operation, ": index ", e.value, " at position ", e.position,
                           " is out of range; expected 0 <= index < ", e.limit));
    case kProbability:
      throw ValueError(str(e.operation, ": the probability at position ", e.position, " is not between 0 and 1"));
    case kWeight:
      throw ValueError(str(e.operation, ": the weights of row ", e.position,
                           " cannot be drawn by; expected finite numbers >= 0 with a sum above 0"));
    default:
      throw ValueError(
          str(e.operation, ": value ", e.value, " at position ", e.position, " is not allowed; limit ", e.limit));
  }
}

}  // namespace kernels::cuda

}  // namespace gradus::inline v0
